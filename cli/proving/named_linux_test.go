package proving

import (
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
		{nil, false, "dm-cache-smq/old/mended", false},
		{[]string{"dm-cache-smq"}, false, "dm-cache-smq/old/mended", false},
		{[]string{"dm-cache-smq"}, false, "dm-cache-smq/runs", true},
		{[]string{"dm-cache-smq/old"}, false, "dm-cache-smq/old/mended", true},
		{[]string{"dm-cache-smq/old"}, false, "dm-cache-smq/runs", false},
		{[]string{"dm-cache-smq/old/mended"}, false, "dm-cache-smq/old/mended", true},
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
