package renew

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestFind: the tarball of the kind that is asked for, by the list that is signed.
func TestFind(t *testing.T) {
	m := newMirror(t)
	gtk, plain := strings.Repeat("ab", 32), strings.Repeat("cd", 32)
	sums := []byte(gtk + "  ./edu/netboot/netboot.tar.gz\n" + "\nshort\n" +
		plain[2:] + "  ./netboot/netboot.tar.gz\n" + gtk + "  ./netboot/gtk/netboot.tar.gz\n" +
		gtk + "  ./netboot/netboot.tar.gz too\n" + plain + "  netboot/netboot.tar.gz\n")
	m.files[images+"/SHA256SUMS"] = sums
	date := time.Now().UTC().Add(-time.Hour).Truncate(time.Second)
	m.files["InRelease"] = m.sign(fmt.Appendf(nil, "Codename: bookworm\nDate: %s\nSHA256:\n %s %d ./%s/SHA256SUMS\n",
		date.Format(time.RFC1123), sha(sums), len(sums), images))
	for want, s := range map[Tarball]Source{
		{URL: m.url + "/dists/bookworm/" + images + "/netboot/netboot.tar.gz", SHA: plain}:   {Mirror: m.url + "/"},
		{URL: m.url + "/dists/bookworm/" + images + "/netboot/gtk/netboot.tar.gz", SHA: gtk}: {Mirror: m.url, GTK: true},
	} {
		signed := m.source()
		s.Suite, s.Arch, s.Keyring, s.GPGV, s.Now = signed.Suite, signed.Arch, signed.Keyring, signed.GPGV, signed.Now
		got, err := s.Find(t.Context())
		if err != nil || got.URL != want.URL || got.SHA != want.SHA || !got.Date.Equal(date) {
			t.Errorf("%+v, %v; want %+v of %s", got, err, want, date)
		}
	}
	m.files["InRelease"] = m.sign([]byte(" \n"))
	if _, err := m.source().Find(t.Context()); err == nil || !strings.Contains(err.Error(), "covers nothing") {
		t.Errorf("a signature of nothing: %v", err)
	}
}

// failing takes no more than so many bytes.
type failing struct{ left int }

func (f *failing) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, errors.New("no space left on device")
	}
	return len(b), nil
}

func TestFetch(t *testing.T) {
	body := bytes.Repeat([]byte("0123456789abcdef"), 40_000)
	cut := false
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/gone":
			http.NotFound(w, r)
		case "/huge":
			w.Header().Set("Content-Length", fmt.Sprint(maxTarball+1))
			w.WriteHeader(200)
		case "/largest":
			w.Header().Set("Content-Length", fmt.Sprint(maxTarball))
			w.Write(body)
		default:
			w.Header().Set("Content-Length", fmt.Sprint(len(body)))
			if cut {
				w.Write(body[:len(body)/2])
				return
			}
			w.Write(body)
		}
	}))
	defer srv.Close()
	of := func(path string) Tarball { return Tarball{URL: srv.URL + path, SHA: sha(body)} }
	var got bytes.Buffer
	var told []int64
	err := of("/it").Fetch(t.Context(), &got, func(done, all int64) {
		if all != int64(len(body)) || len(told) > 0 && done < told[len(told)-1] {
			t.Errorf("%d of %d after %v", done, all, told)
		}
		told = append(told, done)
	})
	if err != nil || !bytes.Equal(got.Bytes(), body) || told[len(told)-1] != int64(len(body)) {
		t.Errorf("%d bytes, told %v: %v", got.Len(), told, err)
	}
	bad := new(Untrusted)
	err = of("/it").Fetch(t.Context(), &failing{left: 1000}, nil)
	if err == nil || !strings.Contains(err.Error(), "keeping the tree: no space") ||
		errors.As(err, &bad) {
		t.Errorf("a full disk: %v", err)
	}
	if err := of("/gone").Fetch(t.Context(), io.Discard, nil); err == nil || !strings.Contains(err.Error(), "/gone: the mirror answers 404") {
		t.Errorf("not there: %v", err)
	}
	if err := of("/huge").Fetch(t.Context(), io.Discard, nil); !errors.As(err, &bad) {
		t.Errorf("larger than any: %v", err)
	}
	if err := of("/largest").Fetch(t.Context(), io.Discard, nil); err == nil || errors.As(err, &bad) {
		t.Errorf("as large as may be, cut off: %v", err)
	}
	cut = true
	if err := of("/it").Fetch(t.Context(), io.Discard, nil); err == nil || errors.As(err, &bad) {
		t.Errorf("cut off: %v", err)
	}
	if err := (Tarball{URL: "http://127.0.0.1:1/x"}).Fetch(t.Context(), io.Discard, nil); err == nil || errors.As(err, &bad) {
		t.Errorf("nobody listens: %v", err)
	}
}

