package login

import (
	"context"
	"fmt"
	"slices"
	"time"

	"fettle/internal/sorted"
)

// Result is what n logins took.
type Result struct {
	Host   string  `json:"host"`
	Logins []Login `json:"-"`
	Phases []Stat  `json:"phases"`
	Total  Stat    `json:"total"`
	// Slow are the phases that took longer than they should, longest first.
	Slow []Stat `json:"slow"`
}

// Stat is one phase over all logins, in seconds. A login that lacks the phase
// does not count for it.
type Stat struct {
	Phase  Phase   `json:"phase"`
	Median float64 `json:"median_s"`
	Min    float64 `json:"min_s"`
	Max    float64 `json:"max_s"`
	// Server is how much of the median login's phase passed waiting for the server.
	Server float64 `json:"server_s"`
	Tries  int     `json:"tries,omitempty"`
	N      int     `json:"n"`
}

// Waited tells whether most of the phase passed waiting for the server.
func (s Stat) Waited() bool { return s.Server > s.Median/2 }

// allowed is what a phase may take, in seconds, beyond its round trips. A person
// feels half a second; a key exchange is work for both processors.
func allowed(p Phase) float64 {
	switch p {
	case Exchange, Proxy, Connect:
		return 0.75
	}
	return 0.3
}

// trips is how many round trips a phase is made of, at most (RFC 4253, 4252, 4254).
func trips(p Phase) float64 {
	switch p {
	case Start, Resolve:
		return 0
	case Connect, Banner, Service, Output:
		return 1
	case Exchange:
		return 2
	case Proxy:
		return 16 // a login of its own
	}
	return 2
}

// Measure makes o.N logins, one after another.
func Measure(ctx context.Context, o Options) (*Result, error) {
	if err := o.check(ctx); err != nil {
		return nil, err
	}
	r := &Result{Host: o.Host}
	for i := range o.N {
		l, err := o.once(ctx)
		if err != nil {
			if i > 0 {
				err = fmt.Errorf("login %d of %d, after %d that went well: %w", i+1, o.N, i, err)
			}
			return nil, err
		}
		r.Logins = append(r.Logins, *l)
		if o.Tell != nil {
			o.Tell(i+1, o.N)
		}
	}
	r.sum()
	return r, nil
}

// First is the first login; it says what all have in common.
func (r *Result) First() *Login { return &r.Logins[0] }

// Cold is what the first login took, in seconds; ok where it took far longer
// than most: the answers of name servers were cached for those after it.
func (r *Result) Cold() (first float64, ok bool) {
	first = r.First().Total.Seconds()
	return first, len(r.Logins) > 2 && first > 2*r.Total.Median && first > r.Total.Median+0.5
}

// RTT estimates the round trip to the server: the fastest TCP handshake. It is
// 0 behind a proxy.
func (r *Result) RTT() time.Duration {
	var least time.Duration
	for i := range r.Logins {
		// Another address tried first makes it longer than a round trip.
		if s, ok := r.Logins[i].Span(Connect); ok && s.Tries == 1 && (least == 0 || s.Took < least) {
			least = s.Took
		}
	}
	return least
}

func (r *Result) sum() {
	var order []Phase
	for i := range r.Logins {
		at := 0
		for _, s := range r.Logins[i].Spans {
			if j := slices.Index(order, s.Phase); j >= 0 {
				at = j + 1
				continue
			}
			order = slices.Insert(order, at, s.Phase)
			at++
		}
	}
	for _, p := range order {
		var spans []Span
		for i := range r.Logins {
			if s, ok := r.Logins[i].Span(p); ok {
				spans = append(spans, s)
			}
		}
		r.Phases = append(r.Phases, stat(p, spans))
	}
	var totals []Span
	for i := range r.Logins {
		totals = append(totals, Span{Took: r.Logins[i].Total})
	}
	r.Total = stat("login", totals)
	rtt := r.RTT().Seconds()
	for _, s := range r.Phases {
		if s.Median > allowed(s.Phase)+trips(s.Phase)*rtt {
			r.Slow = append(r.Slow, s)
		}
	}
	sorted.By(r.Slow, func(a, b Stat) int {
		switch {
		case a.Median > b.Median:
			return -1
		case a.Median < b.Median:
			return 1
		}
		return 0
	})
}

// stat sums up the spans of one phase.
func stat(p Phase, spans []Span) Stat {
	sorted.By(spans, func(a, b Span) int { return int(a.Took - b.Took) })
	n := len(spans)
	mid := spans[(n-1)/2] // the lower of two: a login that was
	return Stat{Phase: p, Median: mid.Took.Seconds(), Server: mid.Server.Seconds(), Tries: mid.Tries,
		Min: spans[0].Took.Seconds(), Max: spans[n-1].Took.Seconds(), N: n}
}
