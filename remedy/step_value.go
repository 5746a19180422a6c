package remedy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
)

func (Sysctl) running() bool { return true }
func (Sysfs) running() bool  { return true }

const procSys = "/proc/sys/"

func (s Sysctl) items(_ context.Context, m Machine) ([]Item, error) {
	if !filepath.IsLocal(s.Key) || path.Clean(s.Key) != s.Key {
		return nil, fmt.Errorf("sysctl key %q is not a path below /proc/sys", s.Key)
	}
	out, err := valueItem(m, procSys+s.Key)
	if err != nil {
		return nil, err
	}
	keys, err := asideOf(m, s.Key)
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		v, err := m.ReadValue(procSys + k)
		if errors.Is(err, fs.ErrNotExist) {
			continue // an interface that went away, or a key this kernel lacks
		}
		if err != nil {
			return nil, fmt.Errorf("keeping %s, which the write may change: %w", k, err)
		}
		out = append(out, Item{Kind: itemValue, Path: procSys + k, Value: v, Aside: true})
	}
	return out, nil
}

func valueItem(m Machine, name string) ([]Item, error) {
	v, err := m.ReadValue(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &Changed{Path: name, Why: "does not exist on this kernel"}
	}
	if err != nil {
		return nil, fmt.Errorf("keeping the value of %s: %w", name, err)
	}
	return []Item{{Kind: itemValue, Path: name, Value: selected(v)}}, nil
}

// twins are pairs of keys of which writing one zeroes the other
// (mm/page-writeback.c dirty_bytes_handler and its siblings; mm/util.c
// overcommit_ratio_handler).
var twins = map[string]string{
	"vm/dirty_bytes": "vm/dirty_ratio", "vm/dirty_background_bytes": "vm/dirty_background_ratio",
	"vm/overcommit_kbytes": "vm/overcommit_ratio",
}

// asideOf lists the other keys that writing key may change, in the order in
// which they are put back: "all" before "default" before the interfaces,
// because each of them writes over those after it.
func asideOf(m Machine, key string) ([]string, error) {
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

func (s Sysctl) act(_ context.Context, st *site, before []Item) error {
	return st.m.WriteValue(before[0].Path, s.Value)
}

func (s Sysctl) done(_ context.Context, _ Machine, _, now []Item) (bool, error) {
	return sameValue(now[0].Value, s.Value), nil
}

func (s Sysctl) between(_, now Item) bool { return sameValue(now.Value, s.Value) }

func (s Sysfs) items(_ context.Context, m Machine) ([]Item, error) {
	if path.Clean(s.Path) != s.Path || !strings.HasPrefix(s.Path, "/sys/") {
		return nil, fmt.Errorf("%q is not a path below /sys", s.Path)
	}
	out, err := valueItem(m, s.Path)
	if err != nil || s.Path != ksmDir+"advisor_mode" {
		return out, err
	}
	// advisor_mode_store() in mm/ksm.c (Linux 6.8) sets pages_to_scan, and
	// under scan-time it changes by itself and cannot be written.
	for _, name := range []string{"pages_to_scan"} {
		its, err := valueItem(m, ksmDir+name)
		if err != nil {
			return nil, err
		}
		if out[0].Value == "none" {
			its[0].Aside, its[0].Drifts = true, true
			out = append(out, its[0])
		}
	}
	return out, nil
}

const ksmDir = "/sys/kernel/mm/ksm/"

func (s Sysfs) act(_ context.Context, st *site, before []Item) error {
	return st.m.WriteValue(before[0].Path, s.Value)
}

func (s Sysfs) done(_ context.Context, _ Machine, _, now []Item) (bool, error) {
	return sameValue(now[0].Value, s.Value), nil
}

func (s Sysfs) between(_, now Item) bool { return sameValue(now.Value, s.Value) }
