package mdadmbadblocks

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"fettle/host"
	"fettle/remedy"
	"fettle/trap"
)

func plan(ctx context.Context, h *host.Host, f trap.Finding) (remedy.Plan, error) {
	if f.Subject == confSubject {
		return planConf(ctx, h)
	}
	arrays, err := readArrays(ctx, h)
	if err != nil {
		return remedy.Plan{}, err
	}
	for i := range arrays {
		a := &arrays[i]
		for k := range a.members {
			if m := &a.members[k]; a.name+"/"+m.name == f.Subject {
				return a.planMember(m)
			}
		}
	}
	return remedy.Plan{}, remedy.Refuse("%s is not there any more", f.Subject)
}

// planConf writes CREATE bbl=no where mdadm reads it first, keeping what
// else a CREATE line says.
func planConf(ctx context.Context, h *host.Host) (remedy.Plan, error) {
	p := remedy.Plan{Title: "give new arrays and spares no bad blocks list",
		Notes: []string{"Members that are in an array already keep their lists: those are findings of their own."}}
	c, err := readConf(ctx, h)
	if err != nil {
		return p, err
	}
	if n := len(c.settings); n > 0 && !strings.HasPrefix(c.settings[n-1].where, c.main+":") {
		return p, remedy.Refuse("%s says bbl=yes after %s is read: take it out there", c.settings[n-1].where, c.main)
	}
	was, err := h.ReadFile(ctx, c.main)
	if host.IsAbsent(err) {
		p.Steps = []remedy.Step{remedy.File{Path: c.main, Content: []byte("CREATE bbl=no\n")}}
		return p, nil
	}
	if err != nil {
		return p, err
	}
	p.Steps = []remedy.Step{remedy.File{Path: c.main, Content: []byte(withoutList(string(was), c)), Was: was}}
	return p, nil
}

// withoutList changes the words on bad blocks lists, or adds one to the last
// CREATE line, or a line.
func withoutList(text string, c *conf) string {
	lines := strings.Split(text, "\n")
	for _, s := range c.settings {
		var n int
		fmt.Sscanf(path.Base(s.where)[strings.LastIndexByte(path.Base(s.where), ':')+1:], "%d", &n)
		words := strings.Fields(lines[n-1])
		for _, w := range words {
			if strings.HasPrefix(strings.ToLower(w), "bbl=") {
				lines[n-1] = strings.Replace(lines[n-1], w, "bbl=no", 1)
			}
		}
	}
	if len(c.settings) > 0 {
		return strings.Join(lines, "\n")
	}
	if c.create > 0 {
		line, comment, hash := strings.Cut(lines[c.create-1], "#")
		line = strings.TrimRight(line, " \t") + " bbl=no"
		if hash {
			line += " #" + comment
		}
		lines[c.create-1] = line
		return strings.Join(lines, "\n")
	}
	return strings.TrimRight(text, "\n") + "\n\n# No bad blocks lists on members added from now on (fettle, mdadm-bad-blocks)\nCREATE bbl=no\n"
}

// planMember takes one member's empty list away while the array runs, or says
// why that is not to be done, and what is.
func (a *array) planMember(m *member) (remedy.Plan, error) {
	p := remedy.Plan{Title: fmt.Sprintf("take the bad blocks list of %s in %s away", m.name, a.name)}
	if why := a.unfit(m); why != "" {
		return p, remedy.Refuse("%s", why)
	}
	p.Notes = []string{
		fmt.Sprintf("%s leaves %s for a moment, and %s has one copy less until it is in sync again: with a bitmap only what was written meanwhile is copied.", m.name, a.name, a.name),
		"Do the members of one array one after the other; fettle sees to it.",
	}
	readd := remedy.MDReadd{Array: a.name, Member: m.name}
	if a.bitmap != "none" {
		p.Steps = []remedy.Step{readd}
		return p, nil
	}
	p.Notes = append(p.Notes, "The array has no write-intent bitmap: an internal one is added for the time, and taken away at the end.")
	p.Steps = []remedy.Step{a.bitmapStep("internal", "none"), readd, a.bitmapStep("none", "internal")}
	return p, nil
}

// bitmapStep adds or takes away the internal bitmap. Its probe reads where
// sysfs says that the bitmap is: "none", or "+8" and the like.
func (a *array) bitmapStep(to, from string) remedy.Command {
	probe := []string{"/bin/grep", "-q", "none", "/sys/block/" + a.name + "/md/bitmap/location"}
	if to == "internal" {
		probe[1] = "-qv"
	}
	return remedy.Command{
		Do:    []string{"/sbin/mdadm", "--grow", "/dev/" + a.name, "--bitmap=" + to},
		Undo:  []string{"/sbin/mdadm", "--grow", "/dev/" + a.name, "--bitmap=" + from},
		Probe: probe,
	}
}

// unfit says why a member's list is not taken away online; empty: it can be.
func (a *array) unfit(m *member) string {
	states := strings.Split(m.state, ",")
	switch {
	case len(m.bad) > 0 || m.unlisted:
		return fmt.Sprintf("%s has entries in its list: mdadm does not drop those online (it re-adds the member with its list).\n%s", m.name, a.offline("force-no-bbl"))
	case a.redundant() == 0:
		return fmt.Sprintf("%s (%s of %s) has no redundancy: no member can leave it.\n%s", a.name, a.level, a.disks, a.offline("no-bbl"))
	case a.degraded != "0":
		return fmt.Sprintf("%s misses %s of its members: mend that first", a.name, orNone(a.degraded))
	case a.action != "idle":
		return fmt.Sprintf("%s is busy (%s): wait until cat /sys/block/%s/md/sync_action says idle", a.name, orNone(a.action), a.name)
	case slices.Contains(states, "spare"):
		return fmt.Sprintf("%s is a spare of %s, and a spare cannot be re-added. Turn the list off for new members first (fettle fix %s --on %s), then:\n"+
			"  mdadm /dev/%[2]s --remove /dev/%[1]s\n  mdadm /dev/%[2]s --add /dev/%[1]s", m.name, a.name, "mdadm-bad-blocks", confSubject)
	case !slices.Contains(states, "in_sync"):
		return fmt.Sprintf("%s is %s, not in sync", m.name, orNone(m.state))
	case a.bitmap != "none" && !strings.HasPrefix(a.bitmap, "+") && !strings.HasPrefix(a.bitmap, "-"):
		return fmt.Sprintf("%s keeps its bitmap in %s: fettle knows internal ones only", a.name, orNone(a.bitmap))
	}
	return ""
}

// offline is the way with the array stopped: printed, never run.
func (a *array) offline(update string) string {
	devs := make([]string, len(a.members))
	for i, m := range a.members {
		devs[i] = "/dev/" + m.name
	}
	return fmt.Sprintf("In a maintenance window (fettle does not run these):\n  mdadm --stop /dev/%s\n  mdadm --assemble /dev/%s --update=%s %s",
		a.name, a.name, update, strings.Join(devs, " "))
}
