package proof

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"fettle/lab"
)

// crash is the crash matrix: fettle fix is ended by SIGKILL at each of its
// points (lab.KilledVerb), while something writes to the array
// all the time. Each time fettle resume must finish, or fettle undo lead back;
// never may more than one member be missing, nor a byte differ.
func crash(k arrayKind, bitmap string, choose func(points []string) []int) func(context.Context, *lab.Bench) error {
	return func(_ context.Context, b *lab.Bench) error {
		c := &crasher{rig: rig{Bench: b}, kind: k, bitmap: bitmap}
		return c.run(choose)
	}
}

type crasher struct {
	rig
	kind   arrayKind
	bitmap string // "internal", "none"
	state  string // fettle's store
	tries  int
	out    string // what fettle printed last
}

const victim = "loop1" // the member whose list goes

// slowKiB keeps a recovery going long enough to be killed in, in KiB/s.
const slowKiB = "60000"

func (c *crasher) run(choose func([]string) []int) error {
	if err := c.need(c.kind.n, 20); err != nil {
		return err
	}
	if err := c.create(c.kind.level, c.kind.n, "--bitmap="+c.bitmap); err != nil {
		return err
	}
	for _, f := range []string{"sync_speed_max", "sync_speed_min"} {
		if err := setMD(f, slowKiB); err != nil {
			return err
		}
	}
	w, err := startWriter("/dev/md0")
	if err != nil {
		return err
	}
	watch := startWatch()
	defer close(watch.stop)
	c.Columns("Killed while", "Points", "Tried", "Resumed", "Undone", "Most members missing", "Refused meanwhile", "Took")
	err = c.matrix("applying", "fix", choose, watch)
	if err == nil {
		err = c.matrix("undoing", "undo", choose, watch)
	}
	if werr := w.end(); err == nil {
		err = werr
	}
	if err == nil {
		err = c.intact()
	}
	if err == nil {
		err = w.verify()
	}
	c.Note(
		"%d blocks were written meanwhile, and read back as written; degraded was looked at %d times; the members agreed in a check at the end.",
		w.n.Load(),
		watch.looks.Load(),
	)
	return err
}

// matrix kills fettle at its points.
func (c *crasher) matrix(while, verb string, choose func([]string) []int, watch *watchMissing) error {
	const log = "/run/points"
	os.Remove(log)
	if err := c.fresh(verb); err != nil {
		return err
	}
	if err := c.fettle("0", 0, c.argv(verb)...); err != nil {
		return fmt.Errorf("%s, undisturbed: %w\n%s", verb, err, c.out)
	}
	if verb == "fix" {
		if err := c.fettle("", 0, c.argv("undo")...); err != nil {
			return fmt.Errorf("undo, undisturbed: %w", err)
		}
	}
	text, err := os.ReadFile(log)
	if err != nil {
		return err
	}
	points := strings.Split(strings.TrimSpace(string(text)), "\n")
	at := make([]int, 0, len(points))
	for i := range points {
		at = append(at, i+1)
	}
	if choose != nil {
		at = choose(points)
	}
	resumed, undone, refused, escaped, begun := 0, 0, 0, 0, time.Now()
	for _, n := range at {
		for _, then := range []string{"resume", "undo"} {
			busy, err := c.kill(verb, n, nth(points, n), then)
			if errors.Is(err, errEscaped) {
				escaped++
				continue
			}
			if err == nil && watch.most.Load() > 1 {
				err = fmt.Errorf("%d members were missing at once", watch.most.Load())
			}
			if err != nil {
				return fmt.Errorf("%s killed at %d (%s), then %s: %w\n%s", verb, n, points[n-1], then, err, c.out)
			}
			if then == "resume" {
				resumed++
			} else {
				undone++
			}
			if busy {
				refused++
			}
		}
	}
	c.Row(
		while,
		fmt.Sprint(len(points)),
		fmt.Sprint(len(at)),
		fmt.Sprint(resumed),
		fmt.Sprint(undone),
		fmt.Sprint(watch.most.Load()),
		fmt.Sprint(refused),
		time.Since(begun).Round(time.Second).String(),
	)
	if escaped > 0 {
		c.Note(
			"While %s, %d points were not reached again in %d attempts: how often fettle looks at a sync is up to the array.",
			while,
			escaped,
			attempts,
		)
	}
	if escaped > len(at)/4 {
		return fmt.Errorf("%d of %d points were not reached again", escaped, 2*len(at))
	}
	return nil
}

func (c *crasher) argv(verb string) []string {
	switch verb {
	case "fix":
		return []string{"fix", "mdadm-bad-blocks", "--on", "md0/" + victim, "--yes"}
	case "undo":
		return []string{"undo", "--yes"}
	}
	return []string{verb}
}

