package installersync

import (
	"context"
	"io/fs"
	"strings"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/host"
)

// flush writes to disk what was held back.
var flush = step.Command{Do: []string{"/bin/sync"}, Again: true}

// divertBin is dpkg-divert, which does not need dpkg.
const divertBin = "/usr/bin/dpkg-divert"

func plan(ctx context.Context, h *host.Host, f trap.Finding) (remedy.Plan, error) {
	know, err := trap.FactsIn[facts](f)
	if err != nil {
		return remedy.Plan{}, err
	}
	p := remedy.Plan{Title: "run " + f.Subject + " itself again", Vanishes: "dpkg no longer diverts it"}
	switch know.Case {
	case preload:
		return unload(ctx, h)
	case missing:
		p.Steps = []step.Step{divert(f.Subject, know, "--rename")}
	case halfway:
		p.Steps = []step.Step{divert(f.Subject, know, "--no-rename")}
	case wrapped:
		first, last, err := takeAway(ctx, h, f.Subject)
		if err != nil {
			return p, err
		}
		p.Steps = append(append(first, divert(f.Subject, know, "--rename")), last...)
		p.Notes = []string{"Between the first two steps there is no " + f.Subject + ": nothing may install packages meanwhile."}
	default:
		return p, remedy.Refuse("%s: remove the diversion by hand: dpkg-divert --remove %s", f.Subject, f.Subject)
	}
	p.Steps = append(p.Steps, flush)
	return p, nil
}

// divert takes a diversion back.
func divert(from string, know facts, rename string) step.Step {
	owner := []string{"--package", know.By}
	if know.By == ":" {
		owner = []string{"--local"}
	}
	argv := func(act string) []string {
		return append(append([]string{divertBin, "--quiet", rename}, owner...), "--divert", know.To, act, from)
	}
	c := step.Command{Do: argv("--remove"), Undo: argv("--add")}
	if rename == "--rename" {
		c.Probe = []string{"/usr/bin/test", "!", "-e", know.To}
	}
	return c
}

// takeAway takes the wrapper out of the program's place: what makes room, and
// what is left to do once the program is back. A wrapper that is a link goes,
// and what it leads to stays. A file is moved first: the program comes to its path.
func takeAway(ctx context.Context, h *host.Host, name string) (first, last []step.Step, err error) {
	st, err := h.Lstat(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	if st.Mode&fs.ModeSymlink != 0 {
		to, err := h.Readlink(ctx, name)
		if err != nil {
			return nil, nil, err
		}
		return []step.Step{step.Command{Do: []string{"/bin/rm", "-f", "--", name}, Undo: []string{"/bin/ln", "-s", "--", to, name},
			Probe: []string{"/usr/bin/test", "!", "-L", name}}}, nil, nil
	}
	was, err := h.ReadFile(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	backup := name + ".eatmydata"
	there, err := h.Exists(ctx, backup)
	if err != nil {
		return nil, nil, err
	}
	if there {
		return nil, nil, remedy.Refuse("%s is in the way: move it, and run this again", backup)
	}
	move := step.Command{
		Do:    []string{"/bin/mv", "-T", "--", name, backup},
		Undo:  []string{"/bin/mv", "-T", "--", backup, name},
		Probe: []string{"/usr/bin/test", "-e", backup},
	}
	return []step.Step{move}, []step.Step{step.Remove{Path: backup, Was: was}}, nil
}

// unload takes libeatmydata out of ld.so.preload.
func unload(ctx context.Context, h *host.Host) (remedy.Plan, error) {
	was, err := h.ReadFile(ctx, preloadFile)
	if err != nil {
		return remedy.Plan{}, err
	}
	var keep []string
	for _, lib := range libraries(string(was)) {
		if !strings.Contains(lib, "libeatmydata") {
			keep = append(keep, lib+"\n")
		}
	}
	p := remedy.Plan{Title: "stop loading libeatmydata into programs", Vanishes: preloadFile + " no longer names it",
		Notes: []string{"Running programs keep the library until they are restarted."}}
	if len(keep) == 0 {
		p.Steps = []step.Step{step.Remove{Path: preloadFile, Was: was}, flush}
		return p, nil
	}
	p.Steps = []step.Step{step.File{Path: preloadFile, Content: []byte(strings.Join(keep, "")), Was: was}, flush}
	return p, nil
}
