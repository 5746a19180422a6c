package mdadmbadblocks

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/engine/trap/traptest"
	"fettle/host/hosttest"
	"fettle/internal/means"
)

func TestBoot(t *testing.T) {
	b, err := os.ReadFile("testdata/trapped-initramfs.txtar")
	if err != nil {
		t.Fatal(err)
	}
	installed := func(n int, text string) (out string) {
		for _, name := range bootScripts[:n] {
			out += "-- root" + name + " --\n" + text
		}
		return out
	}
	for _, c := range []struct {
		name, more string
		want       trap.Status
	}{
		{"none", "", trap.Found},
		{"one of two", installed(1, string(BootScript)), trap.Found},
		{"an older one", installed(2, "#!/bin/sh\n"), trap.Found},
		{"both", installed(2, string(BootScript)), trap.Clear},
		{"not to be read", "-- denied" + bootScripts[0] + " --\n", trap.Unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := hosttest.New(t, strings.Replace(string(b), "-- want --", c.more+"-- want --", 1))
			var got trap.Status
			for _, o := range traptest.Run(t, &Trap, h) {
				if o.Subject == bootSubject {
					got = o.Status
				}
			}
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			if c.want != trap.Found {
				return
			}
			f, err := Trap.Choose(trap.Finding{Subject: bootSubject}, nil)
			var refused *remedy.Refusal
			if _, perr := Trap.Plan(t.Context(), h, f); err != nil || !errors.As(perr, &refused) {
				t.Errorf("unasked: %v, %v; want a refusal", err, perr)
			}
			if f, err = Trap.Choose(f, []string{"at-boot=yes"}); err != nil {
				t.Fatal(err)
			}
			p, err := Trap.Plan(t.Context(), h, f)
			if err != nil {
				t.Fatal(err)
			}
			if last, ok := p.Steps[len(p.Steps)-1].(step.Command); !ok || !last.Again || last.Do[0] != updateInitramfs {
				t.Errorf("the last step is %+v", p.Steps[len(p.Steps)-1])
			}
		})
	}
}

// The scripts run in the initramfs's shell, dash or that of busybox.
func TestBootScript(t *testing.T) {
	for _, f := range []string{"atboot/fettle-md-no-bbl"} {
		if out, err := exec.Command(means.Tool(t, "shellcheck"), "-s", "sh", f).CombinedOutput(); err != nil {
			t.Errorf("shellcheck: %v\n%s", err, out)
		}
	}
	for where, want := range map[string]string{"local-top": "", "local-premount": "resume\n"} {
		name := t.TempDir() + "/" + where
		if err := os.MkdirAll(name, 0o755); err != nil {
			t.Fatal(err)
		}
		name += "/fettle-md-no-bbl"
		if err := os.WriteFile(name, BootScript, 0o755); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(means.Tool(t, "sh"), name, "prereqs").CombinedOutput()
		if err != nil || string(out) != want {
			t.Errorf("%s: its prerequisites are %q, %v; want %q", where, out, err, want)
		}
	}
}
