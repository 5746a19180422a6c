package bridgemtu

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fettle/engine/remedy"
	"fettle/engine/trap"
	"fettle/engine/trap/traptest"
	"fettle/host"
	"fettle/internal/means"
)

func live(t *testing.T) *host.Host {
	src, err := host.NewLive()
	must(t, err)
	return host.New(src)
}

func release(t *testing.T) string { return live(t).Identity().Release }

// one runs the check and returns its only outcome.
func one(t *testing.T) trap.Outcome {
	t.Helper()
	out := traptest.Run(t, &Trap, live(t))
	if len(out) != 1 {
		t.Fatalf("outcomes: %+v", out)
	}
	return out[0]
}

func verify(t *testing.T) remedy.Verify {
	return func(context.Context) error {
		if o := one(t); o.Status == trap.Found {
			return &remedy.StillFound{Summary: o.Summary + "\n" + string(o.Detail)}
		} else if o.Status != trap.Clear {
			return fmt.Errorf("%s", o.Reason)
		}
		return nil
	}
}

func store(t *testing.T) *remedy.Store {
	s, err := remedy.OpenStoreAt(filepath.Join(t.TempDir(), "store"))
	must(t, err)
	return s
}

func read(t *testing.T, files map[string]string) string {
	var b bytes.Buffer
	for name := range map[string]string{interfaces: "", "/etc/netplan/50.yaml": "", "/etc/systemd/network/up.network": ""} {
		if _, ok := files[name]; ok {
			c, err := os.ReadFile(name)
			must(t, err)
			fmt.Fprintf(&b, "%s:\n%s", name, c)
		}
	}
	return b.String()
}

// clean removes every link that the test can remove.
func clean(t *testing.T) {
	t.Helper()
	ifs, err := net.Interfaces()
	must(t, err)
	for _, i := range ifs {
		tryIP("link", "del", "dev", i.Name)
	}
}

func script(t *testing.T, s string) {
	t.Helper()
	for line := range strings.Lines(s) {
		ip(t, strings.Fields(line)...)
	}
}

func mtu(t *testing.T, name string) int {
	t.Helper()
	i, err := net.InterfaceByName(name)
	must(t, err)
	return i.MTU
}

func ip(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command(means.Tool(t, "ip"), args...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

func tryIP(args ...string) bool {
	return exec.Command("/usr/sbin/ip", args...).Run() == nil || exec.Command("/sbin/ip", args...).Run() == nil
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
