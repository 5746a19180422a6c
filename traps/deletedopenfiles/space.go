package deletedopenfiles

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/internal/sorted"
	"fettle/internal/units"
)

// When held space matters, as shares of the file system's size. An admin sees
// df and du disagree from about a twentieth on; on a file system that is
// nearly full a hundredth is what is missing next. What is below 16 MiB is
// never worth a restart.
const (
	heldVisible = 0.05 // a notice
	heldLarge   = 0.20 // a warning
	heldOfFull  = 0.01 // a warning where nearlyFull, critical where full
	nearlyFull  = 0.90
	full        = 0.99
	heldLeast   = 16 << 20
)

// held is the deleted files of one file system, each counted once however
// many processes hold it.
type held struct {
	fs    host.Filesystem
	bytes uint64
	files []host.OpenFile // one for each holder
	count int             // files
}

func checkSpace(ctx context.Context, h *host.Host, r *trap.Report, files []host.OpenFile) bool {
	files = slices.DeleteFunc(slices.Clone(files), func(f host.OpenFile) bool {
		return !f.Deleted || f.Links > 0 || f.Blocks == 0
	})
	if len(files) == 0 {
		return false
	}
	fss, err := h.Filesystems(ctx)
	if err != nil {
		r.Unknown("", fmt.Errorf("deleted files are held open; how much space their file systems have is not known: %w", err))
		return false
	}
	found := false
	for _, v := range heldSpace(files, fss) {
		if sev := v.severity(); sev > 0 {
			found = true
			f := v.finding(sev)
			told := factsOf(kindSpace, v.largest())
			f.ByHand, _ = leaves(f.Subject, told)
			f.Facts = trap.FactsOf(told)
			r.Found(f)
		}
	}
	return found
}

// heldSpace adds up by file system. Files on none that is known are left out:
// those of a container's own tmpfs, which is memory the container pays for.
func heldSpace(files []host.OpenFile, fss []host.Filesystem) []*held {
	type id struct{ dev, ino uint64 }
	seen := map[id]bool{}
	at := map[string]*held{}
	var out []*held
	for _, f := range files {
		fs, ok := filesystemOf(f, fss)
		if !ok {
			continue
		}
		v := at[fs.Mount]
		if v == nil {
			v = &held{fs: fs}
			at[fs.Mount], out = v, append(out, v)
		}
		v.files = append(v.files, f)
		if k := (id{f.Dev, f.Ino}); !seen[k] {
			seen[k] = true
			v.count++
			v.bytes += uint64(f.Blocks) * 512
		}
	}
	return out
}

// used is the share of what an ordinary user could have that is taken, as df
// counts it: what is reserved for root is neither.
func (v *held) used() float64 {
	used := v.fs.Size - v.fs.Free
	if used+v.fs.Avail == 0 {
		return 1
	}
	return float64(used) / float64(used+v.fs.Avail)
}

func (v *held) severity() trap.Severity {
	share := float64(v.bytes) / float64(v.fs.Size)
	switch {
	case v.bytes < heldLeast:
		return 0
	case v.used() >= full && share >= heldOfFull:
		return trap.Critical
	case v.used() >= nearlyFull && share >= heldOfFull, share >= heldLarge:
		return trap.Warning
	case share >= heldVisible:
		return trap.Notice
	}
	return 0
}

func (v *held) finding(sev trap.Severity) trap.Finding {
	sorted.By(v.files, func(a, b host.OpenFile) int { return cmp.Compare(b.Blocks, a.Blocks) })
	files := "files"
	if v.count == 1 {
		files = "file"
	}
	detail := []string{fmt.Sprintf("%s in %d deleted %s, %.0f %% of the file system, which is %.0f %% full; closing them frees it.",
		units.Size(v.bytes), v.count, files, 100*float64(v.bytes)/float64(v.fs.Size), 100*v.used())}
	var ev []trap.Evidence
	for i, f := range v.files {
		if i == 5 {
			detail = append(detail, fmt.Sprintf("and %d more", len(v.files)-i))
			break
		}
		size := units.Size(uint64(f.Blocks) * 512)
		detail = append(detail, fmt.Sprintf("%s: %s, %s", who(f), f.Path, size))
		ev = append(ev, trap.Ev(where(f), "%s (deleted), %s", f.Path, size))
	}
	ev = append(ev, trap.Ev("statfs "+v.fs.Mount, "%s in all, %s available", units.Size(v.fs.Size), units.Size(v.fs.Avail)))
	return trap.Finding{Subject: v.fs.Mount, Severity: sev,
		Summary: "deleted files that programs still have open use space: df shows it as used, du does not find it",
		Detail:  trap.Lines(detail...), Evidence: ev}
}

// largest is the holders that together have nine tenths of the bytes: a plan
// need not restart everything for the rest.
func (v *held) largest() []host.OpenFile {
	type id struct{ dev, ino uint64 }
	in := map[id]bool{}
	var sum uint64
	var out []host.OpenFile
	for _, f := range v.files { // largest first
		k := id{f.Dev, f.Ino}
		if !in[k] {
			if sum*10 >= v.bytes*9 {
				continue
			}
			in[k] = true
			sum += uint64(f.Blocks) * 512
		}
		out = append(out, f)
	}
	return out
}
