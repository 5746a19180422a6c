package rule

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/hosttest"
)

// counted counts the commands that a host is asked to run.
type counted struct {
	host.Source
	n atomic.Int32
}

func (c *counted) Command(ctx context.Context, cmd host.Command) (host.Output, error) {
	c.n.Add(1)
	return c.Source.Command(ctx, cmd)
}

// TestUnitsTogether: what many rules ask about units costs one command.
func TestUnitsTogether(t *testing.T) {
	src, _, err := hosttest.Parse([]byte("-- units --\na.service loaded active running enabled\nb.timer loaded inactive dead disabled\n"))
	if err != nil {
		t.Fatal(err)
	}
	host.AskTogether("a.service", "b.timer", "c.socket")
	c := &counted{Source: src}
	h := host.New(c)
	for facts, when := range map[string]string{
		"  u: {unit: a.service}": "u.is_active && u.is_enabled && u.exists", "  u: {unit: b.timer}": "!u.is_active && !u.is_enabled && u.exists",
		"  u: {unit: [c.socket, a.service]}": `u.name == "a.service"`, "  u: {unit: c.socket}": "!u.exists && u.systemd",
	} {
		if o := outcome(t, with(t, facts+"\n", "'"+when+"'", ""), h); o.Status != trap.Found {
			t.Errorf("%s: %v", facts, o)
		}
	}
	if n := c.n.Load(); n != 1 {
		t.Errorf("%d commands", n)
	}
	if o := outcome(t, with(t, "  u: {unit: d.service}\n", "'!u.exists'", ""), h); o.Status != trap.Found || c.n.Load() != 2 {
		t.Errorf("a unit of its own: %v, %d commands", o, c.n.Load())
	}
	none := hosttest.New(t, "")
	if o := outcome(t, with(t, "  u: {unit: a.service}\n", "'!u.systemd && !u.exists'", ""), none); o.Status != trap.Found ||
		!strings.Contains(o.Evidence[0].Value, "does not run systemd") {
		t.Errorf("without systemd: %v", o)
	}
}

// TestProcessesOfContainers: a daemon in a container is not the host's, unless
// the rule asks for those, too.
func TestProcessesOfContainers(t *testing.T) {
	h := hosttest.New(t, `-- table/processes --
[{"pid": 1, "comm": "systemd", "unit": "init.scope"}, {"pid": 7, "comm": "rsyslogd", "container": "lxc/web1"}, {"pid": 8, "comm": "rsyslogd", "other_pids": true},
 {"pid": 9, "comm": "cron", "unit": "cron.service"}]
`)
	for facts, when := range map[string]string{
		"  p: {process: rsyslogd}":                   "size(p) == 0",
		"  p: {process: rsyslogd, containers: true}": `size(p) == 2 && p[0].container == "lxc/web1"`,
		"  p: {process: [cron, systemd]}":            `size(p) == 2 && p.exists(x, x.unit == "cron.service" && x.container == "")`,
		"  p: {process: 'cr*'}":                      "size(p) == 1",
	} {
		if o := outcome(t, with(t, facts+"\n", "'"+when+"'", ""), h); o.Status != trap.Found {
			t.Errorf("%s: %v", facts, o)
		}
	}
}
