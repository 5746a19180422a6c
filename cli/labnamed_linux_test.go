package cli

import (
	"strings"
	"testing"

	"fettle/lab"
)

// What takes hours runs when it is named in full, and with nothing else.
func TestLabNamed(t *testing.T) {
	a := &app{}
	for _, c := range []struct {
		args []string
		list bool
		want bool
	}{
		{[]string{"powercut"}, false, false},
		{[]string{"powercut"}, true, true},
		{[]string{"powercut/raid1-all"}, false, true},
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
			got = got || strings.HasSuffix(j.Name(), "raid1-all")
		}
		if got != c.want {
			t.Errorf("%v: %v, want %v", c.args, got, c.want)
		}
	}
	if jobs := withoutNamed(nil, nil); len(jobs) != 0 {
		t.Errorf("of none: %v", []lab.Job(jobs))
	}
}
