package step

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"fettle/engine/remedy/machine"
)

// network is a host with keys of three interfaces.
func network() *memory {
	m := newMemory()
	for _, family := range []string{"ipv4", "ipv6"} {
		for _, link := range []string{"all", "a0", "default", "z0"} {
			for _, key := range []string{"forwarding", "accept_redirects", "rp_filter"} {
				m.values["/proc/sys/net/"+family+"/conf/"+link+"/"+key] = "0"
			}
		}
	}
	delete(m.values, "/proc/sys/net/ipv4/conf/z0/rp_filter") // its interface went away meanwhile
	for _, key := range []string{"net/ipv4/ip_forward", "vm/dirty_bytes", "vm/dirty_ratio", "vm/dirty_background_bytes",
		"vm/dirty_background_ratio", "vm/overcommit_kbytes", "vm/overcommit_ratio", "kernel/panic", "net/ipv4/neigh/all/forwarding",
		"net/ipv4/conf/all", "dev/ipv4/conf/all/forwarding", "net/ipv4/conf/all/a/forwarding"} {
		m.values["/proc/sys/"+key] = "1"
	}
	return m
}

// TestSysctlAside: what else the kernel changes when a key is written, in the order in which it is put back;
// and the same for a shell on a host that is not known.
func TestSysctlAside(t *testing.T) {
	each := func(family, key string) string { // put back in this order: each writes over those after it
		dir := "net/" + family + "/conf/"
		return strings.Join([]string{dir + "all/" + key, dir + "default/" + key, dir + "a0/" + key, dir + "z0/" + key}, " ")
	}
	globs := func(family, key string) string {
		dir := "net/" + family + "/conf/"
		return strings.Join([]string{dir + "all/" + key, dir + "default/" + key, dir + "*/" + key}, " ")
	}
	without := func(key, all string) string {
		return strings.Join(slices.DeleteFunc(strings.Fields(all), func(s string) bool { return s == key }), " ")
	}
	const all4 = "net/ipv4/conf/all/forwarding"
	for key, want := range map[string]struct{ aside, shell string }{
		"vm/dirty_bytes":                 {"vm/dirty_ratio", "vm/dirty_ratio"},
		"vm/dirty_ratio":                 {"vm/dirty_bytes", "vm/dirty_bytes"},
		"vm/dirty_background_bytes":      {"vm/dirty_background_ratio", "vm/dirty_background_ratio"},
		"vm/dirty_background_ratio":      {"vm/dirty_background_bytes", "vm/dirty_background_bytes"},
		"vm/overcommit_kbytes":           {"vm/overcommit_ratio", "vm/overcommit_ratio"},
		"vm/overcommit_ratio":            {"vm/overcommit_kbytes", "vm/overcommit_kbytes"},
		"kernel/panic":                   {"", ""},
		"net/ipv4/conf/a0/forwarding":    {"", ""},
		"net/ipv4/neigh/all/forwarding":  {"", ""},
		"net/ipv4/conf/all":              {"", ""},
		"net/ipv4/conf/all/a/forwarding": {"", ""},
		"dev/ipv4/conf/all/forwarding":   {"", ""},
		"net/ipv4/ip_forward": {each("ipv4", "forwarding") + " " + each("ipv4", "accept_redirects"),
			globs("ipv4", "forwarding") + " net/ipv4/conf/*/accept_redirects"},
		all4: {without(all4, each("ipv4", "forwarding")) + " " + each("ipv4", "accept_redirects"),
			globs("ipv4", "forwarding") + " net/ipv4/conf/*/accept_redirects"},
		"net/ipv6/conf/all/forwarding": {without("net/ipv6/conf/all/forwarding", each("ipv6", "forwarding")), globs("ipv6", "forwarding")},
		"net/ipv4/conf/default/forwarding": {without("net/ipv4/conf/default/forwarding", each("ipv4", "forwarding")),
			globs("ipv4", "forwarding")},
		"net/ipv4/conf/all/rp_filter": {"net/ipv4/conf/default/rp_filter net/ipv4/conf/a0/rp_filter", globs("ipv4", "rp_filter")},
	} {
		items, err := Sysctl{Key: key, Value: "1"}.Items(t.Context(), network())
		got := strings.NewReplacer("value:/proc/sys/", "", " 0 aside", "", " 1 aside", "", ",", "").Replace(shown(items))
		first, aside, _ := strings.Cut(got, " ")
		if f := strings.Fields(got); len(f) > 1 && (f[1] == "0" || f[1] == "1") {
			_, aside, _ = strings.Cut(aside, " ")
		}
		if first != key || aside != want.aside || err != nil {
			t.Errorf("%s:\n%s\nnot\n%s\n%v", key, aside, want.aside, err)
		}
		if got := strings.TrimSpace(strings.ReplaceAll(shellSideEffects(key), "/proc/sys/", "")); got != want.shell {
			t.Errorf("%s, by a shell:\n%s\nnot\n%s", key, got, want.shell)
		}
	}
}

