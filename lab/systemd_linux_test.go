package lab_test

import (
	"strings"
	"testing"

	"fettle/internal/means"
	"fettle/lab"
)

func expect(status int, has string, argv ...string) lab.Act {
	return lab.Act{Expect: &lab.Expect{Run: argv, Status: status, Has: has}}
}

// kept is a story over both kinds of restart.
func kept(last lab.Act) lab.Scenario {
	return lab.Scenario{Name: "kept", Needs: lab.Needs{Systemd: true, Tools: []string{"cat", "sync"}}, Steps: []lab.Step{
		{Name: "write", Acts: []lab.Act{
			expect(0, "systemd\n", "cat", "/proc/1/comm"),
			{Write: &lab.File{Path: "/etc/kept", Content: "written\n"}},
			{Write: &lab.File{Path: "/run/lost", Content: "written\n"}},
			{Run: []string{"sync"}},
		}},
		{Name: "power cut", Acts: []lab.Act{
			{Write: &lab.File{Path: "/var/unwritten", Content: "only in memory\n"}},
			{Restart: lab.PowerCut},
			expect(0, "written\n", "cat", "/etc/kept"),
			expect(1, "No such file", "cat", "/run/lost"),
			expect(1, "No such file", "cat", "/var/unwritten"), // no fsync took it along
			{Write: &lab.File{Path: "/var/second", Content: "written\n"}},
		}},
		{Name: "clean", Acts: []lab.Act{
			{Restart: lab.RestartClean},
			expect(0, "written\n", "cat", "/etc/kept"),
			expect(0, "written\n", "cat", "/var/second"),
			last,
		}},
	}}
}

func TestSystemdKeepsItsDiskOverRestarts(t *testing.T) {
	means.Short(t, "takes seconds")
	means.Tool(t, "systemctl")
	v := play(t, kept(expect(0, "running", "systemctl", "is-system-running", "--wait")))
	if !v.OK {
		t.Fatalf("verdict: %+v", v)
	}
	var names []string
	for _, s := range v.Stages {
		names = append(names, s.Name+" "+s.Said)
	}
	if got := strings.Join(names, "; "); got != "write systemd; power cut power-cut; power cut /usr/bin/cat: /var/unwritten: No such file "+
		"or directory; clean clean; clean running" {
		t.Errorf("stages: %s", got)
	}
	if v.Kernel == "" || v.Boot <= 0 {
		t.Errorf("no word of the boot: %+v", v)
	}
}

func TestFailureAfterRestartIsNamed(t *testing.T) {
	means.Short(t, "takes seconds")
	means.Tool(t, "systemctl")
	v := play(t, kept(expect(0, "elsewhere", "cat", "/etc/kept")))
	if v.OK || !strings.Contains(v.Why, `clean: cat /etc/kept: expected to print "elsewhere"`) {
		t.Errorf("verdict: %+v", v)
	}
}

func TestRestartNeedsSystemd(t *testing.T) {
	means.Short(t, "takes seconds")
	v := play(t, lab.Scenario{Name: "restart", Steps: []lab.Step{{Name: "cut", Acts: []lab.Act{{Restart: lab.PowerCut}}}}})
	if v.OK || !strings.Contains(v.Why, "without systemd") {
		t.Errorf("verdict: %+v", v)
	}
}
