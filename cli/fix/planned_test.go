package fix

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"testing"

	"fettle/cli/app"
	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/hosttest"
)

func TestPlannedHost(t *testing.T) {
	src, _, err := hosttest.Parse(
		[]byte("-- root/etc/a.conf --\nold\n-- root/etc/gone.conf --\nx\n-- root/proc/sys/net/ipv4/ip_forward --\n0\n"),
	)
	if err != nil {
		t.Fatal(err)
	}
	p := &planned{Source: src, files: map[string]file{}, values: map[string]string{}}
	p.add(remedy.Plan{Steps: []step.Step{
		step.File{Path: "/etc/a.conf", Content: []byte("new and longer\n")},
		step.File{Path: "/etc/b.d/sub/90.conf", Content: []byte("made\n")},
		step.Remove{Path: "/etc/gone.conf"},
		step.Sysctl{Key: "net/ipv4/ip_forward", Value: "1"},
	}})
	ahead, ctx := host.New(p), t.Context()
	for name, want := range map[string]string{"/etc/a.conf": "new and longer\n", "/etc/b.d/sub/90.conf": "made\n",
		"/proc/sys/net/ipv4/ip_forward": "1\n"} {
		if b, err := ahead.ReadFile(ctx, name); string(b) != want || err != nil {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	if _, err := ahead.ReadFile(ctx, "/etc/gone.conf"); !host.IsAbsent(err) {
		t.Errorf("removed: %v", err)
	}
	if i, err := ahead.Stat(ctx, "/etc/a.conf"); i.Size != 15 || err != nil {
		t.Errorf("%+v, %v", i, err)
	}
	for dir, want := range map[string][]string{"/etc": {"a.conf", "b.d"}, "/etc/b.d": {"sub"}, "/etc/b.d/sub": {"90.conf"}} {
		es, err := ahead.ReadDir(ctx, dir)
		got := map[string]bool{}
		for _, e := range es {
			got[e.Name] = true
		}
		if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, want) || err != nil {
			t.Errorf("%s: %v, %v", dir, names, err)
		}
		if i, err := ahead.Stat(ctx, dir); !i.Mode.IsDir() || err != nil {
			t.Errorf("%s: %+v, %v", dir, i, err)
		}
	}
	if _, err := ahead.ReadDir(ctx, "/nowhere"); !host.IsAbsent(err) {
		t.Errorf("another folder: %v", err)
	}
}

// odd refuses what it is asked, and keeps what that was.
type odd struct {
	host.Source
	asked []string
}

func (o *odd) ReadFile(context.Context, string, int64) ([]byte, error) { return nil, host.ErrDenied }
func (o *odd) Stat(context.Context, string, bool) (host.Info, error) {
	return host.Info{}, host.ErrDenied
}
func (o *odd) ReadDir(context.Context, string) ([]host.Entry, error) { return nil, host.ErrDenied }
func (o *odd) Identity() host.Identity                               { return host.Identity{} }

func (o *odd) Extract(_ context.Context, kind, name string, _ func(io.Reader) ([]byte, error)) ([]byte, error) {
	o.asked = append(o.asked, kind+" of "+name)
	return []byte("theirs"), nil
}

// TestPlannedHostAsksTheHost: what no step writes is as the host says, refusals too.
func TestPlannedHostAsksTheHost(t *testing.T) {
	o := &odd{}
	p := &planned{Source: o, files: map[string]file{"/etc/a/b": {[]byte("four"), true}, "/etc/gone": {}}, values: map[string]string{}}
	ctx := t.Context()
	_, read := p.ReadFile(ctx, "/etc/x", 9)
	_, stat := p.Stat(ctx, "/etc/x", true)
	_, written := p.Stat(ctx, "/etc/a/b", true)
	_, dir := p.ReadDir(ctx, "/etc/a")
	for name, err := range map[string]error{"read": read, "stat": stat, "stat of what is written": written, "list": dir} {
		if !errors.Is(err, host.ErrDenied) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for limit, want := range map[int64]error{4: nil, 3: host.ErrTooBig} {
		if _, err := p.ReadFile(ctx, "/etc/a/b", limit); !errors.Is(err, want) {
			t.Errorf("at most %d bytes of four: %v", limit, err)
		}
	}
	whole := func(r io.Reader) ([]byte, error) { return io.ReadAll(r) }
	for name, want := range map[string]string{"/etc/a/../a/b": "four", "/etc/x": "theirs"} {
		if b, err := p.Extract(ctx, "initrd", name, whole); string(b) != want || err != nil {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	if _, err := p.Extract(ctx, "initrd", "/etc/gone", whole); !host.IsAbsent(err) {
		t.Error(err)
	}
	if len(o.asked) != 1 || o.asked[0] != "initrd of /etc/x" {
		t.Errorf("the host was asked for %q", o.asked)
	}
}

// TestNothingToMend: what is said where the trap is not found, in each form that is run.
func TestNothingToMend(t *testing.T) {
	plain := &trap.Trap{Lore: "---\nid: alpha\ntitle: A\n---\n"}
	talks := &trap.Trap{Lore: plain.Lore, Talks: true}
	sets := &trap.Trap{Lore: plain.Lore, Setup: &trap.Setup{Choice: "way"}}
	for _, tt := range []struct {
		t    *trap.Trap
		o    Options
		want string
	}{
		{plain, Options{Format: "text"}, "alpha is not found on this host: there is nothing to fix.\n"},
		{plain, Options{Format: "text", On: []string{"br0", "br1"}}, "alpha is not found on br0, br1: there is nothing to fix.\n"},
		{plain, Options{Format: "sh"}, "#!/bin/sh\n# alpha is not found on this host: there is nothing to fix.\n"},
		{plain, Options{Format: "ansible"}, "---\n# alpha is not found on this host: there is nothing to fix.\n[]\n"},
		{talks, Options{Format: "text"},
			"alpha is not found on this host without asking other hosts (--network asks them): there is nothing to fix.\n"},
		{sets, Options{Format: "text"}, "alpha is not found on this host: there is nothing to fix.\n" +
			"To set it up anyway: fettle fix alpha --on SUBJECT --with way=VALUE\n"},
		{sets, Options{Format: "sh"}, "#!/bin/sh\n# alpha is not found on this host: there is nothing to fix.\n"},
	} {
		var b bytes.Buffer
		tt.o.Plan = true // which asks no other host, and looks for no change
		nothingToMend(&app.App{Stdout: &b}, tt.t, tt.o)
		if b.String() != tt.want {
			t.Errorf("%q, want %q", &b, tt.want)
		}
	}
}