// TestValuesRefused: paths that lead elsewhere, and files that are not there.
func TestValuesRefused(t *testing.T) {
	m := network()
	m.values["/sys/a"] = "1"
	for _, s := range []Step{
		Sysctl{Key: "../etc/passwd"}, Sysctl{Key: "/proc/sys/kernel/panic"}, Sysctl{Key: "kernel/../kernel/panic"}, Sysctl{Key: ""},
		Sysctl{Key: "kernel/nosuch"}, Sysfs{Path: "/sys/../etc/passwd"}, Sysfs{Path: "/etc/passwd"}, Sysfs{Path: "/sys/nosuch"},
		Sysfs{Path: "/sys/a", Drifting: []string{"/sys/../etc/passwd"}}, Sysfs{Path: "/sys/a", Drifting: []string{"/etc/passwd"}},
		Sysfs{Path: "/sys/a", Drifting: []string{"/sys/nosuch"}},
	} {
		m.values["/etc/passwd"], m.values["/sys/../etc/passwd"], m.values["/proc/sys/../etc/passwd"] = "", "", ""
		m.values["/proc/sys/kernel/../kernel/panic"], m.values["/proc/sys/"], m.values["/proc/sys//proc/sys/kernel/panic"] = "", "", ""
		if items, err := s.Items(t.Context(), m); err == nil || items != nil {
			t.Errorf("%+v: %s, %v", s, shown(items), err)
		}
	}
	m.fails["read /proc/sys/net/ipv4/conf/a0/forwarding"] = errBroken
	if _, err := (Sysctl{Key: "net/ipv4/ip_forward"}).Items(t.Context(), m); !errors.Is(err, errBroken) ||
		!strings.Contains(err.Error(), "net/ipv4/conf/a0/forwarding, which the write may change") {
		t.Error(err)
	}
	items, err := Sysfs{Path: "/sys/a", Drifting: []string{"/sys/b"}}.Items(t.Context(), &memory{values: map[string]string{
		"/sys/a": "x [y]", "/sys/b": "2"}})
	if got := shown(items); err != nil || got != "value:/sys/a y, value:/sys/b 2 aside drifts" {
		t.Error(got, err)
	}
}

// What a write that was cut off can have left is the new value.
func TestValuesBetween(t *testing.T) {
	for _, s := range []Keeper{Sysctl{Value: "1 2"}, Sysfs{Value: "1 2"}, LinkMTU{MTU: 12}} {
		for value, want := range map[string]bool{"1\t2": true, "1": false, "12": false, "": false} {
			if _, mtu := s.(LinkMTU); mtu {
				want = value == "12"
			}
			if got := s.Between(Item{}, Item{Value: value}); got != want {
				t.Errorf("%+v at %q: %v", s, value, got)
			}
			done, err := s.(Step).Done(t.Context(), nil, nil, []Item{{Value: value}})
			if done != want || err != nil {
				t.Errorf("%+v at %q is done: %v, %v", s, value, done, err)
			}
		}
	}
	if done, _ := (LinkMTU{MTU: 12}).Done(t.Context(), nil, nil, []Item{{Value: "12", Gone: true}}); done {
		t.Error("the MTU of a link that is gone is set")
	}
}

// TestReachedLinks: a link's MTU reaches its master, what is above it and what is above that, each once.
func TestReachedLinks(t *testing.T) {
	links := []machine.Link{
		{Name: "lo", Index: 1, MTU: 65536}, {Name: "d0", Index: 2, MTU: 1500, Master: 5}, {Name: "d1", Index: 3, MTU: 1500, Master: 5},
		{Name: "d0.7", Index: 4, MTU: 1496, Parent: 2}, {Name: "br0", Index: 5, MTU: 1500}, {Name: "br0.8", Index: 6, MTU: 1500, Parent: 5},
		{Name: "mv", Index: 7, MTU: 1400, Parent: 6}, {Name: "d2", Index: 8, MTU: 1300},
	}
	for link, want := range map[string]string{
		"d0":   "mtu:d0 1500, mtu:d0.7 1496 aside, mtu:br0 1500 aside, mtu:br0.8 1500 aside, mtu:mv 1400 aside",
		"br0":  "mtu:br0 1500, mtu:br0.8 1500 aside, mtu:mv 1400 aside",
		"d2":   "mtu:d2 1300",
		"lo":   "mtu:lo 65536",
		"none": "",
	} {
		items, err := LinkMTU{Link: link, MTU: 9}.Items(t.Context(), &memory{net: links})
		if got := shown(items); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %s, %v; want %s", link, got, err, want)
		}
		for _, it := range items {
			if i := slices.IndexFunc(links, func(l machine.Link) bool { return l.Name == it.Path }); links[i].Index != it.Index {
				t.Errorf("%s has index %d", it.Path, it.Index)
			}
		}
	}
	m := &memory{net: []machine.Link{{Name: "d0", Index: 9, MTU: 1500}}}
	err := LinkMTU{Link: "d0", MTU: 9}.Apply(t.Context(), m.site(nil), []Item{{Kind: MTUItem, Path: "d0", Index: 2}})
	if err == nil || !strings.Contains(err.Error(), "disappeared or was created again") || m.net[0].MTU != 1500 {
		t.Error(err)
	}
}
