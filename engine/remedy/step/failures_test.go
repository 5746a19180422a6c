package step

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"fettle/engine/remedy/machine"
	"fettle/host/acl"
)

// taken is a step that was taken on a host, from the first look to the last.
func (m *memory) taken(ctx context.Context, s Step) (before []Item, err error) {
	if before, err = s.Items(ctx, m); err != nil {
		return nil, err
	}
	if err := s.Apply(ctx, m.site(nil), before); err != nil {
		return before, err
	}
	now, err := ReadItems(ctx, m, before)
	if err != nil {
		return before, err
	}
	_, asks := s.(Asker)
	if done, err := s.Done(ctx, m, before, now); err != nil || !done && !asks && len(before) > 0 {
		return before, errors.Join(err, fmt.Errorf("done: %v", done))
	}
	return before, nil
}

// state is all that must come back, with the contents of files.
func (m *memory) state() map[string]string {
	out := maps.Clone(m.values)
	for n, f := range m.files {
		out[n] = fmt.Sprintf("%s %04o %d:%d %d %q %q", f.Type, f.Mode, f.UID, f.GID, f.ModNS, f.Content, f.Xattrs)
	}
	for _, l := range m.net {
		out[l.Name] = fmt.Sprint(l.MTU)
	}
	return out
}

func (m *memory) putBack(ctx context.Context, items []Item) error {
	for _, it := range items {
		if err := PutBack(ctx, m.site(nil), it, it.Content()); err != nil {
			return err
		}
	}
	return nil
}

// TestNoFailureIsLost: whichever call of a step fails, the step says so; and what was done until then is put
// back. Where putting back fails, that says so.
func TestNoFailureIsLost(t *testing.T) {
	list := "user::rw-,user:12:r--,group::r--,mask::r--,other::---"
	full := func(i *machine.Image) {
		xattr("user.note", "keep")(i)
		xattr("security.capability", "cap")(i)
		xattr(acl.XattrAccess, accessList(t, list))(i)
		i.Mode = 0o4640
	}
	for name, c := range map[string]struct {
		step     Step
		prepare  func(*memory)
		harmless string // of what a look may fail after all was done
	}{
		"a new file": {File{Path: "/etc/a.d/b/c", Content: []byte("new\n")}, func(*memory) {}, ""},
		"a file": {File{Path: "/etc/a", Was: []byte("old\n"), Content: []byte("new\n")},
			func(m *memory) { m.file("/etc/a", "old\n", full) }, ""},
		"hard links": {File{Path: "/etc/a", Was: []byte("old\n"), Content: []byte("new\n")},
			func(m *memory) { m.file("/etc/a", "old\n", full, withLinks(2)) }, ""},
		"a copy": {File{Path: "/etc/b", Content: []byte("old\n"), Like: "/etc/a"}, func(m *memory) { m.file("/etc/a", "old\n", full) },
			"/etc/a"}, // a later step may have removed it
		"remove": {Remove{Path: "/etc/a", Was: []byte("old\n")}, func(m *memory) { m.file("/etc/a", "old\n", full) }, ""},
		"perm":   {Perm{Path: "/etc/a", Mode: 0o2755, UID: 9, GID: 10}, func(m *memory) { m.file("/etc/a", "x", withMode(0o4711)) }, ""},
		"access list": {ACL{Path: "/etc/a", Access: "u::rwx,u:77:rw-,g::r--,m::rwx,o::---"},
			func(m *memory) { m.file("/etc/a", "x", full) }, ""},
		"no access list": {ACL{Path: "/etc/a", Access: "none"}, func(m *memory) { m.file("/etc/a", "x", full) }, ""},
		"default list":   {ACL{Path: "/etc/d", Default: "u::rwx,u:77:rw-,g::r--,m::rwx,o::---"}, func(m *memory) { m.folder("/etc/d") }, ""},
		"sysctl": {Sysctl{Key: "net/ipv4/conf/all/forwarding", Value: "1"}, func(m *memory) {
			for _, n := range []string{"all", "default", "lo"} {
				m.values["/proc/sys/net/ipv4/conf/"+n+"/forwarding"] = "0"
				m.values["/proc/sys/net/ipv4/conf/"+n+"/accept_redirects"] = "1"
			}
		}, ""},
		"sysfs": {Sysfs{Path: "/sys/a", Value: "two", Drifting: []string{"/sys/b"}}, func(m *memory) {
			m.values["/sys/a"], m.values["/sys/b"] = "one two [three]", "5"
		}, ""},
		"mtu":    {LinkMTU{Link: "d0", MTU: 1400}, func(m *memory) { m.net = []machine.Link{{Name: "d0", Index: 3, MTU: 1500}} }, ""},
		"start":  {Unit{Name: "a.service", Act: "start"}, func(m *memory) { m.units["is-active a.service"] = "inactive" }, ""},
		"enable": {Unit{Name: "a.service", Act: "enable"}, func(m *memory) { m.units["is-enabled a.service"] = "disabled" }, ""},
		"reload": {Unit{Name: "a.service", Act: "reload"}, func(*memory) {}, ""},
		"check":  {Check{Run: []string{"/bin/true"}}, func(*memory) {}, ""},
		"command": {Command{Do: []string{"/bin/do", "/etc/a"}, Undo: []string{"/bin/undo"}, Require: []string{"/bin/may"}},
			func(m *memory) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			host := func() *memory { m := newMemory(); c.prepare(m); return m }
			m := host()
			old := m.state()
			before, err := m.taken(t.Context(), c.step)
			if err != nil {
				t.Fatal(err)
			}
			done, changes := m.calls, len(m.log)
			if err := m.putBack(t.Context(), before); err != nil || !maps.Equal(m.state(), old) {
				t.Errorf("put back: %v\n%v\nnot\n%v", err, m.state(), old)
			}
			for i := 1; i <= done; i++ {
				m := host()
				m.failAt = i
				before, err := m.taken(t.Context(), c.step)
				harmless := c.harmless != "" && strings.HasSuffix(m.failed, c.harmless) && len(m.log) == changes
				if !errors.Is(err, errBroken) && !harmless {
					t.Errorf("after %q failed: %v", m.failed, err)
				}
				m.failAt = 0
				if err := m.putBack(t.Context(), before); err != nil || !maps.Equal(m.state(), old) {
					t.Errorf("after %q failed, put back: %v\n%v\nnot\n%v", m.failed, err, m.state(), old)
				}
			}
			for i := done + 1; i <= m.calls; i++ {
				m := host()
				m.failAt = i
				before, err := m.taken(t.Context(), c.step)
				if err != nil {
					t.Fatal(err)
				}
				if err := m.putBack(t.Context(), before); !errors.Is(err, errBroken) {
					t.Errorf("putting back after %q failed: %v", m.failed, err)
				}
				if _, left := m.files["/etc/.tmp"]; left && !strings.HasPrefix(m.failed, "unlink") {
					t.Errorf("a temporary file is left after %q failed", m.failed)
				}
			}
		})
	}
}
