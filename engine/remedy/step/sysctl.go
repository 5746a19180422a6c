package step

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"fettle/engine/remedy/machine"
	"fettle/internal/shell"
)

// Sysctl writes a running kernel parameter. Key is the path below /proc/sys
// ("net/ipv6/conf/eth0/accept_ra"). Everything the write may change besides
// the key itself is kept too (all/forwarding changes every interface).
type Sysctl struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

func (Sysctl) Kind() string { return "sysctl" }

func (s Sysctl) Describe() string {
	return fmt.Sprintf("set the running value of %s to %q", s.Key, s.Value)
}

func (s Sysctl) Reversal() Reversal {
	// addrconf_ifdown() in net/ipv6/addrconf.c (Linux 6.1) drops addresses
	// and routes when disable_ipv6 becomes 1.
	if strings.HasPrefix(s.Key, "net/ipv6/conf/") && strings.HasSuffix(s.Key, "/disable_ipv6") && strings.TrimSpace(s.Value) != "0" {
		return Reversal{Invertible, "the value is restored; manually added IPv6 addresses and routes are not"}
	}
	return Reversal{Class: Restorable}
}

func (Sysctl) Running() bool { return true }

func (s Sysctl) Commands() [][]string {
	// sysctl(8) takes the path with slashes, where interface names with dots are safe.
	return [][]string{{"sysctl", "-w", s.Key + "=" + s.Value}}
}

func (s Sysctl) Items(_ context.Context, m machine.Machine) ([]Item, error) {
	if !filepath.IsLocal(s.Key) || path.Clean(s.Key) != s.Key {
		return nil, fmt.Errorf("sysctl key %q is not a path below /proc/sys", s.Key)
	}
	out, err := valueItem(m, procSys+s.Key)
	if err != nil {
		return nil, err
	}
	keys, err := sideEffectsOf(m, s.Key)
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		v, err := m.ReadValue(procSys + k)
		if errors.Is(err, fs.ErrNotExist) {
			continue // an interface that went away, or a key this kernel lacks
		}
		if err != nil {
			return nil, fmt.Errorf("saving %s, which the write may change: %w", k, err)
		}
		out = append(out, Item{Kind: ValueItem, Path: procSys + k, Value: v, SideEffect: true})
	}
	return out, nil
}

func (s Sysctl) Apply(_ context.Context, st *Site, before []Item) error {
	return st.Machine.WriteValue(before[0].Path, s.Value)
}

func (s Sysctl) Done(_ context.Context, _ machine.Machine, _, now []Item) (bool, error) {
	return sameValue(now[0].Value, s.Value), nil
}

func (s Sysctl) Between(_, now Item) bool { return sameValue(now.Value, s.Value) }

const procSys = "/proc/sys/"

func valueItem(m machine.Machine, name string) ([]Item, error) {
	v, err := m.ReadValue(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &machine.Changed{Path: name, Why: "does not exist on this kernel"}
	}
	if err != nil {
		return nil, fmt.Errorf("saving the value of %s: %w", name, err)
	}
	return []Item{{Kind: ValueItem, Path: name, Value: selected(v)}}, nil
}

// twins are pairs of keys of which writing one zeroes the other
// (mm/page-writeback.c dirty_bytes_handler and its siblings; mm/util.c
// overcommit_ratio_handler).
var twins = map[string]string{
	"vm/dirty_bytes": "vm/dirty_ratio", "vm/dirty_background_bytes": "vm/dirty_background_ratio",
	"vm/overcommit_kbytes": "vm/overcommit_ratio",
}

// sideEffectsOf lists the other keys that writing key may change, in the order in
// which they are put back: "all" before "default" before the interfaces,
// because each of them writes over those after it.
func sideEffectsOf(m machine.Machine, key string) ([]string, error) {
	for a, b := range twins {
		if key == a {
			return []string{b}, nil
		}
		if key == b {
			return []string{a}, nil
		}
	}
	type column struct{ family, name string }
	var cols []column
	var out []string
	if key == "net/ipv4/ip_forward" {
		cols = []column{{"ipv4", "forwarding"}, {"ipv4", "accept_redirects"}}
	} else if f := strings.Split(key, "/"); len(f) == 5 && f[0] == "net" && f[2] == "conf" {
		// A key of one interface changes only itself; but its ipv4
		// forwarding and those of "all" share one switch.
		if f[3] == "all" || f[3] == "default" {
			cols = []column{{f[1], f[4]}}
		}
		if f[1] == "ipv4" && f[4] == "forwarding" && f[3] == "all" {
			// inet_forward_change() in net/ipv4/devinet.c also turns
			// all/accept_redirects. ip_forward is another name of the key.
			cols = append(cols, column{"ipv4", "accept_redirects"})
		}
	}
	for _, c := range cols {
		dir := "net/" + c.family + "/conf/"
		names, err := m.List(procSys + dir)
		if err != nil {
			return nil, fmt.Errorf("listing the interfaces of %s: %w", dir, err)
		}
		for _, pass := range []func(n string) bool{
			func(n string) bool { return n == "all" },
			func(n string) bool { return n == "default" },
			func(n string) bool { return n != "all" && n != "default" },
		} {
			for _, n := range names {
				if k := dir + n + "/" + c.name; pass(n) && k != key {
					out = append(out, k)
				}
			}
		}
	}
	return out, nil
}

func (Sysctl) Keeps() (first, rest string) { return ValueItem, ValueItem }

func (s Sysctl) Shell(name string) (string, error) {
	main := shell.Quote(procSys + s.Key)
	return fmt.Sprintf("keep %s %s%s\nprintf '%%s\\n' %s > %s\n", name, main, shellSideEffects(s.Key), shell.Quote(s.Value), main), nil
}

func (s Sysctl) Ansible(b *Tasks) error { return b.Commands(s) }

// shellSideEffects is sideEffectsOf for the host that the script will run on: globs, in
// the order in which the values are put back.
func shellSideEffects(key string) string {
	for a, b := range twins {
		if key == a {
			return " " + procSys + b
		}
		if key == b {
			return " " + procSys + a
		}
	}
	f := strings.Split(key, "/")
	switch {
	case key == "net/ipv4/ip_forward", key == "net/ipv4/conf/all/forwarding":
		dir := procSys + "net/ipv4/conf/"
		return " " + dir + "all/forwarding " + dir + "default/forwarding " + dir + "*/forwarding " + dir + "*/accept_redirects"
	case len(f) == 5 && f[0] == "net" && f[2] == "conf" && (f[3] == "all" || f[3] == "default"):
		dir, col := shell.Quote(procSys+path.Join(f[:3]...))+"/", "/"+shell.Quote(f[4])
		return " " + dir + "all" + col + " " + dir + "default" + col + " " + dir + "*" + col
	}
	return ""
}

// Sets is the file of the key, and what it says then.
func (s Sysctl) Sets() (path, value string) { return procSys + s.Key, s.Value }
