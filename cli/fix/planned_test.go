package fix

import (
	"maps"
	"slices"
	"testing"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
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
