package measure

import (
	"time"

	"fettle/measure/counters"
	"fettle/report"
)

// The JSON of fettle measure counters. Rates are bits a second, times RFC 3339,
// lengths of time seconds.
type countersJSON struct {
	report.Envelope
	Source      string        `json:"source"`
	Interval    float64       `json:"interval_s"`
	Took        float64       `json:"took_s,omitempty"`
	Polls       int           `json:"polls,omitempty"`
	Lost        int           `json:"lost_polls,omitempty"`
	Interrupted bool          `json:"interrupted,omitempty"`
	Counters    []counterJSON `json:"counters"`
}

type counterJSON struct {
	Name     string        `json:"name"`
	Readings int           `json:"readings"`
	Missed   int           `json:"missed"`
	Mean     float64       `json:"mean_bits_per_s"`
	Highest  float64       `json:"highest_bits_per_s"`
	Mark     counters.Mark `json:"mark"` // the least sure of all intervals
	Width    struct {
		Bits       int     `json:"bits"` // 0: no wrap has shown it
		Least      int     `json:"least"`
		Confidence float64 `json:"confidence"`
		Known      bool    `json:"known"`
		Summed     bool    `json:"summed"`
	} `json:"width"`
	Facts struct {
		MaxRate float64 `json:"max_bits_per_s,omitempty"`
		Queues  int     `json:"queues,omitempty"`
		Lag     float64 `json:"lag_s"`
		Told    bool    `json:"resets_told"`
	} `json:"facts"`
	Crowded     bool                   `json:"crowded"`
	Conflicts   int                    `json:"conflicts"`
	WrapsEvery  float64                `json:"wraps_every_s,omitempty"`
	Poll        float64                `json:"poll_every_s,omitempty"`
	PollAtBound float64                `json:"poll_every_at_max_s,omitempty"`
	Marks       map[counters.Mark]int  `json:"marks"`
	Events      map[counters.Event]int `json:"events"`
	Intervals   []intervalJSON         `json:"intervals"`
}

type intervalJSON struct {
	From   time.Time      `json:"from"`
	To     time.Time      `json:"to"`
	Event  counters.Event `json:"event"`
	Mark   counters.Mark  `json:"mark"`
	Octets uint64         `json:"octets"`
	Rate   float64        `json:"bits_per_s"`
	Least  float64        `json:"least_bits_per_s"`
	Most   float64        `json:"most_bits_per_s"`
	Drop   uint64         `json:"drop,omitempty"`
	Missed int            `json:"missed_polls,omitempty"`
}

func (m *counted) json() countersJSON {
	out := countersJSON{Envelope: report.NewEnvelope("counters"), Source: m.source, Interval: m.interval.Seconds(), Counters: []counterJSON{}}
	if m.rec != nil {
		out.Took, out.Polls, out.Lost = m.rec.Took.Seconds(), m.rec.Rounds, m.rec.Lost
		out.Interrupted = m.flags.length > 0 && m.rec.Took+m.interval < m.flags.length
	}
	for k, s := range m.series {
		v, sum := m.verdicts[k], m.sums[k]
		c := counterJSON{Name: s.Name, Readings: sum.Readings, Missed: sum.Missed, Mean: sum.Mean, Highest: sum.Highest, Mark: sum.Worst,
			Crowded: v.Crowded, Conflicts: v.Conflicts, WrapsEvery: sum.WrapsEvery.Seconds(), Poll: sum.Poll.Seconds(), PollAtBound: sum.PollAtMost.Seconds(),
			Marks: sum.Marks, Events: sum.Events, Intervals: []intervalJSON{}}
		c.Width.Bits, c.Width.Least, c.Width.Confidence, c.Width.Known, c.Width.Summed = v.Width.Bits, v.Width.Least, v.Width.Confidence, v.Width.Known, v.Width.Summed
		c.Facts.MaxRate, c.Facts.Queues, c.Facts.Lag, c.Facts.Told = s.Facts.MaxRate, s.Facts.Queues, s.Facts.Lag.Seconds(), s.Facts.Told
		for _, i := range v.Intervals {
			c.Intervals = append(c.Intervals, intervalJSON{i.From.UTC(), i.To.UTC(), i.Event, i.Mark, i.Octets, i.Rate, i.Least, i.Most, i.Drop, i.Polls})
		}
		out.Counters = append(out.Counters, c)
	}
	return out
}