func TestGoodSignature(t *testing.T) {
	for status, want := range map[string]string{
		"[GNUPG:] NEWSIG\n[GNUPG:] GOODSIG 0123 Archive <a@b>\n":       "",
		"[GNUPG:] EXPKEYSIG 0123 Archive\n[GNUPG:] GOODSIG 4567 New\n": "",
		"[GNUPG:] EXPKEYSIG 0123 Archive <a@b>\n":                      "the key 0123 has expired",
		"[GNUPG:] GOODSIG 0123\n":                                      "",
		"[GNUPG:] GOODSIG\n":                                           "no good one",
		"gpgv: GOODSIG 0123 x\n":                                       "no good one",
		"[GNUPG:] BADSIG 0123 x\n":                                     "no good one",
		"":                                                             "no good one",
	} {
		if err := goodSignature([]byte(status)); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", status, err, want)
		}
	}
}

// TestNothingVerified: a good signature whose text cannot be had, or no place for it, is an error.
func TestNothingVerified(t *testing.T) {
	s := Source{Keyring: "/dev/null", GPGV: func(context.Context, ...string) ([]byte, error) {
		return []byte("[GNUPG:] GOODSIG 0123 x\n"), nil
	}}
	for range 2 {
		if text, err := s.verify(t.Context(), nil); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q, %v", text, err)
		}
		t.Setenv("TMPDIR", "/nonexistent")
	}
}

func TestParseRelease(t *testing.T) {
	a, b := strings.Repeat("0a", 32), strings.Repeat("0b", 32)
	const date = "Sat, 09 May 2026 08:12:55 UTC"
	r, err := parseRelease([]byte("Suite: stable\r\nCodename:  trixie \nDate: " + date + "\nValid-Until: Sun, 10 May 2026 08:12:55 UTC\n" +
		"MD5Sum:\n " + b + " 1 main/md5\n" +
		"SHA256:\n " + a + " 12 ./main/x\n " + b + "  main/short\n " + b[2:] + " 1 main/half\n" + b + " 1 main/flush\n" +
		"SHA512:\n " + b + " 1 main/512\n"))
	if err != nil || r.codename != "trixie" || r.suite != "stable" || r.date.Format(time.RFC1123) != date ||
		r.until.Sub(r.date) != 24*time.Hour {
		t.Errorf("%+v, %v", r, err)
	}
	if len(r.sums) != 1 || r.sums["main/x"] != a {
		t.Errorf("sums %v", r.sums)
	}
	for text, want := range map[string]string{
		"Codename: trixie\nDate: yesterday\n":                        `its Date cannot be read: "yesterday"`,
		"Codename: trixie\nDate: " + date + "\nValid-Until: never\n": `its Valid-Until cannot be read: "never"`,
		"Date: " + date + "\n":                                       "names no codename or no date",
		"Codename: trixie\n":                                         "names no codename or no date",
	} {
		if _, err := parseRelease([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestFits: a clock may be a day behind the mirror's, and no more.
func TestFits(t *testing.T) {
	now := time.Date(2026, 5, 9, 12, 0, 0, 0, time.UTC)
	r := release{codename: "trixie", suite: "stable", date: now.Add(-time.Hour), until: now}
	for suite, want := range map[string]bool{"trixie": true, "stable": true, "sid": false, "": false} {
		if err := r.fits(suite, now); (err == nil) != want {
			t.Errorf("%q: %v", suite, err)
		}
	}
	for d, want := range map[time.Duration]bool{0: true, 1: false} {
		if err := r.fits("trixie", now.Add(d)); (err == nil) != want {
			t.Errorf("valid until %s ago: %v", d, err)
		}
	}
	r.until = time.Time{}
	for ahead, want := range map[time.Duration]bool{24 * time.Hour: true, 24*time.Hour + 1: false} {
		r.date = now.Add(ahead)
		if err := r.fits("trixie", now); (err == nil) != want {
			t.Errorf("of %s ahead: %v", ahead, err)
		}
	}
}
