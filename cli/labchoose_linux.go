package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fettle/lab"
	"fettle/lab/filesemantics"
	"fettle/lab/powercut"
	"fettle/lab/remedyproof"
	"fettle/trap"
	"fettle/traps"
)

// labWide are the experiments that belong to no trap.
var labWide = slices.Concat([]lab.Experiment{filesemantics.Experiment}, remedyproof.Experiments, powercut.Experiments)

// chooseLab reads TRAP, TRAP/NAME and names of lab-wide experiments; none is all.
func (a *app) chooseLab(args []string, long bool) ([]lab.Job, error) {
	everything := allLab(a.traps)
	if len(args) == 0 {
		return slices.DeleteFunc(everything, func(j lab.Job) bool { return j.Long() && !long }), nil
	}
	var jobs []lab.Job
	for _, arg := range args {
		var some []lab.Job
		var names []string
		id, _, _ := strings.Cut(arg, "/")
		for _, j := range everything {
			if j.Name() == arg || strings.HasPrefix(j.Name(), arg+"/") {
				some = append(some, j)
			}
			if group, name, ok := strings.Cut(j.Name(), "/"); ok && group == id {
				names = append(names, name)
			}
		}
		for _, j := range some {
			if !slices.ContainsFunc(jobs, func(k lab.Job) bool { return k.Name() == j.Name() }) {
				jobs = append(jobs, j)
			}
		}
		if len(some) > 0 {
			continue
		}
		if len(names) == 0 {
			if _, err := a.find([]string{id}); err != nil {
				return nil, err
			}
			return nil, usagef("%s has no scenario yet", id)
		}
		return nil, usagef("%s has no scenario %q; it has: %s", id, strings.TrimPrefix(arg, id+"/"), strings.Join(names, ", "))
	}
	return jobs, nil
}

// withoutNamed drops the jobs that run only when they are named: in full, or
// by a group that is less than their trap.
func withoutNamed(jobs []lab.Job, args []string) []lab.Job {
	return slices.DeleteFunc(jobs, func(j lab.Job) bool {
		return j.Named() && !slices.ContainsFunc(args, func(arg string) bool {
			return j.Name() == arg || strings.HasPrefix(arg, j.Trap+"/") && j.Trap != "" && strings.HasPrefix(j.Name(), arg+"/")
		})
	})
}

// withoutUnbuilt drops the jobs whose kernel make has not built here, and says so.
func (a *app) withoutUnbuilt(jobs []lab.Job) []lab.Job {
	return slices.DeleteFunc(jobs, func(j lab.Job) bool {
		name := j.Needs().Kernel
		if name == "" {
			return false
		}
		_, err := lab.Built(name)
		if err != nil {
			fmt.Fprint(a.stderr, complaint(fmt.Sprintf("left out: %s: %v", j.Name(), err), a.stderr))
		}
		return err != nil
	})
}

// allLab is every scenario and experiment, without kernels.
func allLab(all []*trap.Trap) []lab.Job {
	var jobs []lab.Job
	for _, t := range all {
		for _, s := range t.Proof {
			jobs = append(jobs, lab.Job{Trap: t.ID(), Scenario: s})
		}
		for _, e := range t.Experiments {
			jobs = append(jobs, lab.Job{Trap: t.ID(), Experiment: &e})
		}
	}
	for _, s := range remedyproof.Scenarios {
		jobs = append(jobs, lab.Job{Trap: remedyproof.Group, Scenario: s})
	}
	for _, e := range labWide {
		jobs = append(jobs, lab.Job{Experiment: &e})
	}
	return jobs
}

// findExperiment is how a guest finds the code that its orders name.
func findExperiment(trap, name string) (lab.Experiment, bool) {
	for _, j := range allLab(traps.All()) {
		if j.Experiment != nil && j.Trap == trap && j.Experiment.Name == name {
			return *j.Experiment, true
		}
	}
	return lab.Experiment{}, false
}

// completeLab completes what lab can be told to play.
func (a *app) completeLab(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	var out []string
	for _, t := range a.traps {
		if strings.HasPrefix(t.ID(), begun) && len(t.Proof)+len(t.Experiments) > 0 {
			out = append(out, t.ID()+"\t"+t.Title())
		}
	}
	for _, j := range allLab(a.traps) {
		if name := j.Name(); strings.HasPrefix(name, begun) && (j.Trap == "" || strings.Contains(begun, "/")) {
			out = append(out, name+"\t"+j.About())
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
