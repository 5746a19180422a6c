package before

import (
	"cmp"
	"context"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	judge "fettle/before"
	"fettle/cli/app"
	"fettle/engine/trap"
	"fettle/host/fact/release"
	"fettle/internal/jsondoc"
	"fettle/internal/sorted"
	"fettle/report"
)

// exitBreaks is the exit status of an upgrade that stops something.
const exitBreaks = 5

func upgradeCmd(a *app.App) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "upgrade [RELEASE]",
		Short: "Tell what an upgrade of the distribution will break on this host",
		Long: `Holds the host's configuration against the next release of its distribution,
whose packages need not be there, and says what will break: first what stops
dpkg, a service or a login, then what changes without an error, then the
questions that will be asked, and what apt needs beforehand. Each with the line
that causes it, what the new version says, and what to do now. Nothing is
changed.

RELEASE is a number or a codename (13, trixie, 24.04); the default is the
release after the host's own. An upgrade goes one release at a time. Known are
Debian 11 to 12, Debian 12 to 13, and Ubuntu 22.04 to 24.04.

It says that nothing breaks only where it ran as root and could read all that
it looks at. fettle list names the traps of the upgrade.

Exit status:
  0  nothing breaks, of all that fettle looks at
  1  nothing stops, and something changes without an error
  2  usage error, unreadable input, or an upgrade that fettle does not know
  3  checking itself failed
  4  nothing found that breaks, but not everything could be inspected
  5  something stops: apt, dpkg, a service or a login`,
		Example: `  sudo fettle before upgrade
  sudo fettle before upgrade trixie
  fettle before upgrade --host web1,web2 --sudo
  fettle before upgrade --from capture-web1.tar.zst`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.limit < 0 {
				return app.Usagef("--limit %s: must not be negative", o.limit)
			}
			to := strings.Join(args, "")
			if o.fleet.Asked() {
				return upgradeFleet(cmd.Context(), a, o, to)
			}
			return upgrade(cmd.Context(), a, o, to)
		},
	}
	app.FormatFlag(c, &o.format, "text", "json")
	c.Flags().BoolVarP(&o.verbose, "verbose", "v", false, "show every subject with its evidence, including clear ones")
	c.Flags().DurationVar(&o.limit, "limit", 0, "stop every check after this `TIME` (default: each trap's own)")
	o.target.Flags(c)
	o.fleet.Flags(c)
	return c
}

// upgradeDocument is the verdict as JSON, with all that was found.
type upgradeDocument struct {
	jsondoc.Envelope
	judge.Upgrade
	Report *report.Document `json:"report"`
}

func upgrade(ctx context.Context, a *app.App, o options, to string) error {
	tg, err := o.target.Target()
	if err != nil {
		return err
	}
	l, err := look(ctx, a, tg, o.limit, instant(a, trap.Upgrade), nil, "looking at the upgrade …")
	if err != nil {
		return err
	}
	w, err := wayOf(&l.meta, to)
	if err != nil {
		return app.Usagef("%s: %w", filepath.Base(l.meta.Host), err)
	}
	u := judge.JudgeUpgrade(w.From.String(), w.To.String(), &l.meta, l.traps, l.results)
	if o.format == "json" {
		err = a.JSON(upgradeDocument{jsondoc.New("before-upgrade"), u, report.NewDocument(l.meta, l.traps, l.results, l.took)})
	} else {
		err = writeUpgrade(a, o, l, &u)
	}
	return cmp.Or(err, upgradeStatus(u.Verdict))
}

// wayOf is the upgrade of the host to the release that was asked for; empty asks for the next.
func wayOf(m *report.Meta, to string) (release.Way, error) {
	w, err := release.Named(m.Machine.Distribution)
	if err == nil && to != "" && !w.To.Is(to) {
		return w, app.Usagef("from %s fettle knows the upgrade to %s (%s), not to %s", w.From, w.To, w.To.Codename, to)
	}
	return w, err
}

func upgradeStatus(v judge.UpgradeVerdict) error {
	switch v {
	case judge.Different:
		return app.Exit(app.ExitFound, nil)
	case judge.MayBreak:
		return app.Exit(app.ExitUnknown, nil)
	case judge.Broken:
		return app.Exit(exitBreaks, nil)
	}
	return nil
}

// hostUpgrade is what the upgrade does to one of many hosts.
type hostUpgrade struct {
	Host string `json:"host"`
	// Error is why there is no verdict.
	Error string `json:"error,omitempty"`
	judge.Upgrade
	Found []foundThere `json:"found,omitempty"`
}

// upgradeFleetDocument is fettle before upgrade --host --format json.
type upgradeFleetDocument struct {
	jsondoc.Envelope
	Hosts []hostUpgrade `json:"hosts"` // the worst first
}

// upgradeRanks order verdicts, the worst highest.
var upgradeRanks = map[judge.UpgradeVerdict]int{judge.NothingBreaks: 0, judge.MayBreak: 1, "": 1, judge.Different: 2, judge.Broken: 3}

// upgradeFleet is before upgrade on other hosts.
func upgradeFleet(ctx context.Context, a *app.App, o options, to string) error {
	if o.target.Root != "" || o.target.From != "" {
		return app.Usagef("--host looks at running hosts: it cannot be used with --root or --from")
	}
	traps := instant(a, trap.Upgrade)
	d := upgradeFleetDocument{Envelope: jsondoc.New("before-upgrade-fleet")}
	err := askHosts(ctx, a, o, traps, func(host string, m *report.Meta, results []trap.Result, failed error) {
		v := hostUpgrade{Host: host}
		var w release.Way
		if failed == nil {
			w, failed = wayOf(m, to)
		}
		if failed != nil {
			v.Error = failed.Error()
		} else {
			v.Upgrade, v.Found = judge.JudgeUpgrade(w.From.String(), w.To.String(), m, traps, results), foundOn(results)
		}
		d.Hosts = append(d.Hosts, v)
	})
	if err != nil {
		return err
	}
	sorted.By(d.Hosts, func(a, b hostUpgrade) int {
		return cmp.Or(cmp.Compare(upgradeRanks[b.Verdict], upgradeRanks[a.Verdict]), strings.Compare(a.Host, b.Host))
	})
	if o.format == "json" {
		err = a.JSON(d)
	} else {
		err = writeUpgradeFleet(a, &d)
	}
	if err != nil || len(d.Hosts) == 0 {
		return err
	}
	if d.Hosts[0].Error != "" {
		return app.Exit(app.ExitUnknown, nil)
	}
	return upgradeStatus(d.Hosts[0].Verdict)
}
