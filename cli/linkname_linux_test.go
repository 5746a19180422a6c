package cli_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/vishvananda/netlink"

	"fettle/engine/trap"
	"fettle/internal/means"
	"fettle/report"
)

// linkNameInside marks the test process that runs in a network namespace of its own.
const linkNameInside = "FETTLE_TEST_LINKNAME"

// TestLinkNamesOfAnyBytes: a bridge whose name and whose ports' names are not
// UTF-8 is found, named in JSON, mended by that name, and put back. The kernel
// is asked by the bytes.
func TestLinkNamesOfAnyBytes(t *testing.T) {
	means.Root(t)
	means.Tool(t, "ip")
	if dir := os.Getenv(linkNameInside); dir != "" {
		mendByBytes(t, dir)
		return
	}
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	copyTo(t, self, dir+"/fettle", 0o755)
	cmd := exec.Command(self, "-test.run=^TestLinkNamesOfAnyBytes$", "-test.v")
	cmd.Env = append(os.Environ(), linkNameInside+"="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	means.Copy(t, out, err)
}

func mendByBytes(t *testing.T, dir string) {
	const bridge, uplink, port = "br\xff\xfe0", "up\xc3", "p\x80"
	for i, c := range [][]string{
		{"link", "add", "name", bridge, "type", "bridge"},
		{"link", "add", "name", uplink, "mtu", "9000", "type", "vxlan", "id", "5", "dstport", "4789"},
		{"link", "set", "dev", uplink, "master", bridge},
		{"link", "add", "name", port, "mtu", "1500", "type", "veth", "peer", "name", "q"},
		{"link", "set", "dev", port, "master", bridge},
	} {
		out, err := exec.Command("ip", c...).CombinedOutput()
		if err != nil && i < 2 {
			means.Missing(t, fmt.Sprintf("needs a kernel that does ip %q: %v: %s", c, err, out))
		} else if err != nil {
			t.Fatalf("ip %q: %v: %s", c, err, out)
		}
	}
	want := func(mtu int, when string) {
		t.Helper()
		l, err := netlink.LinkByName(bridge)
		if err != nil || l.Attrs().MTU != mtu {
			t.Fatalf("%s: %v, %v; want the MTU %d", when, l, err, mtu)
		}
	}
	fettle := func(code int, args ...string) string {
		t.Helper()
		cmd := exec.Command(dir+"/fettle", args...)
		cmd.Env = []string{"FETTLE_STATE=" + dir + "/state", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C"}
		out, err := cmd.Output()
		var ee *exec.ExitError
		if err != nil && (!errors.As(err, &ee) || ee.ExitCode() != code) || err == nil && code != 0 {
			if ee != nil {
				out = append(out, ee.Stderr...)
			}
			t.Fatalf("fettle %q: %v, want status %d\n%s", args, err, code, out)
		}
		return string(out)
	}
	want(1500, "before")
	const text = `br\xff\xfe0`
	found := func() {
		t.Helper()
		var doc report.Document
		if err := json.Unmarshal([]byte(fettle(1, "check", "bridge-mtu", "--format", "json")), &doc); err != nil {
			t.Fatal(err)
		}
		if o := doc.Results[0].Outcomes[0]; o.Subject != text || o.Status != trap.Found || !strings.Contains(o.Summary, `up\xc3`) {
			t.Fatalf("%+v, want the subject %s", o, text)
		}
	}
	found()
	if out := fettle(1, "check", "bridge-mtu"); !strings.Contains(out, `--on 'br\xff\xfe0'`) {
		t.Errorf("the command to copy does not name it:\n%s", out)
	}
	for _, on := range []string{text, bridge} { // as fettle says it, and as a shell pastes it
		fettle(0, "fix", "bridge-mtu", "--on", on, "--yes")
		want(9000, "after the fix of "+on)
		fettle(0, "undo", "--yes")
		if l, err := netlink.LinkByName(uplink); err != nil || l.Attrs().MTU != 9000 {
			t.Fatalf("after undo: %v, %v", l, err)
		}
		want(1500, "after undo")
	}
}
