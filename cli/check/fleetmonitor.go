package check

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"fettle/engine/trap"
	"fettle/internal/ui"
	"fettle/internal/units"
	"fettle/report"
)

// fleetNagios writes one line for all hosts.
type fleetNagios struct {
	w   io.Writer
	opt report.Options
	*matrix
}

// nagiosHosts is how many hosts are named behind each trap.
const nagiosHosts = 3

func (f *fleetNagios) host(name string, h *hostReport) error {
	f.add(name, h)
	return nil
}

func (f *fleetNagios) end(r *fleetReport, took time.Duration) error {
	of := units.Count(r.done, "host", "hosts")
	if r.failed > 0 {
		of += fmt.Sprintf(" (%d gave no report)", r.failed)
	}
	return report.NagiosLine{Of: of + ": ", Counts: r.counts, FailOn: f.opt.FailOn, Names: f.names(), Took: took,
		Perf: fmt.Sprintf(" hosts=%d;;;0 no_report=%d;;;0", r.done, r.failed)}.Write(f.w)
}

// names lists the traps with the worst of their hosts, the most severe first, then the hosts
// without a report or with unknowns.
func (f *fleetNagios) names() []string {
	var out []string
	ranked := f.byRank()
	say := func(what string, is func(host string) bool) {
		if hosts := slices.DeleteFunc(slices.Clone(ranked), func(h string) bool { return !is(h) }); len(hosts) > 0 {
			out = append(out, fmt.Sprintf("%s (%s)", what, ui.Few(hosts, nagiosHosts)))
		}
	}
	rows := f.rows()
	for _, s := range []trap.Severity{trap.Critical, trap.Warning, trap.Notice} {
		for _, r := range rows {
			say(strings.ToLower(s.String())+" "+r.id, func(h string) bool { return r.cells[h].severity == s })
		}
	}
	say("no report", func(h string) bool { return f.hosts[h].failed != "" })
	say("unknowns", func(h string) bool { return f.hosts[h].unknown > 0 })
	return out
}

// fleetPrometheus writes metrics with a label for each host.
type fleetPrometheus struct {
	w io.Writer
	*report.Metrics
}

func (f *fleetPrometheus) host(name string, h *hostReport) error {
	if h.err != nil {
		f.Failed(name)
		return nil
	}
	f.Host(name, &h.doc)
	return nil
}

func (f *fleetPrometheus) end(*fleetReport, time.Duration) error { return f.Write(f.w) }
