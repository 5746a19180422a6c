package app

import (
	"io"

	"github.com/spf13/cobra"

	"fettle/fleet"
	"fettle/internal/files"
)

// HostFlags are the flags of verbs that work on other hosts over SSH.
type HostFlags struct {
	hosts []string
	file  string
	fleet.Options
}

func (o *HostFlags) Flags(c *cobra.Command) {
	f := c.Flags()
	f.StringSliceVar(&o.hosts, "host", nil, "check other hosts over SSH: `HOST[,HOST]...`, in the form ssh accepts (root@web1)")
	f.StringVar(&o.file, "hosts-file", "", "read host names from `FILE`, one a line (- is standard input)")
	f.IntVar(&o.Forks, "forks", fleet.DefaultForks, "`NUMBER` of hosts checked in parallel")
	f.DurationVar(&o.Limit, "host-limit", fleet.DefaultLimit, "give up on a host after this `TIME`")
	f.DurationVar(&o.Connect, "connect-limit", fleet.DefaultConnect, "give up on connecting to a host after this `TIME`")
	f.BoolVar(&o.Sudo, "sudo", false, "run as root on the hosts, through sudo -n")
	f.StringVar(&o.BinaryDir, "binary-dir", "", "find fettle-linux-ARCH for hosts of other architectures in `DIR` (default: beside fettle)")
	f.StringVar(&o.Config, "ssh-config", "", "give ssh this configuration `FILE` instead of ~/.ssh/config")
	c.MarkFlagFilename("hosts-file")
	c.MarkFlagDirname("binary-dir")
}

// Asked tells whether other hosts are meant.
func (o *HostFlags) Asked() bool { return len(o.hosts) > 0 || o.file != "" }

// hostsFileLimit is the most that is read of --hosts-file, in bytes: some
// hundred thousand names.
const hostsFileLimit = 16 << 20

// List is all hosts that the flags name.
func (o *HostFlags) List(stdin io.Reader) ([]string, error) {
	var hosts []string
	var err error
	for _, h := range o.hosts {
		if hosts, err = fleet.ParseHosts("--host", h, hosts); err != nil {
			return nil, Usagef("%w", err)
		}
	}
	if o.file != "" {
		var b []byte
		if o.file == "-" {
			b, err = files.AtMost(stdin, "standard input", hostsFileLimit)
		} else {
			b, err = files.ReadAtMost(o.file, hostsFileLimit)
		}
		if err == nil {
			hosts, err = fleet.ParseHosts(o.file, string(b), hosts)
		}
		if err != nil {
			return nil, Usagef("--hosts-file: %w", err)
		}
	}
	if len(hosts) == 0 {
		return nil, Usagef("--host and --hosts-file name no host")
	}
	return hosts, nil
}