// fresh gives fettle an empty store and the member its list; for an undo it
// applies the fix first.
func (c *crasher) fresh(verb string) error {
	c.tries++
	c.state = fmt.Sprintf("/run/state%d", c.tries)
	if list, err := c.badblocks(victim); err != nil || list != "empty" {
		return fmt.Errorf("the list of %s is %q to begin with (%v)", victim, list, err)
	}
	if verb == "undo" {
		return c.fettle("", 0, c.argv("fix")...)
	}
	return nil
}

// errEscaped says that fettle ended before it came to the point.
var errEscaped = errors.New("the point was not reached")

const attempts = 4

// nth names the nth point: its name, and the how-manieth of that name it is.
func nth(points []string, n int) string {
	same := 0
	for _, p := range points[:n] {
		if p == points[n-1] {
			same++
		}
	}
	return fmt.Sprintf("%d@%s", same, points[n-1])
}

// cut lets fettle be killed at a point. One that did not come to it has done
// its work, which is rolled back before the next attempt.
func (c *crasher) cut(verb, point string) error {
	for range attempts {
		if err := c.fresh(verb); err != nil {
			return err
		}
		out, code, err := c.command(point, c.argv(verb)...)
		c.out = out
		switch {
		case err != nil:
			return err
		case code == -1:
			return nil
		case code != 0:
			return fmt.Errorf("fettle %s: exit status %d before it came to the point", verb, code)
		}
		if verb == "fix" {
			if err := c.fettle("", 0, c.argv("undo")...); err != nil {
				return err
			}
		}
	}
	return errEscaped
}

// kill lets fettle be killed at its nth point, and leads on from there.
func (c *crasher) kill(verb string, n int, point, then string) (refused bool, err error) {
	if err := c.cut(verb, point); err != nil {
		return false, err
	}
	cut := false
	if n%4 == 0 { // another fix must not begin now
		if changes, _, _ := c.command("", "changes"); strings.Contains(changes, "cut off") {
			out, code, err := c.command("", "fix", "mdadm-bad-blocks", "--on", "md0/loop0", "--yes")
			// 8: this change is half done; 5: its member is still missing.
			if err != nil || code != 8 && code != 5 {
				return false, fmt.Errorf("a second fix meanwhile: status %d, %v: %s", code, err, out)
			}
			refused = true
		}
	}
	if err := c.fettle("", 0, c.argv(then)...); err != nil {
		return refused, err
	}
	// Killed before the change began, or after it was finished?
	cut = !strings.Contains(c.out, "nothing to resume") && !strings.Contains(c.out, "no change to undo")
	list, err := c.badblocks(victim)
	if err != nil {
		return refused, err
	}
	want := map[bool]string{true: "none", false: "empty"}[verb == "fix" && then == "resume"]
	if cut && list != want {
		return refused, fmt.Errorf("the list is %q, want %q", list, want)
	}
	if md("degraded") != "0" || md("dev-"+victim+"/state") != "in_sync" {
		return refused, fmt.Errorf("%s members are missing, and %s is %q", md("degraded"), victim, md("dev-"+victim+"/state"))
	}
	if none := md("bitmap/location") == "none"; none != (c.bitmap == "none") {
		return refused, fmt.Errorf("the bitmap is at %q, and was %s", md("bitmap/location"), c.bitmap)
	}
	if list == "none" { // back to where the next one begins
		err = c.fettle("", 0, c.argv("undo")...)
	}
	return refused, err
}

// fettle runs fettle with the kill switch at a point ("0" counts, "" is none)
// and wants an exit status.
func (c *crasher) fettle(point string, want int, args ...string) error {
	out, code, err := c.command(point, args...)
	c.out = out
	if err == nil && code != want {
		err = fmt.Errorf("fettle %s: exit status %d, want %d", strings.Join(args, " "), code, want)
	}
	return err
}

func (c *crasher) command(point string, args ...string) (out string, code int, err error) {
	argv := []string{"env", "FETTLE_STATE=" + c.state}
	switch point {
	case "":
		argv = append(argv, lab.GuestFettle)
	case "0":
		argv = append(argv, "/init", lab.KilledVerb, point, "/run/points")
	default:
		argv = append(argv, "/init", lab.KilledVerb, point, "-")
	}
	return c.Exec(append(argv, args...))
}

// chosenPoints are the few that a quick run tries: around each command of
// mdadm's that changes something, and in the wait.
func chosenPoints(points []string) []int {
	var at []int
	waits := 0
	for i, p := range points {
		changes := strings.Contains(p, "--grow") || strings.Contains(p, "--fail") || strings.Contains(p, "--remove") ||
			strings.Contains(p, "--re-add")
		if changes && strings.HasPrefix(p, "after") {
			at = append(at, i+1)
		}
		if strings.HasPrefix(p, "looking") && i > 0 && len(at) > 2 {
			if waits++; waits == 2 {
				at = append(at, i+1)
			}
		}
	}
	return at
}

// onePoint is the one in the midst of those: a member is out, or on its way back.
func onePoint(points []string) []int {
	at := chosenPoints(points)
	return at[len(at)/2 : len(at)/2+1]
}
