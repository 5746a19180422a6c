package proving

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fettle/cli/app"
	"fettle/engine/remedy/step"
	"fettle/lab"
	"fettle/traps/proofs"
)

// names are those of jobs, in order.
func names(jobs []lab.Job) string {
	var out []string
	for _, j := range jobs {
		out = append(out, j.Name())
	}
	return strings.Join(out, " ")
}

// TestChoosesJobs: what is named, each once and in the order in which it is named; without names all that is not long.
func TestChoosesJobs(t *testing.T) {
	a := program{&app.App{}}
	everything := proofs.Jobs()
	for _, long := range []bool{false, true} {
		want := slices.DeleteFunc(proofs.Jobs(), func(j lab.Job) bool { return !long && j.Long() })
		if got, err := a.chooseLab(nil, long); err != nil || names(got) != names(want) {
			t.Errorf("all, long %v: %d of %d, %v", long, len(got), len(want), err)
		}
	}
	of := func(trap string) []lab.Job {
		return slices.DeleteFunc(proofs.Jobs(), func(j lab.Job) bool { return !strings.HasPrefix(j.Name(), trap+"/") })
	}
	bridge, ksm := of("bridge-mtu"), of("ksm-scan-rate")
	experiment := everything[slices.IndexFunc(everything, func(j lab.Job) bool { return j.Trap == "" && j.Experiment != nil })].Name()
	for args, want := range map[string]string{
		"bridge-mtu": names(bridge), bridge[1].Name() + " bridge-mtu " + bridge[0].Name(): "", experiment: experiment,
		"ksm-scan-rate bridge-mtu": names(ksm) + " " + names(bridge), bridge[0].Name() + " " + bridge[0].Name(): "",
	} {
		got, err := a.chooseLab(strings.Fields(args), true)
		if want == "" { // each once
			seen := map[string]bool{}
			for _, j := range got {
				if seen[j.Name()] {
					t.Errorf("%s: %s is there twice", args, j.Name())
				}
				seen[j.Name()] = true
			}
			want = names(got)
		}
		if err != nil || names(got) != want || len(got) == 0 {
			t.Errorf("%s: %s, %v; want %s", args, names(got), err, want)
		}
	}
	for arg, want := range map[string]string{"bridge-mtu/nosuch": `bridge-mtu has no scenario "nosuch"; it has: `,
		experiment + "x": "did you mean " + experiment + "?", "bridge-mtux": "did you mean bridge-mtu?"} {
		if _, err := a.chooseLab([]string{arg}, true); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", arg, err, want)
		}
	}
	for begun, want := range map[string]string{"bridge-mt": "bridge-mtu\t", experiment: experiment + "\t",
		"bridge-mtu/": bridge[0].Name() + "\t"} {
		got, _ := a.completeLab(nil, nil, begun)
		if len(got) == 0 || !strings.HasPrefix(got[0], want) || begun == "bridge-mt" && len(got) != 1 {
			t.Errorf("%s is completed to %q", begun, got)
		}
	}
}

// TestSelectsJobs: experiments that run by name alone, the machine of a shell, and the engine of each.
func TestSelectsJobs(t *testing.T) {
	jobs := func() []lab.Job {
		return []lab.Job{{Trap: "a", Scenario: lab.Scenario{Name: "one"}}, {Trap: "a", Scenario: lab.Scenario{Name: "one"}, Sabotage: "bad"},
			{Trap: "a", Experiment: &lab.Experiment{Name: "group/rare", Named: true}}, {Experiment: &lab.Experiment{Name: "rare", Named: true}},
			{Experiment: &lab.Experiment{Name: "usual"}}}
	}
	for args, want := range map[string]string{"": "a/one a/one/bad usual", "a": "a/one a/one/bad usual", "rare": "a/one a/one/bad rare usual",
		"a/group": "a/one a/one/bad a/group/rare usual", "a/group/rare": "a/one a/one/bad a/group/rare usual"} {
		if got := names(withoutNamed(jobs(), strings.Fields(args))); got != want {
			t.Errorf("%q: %s; want %s", args, got, want)
		}
	}
	for args, want := range map[string]string{"a": "a/one a/group/rare rare usual", "a/one": "a/one", "a/one/bad": "a/one/bad"} {
		if got := names(inOneMachine(jobs(), strings.Fields(args))); got != want {
			t.Errorf("in one machine, %q: %s; want %s", args, got, want)
		}
	}
	for _, c := range []struct{ asked, needs, kernel, want string }{{"", "", "", "uml"}, {"", "", "x", "qemu"}, {"", "qemu", "", "qemu"},
		{"", "uml", "x", "uml"}, {"qemu", "", "", "qemu"}, {"uml", "uml", "", "uml"}, {"qemu", "uml", "", "!"}} {
		got, err := labFlags{engine: c.asked, kernel: c.kernel}.engineFor(&lab.Job{Scenario: lab.Scenario{Needs: lab.Needs{Engine: c.needs}}})
		if (err != nil) != (c.want == "!") || err == nil && got != c.want {
			t.Errorf("%+v: %s, %v", c, got, err)
		}
	}
}

