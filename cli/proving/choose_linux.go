package proving

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/internal/nearest"
	"fettle/internal/ui"
	"fettle/lab"
	"fettle/traps"
	"fettle/traps/proofs"
)

// chooseLab reads TRAP, TRAP/NAME and names of lab-wide experiments; none is all.
func (a program) chooseLab(args []string, long bool) ([]lab.Job, error) {
	everything := proofs.Jobs()
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
			return nil, noSuch(id, everything)
		}
		return nil, app.Usagef("%s has no scenario %q; it has: %s", id, strings.TrimPrefix(arg, id+"/"), strings.Join(names, ", "))
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

// inOneMachine is what a shell is opened in: a scenario that was named in full, without
// the plans that are spoilt for it.
func inOneMachine(jobs []lab.Job, args []string) []lab.Job {
	full := func(j lab.Job) bool { return slices.Contains(args, j.Name()) }
	if !slices.ContainsFunc(jobs, full) {
		return slices.DeleteFunc(jobs, func(j lab.Job) bool { return j.Sabotage != "" })
	}
	return slices.DeleteFunc(jobs, func(j lab.Job) bool { return !full(j) })
}

// withoutUnbuilt drops the jobs whose kernel make has not built here, and says so.
func (a program) withoutUnbuilt(jobs []lab.Job) []lab.Job {
	return slices.DeleteFunc(jobs, func(j lab.Job) bool {
		name := j.Needs().Kernel
		if name == "" || lab.Packaged(name) {
			return false
		}
		_, err := lab.Built(name)
		if err != nil {
			fmt.Fprint(a.Stderr, ui.Paragraphs(fmt.Sprintf("left out: %s: %v", j.Name(), err), a.Stderr))
		}
		return err != nil
	})
}

// noSuch is the error of a name that nothing has, with the one that was
// probably meant.
func noSuch(name string, everything []lab.Job) error {
	var names []string
	for _, t := range traps.All() {
		if t.ID() == name {
			return app.Usagef("%s has no scenario yet", name)
		}
		names = append(names, t.ID())
	}
	for _, j := range everything {
		if j.Trap == "" {
			names = append(names, j.Name())
		}
	}
	meant := nearest.Word(name, names)
	if meant != "" {
		meant = "; did you mean " + meant + "?"
	}
	return app.Usagef("no trap or experiment is called %q%s (fettle lab --list shows what there is)", name, meant)
}

// completeLab completes what lab can be told to play.
func (a program) completeLab(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	var out []string
	for _, p := range proofs.All() {
		if id := p.Trap.ID(); strings.HasPrefix(id, begun) {
			out = append(out, id+"\t"+p.Trap.Title())
		}
	}
	for _, j := range proofs.Jobs() {
		if name := j.Name(); strings.HasPrefix(name, begun) && (j.Trap == "" || strings.Contains(begun, "/")) {
			out = append(out, name+"\t"+j.About())
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
