package fix

import (
	"context"
	"fmt"
	"strings"

	"fettle/cli/app"
	"fettle/fleet/ssh"
	"fettle/internal/ui"
	"fettle/internal/units"
)

// elsewhere runs a verb on other hosts, shows what each says, and returns that and the
// most severe status. What was shown of a host already is not shown again.
func elsewhere(ctx context.Context, a *app.App, on *ssh.Fleet, hosts, args []string, shown map[string]string) (map[string]string, error) {
	said := map[string]*bounded{}
	fates := map[string]*fate{}
	for _, h := range hosts {
		said[h], fates[h] = &bounded{}, &fate{host: h}
	}
	on.Each(ctx, hosts, func(ctx context.Context, h string) {
		exit, errs, err := on.Run(ctx, h, args, said[h])
		if err != nil {
			fates[h].err = err
			return
		}
		fates[h].doc = &document{Status: exit}
		said[h].b = append(said[h].b, errs...)
	})
	var all []*fate
	texts := map[string]string{}
	for _, h := range hosts {
		it, text := fates[h], string(said[h].b)
		if it.err != nil {
			text = "NO REPORT " + reasonOf(it) + "\n"
		}
		all, texts[h] = append(all, it), text
		text = strings.TrimPrefix(text, shown[h])
		fmt.Fprintf(a.Stdout, "%s%s\n", ui.Wrap(ui.Visible(h), ui.Width(a.Stdout), "== ", "   "), visibleLines(text))
	}
	return texts, worst(all)
}

// undoElsewhere shows what a change's undo would put back on hosts, asks once, and
// undoes it.
func undoElsewhere(ctx context.Context, a *app.App, id string, o undoOptions) error {
	switch {
	case id == "":
		return app.Usagef("with --host name the change (fettle changes --host HOST lists them)")
	case !o.plan && !o.yes && !ui.IsTerminal(a.Stdin):
		return app.Usagef("there is no terminal to ask on: see what would be undone (--plan), then give --yes")
	}
	hosts, f, err := o.fleet.Open(ctx, a.Stdin)
	if err != nil {
		return err
	}
	defer f.Close()
	var more []string
	if o.force {
		more = append(more, "--force")
	}
	plans, err := elsewhere(ctx, a, f, hosts, append([]string{"undo", id, "--plan"}, more...), nil)
	if err != nil || o.plan {
		return err // of one host that cannot: nothing was begun
	}
	if !o.yes {
		if err := answered(ctx, a, "not undone; nothing was changed",
			fmt.Sprintf("Undo this on %s? [y/N] ", units.Count(len(hosts), "host", "hosts"))); err != nil {
			return err
		}
	}
	_, err = elsewhere(ctx, a, f.Limited(applyLimit), hosts, append([]string{"undo", id, "--yes"}, more...), plans)
	return err
}

// changesElsewhere lists the changes of other hosts.
func changesElsewhere(ctx context.Context, a *app.App, id string, flags *app.HostFlags) error {
	hosts, f, err := flags.Open(ctx, a.Stdin)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = elsewhere(ctx, a, f, hosts, strings.Fields("changes "+id), nil)
	return err
}
