package mdadmbadblocks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/traps/mdadmbadblocks/steps"
)

func plan(ctx context.Context, h *host.Host, f trap.Finding) (remedy.Plan, error) {
	switch f.Subject {
	case confSubject:
		return planConf(ctx, h)
	case bootSubject:
		if f.Chosen("at-boot") != "yes" {
			return remedy.Plan{}, remedy.Refuse(
				"lists that cannot go while their array runs can go at the next boot, " +
					"by a script in the initramfs; fettle installs it only on request:\n" +
					"  fettle fix mdadm-bad-blocks --on " + bootSubject + " --with at-boot=yes",
			)
		}
		return planBoot(ctx, h)
	}
	arrays, err := readArrays(ctx, h)
	if err != nil {
		return remedy.Plan{}, err
	}
	c, err := readConf(ctx, h)
	if err != nil {
		return remedy.Plan{}, err
	}
	for i := range arrays {
		a := &arrays[i]
		if a.err != nil && strings.HasPrefix(f.Subject, a.name+"/") {
			return remedy.Plan{}, a.err
		}
		for k := range a.members {
			if m := &a.members[k]; a.name+"/"+m.name == f.Subject {
				return a.planMember(m, c)
			}
		}
	}
	return remedy.Plan{}, remedy.Refuse("%s no longer exists", f.Subject)
}

// planConf writes CREATE bbl=no where mdadm reads it first, keeping what
// else a CREATE line says.
func planConf(ctx context.Context, h *host.Host) (remedy.Plan, error) {
	p := remedy.Plan{Title: "give new arrays and spares no bad blocks list",
		Notes: []string{"Existing members keep their lists: those are separate findings."}}
	c, err := readConf(ctx, h)
	if err != nil {
		return p, err
	}
	if last := c.last(); last != nil && last.file != c.main {
		return p, remedy.Refuse("%s says bbl=yes, and is read after %s: remove it there", last.where(), c.main)
	}
	was, err := h.ReadFile(ctx, c.main)
	switch {
	case host.IsAbsent(err):
		was = nil
	case err != nil:
		return p, err
	}
	with := withoutList(string(was))
	if s, _ := settingsOf(c.main, with); len(s) == 0 || !s[len(s)-1].off {
		return p, remedy.Refuse(
			"%s ends in the middle of something that fettle does not understand: write CREATE bbl=no into it by hand",
			c.main,
		)
	}
	p.Steps = []step.Step{step.File{Path: c.main, Content: []byte(with), Was: was}}
	return p, nil
}

// planMember takes one member's empty list away while the array runs, or says
// why that is not to be done, and what is.
func (a *array) planMember(m *member, c *conf) (remedy.Plan, error) {
	p := remedy.Plan{Title: fmt.Sprintf("remove the bad blocks list of %s in %s", m.name, a.name)}
	if why := a.unfit(m, c); why != "" {
		return p, remedy.Refuse("%s", why)
	}
	p.Notes = []string{
		fmt.Sprintf(
			"%s leaves %s for a moment, and %s has one copy less until it is in "+
				"sync again: with a bitmap only what was written meanwhile is copied.",
			m.name,
			a.name,
			a.name,
		),
		"mdadm --monitor, if it runs, will send mails about a failed member and a degraded array.",
		"Do the members of one array one after the other; fettle ensures that.",
	}
	if a.level == "raid4" || a.level == "raid5" || a.level == "raid6" {
		p.Notes = append(
			p.Notes,
			fmt.Sprintf(
				"Should the power fail while %s is out, the array is dirty and degraded and does not start by itself: mdadm --assemble --force, "+
					"then a repair. Do it at a quiet hour.",
				m.name,
			),
		)
	}
	if a.level == "raid10" {
		p.Notes = append(
			p.Notes,
			fmt.Sprintf(
				"Should the power fail while %s is out, its copies of what was being written may differ after fettle resume: echo repair > "+
					"/sys/block/%s/md/sync_action makes them equal.",
				m.name,
				a.name,
			),
		)
	}
	readd := steps.Readd{Array: a.name, Member: m.name, ArrayUUID: m.array, DeviceUUID: m.device}
	if a.bitmap != "none" {
		p.Steps = []step.Step{readd}
		return p, nil
	}
	p.Notes = append(p.Notes, "The array has no write-intent bitmap: an internal one is added for the duration, and removed at the end.",
		"When every member has been re-added so, the kernel adds no bitmap until the array is assembled again: undo needs a restart first.")
	bitmap := steps.Bitmap{Array: a.name, ArrayUUID: m.array, Internal: true}
	p.Steps = []step.Step{bitmap, readd, steps.Bitmap{Array: a.name, ArrayUUID: m.array}}
	return p, nil
}

