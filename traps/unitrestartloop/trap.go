// Package unitrestartloop finds services that end with an error and are
// started again, over and over.
package unitrestartloop

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"fettle/engine/message"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/fact/journal"
	"fettle/internal/units"
)

//go:embed lore.md
var lore trap.Lore

// Trap is unit-restart-loop.
var Trap = trap.Trap{Lore: lore, Cost: trap.Instant, Limit: 30 * time.Second, Check: check}

// From what on restarts are a loop.
const (
	waiting = 3                // restarts of a service that waits for the next one now
	often   = 5                // failures since boot
	apart   = 15 * time.Minute // between two of them, on average
	lately  = 30 * time.Minute // since the last one

	maxWaiting = 200 // services whose counters are asked for
)

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	if err := h.Systemd(ctx); errors.Is(err, host.ErrNoSystemd) {
		r.NotApplicable("", err.Error())
		return nil
	} else if err != nil {
		return err
	}
	loops := map[string][]trap.Evidence{}
	troubled, cerr := h.TroubledUnits(ctx)
	unlisted := cerr
	if cerr == nil {
		cerr = counters(ctx, h, troubled, loops)
	}
	logged, lerr := failures(ctx, h, troubled, loops)
	if lerr != nil && quiet(ctx, h, &logged) { // systemd's own counters answer what the log would
		lerr = nil
	}
	names := slices.Sorted(maps.Keys(loops))
	for _, n := range names {
		if unlisted != nil { // it may have been given up
			r.Unknown(n, fmt.Errorf("has failed over and over; whether it still does is not known: %w", unlisted), loops[n]...)
			continue
		}
		r.Found(trap.Finding{Subject: n, Severity: trap.Warning, Summary: "fails and is restarted, over and over",
			Evidence: append(loops[n], why(ctx, h, n)...), ByHand: "journalctl -b -u " + n + " -n 30; systemctl stop " + n + " ends the loop"})
	}
	switch err := cmp.Or(cerr, lerr); {
	case err != nil: // each sees loops that the other does not
		r.Unknown("", err)
	case len(names) == 0:
		r.Clear("", "no service fails and is restarted over and over", logged)
	}
	return nil
}

// counters finds the services that wait for their restart now.
func counters(ctx context.Context, h *host.Host, troubled []host.Unit, loops map[string][]trap.Evidence) error {
	args := []string{"show", "--property=Id,NRestarts,SubState,Result", "--"}
	asks := len(args)
	for _, u := range troubled {
		if u.SubState == "auto-restart" && len(args) < asks+maxWaiting {
			args = append(args, u.Name)
		}
	}
	if len(args) == asks {
		return nil
	}
	out, err := h.Run(ctx, "systemctl", args...)
	if err != nil {
		return err
	}
	if out.Exit != 0 {
		return fmt.Errorf("systemctl show failed with status %d", out.Exit)
	}
	for block := range strings.SplitSeq(string(out.Stdout), "\n\n") {
		v := map[string]string{}
		for line := range strings.Lines(block) {
			k, val, _ := strings.Cut(strings.TrimSpace(line), "=")
			v[k] = val
		}
		n, err := strconv.Atoi(v["NRestarts"])
		if err == nil && n >= waiting && v["SubState"] == "auto-restart" && v["Result"] != "success" && v["Id"] != "" {
			loops[v["Id"]] = append(
				loops[v["Id"]],
				trap.Ev("systemctl show "+v["Id"], "SubState=auto-restart Result=%s NRestarts=%d", v["Result"], n),
			)
		}
	}
	return nil
}

// said is what systemd prints, as the lore lists it.
var said = sync.OnceValue(func() *message.Set { return message.MustSet(lore.Messages()) })

// failed is the service of which a line says that it failed; empty where none does.
func failed(m host.Message) string {
	for _, h := range said().Said(m.By, m.Text) {
		if unit := h.Field("unit"); said().Message(h.Index).About == "failed" && strings.HasSuffix(unit, ".service") {
			return unit
		}
	}
	return ""
}

// failures finds the services that failed again and again by the log. One that stays
// failed is in no loop: systemd gave it up, or a timer starts it.
func failures(ctx context.Context, h *host.Host, troubled []host.Unit, loops map[string][]trap.Evidence) (looked trap.Evidence, err error) {
	l, err := journal.Manager(ctx, h)
	if err != nil {
		return looked, err
	}
	for _, m := range l.Messages {
		unit := failed(m)
		switch {
		case unit == "":
			continue
		case m.Count < often, l.Until.Sub(m.Last) > lately, m.Last.Sub(m.First) > time.Duration(m.Count-1)*apart:
			continue
		case strings.HasPrefix(unit, "getty@"), strings.HasPrefix(unit, "user@"), strings.HasPrefix(unit, "session-"):
			continue
		case slices.ContainsFunc(troubled, func(u host.Unit) bool { return u.Name == unit && u.ActiveState == "failed" }):
			continue // fettle explain units-failed
		}
		loops[unit] = append(
			loops[unit],
			trap.Ev(
				journal.Source(l, m),
				"%s, on average %s apart",
				journal.Said(m),
				units.Duration(m.Last.Sub(m.First)/time.Duration(m.Count-1)),
			),
		)
	}
	return trap.Ev("journal", "%s", journal.Looked(l)), nil
}

// quiet tells whether no service was restarted often since boot: NRestarts counts every
// restart by Restart= (systemd 235 and later). One that was may have come to rest since,
// which only the log can tell.
func quiet(ctx context.Context, h *host.Host, looked *trap.Evidence) bool {
	out, err := h.Run(ctx, "systemctl", "show", "--property=Id,NRestarts", "--", "*.service")
	if err != nil || out.Exit != 0 {
		return false
	}
	most, unit, known := 0, "", 0
	for block := range strings.SplitSeq(string(out.Stdout), "\n\n") {
		v := map[string]string{}
		for line := range strings.Lines(block) {
			k, val, _ := strings.Cut(strings.TrimSpace(line), "=")
			v[k] = val
		}
		n, err := strconv.Atoi(v["NRestarts"])
		if err != nil || v["Id"] == "" || strings.HasPrefix(v["Id"], "getty@") || strings.HasPrefix(v["Id"], "serial-getty@") {
			continue
		}
		known++
		if n > most {
			most, unit = n, v["Id"]
		}
	}
	*looked = trap.Ev("systemctl show *.service", "none of %s was restarted since the boot", units.Count(known, "service", "services"))
	if most > 0 {
		*looked = trap.Ev("systemctl show "+unit, "NRestarts=%d, the most of %s", most, units.Count(known, "service", "services"))
	}
	return known > 0 && most < often
}

// why are the last lines of a service in the log.
func why(ctx context.Context, h *host.Host, unit string) []trap.Evidence {
	base, _, _ := strings.Cut(journal.Base(unit), "@")
	var ev []trap.Evidence
	for _, part := range []func(context.Context, *host.Host) (host.Log, error){journal.Failed, journal.Recent} {
		l, _ := part(ctx, h) // empty where nobody could look
		for _, m := range l.Messages {
			if m.By != "systemd" && (m.Unit == unit || m.Unit == "" && m.By == base) && len(ev) < 5 {
				ev = append(ev, trap.Ev(journal.Source(l, m), "%s", journal.Said(m)))
			}
		}
		if len(ev) > 0 {
			break
		}
	}
	return ev
}
