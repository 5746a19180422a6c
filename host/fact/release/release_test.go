package release

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"fettle/host/hosttest"
)

func TestOf(t *testing.T) {
	w, err := Of(t.Context(), hosttest.New(t, "-- root/etc/os-release --\nID=debian\nVERSION_ID=\"12\"\n"))
	if err != nil || w.String() != "Debian 12 to 13" || !w.To.Is("Trixie") || !w.To.Is("13") || !w.To.Is("debian 13") || w.To.Is("12") {
		t.Errorf("%+v, %v", w, err)
	}
	for text, says := range map[string]string{
		"-- root/etc/os-release --\nID=debian\nVERSION_ID=13\nPRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\n": "from Debian 13;",
		"-- root/etc/debian_version --\ntrixie/sid\n":                                                         "does not name",
	} {
		var no *NoWay
		if _, err := Of(t.Context(), hosttest.New(t, text)); !errors.As(err, &no) || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for name, known := range map[string]bool{"Debian 12": true, "Debian 12.5": true, "Debian 120": false, "Debian 13": false, "": false} {
		if _, err := Named(name); (err == nil) != known {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := Of(t.Context(), hosttest.New(t, "incomplete: true\n")); err == nil {
		t.Error("an os-release that nobody collected is known")
	}
}

// TestPackages: each row has a version for each release, and each end of a way its column.
func TestPackages(t *testing.T) {
	var last string
	var columns int
	for line := range strings.Lines(packagesText) {
		f := strings.Fields(line)
		if f[0] == "#" {
			continue
		}
		if columns == 0 {
			columns = len(f)
		}
		if len(f) != columns {
			t.Errorf("%d columns: %s", len(f), line)
		}
		last = f[0]
	}
	for _, w := range Ways() {
		for _, r := range []Release{w.From, w.To} {
			if v, ok := r.Has(last); !ok {
				t.Errorf("%s: no column (%q)", r, v)
			}
		}
		if w.Source == "" {
			t.Errorf("%s: no source", w)
		}
	}
	if v, ok := (Release{"debian", "13", "trixie"}).Has("php8.2-fpm"); !ok || v != "" {
		t.Errorf("php8.2 in trixie: %q, %v", v, ok)
	}
	if _, ok := (Release{"debian", "13", "trixie"}).Has("no-such"); ok {
		t.Error("a package that is not in the table is known")
	}
	if !slices.ContainsFunc(Ways(), func(w Way) bool { return w.From.Codename == "bookworm" }) {
		t.Error("no way from bookworm")
	}
}
