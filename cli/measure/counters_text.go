package measure

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	xterm "golang.org/x/term"

	"fettle/chart"
	"fettle/cli/app"
	"fettle/internal/ui"
	"fettle/measure/counters"
)

// counted is what fettle measure counters has measured.
type counted struct {
	flags    counterFlags
	source   string
	interval time.Duration
	rec      *counters.Recording // nil of recorded series
	series   []counters.Series
	verdicts []counters.Verdict
	sums     []counters.Summary
	truth    chart.Curve // of simulated traffic
}

func (m *counted) judge() {
	for _, s := range m.series {
		v := counters.Judge(s)
		m.verdicts, m.sums = append(m.verdicts, v), append(m.sums, counters.Summarize(s, v))
	}
}

// countersProgress tells a terminal how far a measurement is. lost < 0 ends the line.
func countersProgress(a *app.App, f counterFlags) func(rounds, lost int, since time.Duration) {
	if !ui.IsTerminal(a.Stderr) {
		return func(int, int, time.Duration) {}
	}
	return func(rounds, lost int, since time.Duration) {
		if lost < 0 {
			fmt.Fprint(a.Stderr, "\r\x1b[K")
			return
		}
		line := fmt.Sprintf("%s, %d polls", short(since), rounds)
		if f.length > 0 {
			line = fmt.Sprintf("%s of %s, %d polls", short(since), short(f.length), rounds)
		}
		if lost > 0 {
			line += fmt.Sprintf(", %d lost", lost)
		}
		fmt.Fprintf(a.Stderr, "\r%s (Ctrl-C ends and shows the result)\x1b[K", line)
	}
}

