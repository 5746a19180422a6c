package measure

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/internal/chart"
	"fettle/tools/measure/counters"
	"fettle/tools/measure/counters/simulate"
	"fettle/tools/measure/render"
)

// counterFlags are what fettle measure counters was asked for.
type counterFlags struct {
	interval, length      time.Duration
	agent                 string // --snmp
	user, auth, priv      string
	secrets               string
	bits                  int
	timeout               time.Duration
	retries               int
	read, simulate        string
	maxRate               string
	width, queues         int
	lag                   time.Duration
	against               time.Duration
	svg, png, format      string
	verbose               bool
	bound                 float64 // --max-rate as a number
	setLag, setFor, setIv bool
}

// CountersCmd is fettle measure counters.
func CountersCmd(a *app.App) *cobra.Command {
	var f counterFlags
	c := &cobra.Command{
		Use:   "counters [INTERFACE...]",
		Short: "Measure rates of interface counters, and how sure they are",
		Long: `Reads octet counters of network interfaces and computes the rates behind them.
It distinguishes a counter that wrapped from one that was reset or now belongs
to another interface, infers the counter's real width, marks each rate with its
certainty, and recommends a polling interval.

  certain            no other explanation fits
  no wrap assumed    the counter rose; an unseen wrap is possible
  one wrap assumed   the counter fell; one wrap is the simplest explanation
  ambiguous          several explanations fit equally well; the lowest is shown
  not known          reset, or another interface: the traffic is lost

The counters are those of this network namespace, those of an SNMP agent
(--snmp), or a recorded series (--read): CSV, the XML of rrdtool dump, or the
JSON of a Prometheus range query, optionally gzipped. Ctrl-C ends a measurement
early and shows what was measured.

SNMP secrets come from the environment (` + counters.EnvCommunity + `,
` + counters.EnvAuthKey + `, ` + counters.EnvPrivKey + `), from a file that only
its owner can read (--snmp-secrets: lines of "community SECRET", "auth SECRET",
"priv SECRET"), or are asked for at a terminal. They are never shown.

Exit status:
  0  measured
  2  usage error or a series that cannot be read
  3  the counters could not be read`,
		Example: `  fettle measure counters eth0
  fettle measure counters --for 10m --interval 10s --format json > rates.json
  fettle measure counters --snmp switch1 --max-rate link --for 0 ge-0/0/1
  fettle measure counters --snmp [2001:db8::1] --snmp-user anna \
      --snmp-auth SHA-256 --snmp-priv AES
  fettle measure counters --read traffic.csv --against 5m --svg traffic.svg
  fettle measure counters --simulate 600Mbit/s --against 5m`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.setLag, f.setFor, f.setIv = cmd.Flags().Changed("lag"), cmd.Flags().Changed("for"), cmd.Flags().Changed("interval")
			return measureCounters(cmd.Context(), a, args, &f)
		},
	}
	fl := c.Flags()
	fl.DurationVar(&f.interval, "interval", time.Second, "`TIME` between two polls (with SNMP: 10s)")
	fl.DurationVar(&f.length, "for", 10*time.Second, "poll for this `TIME`; 0: until interrupted (with SNMP: 5m)")
	fl.StringVar(&f.agent, "snmp", "", "poll the SNMP agent at `HOST[:PORT]`")
	fl.StringVar(&f.user, "snmp-user", "", "use SNMP version 3 as this `USER` (default: version 2c)")
	fl.StringVar(&f.auth, "snmp-auth", "", "SNMP version 3: authentication `PROTOCOL`: "+strings.Join(counters.AuthProtocols, ", "))
	fl.StringVar(&f.priv, "snmp-priv", "", "SNMP version 3: privacy `PROTOCOL`: "+strings.Join(counters.PrivProtocols, ", "))
	fl.StringVar(&f.secrets, "snmp-secrets", "", "read SNMP secrets from this `FILE`")
	fl.IntVar(&f.bits, "snmp-bits", 0, "poll the counters of 32 or 64 `BITS` (default: 64 if available)")
	fl.DurationVar(&f.timeout, "snmp-timeout", 2*time.Second, "`TIME` to wait for an answer")
	fl.IntVar(&f.retries, "snmp-retries", 2, "`NUMBER` of retries")
	fl.StringVar(&f.read, "read", "", "evaluate the recorded series in this `FILE` (- is standard input)")
	fl.StringVar(&f.simulate, "simulate", "", "evaluate 12 hours of simulated traffic with this peak `RATE` and a 32-bit counter")
	fl.StringVar(&f.maxRate, "max-rate", "", "`RATE` that no interface exceeds (1Gbit/s); \"link\" is its reported speed")
	fl.IntVar(&f.width, "width", 0, "width of the counters in `BITS`, if known")
	fl.IntVar(&f.queues, "queues", 0, "each counter is the sum of at most this `NUMBER` of narrower ones")
	fl.DurationVar(&f.lag, "lag", 0, "greatest `AGE` of a reading at its time stamp (default: typical of the source)")
	fl.DurationVar(&f.against, "against", 0, "also draw what a poller with this longer `INTERVAL` shows")
	fl.StringVar(&f.svg, "svg", "", "draw the rates into this `FILE`")
	fl.StringVar(&f.png, "png", "", "draw the rates into this `FILE`")
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "show every interval")
	app.FormatFlag(c, &f.format, render.Formats()...)
	c.MarkFlagsMutuallyExclusive("snmp", "read", "simulate")
	for _, file := range []string{"read", "svg", "png", "snmp-secrets"} {
		c.MarkFlagFilename(file)
	}
	return c
}

