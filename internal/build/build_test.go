package build

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"testing"
)

// built makes this program one that was built so: by make with a version, of a module's
// version, in a checkout with these settings.
func built(t *testing.T, byMake, module string, settings ...string) {
	t.Helper()
	wasVersion, was := version, recorded
	t.Cleanup(func() { version, recorded = wasVersion, was })
	bi := &debug.BuildInfo{Main: debug.Module{Version: module}}
	for i := 0; i < len(settings); i += 2 {
		bi.Settings = append(bi.Settings, debug.BuildSetting{Key: settings[i], Value: settings[i+1]})
	}
	version, recorded = byMake, func() (*debug.BuildInfo, bool) { return bi, true }
}

func TestVersion(t *testing.T) {
	for _, c := range []struct{ byMake, module, want string }{
		{"1.4.0", "v1.3.0", "1.4.0"}, {"", "v1.3.0", "v1.3.0"}, {"", "(devel)", "devel"}, {"", "", "devel"},
	} {
		built(t, c.byMake, c.module)
		if got := Version(); got != c.want {
			t.Errorf("made as %q, module %q: %q, want %q", c.byMake, c.module, got, c.want)
		}
	}
}

var checkout = []string{"-compiler", "gc", "vcs", "git", "vcs.revision", "0123abcd", "vcs.time", "2026-11-30T23:30:00+02:00", "vcs.modified",
	"false"}

func TestFacts(t *testing.T) {
	by := fmt.Sprintf("built by  %s for %s/%s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	changed := append(checkout[:len(checkout)-1:len(checkout)-1], "true")
	for want, settings := range map[string][]string{
		"fettle 1.4.0\n" + by: nil,
		"fettle 1.4.0\ncommit    0123abcd of 2026-11-30T23:30:00+02:00\n" + by:               checkout,
		"fettle 1.4.0\ncommit    0123abcd of 2026-11-30T23:30:00+02:00, with changes\n" + by: changed,
	} {
		built(t, "1.4.0", "", settings...)
		if got := Facts(); got != want {
			t.Errorf("%q: got\n%swant\n%s", settings, got, want)
		}
	}
}

func TestDate(t *testing.T) {
	for want, settings := range map[string][]string{
		"2026-11-30": checkout, "": {"vcs.modified", "false", "vcs.time", "yesterday"}, "2025-01-02": {"vcs.time", "2025-01-02T00:00:00Z"},
	} {
		built(t, "", "", settings...)
		if got := Date(); got != want {
			t.Errorf("%q: %q, want %q", settings, got, want)
		}
	}
}

// TestNothingRecorded: a program that Go wrote nothing into is still one.
func TestNothingRecorded(t *testing.T) {
	built(t, "", "")
	recorded = func() (*debug.BuildInfo, bool) { return nil, false }
	if v, d := Version(), Date(); v != "devel" || d != "" {
		t.Errorf("version %q, date %q", v, d)
	}
	if want := fmt.Sprintf("fettle devel\nbuilt by  %s for %s/%s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH); Facts() != want {
		t.Errorf("%q, want %q", Facts(), want)
	}
}
