package tune

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fettle/cli/app"
	"fettle/cli/app/apptest"
	"fettle/internal/means"
)

func tuned(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	ctx, end := context.WithTimeout(t.Context(), means.Patience)
	defer end()
	return apptest.Run(ctx, app.App{}, Cmd, append([]string{"tune"}, args...)...)
}

// TestRefusals asks for the unit: a fettle that does not refuse them prints one.
func TestRefusals(t *testing.T) {
	for args, want := range map[string]string{
		"--cpu 0.09%": "--cpu 0.09%: expected 0.1% to 100%", "--cpu 100.1%": "--cpu 100.1%: expected 0.1% to 100%",
		"--cpu 20": "--cpu 20: expected", "--cpu NaN%": "expected 0.1% to 100%", "--cpu x%": "expected 0.1% to 100%",
		"--peak 0.9%": "--peak 0.9%: expected 1% to 100%",
		"--free -1%":  "--free -1%: expected 0% to 100%", "--pressure 0%": "--pressure 0%: expected 0.1% to 100%",
		"--target-saved 40":   "--target-saved 40: expected a size with MiB, GiB or TiB, as 40GiB",
		"--target-saved 0GiB": "expected a size", "--target-saved -1GiB": "expected a size", "--target-saved xGiB": "expected a size",
		"--target-saved 40KiB": "expected a size", "--target-saved 1048576TiB": "expected a size",
		"--every 999ms": "--every 999ms: expected at least 1s", "--textfile ksm.txt": "end in .prom",
		"--textfile ksm.prom": "a service needs an absolute path", "--cpu 0%": "--cpu 0%: expected",
		"--once": "once", "--give-back": "give-back", "x": "usage: ",
	} {
		code, out, errs := tuned(t, append([]string{"ksm", "--unit"}, strings.Fields(args)...)...)
		if said := strings.Join(strings.Fields(errs), " "); code != 2 || !strings.Contains(said, want) || out != "" {
			t.Errorf("%s: status %d, said %q and %q; want %q", args, code, out, errs, want)
		}
	}
	if code, _, errs := tuned(t); code != 2 || !strings.Contains(errs, "there is: ksm") {
		t.Errorf("without a setting: %d, %s", code, errs)
	}
}

func TestPolicyIsAsTheFlags(t *testing.T) {
	f := ksmFlags{cpu: "0.1%", peak: "1%", free: "0%", pressure: "100%", every: 1e9}
	p, err := f.policy()
	if err != nil || p.Budget != 0.001 || p.Peak != 0.01 || p.Free != 0 || p.Pressure != 1 || p.Target != 0 {
		t.Errorf("%+v: %v", p, err)
	}
	for text, want := range map[string]uint64{"1MiB": 1 << 20, "40GiB": 40 << 30, "1.5 GiB": 3 << 29, "1048575TiB": 1048575 << 40} {
		f.target = text
		if p, err := f.policy(); err != nil || p.Target != want {
			t.Errorf("%s: %d, %v; want %d", text, p.Target, err, want)
		}
	}
}

// TestUnits: the service has the flags that were given, and no rights but those that they need.
func TestUnits(t *testing.T) {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, args := range []string{"", "--cpu 30% --every 30m --target-saved 40GiB --textfile /var/lib/ksm.prom",
		"--listen 127.0.0.1:9798 --free 100%"} {
		code, out, errs := tuned(t, append([]string{"ksm", "--unit"}, strings.Fields(args)...)...)
		if code != 0 || errs != "" {
			t.Errorf("%s: %d, %s", args, code, errs)
		}
		all.WriteString(strings.ReplaceAll(out, escaped(self), "FETTLE"))
	}
	means.Written(t, "testdata/units.txt", all.String())

	_, out, _ := tuned(t, "ksm", "--unit", "--textfile", `/a b/50%/$x/"q"\'/ksm.prom`)
	for _, want := range []string{` --textfile "/a b/50%%/$$x/\"q\"\\'/ksm.prom"` + "\n",
		"\nReadWritePaths=/sys/kernel/mm/ksm \"/a b/50%%/$x/\\\"q\\\"\\\\'\"\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func TestEscaped(t *testing.T) {
	for in, want := range map[string]string{"/a": "/a", "a b": `"a b"`, "a\tb": "\"a\tb\"", "a;b": `"a;b"`, "it's": `"it's"`,
		"50%": "50%%", `a\b`: `a\\b`, `"`: `\"`} {
		if got := escaped(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}
