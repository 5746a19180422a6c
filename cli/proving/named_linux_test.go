package proving

import (
	"slices"
	"testing"

	"fettle/lab"
)

// What takes hours, or a kernel of its own, runs when it is named, and not with
// all of its trap.
func TestLabNamed(t *testing.T) {
	a := program{}
	for _, c := range []struct {
		args []string
		list bool
		job  string
		want bool
	}{
		{[]string{"powercut"}, false, "powercut/raid1-all", false},
		{[]string{"powercut"}, true, "powercut/raid1-all", true},
		{[]string{"powercut/raid1-all"}, false, "powercut/raid1-all", true},
		{nil, false, "dm-cache-smq/old/since-2017", false},
		{[]string{"dm-cache-smq"}, false, "dm-cache-smq/old/since-2017", false},
		{[]string{"dm-cache-smq"}, false, "dm-cache-smq/runs", true},
		{[]string{"dm-cache-smq/old"}, false, "dm-cache-smq/old/since-2017", true},
		{[]string{"dm-cache-smq/old"}, false, "dm-cache-smq/runs", false},
		{[]string{"dm-cache-smq/old/since-2017"}, false, "dm-cache-smq/old/since-2017", true},
	} {
		all, err := a.chooseLab(c.args, true)
		if err != nil {
			t.Fatal(err)
		}
		if !c.list {
			all = withoutNamed(all, c.args)
		}
		got := false
		for _, j := range all {
			got = got || j.Name() == c.job
		}
		if got != c.want {
			t.Errorf("%v: %s chosen: %v, want %v", c.args, c.job, got, c.want)
		}
	}
	if jobs := withoutNamed(nil, nil); len(jobs) != 0 {
		t.Errorf("of none: %v", []lab.Job(jobs))
	}
}

// A shell is opened in the scenario that was named, whatever plans are spoilt for it;
// where a name leaves no doubt, the trap's alone does.
func TestLabShell(t *testing.T) {
	a := program{}
	for arg, want := range map[string][]string{
		"bridge-mtu/port-raises-mtu":                  {"bridge-mtu/port-raises-mtu"},
		"bridge-mtu/port-raises-mtu/bridge-left-down": {"bridge-mtu/port-raises-mtu/bridge-left-down"},
		"ssh-control-sockets/login-for-each-command":  {"ssh-control-sockets/login-for-each-command"},
		"file-semantics":                              {"file-semantics"},
		"mounts-missing": {"mounts-missing/never-mounted",
			"mounts-missing/edited-since", "mounts-missing/added-since", "mounts-missing/mounted"},
	} {
		all, err := a.chooseLab([]string{arg}, true)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, j := range inOneMachine(all, []string{arg}) {
			names = append(names, j.Name())
		}
		if !slices.Equal(names, want) {
			t.Errorf("%s: %q, expected %q", arg, names, want)
		}
	}
}
