package remedy

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
)

// A service that dies after it was looked at has not been mended: what a plan
// starts is looked at again after a while. A plan that starts nothing does not wait.
func TestWhatIsStartedMustLast(t *testing.T) {
	for name, c := range map[string]struct {
		act   string
		dies  bool // after the first look
		looks int
		fails bool
	}{
		"it lasts":           {"start", false, 2, false},
		"it dies":            {"start", true, 2, true},
		"restarted, it dies": {"restart", true, 2, true},
		"nothing is started": {"daemon-reload", true, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir+"/systemctl", "#!/bin/sh\necho inactive\n", 0o755)
			e := engineAt(t, filepath.Join(dir, "state"))
			e.Machine = here{machine.Linux{SystemctlPath: dir + "/systemctl"}}
			e.Lasting = time.Millisecond
			unit := step.Unit{Name: "x.service", Act: c.act}
			if c.act == "daemon-reload" {
				unit.Name = ""
			}
			looks := 0
			_, err := e.Apply(t.Context(), Head{Plan: Plan{Title: "t", Steps: []step.Step{unit}}}, func(context.Context) error {
				if looks++; looks > 1 && c.dies {
					return &StillFound{}
				}
				return nil
			})
			if (err != nil) != c.fails || err != nil && !strings.Contains(err.Error(), "did not last for 1ms") || looks != c.looks {
				t.Errorf("looked %d times, %v", looks, err)
			}
		})
	}
	if Lasting < time.Second || Lasting > 10*time.Second {
		t.Errorf("fettle watches what it started for %s", Lasting)
	}
}
