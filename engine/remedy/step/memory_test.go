package step

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle/engine/remedy/machine"
	"fettle/host/acl"
)

var errBroken = errors.New("broken")

// memory is a host in memory. It keeps a list of what changed it, does to a file's attributes what
// Linux does, and fails where it is told to.
type memory struct {
	machine.Machine // nil: what no step asks for
	files           map[string]machine.Image
	symlinks        map[string]string
	values          map[string]string
	net             []machine.Link
	units           map[string]string         // what systemctl answers: "is-active a.service": "active"
	answers         map[string]machine.Output // of other commands, by their line
	systemctl       string
	booted          bool

	log     []string // changes, in order
	limits  map[string]time.Duration
	calls   int
	failAt  int              // this call fails with errBroken, from 1; 0: none
	failed  string           // which one that was
	fails   map[string]error // by name and path of the call
	inode   uint64
	meddler func(call string) // somebody else on the host, before each call
}

func newMemory() *memory {
	m := &memory{files: map[string]machine.Image{}, symlinks: map[string]string{}, values: map[string]string{}, units: map[string]string{},
		answers: map[string]machine.Output{}, limits: map[string]time.Duration{}, fails: map[string]error{},
		systemctl: "/bin/systemctl", booted: true}
	m.files["/"] = machine.Image{Type: machine.Folder, Mode: 0o755}
	m.folder("/etc")
	return m
}

func (m *memory) next() machine.ID { m.inode++; return machine.ID{Inode: m.inode} }

func (m *memory) folder(name string) {
	m.files[name] = machine.Image{Type: machine.Folder, Mode: 0o755, ID: m.next()}
}

// file makes a file of mode 0640, user 1, group 2.
func (m *memory) file(name, content string, more ...func(*machine.Image)) machine.Image {
	i := machine.Image{Type: machine.Regular, Mode: 0o640, UID: 1, GID: 2, Links: 1, ModNS: 77, ID: m.next(), Content: []byte(content)}
	for _, f := range more {
		f(&i)
	}
	m.files[name] = i
	return i
}

func xattr(name, value string) func(*machine.Image) {
	return func(i *machine.Image) {
		i.Xattrs = maps.Clone(i.Xattrs)
		if i.Xattrs == nil {
			i.Xattrs = map[string][]byte{}
		}
		i.Xattrs[name] = []byte(value)
	}
}

func withMode(mode uint32) func(*machine.Image) { return func(i *machine.Image) { i.Mode = mode } }
func withLinks(n uint64) func(*machine.Image)   { return func(i *machine.Image) { i.Links = n } }
func mounted(i *machine.Image)                  { i.Mount = true }

// accessList makes ACL text the value of an attribute.
func accessList(t *testing.T, text string) string {
	t.Helper()
	a, err := acl.ParseText(text, acl.Names{})
	if err != nil {
		t.Fatal(err)
	}
	return string(a.Xattr())
}

func (m *memory) call(name, at string) error {
	m.calls++
	call := name + " " + at
	if m.meddler != nil {
		m.meddler(call)
	}
	if m.calls == m.failAt {
		m.failed = call
		return errBroken
	}
	return m.fails[call]
}

func (m *memory) change(name, at, more string) error {
	if err := m.call(name, at); err != nil {
		return err
	}
	m.log = append(m.log, strings.TrimSpace(name+" "+at+" "+more))
	return nil
}

// ref is the file that a change is for.
func (m *memory) ref(f machine.Ref) (machine.Image, error) {
	i, ok := m.files[f.Path]
	if !ok {
		return i, fs.ErrNotExist
	}
	if f.ID != (machine.ID{}) && f.ID != i.ID {
		return i, &machine.Changed{Path: f.Path, Why: "is another file"}
	}
	return i, nil
}

func (m *memory) edit(name string, f machine.Ref, more string, do func(*machine.Image)) error {
	if err := m.change(name, f.Path, more); err != nil {
		return err
	}
	i, err := m.ref(f)
	if err != nil {
		return err
	}
	i.Xattrs = maps.Clone(i.Xattrs)
	if i.Xattrs == nil {
		i.Xattrs = map[string][]byte{}
	}
	do(&i)
	m.files[f.Path] = i
	return nil
}

// did compares what changed the host with what should have, and begins a new list.
func (m *memory) did(t *testing.T, what string, want ...string) {
	t.Helper()
	if !slices.Equal(m.log, want) {
		t.Errorf("%s: did\n  %s\nnot\n  %s", what, strings.Join(m.log, "\n  "), strings.Join(want, "\n  "))
	}
	m.log = nil
}

// is compares a file with what it should be.
func (m *memory) is(t *testing.T, what, name string, want machine.Image) {
	t.Helper()
	got := m.files[name]
	if !SameMeta(got, want) || got.Type != want.Type || !bytes.Equal(got.Content, want.Content) || got.ModNS != want.ModNS {
		t.Errorf("%s: %s is\n  %+v\nnot\n  %+v", what, name, got, want)
	}
}

// site has temporary files called .tmp.
func (m *memory) site(notes *[]string) *Site {
	return &Site{Machine: m, Temp: ".tmp", Log: func(l string) {
		if notes != nil {
			*notes = append(*notes, l)
		}
	}}
}
