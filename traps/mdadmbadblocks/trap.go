// Package mdadmbadblocks finds MD members that keep a bad blocks list: what
// the lists say, whether members share entries, and whether new arrays will
// get one.
package mdadmbadblocks

import (
	"context"
	_ "embed"
	"fmt"
	"slices"

	"fettle/engine/trap"
	"fettle/host"
)

//go:embed lore.md
var lore trap.Lore

// Trap is mdadm-bad-blocks.
var Trap = trap.Trap{
	Lore:  lore,
	Cost:  trap.Instant,
	Check: check,
	Plan:  plan,
	Choices: []trap.Choice{
		{
			Name:    "at-boot",
			About:   "whether a script in the initramfs may take empty lists away (subject initramfs)",
			Values:  []string{"no", "yes"},
			Default: "no",
		},
	},
}

// confSubject is the subject of what new arrays will get.
const confSubject = "mdadm.conf"

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	arrays, err := readArrays(ctx, h)
	if err != nil {
		return err
	}
	if h.Running() && len(arrays) == 0 {
		r.NotApplicable("", "no MD array is running")
		return nil
	}
	for i := range arrays {
		arrays[i].judge(r)
	}
	checkBoot(ctx, h, r, arrays)
	if h.Running() && !slices.ContainsFunc(arrays, func(a array) bool { return a.err == nil }) { // nor is it known whether any runs
		r.Unknown(confSubject, arrays[0].err)
		return nil
	}
	return checkConf(ctx, h, r)
}

// judge reports on every member of one array.
func (a *array) judge(r *trap.Report) {
	switch {
	case a.err != nil:
		r.Unknown(a.name, a.err)
		return
	case a.external():
		r.NotApplicable(a.name, "its metadata ("+a.metadata+") is kept by mdmon or the firmware, not by md: it has no list of this kind")
		return
	case a.metadata == "0.90":
		r.NotApplicable(a.name, "metadata 0.90 has no bad blocks list")
		return
	}
	for i := range a.members {
		a.judgeMember(&a.members[i], r)
	}
}

func (a *array) judgeMember(m *member, r *trap.Report) {
	subject := a.name + "/" + m.name
	switch {
	case m.err != nil && len(m.bad) == 0 && !m.unlisted:
		r.Unknown(subject, m.err, m.evidence...)
		return
	case len(m.bad) > 0 || m.unlisted:
		f := trap.Finding{Subject: subject, Severity: trap.Critical, Evidence: m.evidence,
			Summary: fmt.Sprintf("%s is recorded as having bad sectors, and %s no longer reads them there", m.name, a.name),
			Detail:  m.badDetail()}
		if others, depth := a.sharing(m); len(others) > 0 {
			f.Summary = fmt.Sprintf("%s has bad sectors recorded at the same place as %s in %s", m.name, join(others), a.name)
			f.Detail = f.Detail.Also(a.loss(depth))
		}
		if dark := a.dark(m); len(dark) > 0 {
			f.Detail = f.Detail.Also("Whether " + join(dark) + " has entries at the same place is not known.")
		}
		r.Found(f)
	case m.hasList:
		r.Found(trap.Finding{Subject: subject, Severity: trap.Notice, Evidence: m.evidence,
			Summary: fmt.Sprintf("%s has a bad blocks list, empty so far, which a transient controller fault can silently fill", m.name)})
	default:
		r.Clear(subject, "has no bad blocks list", m.evidence...)
	}
}

// dark lists the other members of which nobody knows what is recorded.
func (a *array) dark(m *member) (names []string) {
	for i := range a.members {
		if o := &a.members[i]; o.name != m.name && len(o.bad) == 0 && (o.err != nil || o.unlisted) {
			names = append(names, o.name)
		}
	}
	return names
}