// TestNotPlayed: where tools are missing nothing is proved, and that is the end of it.
func TestNotPlayed(t *testing.T) {
	lacks := func(name string) lab.Job {
		return lab.Job{Trap: "a", Scenario: lab.Scenario{Name: name, Needs: lab.Needs{Tools: []string{"fettle-no-such-tool"}}}}
	}
	for _, c := range []struct {
		jobs []lab.Job
		want string
		out  string
	}{
		{[]lab.Job{lacks("one")}, "fettle-no-such-tool", ""},
		{[]lab.Job{lacks("one"), lacks("two")}, "2 of 2 were not played, and nothing is proved of them (", "a/one: NOT BUILT: "},
	} {
		var out, errs bytes.Buffer
		a := program{&app.App{Program: "fettle", Stdout: &out, Stderr: &errs}}
		err := a.playLab(t.Context(), c.jobs, labFlags{format: "text", jobs: 1})
		s := new(app.Status)
		if !errors.As(err, &s) || s.Code != app.ExitFailed || !strings.Contains(err.Error(), c.want) || !strings.Contains(out.String(), c.out) ||
			c.out == "" && out.Len() > 0 {
			t.Errorf("%d: %v, said %q", len(c.jobs), err, out.String())
		}
	}
}

// TestFiguresOfNothing: a figure of 0 is one.
func TestFiguresOfNothing(t *testing.T) {
	for text, figure := range map[string]func([]byte) (float64, error){
		`{"groups": [{"members": [{"read_ms": 0, "write_ms": 0}]}]}`: slowestMember, `{"counters": [{"mean_bits_per_s": 0}]}`: firstCounter,
		`{"runs": [{"saved_bytes": 0}]}`: savedBytes, `{"runs": [{"median_iops": 0}]}`: lastRun, `{"total": {"median_s": 0}}`: loginTime,
		`{"curves": [{"points": [{"miss_ratio": 1}]}]}`: hits, "0 0\n": uptime,
	} {
		if v, err := figure([]byte(text)); v != 0 || err != nil {
			t.Errorf("%s: %g, %v", text, v, err)
		}
	}
}

// TestSlips: slips are made in plans that allow them, and leave others alone.
func TestSlips(t *testing.T) {
	steps := []step.Step{step.File{Path: "/etc/a", Was: []byte("one\ntwo\n"), Content: []byte("one\nthree\n")}}
	found := map[string]bool{}
	if same, err := listed(found)(steps); err != nil || fmt.Sprint(same) != fmt.Sprint(steps) || len(found) == 0 {
		t.Fatalf("%v, %v, slips %v", same, err, found)
	}
	for name := range found {
		if made, err := slipped(name)(steps); err != nil || fmt.Sprint(made) == fmt.Sprint(steps) {
			t.Errorf("%s: nothing has slipped, %v", name, err)
		}
	}
	if made, err := slipped("no-such-slip")(steps); err != nil || fmt.Sprint(made) != fmt.Sprint(steps) {
		t.Errorf("%v, %v", made, err)
	}
}
