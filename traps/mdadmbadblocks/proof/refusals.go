package proof

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"fettle/lab"
)

// refusal is a state of an array in which fettle must leave it alone.
type refusal struct {
	about   string
	level   string
	n       int
	args    []string // of mdadm --create
	prepare func(r *rig) error
	on      string // subject of the fix
	status  int    // of fettle fix: 5 refused, 2 no such subject
	words   string // in what it says
}

func cmds(lines ...string) func(*rig) error {
	return func(r *rig) error {
		for _, l := range lines {
			if err := retry(func() error { _, err := r.Run(strings.Fields(l)...); return err }); err != nil {
				return err
			}
		}
		return nil
	}
}

var refusalCases = []refusal{
	{"an entry", "1", 2, nil, func(r *rig) error { return r.enterBad("loop1", 8192, 8) }, "loop1", 5, "--update=force-no-bbl"},
	{
		"an entry on the other member",
		"1",
		2,
		nil,
		func(r *rig) error { return r.enterBad("loop0", 8192, 8) },
		"loop1",
		5,
		"bad blocks recorded",
	},
	{"degraded", "1", 2, nil, cmds("mdadm /dev/md0 --fail /dev/loop0", "mdadm /dev/md0 --remove /dev/loop0"), "loop1", 5, "lacks 1"},
	{"a failed member still in", "10", 4, nil, cmds("mdadm /dev/md0 --fail /dev/loop0"), "loop1", 5, "lacks 1"},
	{"a check is running", "1", 2, nil, func(r *rig) error {
		setMD("sync_speed_min", "100")
		setMD("sync_speed_max", "100")
		return setMD("sync_action", "check")
	}, "loop1", 5, "busy (check)"},
	{"recovery frozen", "6", 4, nil, func(r *rig) error { return setMD("sync_action", "frozen") }, "loop1", 5, "busy (frozen)"},
	{"read-only", "1", 2, nil, cmds("mdadm --readonly /dev/md0"), "loop1", 5, "readonly"},
	{"the member is a spare", "1", 2, nil, cmds("mdadm /dev/md0 --add /dev/loop4"), "loop4", 5, "cannot be re-added"},
	{"a spare beside it", "1", 2, nil, cmds("mdadm /dev/md0 --add /dev/loop4"), "loop1", 5, "has the spare loop4"},
	{"no redundancy", "0", 2, nil, nil, "loop1", 5, "no redundancy"},
	{"a mirror of one", "1", 1, []string{"--force"}, nil, "loop0", 5, "no redundancy"},
	{"a write journal", "5", 3, []string{"--write-journal=/dev/loop4"}, nil, "loop1", 5, "journal"},
	{"a partial parity log", "5", 3, []string{"--consistency-policy=ppl"}, nil, "loop1", 5, "ppl"},
	{"metadata 0.90", "1", 2, []string{"--metadata=0.90"}, nil, "loop1", 2, "no subject"},
}

// refusals brings arrays into each state, asks for the fix, and sees that
// nothing was touched.
func refusals(_ context.Context, b *lab.Bench) error {
	r := &rig{Bench: b}
	if err := r.need(5, 24); err != nil {
		return err
	}
	b.Columns("State", "Level", "fettle fix says", "Touched")
	for _, c := range refusalCases {
		if err := r.refused(c); err != nil {
			return fmt.Errorf("%s: %w", c.about, err)
		}
	}
	return nil
}

func (r *rig) refused(c refusal) error {
	args := slices.Clone(c.args)
	if c.level != "0" && len(args) == 0 {
		args = append(args, "--bitmap=internal")
	}
	if err := r.create(c.level, c.n, args...); err != nil {
		return err
	}
	if c.prepare != nil {
		if err := c.prepare(r); err != nil {
			return err
		}
	}
	before := r.standing()
	out, code, err := r.Exec([]string{"fettle", "fix", "mdadm-bad-blocks", "--on", "md0/" + c.on, "--yes"})
	if err != nil {
		return err
	}
	after := r.standing()
	if code != c.status || !strings.Contains(out, c.words) {
		return fmt.Errorf("fettle fix ended with status %d, want %d with %q in: %s", code, c.status, c.words, out)
	}
	if before != after {
		return fmt.Errorf("it was touched: %s\nbecame %s", before, after)
	}
	first, _, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(out, "fettle: ")), "\n")
	r.Row(c.about, "RAID"+c.level, first, "no")
	os.WriteFile(mdDir+"sync_action", []byte("idle\n"), 0) // ends a check, or the freeze
	return r.remove()
}

// standing is what must not change when a fix is refused.
func (r *rig) standing() string {
	var b strings.Builder
	for _, f := range []string{"level", "degraded", "sync_action", "bitmap/location", "array_state"} {
		v := md(f)
		if f == "array_state" && (v == "active" || v == "active-idle") {
			v = "clean" // what was written last settles
		}
		fmt.Fprintf(&b, "%s=%s ", f, v)
	}
	for _, m := range members() {
		list, _ := r.badblocks(m)
		fmt.Fprintf(&b, "%s=%s,%s,%s ", m, md("dev-"+m+"/state"), md("dev-"+m+"/slot"), list)
	}
	return b.String()
}
