package steps

import (
	"os/exec"
	"strings"
	"testing"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/internal/means"
)

// The lab runs the script on a real array (mdadm-bad-blocks/script).
func TestScript(t *testing.T) {
	text, err := remedy.Script(remedy.Plan{Title: "x", Steps: []step.Step{
		Bitmap{Array: "md0", ArrayUUID: mdArray, Internal: true},
		Readd{Array: "md0", Member: "cciss/c0d0", ArrayUUID: mdArray, DeviceUUID: mdFirst},
		Bitmap{Array: "md0", ArrayUUID: mdArray},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"mdadm /dev/md0 --fail /dev/cciss/c0d0\n", "--update=no-bbl ||", "mdadm --grow /dev/md0 " +
		"--bitmap=internal\nundo mdadm --grow " +
		"/dev/md0 --bitmap=none\n", "until grep -qw in_sync '/sys/block/md0/md/dev-cciss!c0d0/state'; do\n",
		"\ngrep -qx idle /sys/block/md0/md/sync_action\n",
		"Device UUID : " + mdFirst} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	cmd := exec.Command(means.Tool(t, "shellcheck"), "-")
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("shellcheck: %v\n%s", err, out)
	}
}