// valid refuses what cannot be meant, before anything is asked or opened.
func (f *counterFlags) valid() error {
	live := f.read == "" && f.simulate == ""
	switch {
	case f.interval < 10*time.Millisecond:
		return app.Usagef("--interval %s: expected at least 10ms", f.interval)
	case f.length < 0:
		return app.Usagef("--for %s: expected 0 or more", f.length)
	case !live && (f.setFor || f.setIv):
		return app.Usagef("--for and --interval are of live counters; a recorded series has its own time stamps")
	case f.agent == "" && (f.user != "" || f.auth != "" || f.priv != "" || f.secrets != "" || f.bits != 0):
		return app.Usagef("the --snmp-... flags go with --snmp HOST")
	case f.bits != 0 && f.bits != 32 && f.bits != 64:
		return app.Usagef("--snmp-bits %d: expected 32 or 64", f.bits)
	case f.timeout <= 0 || f.retries < 0 || f.retries > 20:
		return app.Usagef("--snmp-timeout %s, --snmp-retries %d: expected a time, and 0 to 20 retries", f.timeout, f.retries)
	case f.user == "" && (f.auth != "" || f.priv != ""):
		return app.Usagef("--snmp-auth and --snmp-priv are of version 3: give --snmp-user too")
	case f.auth != "" && !slices.Contains(counters.AuthProtocols, strings.ToUpper(f.auth)):
		return app.Usagef("--snmp-auth %s: there are %s", f.auth, strings.Join(counters.AuthProtocols, ", "))
	case f.priv != "" && !slices.Contains(counters.PrivProtocols, strings.ToUpper(f.priv)):
		return app.Usagef("--snmp-priv %s: there are %s", f.priv, strings.Join(counters.PrivProtocols, ", "))
	case f.width != 0 && (f.width < counters.MinWidth || f.width > counters.MaxWidth):
		return app.Usagef("--width %d: expected %d to %d bits", f.width, counters.MinWidth, counters.MaxWidth)
	case f.queues < 0 || f.lag < 0 || f.against < 0:
		return app.Usagef("--queues, --lag and --against must not be negative")
	case f.maxRate == "link" && !live:
		return app.Usagef("--max-rate link: a recorded series does not state the link's speed; give a rate")
	}
	if f.maxRate != "" && f.maxRate != "link" {
		var err error
		if f.bound, err = counters.ParseRate(f.maxRate); err != nil {
			return app.Usagef("--max-rate: %w", err)
		}
	}
	if f.agent != "" {
		if !f.setIv {
			f.interval = 10 * time.Second
		}
		if !f.setFor {
			f.length = 5 * time.Minute
		}
	}
	if live && f.length > 0 && f.length < f.interval {
		return app.Usagef("--for %s is shorter than one interval of %s: a rate needs two readings", f.length, f.interval)
	}
	return nil
}

func measureCounters(ctx context.Context, a *app.App, names []string, f *counterFlags) error {
	if err := f.valid(); err != nil {
		return err
	}
	if slices.Contains(names, "") {
		return app.Usagef("the name of an interface is empty")
	}
	if err := f.pictures().Writable(); err != nil {
		return err
	}
	var r *counters.Result
	var err error
	switch {
	case f.read != "":
		r, err = f.recorded(a, names)
	case f.simulate != "":
		r, err = f.simulated(names)
	default:
		r, err = f.live(ctx, a, names)
	}
	if err != nil {
		return err
	}
	result := render.Counters{Result: r, Against: f.against, Verbose: f.verbose}
	plot := result.Plot()
	return draw(a, f.format, result, f.pictures(), chart.Picture{Plot: &plot})
}

// judged judges series by what the user knows of them, too.
func (f *counterFlags) judged(series []counters.Series) []counters.Judged {
	for i := range series {
		f.override(&series[i].Facts)
	}
	return counters.JudgeAll(series)
}

// override puts what the user knows in place of what the source says.
func (f *counterFlags) override(to *counters.Facts) {
	if f.width > 0 {
		to.Width, to.Trusted = f.width, true
	}
	if f.queues > 0 {
		to.Queues = f.queues
	}
	if f.setLag {
		to.Lag = f.lag
	}
	if f.bound > 0 {
		to.MaxRate = f.bound
	}
}

// recorded reads a series.
func (f *counterFlags) recorded(a *app.App, names []string) (*counters.Result, error) {
	name := f.read
	if name == "-" {
		name = "standard input"
	}
	all, err := counters.ReadFile(f.read, a.Stdin)
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			return nil, app.Usagef("--read: %w", err)
		}
		return nil, app.Usagef("%w", err)
	}
	series, err := counters.Pick(all, names)
	if err != nil {
		return nil, app.Usagef("%s %w", name, err)
	}
	return &counters.Result{Source: name, Interval: series[0].Usual(), Counters: f.judged(series)}, nil
}

// simulated makes a series up.
func (f *counterFlags) simulated(names []string) (*counters.Result, error) {
	if len(names) > 0 {
		return nil, app.Usagef("--simulate has no interfaces: %s", strings.Join(names, " "))
	}
	peak, err := counters.ParseRate(f.simulate)
	if err != nil {
		return nil, app.Usagef("--simulate: %w", err)
	}
	series, at, truth := simulate.HalfDay(peak)
	return &counters.Result{Source: "made-up traffic with a peak of " + counters.FormatRate(peak), Interval: time.Minute,
		Counters: f.judged([]counters.Series{series}), TruthAt: at, Truth: truth}, nil
}

func (f *counterFlags) pictures() app.Pictures { return app.Pictures{"svg": f.svg, "png": f.png} }
