package cli

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"fettle/accept"
	"fettle/fleet"
	"fettle/trap"
)

// fleetOptions are the flags of verbs that work on other hosts over SSH.
type fleetOptions struct {
	hosts []string
	file  string
	fleet.Options
}

func (o *fleetOptions) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringSliceVar(&o.hosts, "host", nil, "look at other hosts over SSH: `HOST[,HOST]...`, each as ssh takes it (root@web1)")
	f.StringVar(&o.file, "hosts-file", "", "take hosts from `FILE`, one a line (- is standard input)")
	f.IntVar(&o.Forks, "forks", fleet.DefaultForks, "work on so many hosts at once")
	f.DurationVar(&o.Limit, "host-limit", fleet.DefaultLimit, "give up on a host after this `TIME`")
	f.DurationVar(&o.Connect, "connect-limit", fleet.DefaultConnect, "give up on connecting to a host after this `TIME`")
	f.BoolVar(&o.Sudo, "sudo", false, "run as root on the hosts, by sudo -n")
	f.StringVar(&o.BinaryDir, "binary-dir", "", "find fettle-linux-ARCH for hosts of other architectures in `DIR` (default: beside fettle)")
	f.StringVar(&o.Config, "ssh-config", "", "give ssh this configuration `FILE` instead of ~/.ssh/config")
	c.MarkFlagFilename("hosts-file")
	c.MarkFlagDirname("binary-dir")
}

// asked tells whether other hosts are meant.
func (o *fleetOptions) asked() bool { return len(o.hosts) > 0 || o.file != "" }

// hostsFileLimit is the most that is read of --hosts-file, in bytes: some
// hundred thousand names.
const hostsFileLimit = 16 << 20

// list is all hosts that the flags name.
func (o *fleetOptions) list(stdin io.Reader) ([]string, error) {
	var hosts []string
	var err error
	for _, h := range o.hosts {
		if hosts, err = fleet.ParseHosts("--host", h, hosts); err != nil {
			return nil, usagef("%w", err)
		}
	}
	if o.file != "" {
		var b []byte
		if o.file == "-" {
			b, err = readAtMost(stdin, "standard input", hostsFileLimit)
		} else {
			b, err = readFileAtMost(o.file, hostsFileLimit)
		}
		if err == nil {
			hosts, err = fleet.ParseHosts(o.file, string(b), hosts)
		}
		if err != nil {
			return nil, usagef("--hosts-file: %w", err)
		}
	}
	if len(hosts) == 0 {
		return nil, usagef("--host and --hosts-file name no host")
	}
	return hosts, nil
}

// fleetFormats are the formats that hold several hosts.
var fleetFormats = []string{"text", "json", "jsonl"}

// checkFleet is check on other hosts.
func (a *app) checkFleet(ctx context.Context, o checkOptions, failOn trap.Severity, traps []*trap.Trap, ids []string) error {
	switch {
	case o.root != "" || o.from != "":
		return usagef("--host looks at running hosts: it goes neither with --root nor with --from")
	case !slices.Contains(fleetFormats, o.out.format):
		return usagef("--format %s holds one host; of --host there are text, json and jsonl", o.out.format)
	case o.out.fresh:
		return usagef("--new does not go with --host yet: run it on the hosts themselves")
	}
	hosts, err := o.fleet.list(a.stdin)
	if err != nil {
		return err
	}
	args := append([]string(nil), ids...)
	if o.network {
		args = append(args, "--network")
	}
	if o.sample > 0 {
		args = append(args, "--sample="+o.sample.String())
	}
	if o.limit > 0 {
		args = append(args, "--limit="+o.limit.String())
	}
	out := &output{app: a, opt: o.out, failOn: failOn, list: &accept.List{}}
	if o.out.accepted != "" {
		if out.list, err = a.acceptances(o.out.accepted); err != nil {
			return err
		}
	}
	f, err := fleet.Open(o.fleet.Options)
	if err != nil {
		return usagef("%w", err)
	}
	defer f.Close()
	w, err := out.open(a.stdout)
	if err != nil {
		return err
	}
	defer out.abandon()
	p := fleetWriter(w, o, failOn, traps)
	out.w = p
	started := time.Now()
	var werr error
	f.Check(ctx, hosts, args, func(e fleet.Event) {
		if e.Line.Result != nil {
			out.list.Mark(e.Line.Result, time.Now())
			out.counts.Add(*e.Line.Result)
		}
		if e.Err != nil {
			out.counts.Unknown++
		}
		if werr == nil {
			werr = p.event(e)
		}
	})
	if werr != nil {
		return written(werr)
	}
	p.counts = out.counts
	if err := out.End(time.Since(started)); err != nil {
		return err
	}
	return out.status()
}