// short is a time with two figures or so: "12s", "4m30s".
func short(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		d = d.Round(time.Second)
	case d >= time.Second:
		d = d.Round(100 * time.Millisecond)
	default:
		d = d.Round(time.Millisecond)
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// askSecrets asks at a terminal for what the environment and the file lack.
func askSecrets(a *app.App, c *counters.SNMP) error {
	ask := func(what, env string, to *string) error {
		if *to != "" {
			return nil
		}
		in, ok := a.Stdin.(*os.File)
		if !ok || !ui.IsTerminal(in) {
			return app.Usagef("no %s: set %s, or give --snmp-secrets FILE", what, env)
		}
		fmt.Fprintf(a.Stderr, "%s of %s: ", strings.ToUpper(what[:1])+what[1:], ui.Visible(c.Host))
		b, err := xterm.ReadPassword(int(in.Fd()))
		fmt.Fprintln(a.Stderr)
		if err != nil || len(b) == 0 {
			return app.Usagef("no %s was given", what)
		}
		*to = string(b)
		return nil
	}
	if c.User == "" {
		return ask("community", counters.EnvCommunity, &c.Community)
	}
	if c.Auth != "" {
		if err := ask("authentication key", counters.EnvAuthKey, &c.AuthKey); err != nil {
			return err
		}
	}
	if c.Priv != "" {
		return ask("privacy key", counters.EnvPrivKey, &c.PrivKey)
	}
	return nil
}

// text prints a table of all counters, and below it what is to be known of each.
func (m *counted) text(a *app.App) {
	w := a.Stdout
	fmt.Fprint(w, ui.Wrap(m.head(), 80, "", "  "))
	fmt.Fprintf(w, "\n%-22s %13s %13s  %-12s %s\n", "COUNTER", "MEAN", "HIGHEST", "WIDTH", "RATES")
	quiet := 0
	for k, s := range m.series {
		sum := m.sums[k]
		if sum.Highest == 0 && len(sum.Events) == 0 && len(m.series) > 20 && !m.flags.verbose {
			quiet++
			continue
		}
		fmt.Fprintf(w, "%-22s %13s %13s  %-12s %s\n", ui.Cut(ui.Visible(s.Name), 22), counters.FormatRate(sum.Mean), counters.FormatRate(sum.Highest),
			widthWord(m.verdicts[k].Width), sum.Worst)
	}
	if quiet > 0 {
		fmt.Fprintf(w, "%d more counters did not move\n", quiet)
	}
	for k := range m.series {
		m.notes(w, k)
	}
	if m.flags.against > 0 {
		fmt.Fprintf(w, "\n%s", m.plot().Text(80, 16))
	}
}

func (m *counted) head() string {
	s := "Counters of " + ui.Visible(m.source)
	if m.rec != nil {
		s += fmt.Sprintf(", every %s for %s: %d polls", short(m.interval), short(m.rec.Took), m.rec.Rounds)
		if m.rec.Lost > 0 {
			s += fmt.Sprintf(", %d lost (%s)", m.rec.Lost, ui.Visible(m.rec.LastErr.Error()))
		}
		if m.flags.length > 0 && m.rec.Took+m.interval < m.flags.length && !m.rec.Full {
			s += fmt.Sprintf("; interrupted, %s were requested", short(m.flags.length))
		}
		if m.rec.Left > 0 {
			s += fmt.Sprintf("; %d more interfaces are left out, name those that matter", m.rec.Left)
		}
		if m.rec.Full {
			s += "; ended, for fettle keeps no more readings"
		}
		return s + "."
	}
	return s + fmt.Sprintf(", read every %s for %s.", short(m.interval), short(m.sums[0].Span))
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

// mostLines of intervals are shown of one counter without --verbose.
const mostLines = 12

// notes says of one counter what the table does not hold.
func (m *counted) notes(w io.Writer, k int) {
	s, v, sum := m.series[k], m.verdicts[k], m.sums[k]
	var lines []string
	say := func(format string, args ...any) {
		lines = append(lines, ui.Wrap(fmt.Sprintf(format, args...), 80, "  ", "    "))
	}
	if v.Width.Summed && v.Width.Bits > 0 {
		say("Readings exceed %d bits: it adds up several counters of that width, and falls by about 2^%d when one of them wraps.", v.Width.Bits, v.Width.Bits)
	}
	if declared := s.Facts.Width; v.Width.Bits > 0 && !v.Width.Known && (declared == 0 || declared > v.Width.Bits) && v.Width.Confidence > 0.5 {
		say("This counter is read as 64 bits wide, but has only %d. See fettle explain counter-wrap.", v.Width.Bits)
	}
	if v.Crowded {
		say("Between readings it moves by more than half of its range: further wraps would go unseen, and higher rates fit as well.")
	}
	if v.Conflicts > 0 {
		say("%d intervals fit no explanation: it is reset although that should be told, or it is faster than its bound, or readings are older than taken for (--lag).", v.Conflicts)
	}
	if s.Rates {
		say("These are rates that rrdtool computed: which of them it took for wraps is not recorded.")
	}
	if sum.Poll > 0 && sum.Poll < time.Hour {
		say("At its highest rate it wraps every %s: poll every %s or more often.", short(sum.WrapsEvery), short(sum.Poll))
	}
	if sum.PollAtMost > 0 && sum.PollAtMost < time.Hour {
		say("At %s it wraps every %s: every %s is safe at any load.", counters.FormatRate(s.Facts.MaxRate), short(sum.WrapsEveryAtMost), short(sum.PollAtMost))
	}
	shown, events := 0, 0
	for _, i := range v.Intervals {
		if i.Event == counters.Rise && i.Polls == 0 && !m.flags.verbose {
			continue
		}
		if events++; shown < mostLines || m.flags.verbose {
			shown++
			lines = append(lines, "  "+intervalLine(i)+"\n")
		}
	}
	if events > shown {
		lines = append(lines, fmt.Sprintf("  and %d more (--verbose shows all)\n", events-shown))
	}
	if len(lines) > 0 {
		fmt.Fprintf(w, "\n%s\n%s", ui.Visible(s.Name), strings.Join(lines, ""))
	}
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

// plot is the rates over time, in Mbit/s: as judged, and as pollers show them.
func (m *counted) plot() chart.Plot {
	p := chart.Plot{Name: "counters", Title: "Rates of interface counters", X: "minutes", Y: "Mbit/s"}
	if len(m.series) == 0 {
		return p
	}
	start := m.series[0].Samples[0].T
	x := func(t time.Time) float64 { return t.Sub(start).Minutes() }
	drawn := 0
	for k, s := range m.series {
		if len(m.series) > 8 && m.sums[k].Highest == 0 || drawn >= 8 {
			continue // more curves than colours tell nothing
		}
		drawn++
		if m.flags.against > 0 && !s.Rates {
			for _, step := range []time.Duration{0, m.flags.against} {
				samples, label := s.Samples, "polled every "+short(m.interval)
				if step > 0 {
					samples, label = counters.Thin(samples, step), "polled every "+short(step)
				}
				at, rates := counters.Poller(samples)
				c := chart.Curve{Name: s.Name + ", " + label}
				for i := range at {
					c.X, c.Y = append(c.X, x(at[i])), append(c.Y, rates[i]/1e6)
				}
				p.Curves = append(p.Curves, c)
			}
			p.Title = "The same counter, as two pollers show it"
			continue
		}
		c := chart.Curve{Name: s.Name}
		for _, i := range m.verdicts[k].Intervals {
			if i.Mark != counters.Lost {
				c.X, c.Y = append(c.X, x(i.To)), append(c.Y, i.Rate/1e6)
			}
		}
		p.Curves = append(p.Curves, c)
	}
	if len(m.truth.X) > 0 {
		p.Curves = append(p.Curves, m.truth)
	}
	return p
}
