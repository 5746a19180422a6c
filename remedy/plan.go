// Package remedy changes a host in a way that can be undone. A Plan is data:
// a list of typed steps. Applying it keeps a journal that undo and resume read.
package remedy

import (
	"fmt"
	"io/fs"
	"time"

	"fettle/internal/ui"
)

// Plan is how one finding is mended. It is made by a trap, shown to the
// admin, and only then applied.
type Plan struct {
	Title string // "pin br0's MTU at 1500"
	// Notes are shown before the admin is asked: what will be felt, what is
	// not covered, what to watch.
	Notes []string
	Steps []Step
	// CutsConnection is set when a step can cut the admin's own connection:
	// an independent rollback is armed before the first step and disarmed by
	// fettle confirm.
	CutsConnection bool
	// Settle is how long the host may need until the check can see the
	// effect: verification is repeated until then.
	Settle time.Duration
	// Vanishes is why the check does not speak of the subject any more once it
	// is mended; empty: it must call it clear.
	Vanishes string
}

// Refusal is the error of a trap that will not make a plan, and why, in
// words for the admin: what to do instead.
type Refusal struct{ Why string }

func (e *Refusal) Error() string { return e.Why }

// Refuse makes a Refusal. The line ends of format are its author's; one in an
// argument came from outside, and is shown as an escape.
func Refuse(format string, args ...any) error {
	for i, a := range args {
		switch a := a.(type) {
		case string:
			args[i] = ui.Visible(a)
		case error:
			args[i] = ui.Visible(a.Error())
		}
	}
	return &Refusal{fmt.Sprintf(format, args...)}
}

// Step is one change. The types below are all there are; each is plain data
// that survives JSON.
type Step interface {
	// Kind names the type in journals: "file", "sysctl", …
	Kind() string
	// Describe says in one line what will change.
	Describe() string
	// Reversal says whether and how the step is undone.
	Reversal() Reversal
}

// Class tells how a step is undone.
type Class string

const (
	Restorable   Class = "restorable"   // byte for byte
	Invertible   Class = "invertible"   // by another act; the note says what differs after
	Irreversible Class = "irreversible" // asked for separately
)

// Reversal is a class with its note.
type Reversal struct {
	Class Class
	Note  string // of an invertible step: what differs after; of an irreversible one: why
}

// File writes a whole file: replaces one, or makes a new one (a drop-in)
// with the folders above it. Mode, owner, ACL and xattrs of a file that
// exists are kept. Symlinks are followed first.
type File struct {
	Path    string      `json:"path"`
	Content []byte      `json:"content"`
	Mode    fs.FileMode `json:"mode,omitempty"` // of a new file; 0 is 0644
	// Was is the content the plan was made from; nil for a file that did not
	// exist. Apply refuses when the file says something else by then.
	Was []byte `json:"was"`
	// Secret keeps the content out of diffs.
	Secret bool `json:"secret,omitempty"`
}

// Remove deletes a file; undo brings it back with content, mode, owner, ACL
// and xattrs.
type Remove struct {
	Path string `json:"path"`
	Was  []byte `json:"was"`
}

// Perm sets mode and owner of a file or folder; -1 leaves a part as it is.
type Perm struct {
	Path string `json:"path"`
	Mode int    `json:"mode"` // permission bits with setuid, setgid, sticky as in chmod(2); -1
	UID  int    `json:"uid"`
	GID  int    `json:"gid"`
}

// ACL replaces the POSIX ACLs of a file or folder, in the text form of
// acl(5) ("user::rwx,group::r-x,group:adm:r-x,mask::r-x,other::r-x"), with
// numeric ids or names. Empty leaves that ACL as it is; "none" removes it.
type ACL struct {
	Path    string `json:"path"`
	Access  string `json:"access,omitempty"`
	Default string `json:"default,omitempty"`
}

// Sysctl writes a running kernel parameter. Key is the path below /proc/sys
// ("net/ipv6/conf/eth0/accept_ra"). Everything the write may change besides
// the key itself is kept too (all/forwarding changes every interface).
type Sysctl struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Sysfs writes a value to a file below /sys.
type Sysfs struct {
	Path  string `json:"path"`
	Value string `json:"value"`
}

// Unit acts on a systemd unit. Act is one of reload, restart,
// reload-or-restart, start, stop, enable, disable; daemon-reload takes no Name.
type Unit struct {
	Name string `json:"name,omitempty"`
	Act  string `json:"act"`
}

// LinkMTU sets the MTU of a network link over netlink.
type LinkMTU struct {
	Link string `json:"link"` // as octets.Text writes it
	MTU  int    `json:"mtu"`  // bytes
	// Bridge: the link is a bridge, which a set MTU pins for good.
	Bridge bool `json:"bridge,omitempty"`
}

// SolicitRouter sends an ICMPv6 router solicitation on a link (RFC 4861
// §4.1), so that a router advertisement comes now and not in minutes.
type SolicitRouter struct {
	Link string `json:"link"`
}

// Command runs an external command: argument lists with absolute paths,
// never a shell. Undo is its inverse; empty makes the step irreversible.
// Probe, when given, exits 0 if the command's effect is in place: resume asks
// it whether an interrupted command had worked.
type Command struct {
	Do    []string `json:"do"`
	Undo  []string `json:"undo,omitempty"`
	Probe []string `json:"probe,omitempty"`
	// Require, when given, must exit 0 right before Do, and UndoRequire right
	// before Undo: the precondition of an act that lowers redundancy. They
	// only read.
	Require     []string `json:"require,omitempty"`
	UndoRequire []string `json:"undo_require,omitempty"`
	// Again: the command works up what the other steps wrote (update-initramfs).
	// It is undone by running it once more after everything else was put back,
	// whatever boot that is, and runs again when it was cut off. It has no Undo.
	Again bool `json:"again,omitempty"`
	// Differs says what is not as before after Undo; empty: nothing.
	Differs string        `json:"differs,omitempty"`
	Limit   time.Duration `json:"limit,omitempty"` // 0 is one minute
}

func (File) Kind() string          { return "file" }
func (Remove) Kind() string        { return "remove" }
func (Perm) Kind() string          { return "perm" }
func (ACL) Kind() string           { return "acl" }
func (Sysctl) Kind() string        { return "sysctl" }
func (Sysfs) Kind() string         { return "sysfs" }
func (Unit) Kind() string          { return "unit" }
func (LinkMTU) Kind() string       { return "link-mtu" }
func (SolicitRouter) Kind() string { return "solicit-router" }
func (Command) Kind() string       { return "command" }
