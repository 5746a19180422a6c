package host

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestMountOptions: the kernel's own /proc/self/mounts is the judge of how the
// options of a mount and of its file system go together.
func TestMountOptions(t *testing.T) {
	info, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); len(f) > 3 {
			want[unescapeMount(f[1])] = f[3]
		}
	}
	n := 0
	for _, m := range ParseMountinfo(string(info)) {
		a, b := strings.Split(m.Options, ","), strings.Split(want[m.Point], ",")
		slices.Sort(a)
		slices.Sort(b)
		if n++; !slices.Equal(a, b) {
			t.Errorf("%s: %q, the kernel says %q", m.Point, m.Options, want[m.Point])
		}
	}
	if n == 0 {
		t.Error("no mounts")
	}
	for text, options := range map[string]string{
		"1 1 8:1 / /a rw,noatime - ext4 /dev/sda1 rw,nobarrier,errors=remount-ro": "rw,noatime,nobarrier,errors=remount-ro",
		"1 1 8:1 / /a rw - ext4 /dev/sda1 ro,errors=remount-ro":                   "ro,errors=remount-ro", // after an error
		"1 1 8:1 / /a ro,nosuid - ext4 /dev/sda1 rw":                              "ro,nosuid",
		"1 1 8:1 / /a rw - ext4 /dev/sda1":                                        "rw",
	} {
		if m := ParseMountinfo(text); len(m) != 1 || m[0].Options != options {
			t.Errorf("%s: %+v", text, m)
		}
	}
}