// unfit says why a member's list is not taken away online; empty: it can be.
func (a *array) unfit(m *member, c *conf) string {
	states := strings.Split(m.state, ",")
	switch {
	case len(m.bad) > 0 || m.unlisted:
		return a.unfitEntries(m)
	case a.state == "inactive":
		return fmt.Sprintf(
			"%s is not started, so no member can be removed and added again. This assembles it without lists:\n%s",
			a.name,
			a.assemble("no-bbl"),
		)
	case slices.Contains(states, "spare"):
		return fmt.Sprintf(
			"%s is a spare of %s, and a spare cannot be re-added. Turn the list "+
				"off for new members first (fettle fix mdadm-bad-blocks --on %s), then:\n"+
				"  mdadm /dev/%[2]s --remove /dev/%[1]s\n  mdadm /dev/%[2]s --add /dev/%[1]s",
			m.name,
			a.name,
			confSubject,
		)
	case a.redundant() == 0:
		return fmt.Sprintf("%s (%s of %s) has no redundancy: no member can leave it.\n%s", a.name, a.level, a.disks, a.offline("no-bbl"))
	case len(a.unread) > 0:
		return fmt.Sprintf("whether %s can spare %s could not be determined: %v", a.name, m.name, errors.Join(a.unread...))
	case a.degraded == "" || a.action == "" || m.state == "":
		return fmt.Sprintf("the kernel does not tell whether %s is complete and idle, and the state of %s in it", a.name, m.name)
	case a.degraded != "0":
		return fmt.Sprintf("%s lacks %s of its members: fix that first", a.name, a.degraded)
	case a.action != "idle":
		return fmt.Sprintf("%s is busy (%s): wait until cat /sys/block/%s/md/sync_action says idle", a.name, a.action, a.name)
	case slices.Contains([]string{"readonly", "read-auto", "broken"}, a.state):
		return fmt.Sprintf("%s is %s: nothing can be written to it (mdadm --readwrite /dev/%s changes that)", a.name, a.state, a.name)
	case m.device == "":
		return fmt.Sprintf("the superblock of %s was not read, so that fettle could not find it again after it left %s", m.name, a.name)
	case a.policy == "journal" || a.policy == "ppl":
		return fmt.Sprintf(
			"%s keeps its consistency by a %s, which rules out the write-intent bitmap that a re-add needs.\n%s",
			a.name,
			a.policy,
			a.offline("no-bbl"),
		)
	case a.bitmap == "":
		return fmt.Sprintf("the kernel does not tell whether %s has a write-intent bitmap", a.name)
	case a.bitmap != "none" && !strings.HasPrefix(a.bitmap, "+") && !strings.HasPrefix(a.bitmap, "-"):
		return fmt.Sprintf("%s keeps its bitmap in a file (%s): fettle knows internal ones only", a.name, a.bitmap)
	case c.groups:
		return fmt.Sprintf(
			"%s puts arrays into a spare-group: mdadm --monitor may immediately move a spare into the place of %s. Remove spare-group, or stop the "+
				"monitor, for the duration",
			c.main,
			m.name,
		)
	}
	return a.unfitOthers(m)
}

// unfitEntries says what to do about a list that is not empty. What empties
// one online was tried in the lab (experiment copies).
func (a *array) unfitEntries(m *member) string {
	s := fmt.Sprintf("%s has entries in its list: mdadm does not drop those online (it re-adds the member with its list).\n", m.name)
	others, _ := a.sharing(m)
	switch {
	case len(others) > 0:
		s += fmt.Sprintf(
			"%s has entries at the same place: copy what can be read of %s elsewhere before anything else.\n",
			join(others),
			a.name,
		)
	case a.redundant() == 0 || a.degraded != "0":
	case a.level == "raid10":
		s += fmt.Sprintf(
			"While the other copies are good, a new disk takes its place without the entries:\n  mdadm /dev/%s --add /dev/NEW\n  mdadm "+
				"/dev/%[1]s --replace /dev/%[2]s --with /dev/NEW\n",
			a.name,
			m.name,
		)
	default:
		s += fmt.Sprintf(
			"While the other copies are good, a repair rewrites these sectors, and if the disk accepts that, the entries disappear:\n  echo "+
				"repair > /sys/block/%s/md/sync_action\nThen run fettle again. Replace a disk that has real faults (mdadm --replace).\n",
			a.name,
		)
	}
	return s + "A list with entries can be removed only offline; what was not written since is then old data. " + a.offline("force-no-bbl")
}

// unfitOthers says which other member is in the way.
func (a *array) unfitOthers(m *member) string {
	for i := range a.members {
		o := &a.members[i]
		for _, w := range strings.Split(o.state, ",") {
			switch w {
			case "in_sync", "write_mostly", "failfast":
			case "spare":
				return fmt.Sprintf("%s has the spare %s, which would immediately replace %s and be synced whole. Remove it for the duration:\n"+
					"  mdadm /dev/%[1]s --remove /dev/%[2]s\nand add it again afterwards:\n  mdadm /dev/%[1]s --add /dev/%[2]s", a.name, o.name, m.name)
			default:
				return fmt.Sprintf("%s of %s is %s", o.name, a.name, orNone(o.state))
			}
		}
		if o.err != nil {
			return fmt.Sprintf("whether %s of %s has bad blocks recorded could not be determined: %v", o.name, a.name, o.err)
		}
		if len(o.bad) > 0 || o.unlisted {
			return fmt.Sprintf(
				"%s of %s has bad blocks recorded: their data is only on the other members, and %s must stay until that is fixed",
				o.name,
				a.name,
				m.name,
			)
		}
	}
	return ""
}

// offline is the way with the array stopped: printed, never run.
func (a *array) offline(update string) string {
	return fmt.Sprintf("In a maintenance window, with whatever uses %s stopped (fettle does not run these):\n%s", a.name, a.assemble(update))
}

func (a *array) assemble(update string) string {
	devs := make([]string, len(a.members))
	for i, m := range a.members {
		devs[i] = "/dev/" + m.name
	}
	return fmt.Sprintf("  mdadm --stop /dev/%s\n  mdadm --assemble /dev/%s --update=%s %s", a.name, a.name, update, strings.Join(devs, " "))
}
