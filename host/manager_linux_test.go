package host

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"fettle/internal/means"
)

// TestManagerSaysWhatSystemctlSays, where systemd runs the host that the test runs on.
func TestManagerSaysWhatSystemctlSays(t *testing.T) {
	means.Root(t)
	if _, err := os.Stat(managerSocket); err != nil {
		means.Left(t, "systemd does not run this host; TestManagerUnderSystemd has it run on one")
	}
	for _, c := range []Command{
		{"systemctl", []string{"show", "--property=" + strings.Join(ofUnit, ",") + ",Type,MainPID,Slice", "--", "*"}},
		{"systemctl", []string{"show", "--property=" + unitProperties, "--", "ssh.service", "nosuch.service", "dbus.socket", `9@a\x2db.service`}},
	} {
		out, ok := AskManager(t.Context(), c)
		want, err := exec.Command("systemctl", c.Args...).Output()
		if err != nil {
			t.Fatal(err)
		}
		// systemctl quotes names with a backslash in lists, as a shell would want it.
		theirs := strings.ReplaceAll(strings.ReplaceAll(string(want), `"`, ""), `\\`, `\`)
		if got, want := sortedBlocks(string(out.Stdout)), sortedBlocks(theirs); !ok || got != want {
			t.Errorf("%s: %t\n%s\n---- systemctl says\n%s", c.Args[3], ok, got, want)
		}
	}
}

// TestManagerAnswersEachTime, also where it reads the first question together with the end of the log-in.
func TestManagerAnswersEachTime(t *testing.T) {
	means.Root(t)
	if _, err := os.Stat(managerSocket); err != nil {
		means.Left(t, "systemd does not run this host; TestManagerUnderSystemd has it run on one")
	}
	for i := range 100 {
		if _, ok := AskManager(t.Context(), Command{"systemctl", []string{"show", "--property=Id", "--", "*"}}); !ok {
			t.Fatalf("it does not answer, connection %d", i)
		}
	}
}

// sortedBlocks has the units, and of each the lines, in one order.
func sortedBlocks(text string) string {
	blocks := strings.Split(strings.TrimSpace(text), "\n\n")
	for i, b := range blocks {
		lines := strings.Split(b, "\n")
		slices.Sort(lines)
		blocks[i] = strings.Join(lines, "\n")
	}
	slices.Sort(blocks)
	return strings.Join(blocks, "\n\n")
}

// TestManagerIsNotAsked for what it does not answer as systemctl does, nor where it hangs up.
func TestManagerIsNotAsked(t *testing.T) {
	old := managerSocket
	defer func() { managerSocket = old }()
	managerSocket = filepath.Join(t.TempDir(), "private")
	l, err := net.Listen("unix", managerSocket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var came atomic.Int64
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			came.Add(1)
			c.Close()
		}
	}()
	for _, args := range []string{"list-units", "show --property=Id -- *.service", "show --property=StateChangeTimestamp -- a.service",
		"show --property=NJobs", "cat -- a.service"} {
		if out, ok := AskManager(context.Background(), Command{"systemctl", strings.Fields(args)}); ok || came.Load() > 0 {
			t.Errorf("%s: %+v, %d connections", args, out, came.Load())
		}
	}
	if _, ok := AskManager(context.Background(), Command{"systemctl", strings.Fields("show --property=Id -- a.service")}); ok {
		t.Error("a manager that hangs up was taken for one that answers")
	}
}

// TestEscaped: object paths are systemd's own (busctl tree org.freedesktop.systemd1).
func TestEscaped(t *testing.T) {
	for name, want := range map[string]string{"ssh.service": "ssh_2eservice", "9p.mount": "_39p_2emount", `a\x2db@1.service`: "a_5cx2db_401_2eservice",
		"-.slice": "_2d_2eslice"} {
		if got := escaped(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
