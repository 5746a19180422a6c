package app

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"fettle/fleet/ssh"
	"fettle/internal/files"
	transport "fettle/internal/ssh"
	"fettle/report/accept"
)

// HostFlags are the flags of verbs that work on other hosts over SSH.
type HostFlags struct {
	hosts []string
	file  string
	// An Ansible inventory, and the groups that are meant.
	inventory string
	groups    []string
	ssh.Options
}

func (o *HostFlags) Flags(c *cobra.Command) {
	f := c.Flags()
	f.StringSliceVar(
		&o.hosts,
		"host",
		nil,
		"work on other hosts over SSH: `HOST[,HOST]...`, in the form ssh accepts (root@web1, 'web*' for names in its configuration)",
	)
	f.StringVar(&o.file, "hosts-file", "", "read host names from `FILE`, one a line (- is standard input)")
	f.StringVar(&o.inventory, "inventory", "", "take hosts from the Ansible inventory `FILE`, as ansible-inventory reads it")
	f.StringSliceVar(&o.groups, "group", nil, "of the inventory, only the hosts of these `GROUPS`")
	f.IntVar(&o.Forks, "forks", transport.DefaultForks, "`NUMBER` of hosts checked in parallel")
	f.DurationVar(&o.Limit, "host-limit", transport.DefaultLimit, "give up on a host after this `TIME`")
	f.DurationVar(&o.Connect, "connect-limit", transport.DefaultConnect, "give up on connecting to a host after this `TIME`")
	f.BoolVar(&o.Sudo, "sudo", false, "run as root on the hosts, through sudo -n")
	f.StringVar(&o.BinaryDir, "binary-dir", "", "find fettle-linux-ARCH for hosts of other architectures in `DIR` (default: beside fettle)")
	f.StringVar(&o.Config, "ssh-config", "", "give ssh this configuration `FILE` instead of ~/.ssh/config")
	c.MarkFlagFilename("hosts-file")
	c.MarkFlagFilename("inventory")
	c.MarkFlagDirname("binary-dir")
}

// Asked tells whether other hosts are meant.
func (o *HostFlags) Asked() bool {
	return len(o.hosts) > 0 || o.file != "" || o.inventory != "" || len(o.groups) > 0
}

// Open is all hosts that the flags name, and the way to them, which the caller closes.
func (o *HostFlags) Open(ctx context.Context, stdin io.Reader) ([]string, *ssh.Fleet, error) {
	hosts, err := o.List(ctx, stdin)
	if err != nil {
		return nil, nil, err
	}
	f, err := ssh.Open(o.Options)
	if err != nil {
		return nil, nil, Usagef("%w", err)
	}
	return hosts, f, nil
}

// hostsFileLimit is the most that is read of --hosts-file, in bytes: some
// hundred thousand names.
const hostsFileLimit = 16 << 20

// List is all hosts that the flags name.
func (o *HostFlags) List(ctx context.Context, stdin io.Reader) ([]string, error) {
	var hosts []string
	var err error
	expand := func(pattern string) ([]string, error) { return o.named(ctx, pattern) }
	for _, h := range o.hosts {
		if hosts, err = transport.ParseHosts("--host", h, hosts, expand); err != nil {
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
		var pe *fs.PathError
		if errors.As(err, &pe) {
			return nil, Unread(err, "a file that names a host on each line (--hosts-file)")
		}
		if err == nil {
			hosts, err = transport.ParseHosts(o.file, string(b), hosts, expand)
		}
		if err != nil {
			return nil, Usagef("--hosts-file: %w", err)
		}
	}
	switch {
	case o.inventory != "":
		more, err := ssh.Inventory(ctx, o.inventory, o.groups)
		if err != nil {
			return nil, Usagef("--inventory: %w", err)
		}
		// Once more together, so that each host is there once.
		if hosts, err = transport.ParseHosts("--inventory", strings.Join(more, "\n"), hosts, nil); err != nil {
			return nil, Usagef("%w", err)
		}
	case len(o.groups) > 0:
		return nil, Usagef("--group is of an inventory: name it with --inventory")
	}
	if len(hosts) == 0 {
		return nil, Usagef("--host, --hosts-file and --inventory name no host")
	}
	return hosts, nil
}

// HostState is the folder, below the state folder, of what is recorded here of
// another host, by the name that ssh is given.
func HostState(state, host string) string {
	return filepath.Join(state, "hosts", accept.FileName(host))
}
