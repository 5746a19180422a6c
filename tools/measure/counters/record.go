package counters

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Reading is the octet counters of one interface at one time.
type Reading struct {
	Name   string
	Index  int
	In     uint64 // octets received
	Out    uint64 // octets sent
	Epoch  uint64 // changes when the counters may have started again
	Absent bool   // the interface is known, and could not be read this time
}

// Source is where readings come from.
type Source interface {
	// Read reads the counters of all interfaces once.
	Read(ctx context.Context) ([]Reading, error)
	// Facts tells what is known of an interface's counters.
	Facts(r Reading) Facts
	Close() error
}

// Plan is what to record.
type Plan struct {
	Names    []string // interfaces; empty: all
	Interval time.Duration
	For      time.Duration // 0: until the context ends
	// Progress is called after each round.
	Progress func(rounds, lost int, since time.Duration)
}

// ErrNoInterface: an interface that was asked for is not there.
var ErrNoInterface = errors.New("there is no such interface")

// Recording is what was recorded.
type Recording struct {
	Series  []Series
	Rounds  int // polls that were answered
	Lost    int // polls that were not
	LastErr error
	Took    time.Duration
	// Left is how many interfaces are left out: more than fettle follows at once.
	Left int
	// Full says that recording ended because no more is kept.
	Full bool
}

// Record polls a source until the plan's time is over or ctx ends, which is no
// error: what was recorded so far is returned. An error of the first poll ends
// it; later ones are lost polls.
func Record(ctx context.Context, src Source, p Plan) (*Recording, error) {
	start := time.Now()
	rec := &Recording{}
	at := map[string]int{} // of a counter in rec.Series
	var order []string
	total := 0
	tick := time.NewTicker(p.Interval)
	defer tick.Stop()
	for {
		sent := time.Now()
		rs, err := src.Read(ctx)
		now := sent.Add(time.Since(sent) / 2)
		switch {
		case ctx.Err() != nil:
			rec.Took = time.Since(start)
			return rec, nil
		case err != nil && rec.Rounds == 0:
			return nil, err
		case err != nil:
			rec.Lost, rec.LastErr = rec.Lost+1, err
			rs = nil
		default:
			if rec.Rounds == 0 {
				var have []string
				for _, r := range rs {
					have = append(have, r.Name)
				}
				if err := missing(p.Names, have); err != nil {
					return nil, err
				}
			}
			rec.Rounds++
		}
		seen := map[string]bool{}
		for _, r := range rs {
			if len(p.Names) > 0 && !slices.Contains(p.Names, r.Name) || seen[r.Name] {
				continue
			}
			seen[r.Name] = true
			k, ok := at[r.Name]
			if !ok {
				if len(order) >= maxSeries/2 {
					rec.Left = max(rec.Left, len(rs)-len(order))
					continue
				}
				k = len(rec.Series)
				at[r.Name] = k
				order = append(order, r.Name)
				f := src.Facts(r)
				rec.Series = append(rec.Series, Series{Name: r.Name + " in", Facts: f}, Series{Name: r.Name + " out", Facts: f})
			}
			s := Sample{T: now, V: r.In, Gone: r.Absent, Index: r.Index, Epoch: r.Epoch}
			rec.Series[k].Samples = append(rec.Series[k].Samples, s)
			s.V = r.Out
			rec.Series[k+1].Samples = append(rec.Series[k+1].Samples, s)
			total += 2
		}
		for _, name := range order {
			if !seen[name] {
				k := at[name]
				for d := range 2 {
					rec.Series[k+d].Samples = append(rec.Series[k+d].Samples, Sample{T: now, Gone: true})
				}
				total += 2
			}
		}
		rec.Took = time.Since(start)
		if p.Progress != nil {
			p.Progress(rec.Rounds, rec.Lost, rec.Took)
		}
		if total > maxSamples {
			rec.Full = true
			return rec, nil
		}
		if p.For > 0 && rec.Took+p.Interval/2 > p.For {
			return rec, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			rec.Took = time.Since(start)
			return rec, nil
		}
	}
}

// missing refuses names that are not among those that are there.
func missing(names, have []string) error {
	for _, n := range names {
		if !slices.Contains(have, n) {
			list := slices.Sorted(slices.Values(have))
			if len(list) > 12 {
				list = append(list[:12:12], fmt.Sprintf("and %d more", len(have)-12))
			}
			return fmt.Errorf("%s: %w; there are %s", n, ErrNoInterface, strings.Join(list, ", "))
		}
	}
	if len(have) == 0 {
		return errors.New("there is no interface")
	}
	return nil
}
