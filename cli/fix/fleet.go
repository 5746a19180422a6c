package fix

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"fettle/cli/app"
	"fettle/fleet/ssh"
	"fettle/internal/ui"
	"fettle/internal/units"
)

const (
	// defaultBatch is one host after the other.
	defaultBatch = 1
	// applyLimit is how long a host may take to be fixed; cutting off a change
	// helps nobody.
	applyLimit = 15 * time.Minute
	// confirmEvery and confirmSpare: a new connection is tried that often, until
	// so long before the host takes the change back.
	confirmEvery = 5 * time.Second
	confirmSpare = 5 * time.Second
)

// fleetFix is fix on other hosts.
type fleetFix struct {
	app   *app.App
	opt   Options
	trap  string
	fleet *ssh.Fleet // that looks
	apply *ssh.Fleet // that changes: with more time
	mu    sync.Mutex // of what is printed
}

// fixFleet plans on all hosts, shows the plans, asks once, and applies them in
// batches.
func fixFleet(ctx context.Context, a *app.App, id string, o Options, limited bool) error {
	switch {
	case o.Format != "text":
		return app.Usagef("--format is about one host: it does not go with --host")
	case o.AsPlanned != "":
		return app.Usagef("--as-planned is about one host: with --host each host applies the plan that was shown of it")
	case o.Batch < 1:
		return app.Usagef("--batch %d: must be at least 1", o.Batch)
	case !o.Plan && !o.Yes && !ui.IsTerminal(a.Stdin):
		return app.Usagef("there is no terminal to ask on: see the plans (--plan), then give --yes")
	}
	ts, err := a.Find([]string{id})
	if err != nil {
		return err
	}
	if err := o.valid(ts[0]); err != nil {
		return err
	}
	if _, err := a.ForFleet(ts, []string{id}); err != nil {
		return err
	}
	hosts, fleet, err := o.fleet.Open(ctx, a.Stdin)
	if err != nil {
		return err
	}
	f := &fleetFix{app: a, opt: o, trap: id, fleet: fleet}
	defer f.fleet.Close()
	f.apply = f.fleet
	if !limited {
		f.apply = f.fleet.Limited(applyLimit)
	}
	fates := f.ask(ctx, f.fleet, hosts, func(string) []string { return planArguments(o) }, nil)
	planned, err := f.show(fates)
	if err != nil || o.Plan || len(planned) == 0 {
		return err
	}
	if err := f.consent(ctx, planned); err != nil {
		return err
	}
	return cmp.Or(f.batches(ctx, planned), worst(fates))
}

// planArguments have hosts show their plans: as asked for, or for what is applied next.
func planArguments(o Options) []string {
	if o.Plan && !o.Network {
		return []string{"--plan"}
	}
	return []string{"--plan", "--network"}
}

// arguments are fix's own, without those about many hosts.
func (f *fleetFix) arguments() []string {
	args := []string{"fix", f.trap, "--format=json"}
	for _, s := range f.opt.On {
		args = append(args, "--on="+s)
	}
	for _, s := range f.opt.With {
		args = append(args, "--with="+s)
	}
	if f.opt.Wait {
		args = append(args, "--wait")
	}
	if f.opt.Limit > 0 {
		args = append(args, "--limit="+f.opt.Limit.String())
	}
	if f.opt.Confirm > 0 {
		args = append(args, "--confirm-within="+f.opt.Confirm.String())
	}
	return args
}

// ask runs fix on hosts, with further arguments for each, and returns what became
// of them in the order of hosts. then, if not nil, is called for each that is done.
func (f *fleetFix) ask(
	ctx context.Context,
	on *ssh.Fleet,
	hosts []string,
	more func(host string) []string,
	then func(context.Context, *fate),
) []*fate {
	fates := map[string]*fate{}
	f.mu.Lock()
	for _, h := range hosts {
		fates[h] = &fate{host: h}
	}
	f.mu.Unlock()
	on.Each(ctx, hosts, func(ctx context.Context, host string) {
		it := fates[host]
		var out bounded
		exit, errs, err := on.Run(ctx, host, append(f.arguments(), more(host)...), &out)
		if it.err = err; err == nil {
			it.doc, it.err = parseDocument(host, out.b, exit, errs)
		}
		if then != nil {
			then(ctx, it)
		}
	})
	var out []*fate
	for _, h := range hosts {
		out = append(out, fates[h])
	}
	return out
}

// show prints the plans, hosts with the same plan together, and what else there
// is to say; it returns the hosts that have a plan.
func (f *fleetFix) show(fates []*fate) ([]*fate, error) {
	var planned []*fate
	groups := map[string][]string{} // by what is shown
	var order []string
	add := func(host, text string) {
		if groups[text] == nil {
			order = append(order, text)
		}
		groups[text] = append(groups[text], host)
	}
	for _, it := range fates {
		switch {
		case it.err != nil:
			add(it.host, "NO REPORT "+reasonOf(it))
			continue
		case it.doc.Plan != nil:
			planned = append(planned, it)
			add(it.host, visibleLines(it.doc.Plan.Text))
		case it.doc.Result == resultNothing:
			add(it.host, f.trap+" is not found: there is nothing to fix.")
		case len(it.doc.Refused) == 0:
			add(it.host, string(it.doc.Result)+": "+it.doc.Error)
		}
		for _, r := range it.doc.Refused {
			add(it.host, "refused: "+strings.TrimPrefix(r.Subject+": ", ": ")+r.Reason)
		}
	}
	w := ui.Width(f.app.Stdout)
	for _, text := range order {
		head := ui.Wrap(ui.Visible(strings.Join(groups[text], ", ")), w, "== ", "   ")
		if _, err := fmt.Fprintf(f.app.Stdout, "%s%s\n", head, paragraph(text, w)); err != nil {
			return nil, err
		}
	}
	if f.opt.Plan || len(planned) == 0 {
		return planned, worst(fates)
	}
	return planned, nil
}

