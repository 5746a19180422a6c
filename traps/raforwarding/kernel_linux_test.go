package raforwarding

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fettle/engine/remedy"
	"fettle/engine/remedy/machine"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/internal/means"
	"fettle/traps/raforwarding/proof/arena"
)

func TestKernelTable(t *testing.T) {
	means.Short(t, "takes seconds")
	if !alone(t) {
		return
	}
	l := newLab(t)
	l.must(l.arena.Table(func(r arena.Row) {
		t.Logf("%+v", r)
		if r.Route != r.Want() || r.Address != r.Want() {
			t.Errorf("%+v: want %v", r, r.Want())
		}
	}))
}

func TestKernelEvents(t *testing.T) {
	if !alone(t) {
		return
	}
	l := newLab(t)
	l.run(l.ip, "link", "add", "x0", "type", "veth", "peer", "name", "x1")
	host1 := func() { // a host with a default route
		l.clean()
		l.set("h0/accept_ra", "1")
		if !l.routeComes() {
			t.Fatal("a plain host gets no route")
		}
	}
	for _, e := range []struct {
		name           string
		do             func()
		route, later   bool // at once, and after three more advertisements
		address, other string
	}{
		{name: "all/forwarding 1", do: func() { l.set("all/forwarding", "1") }},
		{name: "h0/forwarding 1", do: func() { l.set("h0/forwarding", "1") }},
		{name: "all/forwarding 1, all/accept_ra 2", do: func() { l.set("all/forwarding", "1"); l.set("all/accept_ra", "2") }},
		{name: "all/forwarding 1, default/accept_ra 2", do: func() { l.set("all/forwarding", "1"); l.set("default/accept_ra", "2") }},
		{name: "forwarding of another interface 1", do: func() { l.set("x0/forwarding", "1") }, route: false, later: true},
		{name: "default/forwarding 1", do: func() { l.set("default/forwarding", "1") }, route: true, later: true},
		{name: "h0/force_forwarding 1", do: func() {
			if _, err := os.Stat(confDir + "h0/force_forwarding"); err == nil { // since 6.17
				l.set("h0/force_forwarding", "1")
			}
		}, route: true, later: true},
		{name: "accept_ra 2, then all/forwarding 1, 0, 1", do: func() {
			l.set("h0/accept_ra", "2")
			l.set("all/forwarding", "1")
			l.set("all/forwarding", "0")
			l.set("all/forwarding", "1")
		}, route: true, later: true},
		{name: "all/forwarding 1, h0/forwarding 0", do: func() { l.set("all/forwarding", "1"); l.set("h0/forwarding", "0") }, later: true},
		{name: "all/forwarding 1, h0/forwarding 0, all/forwarding 1 again", do: func() {
			l.set("all/forwarding", "1")
			l.set("h0/forwarding", "0")
			l.set("all/forwarding", "1")
		}},
	} {
		var now bool
		for try, heard := 0, int64(-1); heard != l.count() && try < 10; try++ { // an advertisement in between may bring the route back
			l.set("default/forwarding", "0")
			l.set("default/accept_ra", "1")
			l.set("all/accept_ra", "1")
			host1()
			heard = l.count()
			e.do()
			now = l.route()
		}
		later := l.routeComes()
		t.Logf("%s: route at once %v, after three advertisements %v, address %v", e.name, now, later, l.address())
		if now != e.route || later != e.later || !l.address() {
			t.Errorf("%s: route at once %v, want %v; later %v, want %v; address %v, want true", e.name, now, e.route, later, e.later, l.address())
		}
	}
	host1()
	l.set("h0/forwarding", "1")
	l.set("all/forwarding", "1")
	l.set("all/forwarding", "0")
	if got := l.get("h0/forwarding"); got != "0" {
		t.Errorf("all/forwarding 1 and 0 leave h0/forwarding at %s", got)
	}
	l.set("default/accept_ra", "2")
	l.run(l.ip, "link", "add", "n0", "type", "veth", "peer", "name", "n1")
	if got := l.get("n0/accept_ra"); got != "2" {
		t.Errorf("a new interface has accept_ra %s, default says 2", got)
	}
}

