package render

import (
	"fmt"
	"strings"
	"time"

	"fettle/internal/chart"
	"fettle/internal/jsondoc"
	"fettle/internal/ui"
	"fettle/tools/measure/counters"
)

// Counters is what fettle measure counters measured.
type Counters struct {
	*counters.Result
	Against time.Duration // what a poller with this longer interval shows is drawn too; 0: not
	Verbose bool          // text: every interval and every counter
}

// Text is a table of all counters, and below it what is to be known of each.
func (c Counters) Text(Terminal) string {
	var b strings.Builder
	b.WriteString(ui.Wrap(c.head(), 80, "", "  "))
	fmt.Fprintf(&b, "\n%-22s %13s %13s  %-12s %s\n", "COUNTER", "MEAN", "HIGHEST", "WIDTH", "RATES")
	quiet := 0
	for _, j := range c.Counters {
		sum := j.Summary
		if sum.Highest == 0 && len(sum.Events) == 0 && len(c.Counters) > 20 && !c.Verbose {
			quiet++
			continue
		}
		fmt.Fprintf(
			&b,
			"%-22s %13s %13s  %-12s %s\n",
			ui.Cut(ui.Visible(j.Series.Name), 22),
			counters.FormatRate(sum.Mean),
			counters.FormatRate(sum.Highest),
			widthWord(j.Verdict.Width),
			sum.Worst,
		)
	}
	if quiet > 0 {
		fmt.Fprintf(&b, "%d more counters did not move\n", quiet)
	}
	for _, j := range c.Counters {
		b.WriteString(c.notes(j))
	}
	if c.Against > 0 {
		b.WriteString("\n" + c.Plot().Text(80, 16))
	}
	return b.String()
}

func (c Counters) head() string {
	s := "Counters of " + ui.Visible(c.Source)
	rec := c.Recording
	if rec == nil {
		return s + fmt.Sprintf(", read every %s for %s.", counters.FormatTime(c.Interval), counters.FormatTime(c.Counters[0].Summary.Span))
	}
	s += fmt.Sprintf(", every %s for %s: %d polls", counters.FormatTime(c.Interval), counters.FormatTime(rec.Took), rec.Rounds)
	if rec.Lost > 0 {
		s += fmt.Sprintf(", %d lost (%s)", rec.Lost, ui.Visible(rec.LastErr.Error()))
	}
	if c.Interrupted() && !rec.Full {
		s += fmt.Sprintf("; interrupted, %s were requested", counters.FormatTime(c.Asked))
	}
	if rec.Left > 0 {
		s += fmt.Sprintf("; %d more interfaces are left out, name those that matter", rec.Left)
	}
	if rec.Full {
		s += "; stopped: fettle keeps no more readings"
	}
	return s + "."
}

func widthWord(w counters.Width) string {
	switch {
	case w.Known:
		return fmt.Sprintf("%d", w.Bits)
	case w.Bits == 0:
		return fmt.Sprintf("%d or more", w.Least)
	case w.Confidence <= 0.5:
		return fmt.Sprintf("%d? guess", w.Bits)
	case w.Confidence > 0.999:
		return fmt.Sprintf("%d (>99.9%%)", w.Bits)
	}
	return fmt.Sprintf("%d (%.0f%%)", w.Bits, 100*w.Confidence)
}

// mostLines of intervals are shown of one counter that is not Verbose.
const mostLines = 12

// notes says of one counter what the table does not hold.
func (c Counters) notes(j counters.Judged) string {
	lines := caveats(j)
	shown, events := 0, 0
	for _, i := range j.Verdict.Intervals {
		if i.Event == counters.Rise && i.Polls == 0 && !c.Verbose {
			continue
		}
		if events++; shown < mostLines || c.Verbose {
			shown++
			lines = append(lines, "  "+intervalLine(i)+"\n")
		}
	}
	if events > shown {
		lines = append(lines, fmt.Sprintf("  and %d more (--verbose shows all)\n", events-shown))
	}
	if len(lines) == 0 {
		return ""
	}
	return "\n" + ui.Visible(j.Series.Name) + "\n" + strings.Join(lines, "")
}

// caveats is what to mind with a counter, and how often to poll it.
func caveats(j counters.Judged) (lines []string) {
	s, v, sum := j.Series, j.Verdict, j.Summary
	say := func(format string, args ...any) {
		lines = append(lines, ui.Wrap(fmt.Sprintf(format, args...), 80, "  ", "    "))
	}
	if v.Width.Summed && v.Width.Bits > 0 {
		say(
			"Readings exceed %d bits: it adds up several counters of that width, and falls by about 2^%d when one of them wraps.",
			v.Width.Bits,
			v.Width.Bits,
		)
	}
	if declared := s.Facts.Width; v.Width.Bits > 0 && !v.Width.Known && (declared == 0 || declared > v.Width.Bits) &&
		v.Width.Confidence > 0.5 {
		say("This counter is read as 64 bits wide, but has only %d. See fettle explain counter-wrap.", v.Width.Bits)
	}
	if v.Crowded {
		say("Between readings it moves by more than half of its range: further wraps would go unseen, and higher rates fit as well.")
	}
	if v.Conflicts > 0 {
		say(
			"%d intervals fit no explanation: it is reset although it should report resets, or it is faster than its bound, or readings are older "+
				"than taken for (--lag).",
			v.Conflicts,
		)
	}
	if s.Rates {
		say("These are rates that rrdtool computed: which of them it took for wraps is not recorded.")
	}
	if sum.Poll > 0 && sum.Poll < time.Hour {
		say(
			"At its highest rate it wraps every %s: poll every %s or more often.",
			counters.FormatTime(sum.WrapsEvery),
			counters.FormatTime(sum.Poll),
		)
	}
	if sum.PollAtMost > 0 && sum.PollAtMost < time.Hour {
		say(
			"At %s it wraps every %s: every %s is safe at any load.",
			counters.FormatRate(s.Facts.MaxRate),
			counters.FormatTime(sum.WrapsEveryAtMost),
			counters.FormatTime(sum.PollAtMost),
		)
	}
	return lines
}

