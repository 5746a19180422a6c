package host

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"fettle/internal/means"
)

// TestMountinfoAsFindmnt: in a mount namespace with odd names, findmnt tells
// what is mounted where.
func TestMountinfoAsFindmnt(t *testing.T) {
	means.Root(t)
	unshare, findmnt := means.Tool(t, "unshare"), means.Tool(t, "findmnt")
	const script = `cd "$1" && mkdir "a b" "tab	c" 'back\slash' 'ha#sh' over && for d in "a b" "tab	c" 'back\slash' 'ha#sh' over over; do mount -t tmpfs "dev of $d" "$d"; done
mount --bind "a b" over && cat /proc/self/mountinfo && echo ---- && "$2" --kernel --list --json --output SOURCE,TARGET,FSTYPE,OPTIONS,MAJ:MIN,FSROOT --nofsroot`
	out, err := exec.Command(unshare, "--mount", "sh", "-c", script, "sh", t.TempDir(), findmnt).Output()
	if err != nil {
		t.Fatal(err)
	}
	info, told, _ := strings.Cut(string(out), "----\n")
	var list struct{ Filesystems []map[string]string }
	if err := json.Unmarshal([]byte(told), &list); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{} // the last on a point hides the others
	for _, f := range list.Filesystems {
		want[f["target"]] = fmt.Sprint(f["source"], f["fstype"], f["options"], strings.TrimSpace(f["maj:min"]), f["fsroot"])
	}
	odd := 0
	for _, m := range ParseMountinfo(info) {
		if got := fmt.Sprint(m.Device, m.Type, m.Options, fmt.Sprintf("%d:%d", m.Major, m.Minor), m.Root); got != want[m.Point] {
			t.Errorf("%q:\nfindmnt %s\nhere    %s", m.Point, want[m.Point], got)
		}
		if strings.ContainsAny(m.Point, " \t\\#") {
			odd++
		}
		delete(want, m.Point)
	}
	if len(want) > 0 || odd < 4 {
		t.Errorf("%d odd names; not read: %v", odd, want)
	}
}