func TestFoundMendedAndUndone(t *testing.T) {
	if !alone(t) {
		return
	}
	l := newLab(t)
	l.clean()
	l.set("h0/accept_ra", "1")
	if !l.routeComes() {
		t.Fatal("a plain host gets no route")
	}
	l.says("clear h0: forwarding is off")

	l.set("all/forwarding", "1")
	l.hear(2)
	if l.route() {
		t.Fatal("the trap is not sprung: the default route is still there")
	}
	f := l.says("found critical h0: router advertisements arrive and are ignored") // there is no IPv4 here

	src, err := host.NewLive()
	l.must(err)
	p, err := plan(t.Context(), host.New(src), f)
	l.must(err)
	store, err := remedy.OpenStoreAt(filepath.Join(t.TempDir(), "changes"))
	l.must(err)
	e := &remedy.Engine{Store: store, Machine: machine.New(), Log: func(s string) { t.Log(s) }}
	change, err := e.Apply(
		t.Context(),
		remedy.Head{Trap: f.Trap, Subject: f.Subject, Summary: f.Summary, Plan: p},
		func(context.Context) error {
			for _, o := range l.check() {
				if o.Status != trap.Clear {
					return &remedy.StillFound{Summary: fmt.Sprint(o)}
				}
			}
			return nil
		},
	)
	l.must(err)
	if !l.routeComes() {
		t.Error("mended, but no default route comes")
	}
	l.says("clear h0: accept_ra is 2")

	for _, v := range []string{"0", "1", "0", "1"} {
		l.set("all/forwarding", v)
	}
	if !l.route() || !l.routeComes() || l.get("h0/forwarding") != "1" {
		t.Error("the route does not survive forwarding being turned off and on")
	}
	l.says("clear h0: accept_ra is 2")

	// The next boot, as far as parameters go: everything at its default, then systemd-sysctl.
	l.set("h0/accept_ra", "1")
	if bin := "/usr/lib/systemd/systemd-sysctl"; fileExists(bin) {
		l.run(bin, "--prefix=/net/ipv6/conf/h0")
		if got := l.get("h0/accept_ra"); got != "2" {
			t.Errorf("systemd-sysctl gives h0 accept_ra %s out of the plan's file", got)
		}
	}
	l.set("h0/accept_ra", "2")

	_, err = e.Undo(t.Context(), change.ID, remedy.UndoOptions{})
	l.must(err)
	if got := l.get("h0/accept_ra"); got != "1" {
		t.Errorf("undone, accept_ra is %s", got)
	}
	if es, _ := os.ReadDir("/etc/sysctl.d"); len(es) != 0 {
		t.Errorf("undone, /etc/sysctl.d still holds %v", es)
	}
	l.says("found critical h0: router advertisements")
}

func fileExists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func TestInnocents(t *testing.T) {
	if !alone(t) {
		return
	}
	l := newLab(t)
	for _, tc := range []struct {
		name, ra, fwd, want string
		more                []string
	}{
		{"no forwarding", "1", "0", "clear h0: forwarding is off", nil},
		{"static, advertisements off", "0", "1", "not-applicable h0: router " +
			"advertisements are turned off", []string{"address add 2001:db8:1::9/64 dev h0 nodad", "route add default via 2001:db8:1::1 dev h0"}},
		{"static, advertisements not turned off", "1", "1", "not-applicable h0: IPv6 is configured by hand",
			[]string{"address add 2001:db8:1::9/64 dev h0 nodad", "route add default via 2001:db8:1::1 dev h0"}},
	} {
		l.clean()
		exec.Command(l.ip, "-6", "route", "flush", "default").Run()
		l.set("h0/forwarding", tc.fwd)
		l.set("h0/accept_ra", tc.ra)
		for _, m := range tc.more {
			l.run(append([]string{l.ip, "-6"}, strings.Fields(m)...)...)
		}
		l.hear(2)
		t.Log(tc.name)
		l.says(tc.want)
	}
}
