package powercut

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"fettle/lab"
)

// tally adds up results.
type tally struct {
	cuts, tried                        int
	lost, forced, one, more, data, bad int
	resumes, resumed, undos, undone    int
}

func (t *tally) add(r result) {
	t.tried++
	for _, f := range []struct {
		is bool
		n  *int
	}{{r.lost, &t.lost}, {r.forced, &t.forced}, {r.missing == 1, &t.one}, {r.missing > 1, &t.more}, {r.data, &t.data}, {r.err != nil, &t.bad},
		{r.resume, &t.resumes}, {r.resume && r.finished, &t.resumed}, {!r.resume, &t.undos}, {!r.resume && r.finished, &t.undone}} {
		if f.is {
			*f.n++
		}
	}
}

func (t *tally) cells(name string) []string {
	return []string{
		name,
		fmt.Sprint(t.cuts),
		fmt.Sprint(t.tried),
		fmt.Sprint(t.lost),
		fmt.Sprint(t.forced),
		fmt.Sprint(t.one),
		fmt.Sprint(t.more),
		fmt.Sprint(t.data),
		fmt.Sprintf("%d/%d", t.resumed, t.resumes),
		fmt.Sprintf("%d/%d", t.undone, t.undos),
	}
}

// trier looks at the disk as a cut left it, n-th. It tells the lie, if there is one.
type trier func(d *disk, l *Log, c Cut, n int, f *lie) result

// replayAll puts the disk together at each cut and has try look at it; at the
// marks of lies again, with each of them.
func replayAll(ctx context.Context, b *lab.Bench, d *disk, l *Log, most int, try trier, lies []lie) error {
	from, to := l.MarkAt(begun), l.MarkAt(ended)
	if from < 0 || to < 0 {
		return fmt.Errorf("the log of %d writes lacks its marks", len(l.Entries))
	}
	all, points := Cuts(l, from, to, d.class, rand.New(rand.NewPCG(1, 2)))
	every := len(all)
	all, err := Distinct(l, all)
	if err != nil {
		return err
	}
	sample := all
	if most > 0 {
		sample = Sample(all, most)
	}
	told := 0
	b.Columns("Cut in", "States", "Tried", "Lost", "Force", "1 out", ">1 out", "Data", "Resumed", "Undone")
	byClass, sum := map[string]*tally{}, &tally{cuts: len(all)}
	kinds := map[Kind]int{}
	for _, c := range all {
		if byClass[c.Class] == nil {
			byClass[c.Class] = &tally{}
		}
		byClass[c.Class].cuts++
	}
	f, err := os.OpenFile(d.file, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	start, done := time.Now(), 0 // entries that are on the disk
	var slowest time.Duration
	var unequal []string
	var bad []error
	for n, c := range sample {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		for ; done < c.Prefix; done++ {
			if err := l.Apply(f, done, l.Entries[done].Sectors); err != nil {
				return err
			}
		}
		began := time.Now()
		r := try(d, l, c, n, nil)
		if took := time.Since(began); took > slowest {
			slowest = took
			fmt.Printf("trial %d, power cut %s: took %s\n", n, c, took.Round(time.Millisecond))
		}
		if err := errors.Join(d.close(), d.forget()); err != nil {
			return fmt.Errorf("cleaning up after cut %s (%v): %w", c, r.err, err)
		}
		for i := range lies {
			f := &lies[i]
			if !said(l.Entries[c.At]) || l.Entries[c.At].Mark != f.mark {
				continue
			}
			told++
			r := try(d, l, c, 1, f) // it undoes, and waits for syncs
			if err := errors.Join(d.close(), d.forget()); err != nil {
				return fmt.Errorf("cleaning up after the lie %q (%v): %w", f.name, r.err, err)
			}
			if err := f.noticed(r); err != nil {
				bad = append(bad, fmt.Errorf("a lie at cut %s: %w", c, err))
				fmt.Println(bad[len(bad)-1])
			}
		}
		if n%50 == 49 {
			fmt.Printf("%d of %d states tried in %s\n", n+1, len(sample), time.Since(start).Round(time.Second))
		}
		byClass[c.Class].add(r)
		sum.add(r)
		kinds[c.Kind]++
		if r.differed != "" && r.differed != "0" {
			unequal = append(unequal, fmt.Sprintf("trial %d, power cut %s: %s sectors differed; %s", n, c, r.differed, r.about))
			fmt.Println(unequal[len(unequal)-1])
		}
		if r.err != nil {
			bad = append(bad, fmt.Errorf("trial %d, power cut %s: %w", n, c, r.err))
			fmt.Println(bad[len(bad)-1])
		}
	}
	for _, class := range slices.Sorted(maps.Keys(byClass)) {
		b.Row(byClass[class].cells(class)...)
	}
	b.Row(sum.cells("all")...)
	b.Note("States: that a power cut can leave; Lost: arrays or roots that did not come back; Force: arrays that needed mdadm's --force; " +
		"1 out, >1 out: arrays that came back with so many members missing; Data: of what was durable, something was gone.")
	b.Note(
		"%d writes in the log, %d flushes and FUA writes. Of the states tried, "+
			"%d had what was durable only, %d some of the rest too, %d a torn write.",
		len(l.Entries),
		points,
		kinds[Durable],
		kinds[Subset],
		kinds[Torn],
	)
	b.Note("%d more states are byte for byte the same as one of these.", every-len(all))
	b.Note("%d of %d lies were told on purpose; unless the run failed, each was noticed.", told, len(lies))
	if told != len(lies) {
		bad = append(bad, fmt.Errorf("%d of %d lies were told: their marks are not among the cuts tried", told, len(lies)))
	}
	b.Note("%d states in %s, the slowest in %s.", len(sample), time.Since(start).Round(time.Second), slowest.Round(time.Second/10))
	if len(unequal) > 0 {
		b.Note(
			"In %d arrays md's check found copies that differ, in the end; repair "+
				"made them equal, and all that was durable was there before and after. "+
				"Unless the run failed, each time only where a write was not durable on all members yet, or after --force:",
			len(unequal),
		)
		for _, u := range unequal[:min(len(unequal), 8)] {
			b.Note("%s", u)
		}
	}
	for _, err := range bad[:min(len(bad), 8)] {
		b.Note("%s", strings.Join(strings.Fields(err.Error()), " "))
	}
	if len(bad) > 0 {
		return fmt.Errorf("%d of %d power cuts left something that must not be", len(bad), len(sample))
	}
	return nil
}
