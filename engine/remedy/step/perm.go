package step

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"fettle/engine/remedy/machine"
	"fettle/internal/shell"
)

// Perm sets mode and owner of a file or folder; -1 leaves a part as it is.
type Perm struct {
	Path string `json:"path"`
	Mode int    `json:"mode"` // permission bits with setuid, setgid, sticky as in chmod(2); -1
	UID  int    `json:"uid"`
	GID  int    `json:"gid"`
	// User and Group are the names of UID and GID on the host, for people; root's are known.
	User  string `json:"user,omitempty"`
	Group string `json:"group,omitempty"`
}

func (Perm) Kind() string { return "perm" }

func (s Perm) Describe() string {
	var parts []string
	if s.Mode >= 0 {
		parts = append(parts, fmt.Sprintf("mode %04o", s.Mode))
	}
	if s.UID >= 0 {
		parts = append(parts, "owner "+named(s.UID, s.User))
	}
	if s.GID >= 0 {
		parts = append(parts, "group "+named(s.GID, s.Group))
	}
	if len(parts) == 0 {
		return "leave " + s.Path + " as it is"
	}
	return "give " + s.Path + " " + strings.Join(parts, ", ")
}

// named is an ID by its name, where that is known.
func named(id int, name string) string {
	switch {
	case name != "":
		return name
	case id == 0:
		return "root"
	}
	return strconv.Itoa(id)
}

func (s Perm) Reversal() Reversal { return Reversal{Class: Restorable} }

func (s Perm) Target() string { return s.Path }

func (Perm) Running() bool { return false }

func (s Perm) Commands() (out [][]string) {
	if o := s.owner(); o != "" {
		out = append(out, []string{"chown", o, "--", s.Path})
	}
	if s.Mode >= 0 {
		out = append(out, []string{"chmod", fmt.Sprintf("%04o", s.Mode), "--", s.Path})
	}
	return out
}

func (s Perm) Items(_ context.Context, m machine.Machine) ([]Item, error) { return metaItem(m, s.Path) }

func (s Perm) Apply(_ context.Context, st *Site, before []Item) error {
	f := machine.Ref{Path: before[0].Path, ID: before[0].Image.ID}
	now, err := st.Machine.Look(f.Path, false)
	if err != nil {
		return err
	}
	// Not by setMeta: its ACL would put the mask of before over the new mode.
	want := s.want(*before[0].Image)
	if now.UID != want.UID || now.GID != want.GID {
		if err := st.Machine.Chown(f, want.UID, want.GID); err != nil {
			return err
		}
		if now, err = st.Machine.Look(f.Path, false); err != nil {
			return err
		}
	}
	if now.Mode != want.Mode {
		if err := st.Machine.Chmod(f, want.Mode); err != nil {
			return err
		}
	}
	return st.Machine.Sync(f)
}

func (s Perm) Done(_ context.Context, _ machine.Machine, before, now []Item) (bool, error) {
	want, n := s.want(*before[0].Image), now[0].Image
	return n.Mode == want.Mode && n.UID == want.UID && n.GID == want.GID, nil
}

func (s Perm) Between(before, now Item) bool {
	b, w, n := before.Image, s.want(*before.Image), now.Image
	return n.Type == b.Type && (n.UID == b.UID || n.UID == w.UID) && (n.GID == b.GID || n.GID == w.GID) &&
		(n.Mode&0o777 == b.Mode&0o777 || n.Mode&0o777 == w.Mode&0o777) // chown(2) clears set-id bits
}

// owner is chown's argument; empty when both stay.
func (s Perm) owner() string {
	o := ""
	if s.UID >= 0 {
		o = strconv.Itoa(s.UID)
	}
	if s.GID >= 0 {
		o += ":" + strconv.Itoa(s.GID)
	}
	return o
}

func (s Perm) want(img machine.Image) machine.Image {
	if s.UID >= 0 {
		img.UID = uint32(s.UID)
	}
	if s.GID >= 0 {
		img.GID = uint32(s.GID)
	}
	if s.Mode >= 0 {
		img.Mode = uint32(s.Mode) & 0o7777
	}
	return img
}

// metaItem is the one item of steps that leave content alone.
func metaItem(m machine.Machine, name string) ([]Item, error) {
	real, err := m.Resolve(name)
	if err != nil {
		return nil, err
	}
	img, err := m.Look(real, false)
	if err != nil {
		return nil, err
	}
	switch img.Type {
	case machine.Absent:
		return nil, &machine.Changed{Path: name, Why: "does not exist"}
	case machine.Other:
		return nil, &machine.Changed{Path: name, Why: "is neither a file nor a folder"}
	}
	return []Item{{Kind: MetaItem, Path: real, Image: &img}}, nil
}

func (Perm) Keeps() (first, rest string) { return MetaItem, MetaItem }

func (s Perm) Shell(string) (string, error) {
	q := shell.Quote(s.Path)
	return fmt.Sprintf(
		"old=$(stat -c %%a -- %s)\nundo chmod \"$old\" -- %s\nold=$(stat -c %%u:%%g -- %s)\nundo chown \"$old\" -- %s\n%s",
		q,
		q,
		q,
		q,
		ShellCommands(s),
	), nil
}

func (s Perm) Ansible(b *Tasks) error {
	b.Task(s.Describe())
	b.Line("      ansible.builtin.file:")
	b.Line("        path: %s", YAML(s.Path))
	if s.Mode >= 0 {
		b.Line("        mode: \"%04o\"", s.Mode)
	}
	if s.UID >= 0 {
		b.Line("        owner: \"%d\"", s.UID)
	}
	if s.GID >= 0 {
		b.Line("        group: \"%d\"", s.GID)
	}
	b.Changer()
	return nil
}

// Effect is what changes of mode, owner and group.
func (s Perm) Effect(now *machine.Image) string {
	var parts []string
	say := func(what, was, is string) {
		if now == nil {
			parts = append(parts, what+" "+is)
		} else if was != is {
			parts = append(parts, what+" "+was+" → "+is)
		}
	}
	was := machine.Image{}
	if now != nil {
		was = *now
	}
	if s.Mode >= 0 {
		say("mode", fmt.Sprintf("%04o", was.Mode), fmt.Sprintf("%04o", s.Mode))
	}
	if s.UID >= 0 {
		say("owner", fmt.Sprint(was.UID), fmt.Sprint(s.UID))
	}
	if s.GID >= 0 {
		say("group", fmt.Sprint(was.GID), fmt.Sprint(s.GID))
	}
	if len(parts) == 0 {
		return "as they are"
	}
	return strings.Join(parts, ", ")
}
