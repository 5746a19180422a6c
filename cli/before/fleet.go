package before

import (
	"context"
	"fmt"
	"strings"

	judge "fettle/before"
	"fettle/cli/app"
	"fettle/engine/trap"
	"fettle/fleet/ssh"
	"fettle/internal/jsondoc"
	"fettle/internal/sorted"
	"fettle/internal/ui"
	"fettle/report"
)

// hostVerdict is the verdict on one of many hosts.
type hostVerdict struct {
	Host string `json:"host"`
	// Error is why the host could not be looked at; then there is no verdict.
	Error string `json:"error,omitempty"`
	judge.Restart
	Found []foundThere `json:"found,omitempty"`
}

// foundThere is a finding on it.
type foundThere struct {
	Trap     string `json:"trap"`
	Subject  string `json:"subject,omitempty"`
	Severity string `json:"severity"`
	Summary  string `json:"summary"`
}

// fleetDocument is fettle before reboot --host --format json.
type fleetDocument struct {
	jsondoc.Envelope
	Hosts []hostVerdict `json:"hosts"` // the worst first
}

// rebootFleet is before reboot on other hosts.
func rebootFleet(ctx context.Context, a *app.App, o options) error {
	if o.target.Root != "" || o.target.From != "" {
		return app.Usagef("--host looks at running hosts: it cannot be used with --root or --from")
	}
	if o.watch {
		return app.Usagef("--watch is for this host; on another one: ssh HOST sudo fettle before reboot --watch")
	}
	traps := nextStart(a)
	d := fleetDocument{Envelope: jsondoc.New("before-reboot-fleet")}
	err := askHosts(ctx, a, o, traps, func(host string, m *report.Meta, results []trap.Result, failed error) {
		if failed != nil {
			d.Hosts = append(d.Hosts, hostVerdict{Host: host, Error: failed.Error()})
			return
		}
		d.Hosts = append(d.Hosts, verdictOf(host, m, traps, results))
	})
	if err != nil {
		return err
	}
	sorted.By(d.Hosts, func(a, b hostVerdict) int {
		if n := b.rank() - a.rank(); n != 0 {
			return n
		}
		return strings.Compare(a.Host, b.Host)
	})
	if o.format == "json" {
		err = a.JSON(d)
	} else {
		err = writeFleet(a, o, &d)
	}
	if err != nil || len(d.Hosts) == 0 {
		return err
	}
	if worst := d.Hosts[0]; worst.Error == "" {
		return status(worst.Verdict)
	}
	return app.Exit(app.ExitUnknown, nil)
}

// askHosts has the traps checked on other hosts, and calls done for each host.
func askHosts(ctx context.Context, a *app.App, o options, traps []*trap.Trap,
	done func(host string, m *report.Meta, results []trap.Result, failed error)) error {
	hosts, f, err := o.fleet.Open(ctx, a.Stdin)
	if err != nil {
		return err
	}
	defer f.Close()
	var args []string
	for _, t := range traps {
		args = append(args, t.ID())
	}
	if o.limit > 0 {
		args = append(args, "--limit="+o.limit.String())
	}
	meta, results := map[string]*report.Meta{}, map[string][]trap.Result{}
	progress, n := ui.NewProgress(a.Stderr), 0
	f.Check(ctx, hosts, args, func(e ssh.Event) {
		switch {
		case e.Err != nil:
			n++
			done(e.Host, nil, nil, e.Err)
		case e.Line.Meta != nil:
			meta[e.Host] = e.Line.Meta
		case e.Line.Result != nil:
			results[e.Host] = append(results[e.Host], *e.Line.Result)
		case e.Line.Type == "end":
			n++
			m := meta[e.Host]
			if m == nil {
				m = &report.Meta{}
			}
			done(e.Host, m, results[e.Host], nil)
		}
		progress.Show(fmt.Sprintf("%d of %d hosts done", n, len(hosts)))
	})
	progress.End()
	return nil
}

// ranks order verdicts, the worst highest.
var ranks = map[judge.Verdict]int{judge.ComesBack: 0, judge.CannotSay: 1, judge.Without: 2, judge.DoesNotCome: 3}

// rank is where a host stands: one that could not be looked at beside those of which nobody can say.
func (h *hostVerdict) rank() int {
	if h.Error != "" {
		return ranks[judge.CannotSay]
	}
	return ranks[h.Verdict]
}

func verdictOf(name string, m *report.Meta, traps []*trap.Trap, results []trap.Result) hostVerdict {
	return hostVerdict{Host: name, Restart: judge.Judge(m, traps, results), Found: foundOn(results)}
}

// foundOn are the findings on a host that count.
func foundOn(results []trap.Result) []foundThere {
	var out []foundThere
	for _, r := range results {
		for i := range r.Outcomes {
			if o := &r.Outcomes[i]; o.Status == trap.Found && !o.Hidden() {
				out = append(out, foundThere{o.Trap, o.Subject, o.Severity.String(), o.Summary})
			}
		}
	}
	return out
}

func writeFleet(a *app.App, o options, d *fleetDocument) error {
	width := ui.Width(a.Stdout)
	var b strings.Builder
	for _, h := range d.Hosts {
		name := ui.Visible(h.Host)
		if h.Error != "" {
			b.WriteString(ui.Wrap(name+": could not be looked at: "+ui.Visible(h.Error), width, "", "    "))
			continue
		}
		b.WriteString(ui.Wrap(ui.Visible(h.Says(h.Host)), width, "", "    "))
		if h.Verdict == judge.CannotSay && !o.verbose {
			continue
		}
		for _, f := range h.Found {
			subject := f.Trap
			if f.Subject != "" {
				subject += " on " + f.Subject
			}
			b.WriteString(ui.Wrap(ui.Visible(subject+": "+f.Summary), width, "  - ", "    "))
		}
		if o.verbose {
			for _, g := range h.NotLooked {
				b.WriteString(ui.Wrap(ui.Visible(string(g.Area)+": "+g.Reason), width, "  ? ", "    "))
			}
		}
	}
	_, err := a.Stdout.Write([]byte(b.String()))
	return err
}
