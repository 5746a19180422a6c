package deletedopenfiles

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"fettle/engine/remedy"
	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/internal/units"
	"fettle/traps/deletedopenfiles/steps"
)

// losses are the files whose content ends with their last holder.
type losses []host.OpenFile

// lossesOf finds the deleted files that nobody but these services holds: when
// they let go, the content is gone. Small ones that are no logs are what every
// daemon has, temporary files that it unlinked itself: those do not count.
func lossesOf(ctx context.Context, h *host.Host, told facts) (losses, error) {
	table, err := h.OpenFiles(ctx)
	if err != nil {
		return nil, err
	}
	type id struct{ dev, ino uint64 }
	ours := func(f host.OpenFile) bool {
		return slices.Contains(told.Units, f.Unit) && f.Container == "" && !f.Elsewhere
	}
	kept := map[id]bool{} // others hold them too
	for _, f := range table.Files {
		kept[id{f.Dev, f.Ino}] = kept[id{f.Dev, f.Ino}] || !ours(f)
	}
	var out losses
	for _, f := range table.Files {
		k := id{f.Dev, f.Ino}
		worth := f.Blocks*512 >= heldLeast || logSubject(f) != ""
		if !f.Deleted || f.Links > 0 || f.FD < 0 || f.Exec || f.Size == 0 || !ours(f) || kept[k] || !worth {
			continue
		}
		kept[k] = true // once
		out = append(out, f)
	}
	return out, nil
}

// of is what acting on a unit destroys, in words; empty: nothing that matters.
func (l losses) of(unit, copies string) string {
	var names []string
	var size int64
	for _, f := range l {
		if f.Unit == unit {
			names, size = append(names, f.Path), size+f.Blocks*512
		}
	}
	if len(names) == 0 {
		return ""
	}
	said := fmt.Sprintf("%s in deleted files (%s) is gone then", units.Size(size), strings.Join(first(names, 3), ", "))
	if copies != "" {
		return said + "; only the copies in " + copies + " remain"
	}
	return said + ", and there is no copy"
}

// copiesOf are the steps that save the losses, and the folder; none where the
// admin will not have any.
func copiesOf(ctx context.Context, h *host.Host, f trap.Finding, lost losses) (out []step.Step, into string, err error) {
	into = f.Chosen("copy")
	switch {
	case len(lost) == 0 || into == "no":
		return nil, "", nil
	case into == "":
		into = path.Join(remedy.Dir(), "rescued", h.Now().UTC().Format("20060102-150405"))
	case !path.IsAbs(into) || path.Clean(into) != into:
		return nil, "", remedy.Refuse("--with copy=%s: expected the absolute path of a folder, or no", into)
	}
	var size int64
	for _, l := range lost {
		size += l.Blocks * 512
		open := machine.OpenFile{PID: l.PID, FD: l.FD, Dev: l.Dev, Inode: l.Ino}
		out = append(out, steps.CopyOut{Open: open, Name: l.Path, To: path.Join(into, steps.FileName(l.Unit, l.Path, open))})
	}
	fss, err := h.Filesystems(ctx)
	if err != nil {
		return nil, "", err
	}
	if fs, ok := roomFor(into, fss); ok && uint64(size)+steps.Spare > fs.Avail {
		return nil, "", remedy.Refuse(
			"%s has %s in deleted files, which are lost when it exits, and %s has %s free for a copy: name another folder (--with "+
				"copy=/FOLDER), or lose the content (--with copy=no)",
			lost[0].Unit,
			units.Size(size),
			fs.Mount,
			units.Size(fs.Avail),
		)
	}
	return out, into, nil
}
