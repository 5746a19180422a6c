package managed

import (
	"context"
	"time"

	"fettle/host"
)

// Run is that a configuration manager has run on the host.
type Run struct {
	Name string // "Puppet"
	Ago  time.Duration
	Why  string // the file that each run writes
}

// recently is how long ago a run may be: managers run by timers several times a day, by
// hand once a week.
const recently = 8 * 24 * time.Hour

// runFiles are written by each run of what they are named after (Puppet: setting
// lastrunfile; Chef: lockfile; Salt: minion's highstate cache; CFEngine: promise_summary.log).
var runFiles = []struct{ name, file string }{
	{"Puppet", "/opt/puppetlabs/puppet/cache/state/last_run_summary.yaml"},
	{"Puppet", "/var/lib/puppet/state/last_run_summary.yaml"},
	{"Puppet", "/var/cache/puppet/state/last_run_summary.yaml"},
	{"Chef", "/var/chef/cache/chef-client-running.pid"},
	{"Chef", "/var/cinc/cache/cinc-client-running.pid"},
	{"Salt", "/var/cache/salt/minion/highstate.cache.p"},
	{"CFEngine", "/var/cfengine/promise_summary.log"},
	{"Rudder", "/var/rudder/cfengine-community/promise_summary.log"},
}

// Recent are the configuration managers that ran here in the last days, whatever they
// write. Ansible leaves no such file on the hosts that it configures.
func Recent(ctx context.Context, h *host.Host) []Run {
	now := h.Now()
	var out []Run
	for _, f := range runFiles {
		st, err := h.Lstat(ctx, f.file)
		if err != nil {
			continue
		}
		if ago := now.Sub(st.ModTime); ago >= -time.Hour && ago < recently {
			out = append(out, Run{f.name, max(ago, 0), f.file})
		}
	}
	return out
}