// paragraph is a plan as it is, and a sentence wrapped.
func paragraph(text string, w int) string {
	if strings.Contains(text, "\n") {
		return strings.TrimSuffix(text, "\n") + "\n"
	}
	return ui.Wrap(ui.Visible(text), w, "", "  ")
}

// consent asks once for all, and once more for what cannot be undone.
func (f *fleetFix) consent(ctx context.Context, planned []*fate) error {
	irreversible := 0
	for _, it := range planned {
		irreversible += it.doc.Plan.Irreversible
	}
	if f.opt.Yes {
		if irreversible > 0 && !f.opt.Irreversible {
			return app.Exit(exitNotDone, errors.New("steps of these plans cannot be undone; --yes does not cover that, --yes-irreversible does"))
		}
		return nil
	}
	how := "one after the other"
	if f.opt.Batch > 1 {
		how = fmt.Sprintf("%d at once", f.opt.Batch)
	}
	questions := []string{fmt.Sprintf("Apply to %s, %s? [y/N] ", units.Count(len(planned), "host", "hosts"), how)}
	if irreversible > 0 {
		questions = append(questions, fmt.Sprintf("%d of the steps cannot be undone. Still apply? [y/N] ", irreversible))
	}
	return answered(ctx, f.app, "not applied; nothing was changed", questions...)
}

// batches applies the plans; after a batch with a failure none is begun.
func (f *fleetFix) batches(ctx context.Context, planned []*fate) error {
	digests := map[string]string{}
	var hosts []string
	for _, it := range planned {
		digests[it.host] = it.doc.Plan.Digest
		hosts = append(hosts, it.host)
	}
	more := func(host string) []string {
		args := []string{"--yes", "--as-planned=" + digests[host]}
		if f.opt.Irreversible || !f.opt.Yes { // asked for
			args = append(args, "--yes-irreversible")
		}
		return args
	}
	begun, mended := 0, 0
	for batch := range slices.Chunk(hosts, f.opt.Batch) {
		begun += len(batch)
		fates := f.ask(ctx, f.apply, batch, more, f.finish)
		for _, it := range fates {
			if it.err == nil && it.doc.Change != nil {
				mended++
			}
		}
		if err := worst(fates); err != nil {
			if rest := len(hosts) - begun; rest > 0 {
				err = app.Exit(
					statusOf(err),
					fmt.Errorf(
						"stopped: %s fixed, %s not started: %s",
						units.Count(mended, "host is", "hosts are"),
						units.Count(rest, "host", "hosts"),
						ui.Few(hosts[begun:], 10),
					),
				)
			}
			return err
		}
	}
	return nil
}

// finish confirms what wants to be, over a new connection, and tells what became
// of a host.
func (f *fleetFix) finish(ctx context.Context, it *fate) {
	if it.err == nil && it.doc.Change != nil && !it.doc.Change.ConfirmBy.IsZero() {
		it.err = f.confirm(ctx, it)
	}
	said := ""
	switch {
	case it.err != nil && it.doc != nil && it.doc.Change != nil:
		said = fmt.Sprintf(
			"change %s was made, and could not be confirmed from here: %s; the host rolls it back",
			it.doc.Change.ID,
			reasonOf(it),
		)
	case it.err != nil:
		said = "no result was received; the host rolls back what is not confirmed. To see its state, run fettle changes there. The last " +
			"lines from there: " + reasonOf(
			it,
		)
	case it.doc.Result == resultMended && it.doc.Change.ConfirmBy.IsZero():
		said = "fixed, change " + it.doc.Change.ID
	case it.doc.Result == resultMended:
		said = "fixed and confirmed over a new connection, change " + it.doc.Change.ID
	case it.doc.Result == resultNothing:
		said = "nothing left to fix"
	default:
		said = string(it.doc.Result) + ": " + it.doc.Error
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	fmt.Fprint(f.app.Stdout, ui.Wrap(ui.Visible(it.host+": "+said), ui.Width(f.app.Stdout), "", "  "))
}

// confirm runs fettle confirm over a connection of its own, again until shortly
// before the host takes the change back: a network that was changed may need a
// moment. The time left goes by the host's own clock, of which only the time to
// confirm is known here.
func (f *fleetFix) confirm(ctx context.Context, it *fate) error {
	within := cmp.Or(f.opt.Confirm, confirmDefault)
	ctx, cancel := context.WithTimeoutCause(ctx, max(within-confirmSpare, time.Second), errors.New("no new connection in time"))
	defer cancel()
	for {
		try, done := context.WithTimeout(ctx, max(within/4, 5*time.Second))
		var out bounded
		exit, errs, err := f.fleet.Anew().Run(try, it.host, []string{"confirm", it.doc.Change.ID}, &out)
		done()
		switch {
		case err == nil && exit == app.ExitOK:
			return nil
		case err == nil:
			return &ssh.Error{Host: it.host, Reached: true, Why: strings.TrimSpace(errs)}
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(confirmEvery):
		}
	}
}
