package step

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"fettle/engine/remedy/machine"
	"fettle/host/acl"
)

func (m *memory) Resolve(name string) (string, error) {
	if err := m.call("resolve", name); err != nil {
		return "", err
	}
	if to, ok := m.symlinks[path.Clean(name)]; ok {
		return to, nil
	}
	return path.Clean(name), nil
}

func (m *memory) Look(name string, content bool) (machine.Image, error) {
	if err := m.call("look", name); err != nil {
		return machine.Image{}, err
	}
	if _, ok := m.symlinks[name]; ok {
		return machine.Image{Type: machine.Other}, nil
	}
	i, ok := m.files[name]
	if !ok {
		return machine.Image{Type: machine.Absent}, nil
	}
	i.Xattrs, i.Size = maps.Clone(i.Xattrs), int64(len(i.Content))
	if content && i.Type == machine.Regular {
		i.Sum = machine.Sum(i.Content)
	} else {
		i.Content = nil
	}
	return i, nil
}

func (m *memory) ReadValue(name string) (string, error) {
	if err := m.call("read", name); err != nil {
		return "", err
	}
	v, ok := m.values[name]
	if !ok {
		return "", fs.ErrNotExist
	}
	return v, nil
}

func (m *memory) List(dir string) ([]string, error) {
	if err := m.call("list", dir); err != nil {
		return nil, err
	}
	var out []string
	for _, names := range [][]string{slices.Collect(maps.Keys(m.files)), slices.Collect(maps.Keys(m.values))} {
		for _, n := range names {
			if rest, ok := strings.CutPrefix(n, strings.TrimSuffix(dir, "/")+"/"); ok && rest != "" {
				first, _, _ := strings.Cut(rest, "/")
				out = append(out, first)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func (m *memory) Links() ([]machine.Link, error) { return m.net, m.call("links", "") }

func (m *memory) Systemctl() (string, bool) { return m.systemctl, m.booted }

func (m *memory) Ask(_ context.Context, argv []string, limit time.Duration) (machine.Output, error) {
	line := strings.Join(argv, " ")
	m.limits["ask "+line] = limit
	if err := m.call("ask", line); err != nil {
		return machine.Output{}, err
	}
	if rest, ok := strings.CutPrefix(line, m.systemctl+" "); ok {
		if word, ok := m.units[rest]; ok {
			return machine.Output{Stdout: []byte(word + "\n")}, nil
		}
	}
	return m.answers[line], nil
}

func (m *memory) Run(_ context.Context, argv []string, limit time.Duration) (machine.Output, error) {
	line := strings.Join(argv, " ")
	m.limits["run "+line] = limit
	if len(argv) == 3 && argv[0] == m.systemctl {
		for _, a := range []struct{ act, question, word string }{{"start", "is-active", "active"}, {"stop", "is-active", "inactive"},
			{"enable", "is-enabled", "enabled"}, {"disable", "is-enabled", "disabled"}} {
			if a.act == argv[1] {
				m.units[a.question+" "+argv[2]] = a.word
			}
		}
	}
	return m.answers[line], m.change("run", line, "")
}

func (m *memory) Mkdir(name string, mode uint32) error {
	if err := m.change("mkdir", name, fmt.Sprintf("%04o", mode)); err != nil {
		return err
	}
	if _, ok := m.files[name]; ok {
		return fs.ErrExist
	}
	m.folder(name)
	return nil
}

func (m *memory) Rmdir(name string) error {
	delete(m.files, name)
	return m.change("rmdir", name, "")
}

func (m *memory) Create(name string, content []byte) (machine.ID, error) {
	if err := m.change("create", name, ""); err != nil {
		return machine.ID{}, err
	}
	if _, ok := m.files[name]; ok {
		return machine.ID{}, fs.ErrExist
	}
	i := m.file(name, string(content), func(i *machine.Image) { i.Mode, i.UID, i.GID, i.ModNS = 0o600, 0, 0, 9999 })
	return i.ID, nil
}

func (m *memory) Overwrite(f machine.Ref, content []byte) error {
	return m.edit("overwrite", f, "", func(i *machine.Image) {
		i.Content, i.ModNS, i.Mode = slices.Clone(content), 9999, i.Mode&^0o6000
		delete(i.Xattrs, "security.capability")
	})
}

func (m *memory) Unlink(f machine.Ref) error {
	if err := m.change("unlink", f.Path, ""); err != nil {
		return err
	}
	_, err := m.ref(f)
	if err == nil {
		delete(m.files, f.Path)
	}
	return err
}

func (m *memory) Rename(from machine.Ref, to string) error {
	if err := m.change("rename", from.Path, to); err != nil {
		return err
	}
	i, err := m.ref(from)
	if err == nil {
		delete(m.files, from.Path)
		m.files[to] = i
	}
	return err
}

func (m *memory) Chown(f machine.Ref, uid, gid uint32) error {
	return m.edit("chown", f, fmt.Sprintf("%d:%d", uid, gid), func(i *machine.Image) {
		i.UID, i.GID, i.Mode = uid, gid, i.Mode&^0o6000
		delete(i.Xattrs, "security.capability")
	})
}

func (m *memory) Chmod(f machine.Ref, mode uint32) error {
	return m.edit("chmod", f, fmt.Sprintf("%04o", mode), func(i *machine.Image) { i.Mode = mode })
}

func (m *memory) SetXattr(f machine.Ref, name string, value []byte) error {
	return m.edit("setxattr", f, name, func(i *machine.Image) {
		i.Xattrs[name] = append([]byte{}, value...)
		if a, err := acl.ParseXattr(value); name == acl.XattrAccess && err == nil {
			i.Mode = i.Mode&^0o777 | uint32(a.Mode())
			if a.Minimal() {
				delete(i.Xattrs, name)
			}
		}
	})
}

func (m *memory) RemoveXattr(f machine.Ref, name string) error {
	return m.edit("removexattr", f, name, func(i *machine.Image) { delete(i.Xattrs, name) })
}

func (m *memory) SetModTime(f machine.Ref, ns int64) error {
	return m.edit("utime", f, fmt.Sprint(ns), func(i *machine.Image) { i.ModNS = ns })
}

func (m *memory) Sync(f machine.Ref) error { return m.change("sync", f.Path, "") }

func (m *memory) WriteValue(name, value string) error {
	if strings.Contains(m.values[name], "[") { // "one two [three]": the words stay
		was := strings.NewReplacer("[", "", "]", "").Replace(m.values[name])
		m.values[name] = strings.Replace(was, value, "["+value+"]", 1)
	} else {
		m.values[name] = value
	}
	return m.change("write", name, value)
}

func (m *memory) SetMTU(index, mtu int) error {
	for i := range m.net {
		if m.net[i].Index == index {
			m.net[i].MTU = mtu
		}
	}
	return m.change("mtu", fmt.Sprint(index), fmt.Sprint(mtu))
}

func (m *memory) Solicit(_ context.Context, link string) error { return m.change("solicit", link, "") }
