package counterwrap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/internal/units"
)

// poller is a program whose configuration says what it asks SNMP agents for.
type poller struct {
	name  string
	files []pattern
	judge func(file string, b []byte) verdict
	// uses is what must be there for the configuration to matter; zero: nothing.
	uses pattern
	not  string // in a name that is not meant by uses
	// trapped and well are the summaries, where they are not the usual ones.
	trapped, well string
}

// pattern is files of one folder.
type pattern struct{ dir, glob string }

// verdict is what a configuration says of its counters.
type verdict struct {
	asks bool // for counters of interfaces at all
	// bad are the 32-bit counters that may wrap within one poll, each with its
	// place; nothing in it comes from a community string.
	bad    []trap.Evidence
	unsure string
	detail string
}

// octets32 is how much a 32-bit counter holds.
const octets32 = 1 << 32

// gigabit is the speed that is taken where a configuration does not say it, in
// octets a second: what most ports have at least.
const gigabit = 1e9 / 8

// tooRare tells whether a counter of 32 bits can wrap between two polls.
func tooRare(octetsPerSecond float64, every time.Duration) bool {
	return octetsPerSecond*every.Seconds() >= octets32
}

var known = []poller{
	{name: "MRTG", files: []pattern{{"/etc", "mrtg.cfg"}, {"/etc/mrtg", "*.cfg"}}, judge: judgeMRTG},
	{name: "Telegraf", files: []pattern{{"/etc/telegraf", "telegraf.conf"}, {"/etc/telegraf/telegraf.d", "*.conf"}}, judge: judgeTelegraf},
	{
		name: "collectd",
		files: []pattern{
			{"/etc", "collectd.conf"},
			{"/etc/collectd", "collectd.conf"},
			{"/etc/collectd/collectd.conf.d", "*.conf"},
			{"/etc/collectd.d", "*.conf"},
		},
		judge: judgeCollectd,
	},
	{
		name:  "Munin",
		files: []pattern{{"/etc/munin/plugin-conf.d", "*"}},
		judge: judgeMunin,
		uses:  pattern{"/etc/munin/plugins", "snmp_*_if_*"},
		not:   "_if_err_",
	},
}

func checkPollers(ctx context.Context, h *host.Host, r *trap.Report) {
	found := false
	var unseen []error // what a capture does not have
	unknown := func(subject string, err error) {
		if errors.Is(err, host.ErrNotCollected) {
			unseen = append(unseen, err)
			return
		}
		r.Unknown(subject, err)
		found = true
	}
	for _, p := range known {
		if used, err := p.used(ctx, h); err != nil {
			unknown(p.uses.dir, fmt.Errorf("whether %s polls interfaces: %w", p.name, err))
			continue
		} else if !used {
			continue
		}
		for _, pat := range p.files {
			files, err := matching(ctx, h, pat)
			if err != nil {
				unknown(pat.dir, fmt.Errorf("the configuration of %s: %w", p.name, err))
				continue
			}
			for _, file := range files {
				b, err := h.ReadFile(ctx, file)
				if host.IsAbsent(err) {
					continue
				}
				if err != nil {
					unknown(file, err)
					continue
				}
				found = true
				report(r, p, file, p.judge(file, b))
			}
		}
	}
	if checkPrometheus(ctx, h, r, unknown) {
		found = true
	}
	switch {
	case len(unseen) == 1:
		r.Unknown(pollers, unseen[0])
	case len(unseen) > 1:
		r.Unknown(
			pollers,
			fmt.Errorf(
				"%w (and %s of MRTG, Telegraf, collectd, Munin and snmp_exporter)",
				unseen[0],
				units.Count(len(unseen)-1, "more file or folder", "more files and folders"),
			),
		)
	case !found:
		r.NotApplicable(pollers, "there is no configuration of MRTG, Telegraf, collectd, snmp_exporter or Munin's SNMP here")
	}
}

// used tells whether the configuration matters.
func (p poller) used(ctx context.Context, h *host.Host) (bool, error) {
	if p.uses.dir == "" {
		return true, nil
	}
	names, err := h.Glob(ctx, p.uses.dir, p.uses.glob)
	for _, n := range names {
		if !strings.Contains(n, p.not) {
			return true, nil
		}
	}
	return false, err
}

// matching lists the files of a pattern; one without a wildcard is asked for
// by name, for its folder has much else.
func matching(ctx context.Context, h *host.Host, p pattern) ([]string, error) {
	if p.glob[0] == '*' {
		return h.Glob(ctx, p.dir, p.glob)
	}
	return []string{p.dir + "/" + p.glob}, nil
}

func report(r *trap.Report, p poller, file string, v verdict) {
	switch {
	case len(v.bad) > 0:
		r.Found(trap.Finding{Subject: file, Severity: trap.Notice,
			Summary: cmp.Or(p.trapped, p.name+" polls 32-bit counters less often than its links can wrap them"),
			Detail:  trap.Lines(v.detail), Evidence: v.bad, Facts: trap.FactsOf(facts{Poller: p.name})})
	case v.unsure != "":
		r.Unknown(file, fmt.Errorf("%s", v.unsure))
	case !v.asks:
		r.NotApplicable(file, "polls no counters of interfaces")
	default:
		r.Clear(file, cmp.Or(p.well, "polls no 32-bit counter less often than its links can wrap it"))
	}
}
