package slowdisk

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/internal/lazy"
	"fettle/tools/measure/disks"
	"fettle/traps/slowdisk/steps"
)

// facts are what a plan needs to know of a finding.
type facts struct {
	Group, Member, Kind string
}

const (
	mdadm = "/sbin/mdadm"
	zpool = "/sbin/zpool"
	grep  = "/bin/grep"
	// measured is how long the array is watched before and after its member leaves.
	measured = 5 * time.Second
)

// redundant are the levels of MD that go on without one member.
var redundant = []string{"md raid1", "md raid4", "md raid5", "md raid6", "md raid10"}

// plan takes the slow member out of service while the others hold all data. The array has
// one copy less from then on, until the disk is replaced or put back.
func plan(ctx context.Context, h *host.Host, f trap.Finding) (remedy.Plan, error) {
	know, err := trap.FactsIn[facts](f)
	if err != nil {
		return remedy.Plan{}, err
	}
	p := remedy.Plan{
		Title: "take " + know.Member + " out of service in " + know.Group,
		Notes: []string{
			know.Group + " has one copy less until the disk is replaced or put back, and fettle finds it degraded: have the new disk at hand.",
			"First look at its cable, cache setting and link (fettle explain slow-disk): a disk that is put right needs no replacing.",
		},
		Vanishes: "a member out of service is not compared",
	}
	switch {
	case slices.Contains(redundant, know.Kind):
		p.Steps, err = planMD(ctx, h, know, &p)
	case know.Kind == disks.VdevKind:
		p.Steps, err = planZFS(ctx, h, know, &p)
	case strings.HasPrefix(know.Kind, "md "):
		return p, remedy.Refuse("%s (%s) cannot spare a member: copy the data off, and create it again without %s",
			know.Group, know.Kind, know.Member)
	default:
		return p, remedy.Refuse("%s is a %s, of which fettle takes no member out: replace %s by its own tools",
			know.Group, know.Kind, know.Member)
	}
	return p, err
}

var named = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9_.:+-]*$`)

func planMD(ctx context.Context, h *host.Host, know facts, p *remedy.Plan) ([]step.Step, error) {
	if !named().MatchString(know.Group) || !named().MatchString(know.Member) {
		return nil, remedy.Refuse("%q of %q are not names of a member and an array", know.Member, know.Group)
	}
	dir := path.Join("/sys/block", know.Group, "md")
	read := func(name string) string {
		s, err := h.ReadString(ctx, dir+"/"+name)
		if err != nil {
			return host.Reason(err)
		}
		return s
	}
	if s := read("degraded"); s != "0" {
		return nil, remedy.Refuse("%s does not have all its members (degraded: %s): it cannot spare %s", know.Group, s, know.Member)
	}
	if s := read("sync_action"); s != "idle" {
		return nil, remedy.Refuse("%s is busy (%s): wait until cat %s/sync_action says idle", know.Group, s, dir)
	}
	if s := read("dev-" + know.Member + "/state"); !slices.Contains(strings.Split(s, ","), "in_sync") {
		return nil, remedy.Refuse("%s is not a member in sync (%s)", know.Member, s)
	}
	spare, err := spares(ctx, h, dir)
	if err != nil {
		return nil, err
	}
	md, dev := "/dev/"+know.Group, "/dev/"+know.Member
	if spare != "" {
		return nil, remedy.Refuse(
			"%s has a spare (%s), which can take the place of %s without a copy less meanwhile:\n  mdadm %s --replace %s --with /dev/%s",
			know.Group, spare, know.Member, md, dev, spare)
	}
	back, differs := "--re-add", "what was written meanwhile is copied to it"
	if b := read("bitmap/location"); !strings.HasPrefix(b, "+") && !strings.HasPrefix(b, "-") && b != "file" {
		back, differs = "--add", "the whole disk is copied, as the array has no write-intent bitmap"
		p.Notes = append(p.Notes, know.Group+" has no write-intent bitmap: an undo copies the whole disk.")
	}
	return []step.Step{
		steps.Pace{Device: know.Group, With: "with " + know.Member, Over: measured},
		step.Check{Run: []string{grep, "-qx", "idle", dir + "/sync_action"}},
		step.Command{
			Do:      []string{mdadm, md, "--fail", dev},
			Require: []string{mdadm, "--detail", "--test", md}, // 0: all members are there (mdadm(8), --test)
			Undo:    []string{mdadm, md, "--remove", dev, back, dev},
			Probe:   []string{grep, "-q", "faulty", dir + "/dev-" + know.Member + "/state"},
			Differs: differs,
		},
		steps.Pace{Device: know.Group, With: "without " + know.Member, Over: measured},
	}, nil
}

// spares is a member that waits for another to fail.
func spares(ctx context.Context, h *host.Host, dir string) (string, error) {
	members, err := h.Glob(ctx, dir, "dev-*")
	if err != nil {
		return "", err
	}
	for _, m := range members {
		state, err := h.ReadString(ctx, m+"/state")
		if err != nil {
			return "", fmt.Errorf("whether there is a spare: %w", err)
		}
		if slices.Contains(strings.Split(state, ","), "spare") {
			return strings.TrimPrefix(path.Base(m), "dev-"), nil
		}
	}
	return "", nil
}

func planZFS(ctx context.Context, h *host.Host, know facts, p *remedy.Plan) ([]step.Step, error) {
	pool, _, _ := strings.Cut(know.Group, "/")
	member := strings.TrimPrefix(know.Member, "/dev/")
	if !named().MatchString(pool) || !zfsMember().MatchString(member) {
		return nil, remedy.Refuse("%q of %q are not names of a disk and a pool", know.Member, pool)
	}
	state := "/proc/spl/kstat/zfs/" + pool + "/state"
	if s, err := h.ReadString(ctx, state); err != nil || s != "ONLINE" {
		return nil, remedy.Refuse("%s does not say that all of the pool is there (ONLINE): it may not be able to spare %s; see zpool status %s",
			state, know.Member, pool)
	}
	p.Notes = append(p.Notes, "ZFS refuses to take out the last copy of anything.")
	return []step.Step{step.Command{
		Do:      []string{zpool, "offline", pool, know.Member},
		Require: []string{grep, "-qx", "ONLINE", state},
		Undo:    []string{zpool, "online", pool, know.Member},
		Probe:   []string{grep, "-qx", "DEGRADED", state},
		Differs: "what was written meanwhile is copied to it",
	}}, nil
}

var zfsMember = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9_.:+/-]*$`)
