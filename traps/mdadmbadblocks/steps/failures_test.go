package steps

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
	"fettle/internal/means"
)

// whatFails are the acts of which testdata/failures.txt tells what comes of each failure on the way.
var whatFails = []struct {
	name    string
	prepare func(*fakeMD)
	act     func(context.Context, *step.Site) (fmt.Stringer, error)
}{
	{"Readd", nil, apply(member)},
	{"Readd, after a resync", func(f *fakeMD) { f.files["level"] = "raid5"; f.syncs("resync", 3) }, apply(member)},
	{"Readd, the member has left already", func(f *fakeMD) { f.files["level"], f.devs["sda1"].state = "raid6", "" }, apply(member)},
	{"Readd, other names by now, is it done", rename, told(member.Done)},
	{"Readd, is it halfway", func(f *fakeMD) { f.devs["sda1"].state = "" }, func(ctx context.Context, st *step.Site) (fmt.Stringer, error) {
		half, err := member.Halfway(ctx, st.Machine)
		return yes(half), err
	}},
	{"Readd, what it changes", rename, items(member)},
	{"Bitmap added", func(f *fakeMD) { f.files["bitmap/location"] = "none"; f.syncs("recover", 3) }, apply(bitmap)},
	{"Bitmap that every member refuses", func(f *fakeMD) {
		f.files["bitmap/location"], f.files["consistency_policy"], f.marked = "none", "resync", true
	}, apply(bitmap)},
	{"Bitmap added, other names by now", func(f *fakeMD) { rename(f); f.files["bitmap/location"] = "none" }, apply(bitmap)},
	{"Bitmap taken back", nil, func(ctx context.Context, st *step.Site) (fmt.Stringer, error) { return nil, bitmap.Invert(ctx, st) }},
	{"Bitmap, other names by now, is it done", rename, told(bitmap.Done)},
	{"Bitmap, what it changes", rename, items(bitmap)},
}

var (
	member = Readd{Array: "md0", Member: "sda1", ArrayUUID: mdArray, DeviceUUID: mdFirst}
	bitmap = Bitmap{Array: "md0", ArrayUUID: mdArray, Internal: true}
)

// rename gives everything another name, as a boot does.
func rename(f *fakeMD) {
	f.name = "md127"
	f.devs["sdx1"], f.devs["sdy1"] = f.devs["sda1"], f.devs["sdb1"]
	delete(f.devs, "sda1")
	delete(f.devs, "sdb1")
}

type yes bool

func (y yes) String() string { return fmt.Sprint(bool(y)) }

func apply(s step.Step) func(context.Context, *step.Site) (fmt.Stringer, error) {
	return func(ctx context.Context, st *step.Site) (fmt.Stringer, error) { return nil, s.Apply(ctx, st, nil) }
}

func told(done func(context.Context, machine.Machine, []step.Item, []step.Item) (bool, error)) func(context.Context,
	*step.Site) (fmt.Stringer, error) {
	return func(ctx context.Context, st *step.Site) (fmt.Stringer, error) {
		is, err := done(ctx, st.Machine, nil, nil)
		return yes(is), err
	}
}

func items(s step.Step) func(context.Context, *step.Site) (fmt.Stringer, error) {
	return func(ctx context.Context, st *step.Site) (fmt.Stringer, error) {
		all, err := s.Items(ctx, st.Machine)
		return yes(len(all) > 0), err
	}
}

// TestEachFailure: whatever a step asks its machine for fails once, each time that it is asked for. The file tells
// what came of it: what the admin is told, where the array stands, and when; of a failure only what differs then.
func TestEachFailure(t *testing.T) {
	var text strings.Builder
	for _, c := range whatFails {
		inTime(t, c.name, func(t *testing.T) {
			run := func(failing string, at int) (outcome []string, asked map[string]int) {
				f, asked := newFakeMD(t), map[string]int{}
				if c.prepare != nil {
					c.prepare(f)
				}
				f.ask = func(what string) error {
					if asked[what]++; what == failing && asked[what] == at {
						return errors.New("it broke")
					}
					return nil
				}
				var notes []string
				begun := time.Now()
				said, err := c.act(t.Context(), &step.Site{Machine: f, Log: func(l string) { notes = append(notes, l) }})
				return append(f.stands(), fmt.Sprintf("it ran %q", f.ran), "after "+time.Since(begun).String(),
					fmt.Sprintf("it noted %q", notes), f.ends(said, err)), asked
			}
			whole, asked := run("", 0)
			fmt.Fprintf(&text, "%s: %s\n", c.name, strings.Join(whole, "; "))
			var harmless []string
			for _, what := range slices.Sorted(maps.Keys(asked)) {
				last, from := "", 1
				end := func(to int) {
					switch {
					case last != "":
						fmt.Fprintf(&text, "\t%s, %d to %d: %s\n", what, from, to, last)
					case to >= from:
						harmless = append(harmless, fmt.Sprintf("%s, %d to %d", what, from, to))
					}
				}
				for at := 1; at <= asked[what]; at++ {
					outcome, _ := run(what, at)
					var differs []string
					for i, o := range outcome {
						if o != whole[i] {
							differs = append(differs, o)
						}
					}
					if now := strings.Join(differs, "; "); now != last {
						end(at - 1)
						last, from = now, at
					}
				}
				end(asked[what])
			}
			fmt.Fprintf(&text, "\tno matter: %s\n", strings.Join(harmless, "; "))
		})
	}
	means.Written(t, "testdata/failures.txt", text.String())
}

// stands tells where the array stands.
func (f *fakeMD) stands() (out []string) {
	for _, name := range slices.Sorted(maps.Keys(f.devs)) {
		if d := f.devs[name]; d.array != "" {
			out = append(out, fmt.Sprintf("%s is %q, list %t", name, d.state, d.list))
		}
	}
	return append(out, "bitmap "+f.files["bitmap/location"])
}

func (f *fakeMD) ends(said fmt.Stringer, err error) string {
	var u *step.Untouched
	switch {
	case errors.As(err, &u) && len(f.ran) > 0:
		f.t.Errorf("it says that it never acted, and ran %q", f.ran)
	case errors.As(err, &u):
		return "untouched: " + err.Error()
	case err != nil:
		return "error: " + err.Error()
	case said != nil:
		return said.String()
	}
	return "done"
}