func intervalLine(i counters.Interval) string {
	rate := counters.FormatRate(i.Rate)
	if i.Mark == counters.Lost {
		rate = "-"
	}
	l := fmt.Sprintf("%s  %-12s %13s  %s", i.To.UTC().Format("2006-01-02 15:04:05"), i.Event, rate, i.Mark)
	if i.Polls > 0 {
		l += fmt.Sprintf(" (%d missed)", i.Polls)
	}
	return l
}

// Plot is the rates over time, in Mbit/s: as judged, and as pollers show them.
func (c Counters) Plot() chart.Plot {
	p := chart.Plot{Name: "counters", Title: "Rates of interface counters", X: "minutes", Y: "Mbit/s"}
	if len(c.Counters) == 0 {
		return p
	}
	start := c.Counters[0].Series.Samples[0].T
	add := func(name string, at []time.Time, rates []float64) {
		curve := chart.Curve{Name: ui.Visible(name)}
		for i := range at {
			curve.X, curve.Y = append(curve.X, at[i].Sub(start).Minutes()), append(curve.Y, rates[i]/1e6)
		}
		p.Curves = append(p.Curves, curve)
	}
	drawn := 0
	for _, j := range c.Counters {
		if len(c.Counters) > 8 && j.Summary.Highest == 0 || drawn >= 8 {
			continue // more curves than colours tell nothing
		}
		drawn++
		s := j.Series
		if c.Against == 0 || s.Rates {
			at, rates := j.Verdict.Rates()
			add(s.Name, at, rates)
			continue
		}
		p.Title = "The same counter, as two pollers show it"
		at, rates := counters.Poller(s.Samples)
		add(s.Name+", polled every "+counters.FormatTime(c.Interval), at, rates)
		at, rates = counters.Poller(counters.Thin(s.Samples, c.Against))
		add(s.Name+", polled every "+counters.FormatTime(c.Against), at, rates)
	}
	if len(c.Truth) > 0 {
		add("what passed", c.TruthAt, c.Truth)
	}
	return p
}

// countersDocument is fettle measure counters --format json. Rates are bits a second, times RFC 3339,
// lengths of time seconds.
type countersDocument struct {
	jsondoc.Envelope
	Source      string            `json:"source"`
	Interval    float64           `json:"interval_s"`
	Took        float64           `json:"took_s,omitempty"`
	Polls       int               `json:"polls,omitempty"`
	Lost        int               `json:"lost_polls,omitempty"`
	Interrupted bool              `json:"interrupted,omitempty"`
	Counters    []counterDocument `json:"counters"`
}

type counterDocument struct {
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
	Intervals   []intervalDocument     `json:"intervals"`
}

type intervalDocument struct {
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

// Document is the judged counters with all their intervals.
func (c Counters) Document() any {
	out := countersDocument{
		Envelope: jsondoc.New("counters"),
		Source:   c.Source,
		Interval: c.Interval.Seconds(),
		Counters: []counterDocument{},
	}
	if rec := c.Recording; rec != nil {
		out.Took, out.Polls, out.Lost, out.Interrupted = rec.Took.Seconds(), rec.Rounds, rec.Lost, c.Interrupted()
	}
	for _, j := range c.Counters {
		s, v, sum := j.Series, j.Verdict, j.Summary
		d := counterDocument{Name: s.Name, Readings: sum.Readings, Missed: sum.Missed, Mean: sum.Mean, Highest: sum.Highest, Mark: sum.Worst,
			Crowded: v.Crowded, Conflicts: v.Conflicts, WrapsEvery: sum.WrapsEvery.Seconds(), Poll: sum.Poll.Seconds(),
			PollAtBound: sum.PollAtMost.Seconds(),
			Marks:       sum.Marks, Events: sum.Events, Intervals: []intervalDocument{}}
		d.Width.Bits, d.Width.Least, d.Width.Confidence, d.Width.Known, d.Width.Summed = v.Width.Bits, v.Width.Least, v.Width.Confidence,
			v.Width.Known, v.Width.Summed
		d.Facts.MaxRate, d.Facts.Queues, d.Facts.Lag, d.Facts.Told = s.Facts.MaxRate, s.Facts.Queues, s.Facts.Lag.Seconds(), s.Facts.Told
		for _, i := range v.Intervals {
			d.Intervals = append(
				d.Intervals,
				intervalDocument{i.From.UTC(), i.To.UTC(), i.Event, i.Mark, i.Octets, i.Rate, i.Least, i.Most, i.Drop, i.Polls},
			)
		}
		out.Counters = append(out.Counters, d)
	}
	return out
}
