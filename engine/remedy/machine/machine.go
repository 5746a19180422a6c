// Package machine is the host that remedies change, through open file
// descriptors and never by a path that somebody may have redirected since.
package machine

import (
	"context"
	"fmt"
	"os"
	"time"

	"fettle/host/mdraid"
)

// Machine is the host that steps change. Every change to it is one of the
// methods below "Changes", each a single act that either happened or did not
// (but for Create and Overwrite, which may stop midway): tests put kills and
// full disks between them.
//
// Paths are real ones, as Resolve returns them: a symlink met on the way is
// an error, so that nobody swaps one in between look and act. Below a folder
// of a user's it is done with that user's rights.
type Machine interface {
	// BootID names the running boot (/proc/sys/kernel/random/boot_id).
	BootID() (string, error)
	// Resolve follows the symlinks of an absolute path. The last parts need
	// not exist.
	Resolve(path string) (string, error)
	// Look reads what is at path; nothing there is an Image of type
	// Absent, not an error. Content is read for regular files when asked for.
	Look(path string, content bool) (Image, error)
	// ReadValue reads a file below /proc/sys or /sys, without the newline.
	ReadValue(path string) (string, error)
	// List lists the names in a folder, sorted.
	List(dir string) ([]string, error)
	// Links lists the links of the network namespace.
	Links() ([]Link, error)
	// MDSuperblock reads the MD superblock of a block device ("sda1"), past the
	// page cache. A device that holds none of version 1, has no medium or is
	// not there is nil without an error.
	MDSuperblock(device string) (*mdraid.Superblock, error)
	// HeldOpen is how many bytes on disk a file has that a process holds open;
	// a Changed where that is another file by now.
	HeldOpen(f OpenFile) (int64, error)
	// Room is how many bytes are free for others than root where a folder is,
	// or will be.
	Room(dir string) (int64, error)
	// Ask runs a command that only reads. Its exit status is no error.
	Ask(ctx context.Context, argv []string, limit time.Duration) (Output, error)
	// Systemctl is the path of systemctl, empty when there is none; booted
	// tells whether systemd runs this host (sd_booted(3)).
	Systemctl() (path string, booted bool)

	// Changes.

	Mkdir(path string, mode uint32) error
	Rmdir(path string) error
	// Create makes a new file of mode 0600 and says which; Overwrite truncates
	// one that is there and writes. Sync makes them durable.
	Create(path string, content []byte) (ID, error)
	Overwrite(f Ref, content []byte) error
	// CopyOpen copies what a process holds open, also a file without a name,
	// into a new file of mode 0600, durably, or leaves none.
	CopyOpen(ctx context.Context, f OpenFile, to string) error
	Unlink(f Ref) error
	// Rename gives the file another name in the same folder.
	Rename(from Ref, to string) error
	Chown(f Ref, uid, gid uint32) error
	Chmod(f Ref, mode uint32) error
	SetXattr(f Ref, name string, value []byte) error
	RemoveXattr(f Ref, name string) error
	SetModTime(f Ref, ns int64) error
	// Sync makes a file with its attributes, or a folder's names, durable.
	Sync(f Ref) error
	WriteValue(path, value string) error
	SetMTU(index, mtu int) error
	Solicit(ctx context.Context, link string) error
	// Run runs a command that changes something.
	Run(ctx context.Context, argv []string, limit time.Duration) (Output, error)
}

// New is the running machine.
func New() Machine { return Linux{BootIDFile: os.Getenv("FETTLE_BOOT_ID_FILE")} }

// ID tells a file from others that have, or had, its name. It does not change
// with a boot, as device numbers do.
type ID struct {
	Inode  uint64 `json:"inode,omitempty"`
	BornNS int64  `json:"born_ns,omitempty"` // where the file system knows
}

func (i ID) zero() bool { return i == ID{} }

// Ref is a file or folder by its path and, unless ID is zero, no other.
type Ref struct {
	Path string
	ID   ID
}

// At is whatever has the path.
func At(path string) Ref { return Ref{Path: path} }

// Changed is the refusal to touch what somebody else has changed: since the
// plan was made, or since fettle wrote it.
type Changed struct {
	Path string
	Why  string
}

func (e *Changed) Error() string { return fmt.Sprintf("%s %s", e.Path, e.Why) }

// Untrusted is the refusal to follow a symlink that somebody other than root
// can have made.
type Untrusted struct{ Path, Folder, Target string }

func (e *Untrusted) Error() string {
	return fmt.Sprintf("%s is a link to %s, and others than root may write to %s: fettle does not follow it", e.Path, e.Target, e.Folder)
}

// Link is what steps need to know of a network link. Master and Parent are
// indexes, 0 for none; Parent is the lower device of a VLAN or macvlan.
type Link struct {
	Name                       string // as octets.Text writes it
	Index, MTU, Master, Parent int
}

// OpenFile is a file that a process holds open.
type OpenFile struct {
	PID int `json:"pid"`
	FD  int `json:"fd"`
	// Dev and Inode are as fstat(2) has them: process numbers are used again.
	Dev   uint64 `json:"dev"`
	Inode uint64 `json:"inode"`
}

// Output is what a command left behind.
type Output struct {
	Stdout, Stderr []byte
	Exit           int
}

// Types of Image.
const (
	Absent  = "absent"
	Regular = "file"
	Folder  = "dir"
	Other   = "other" // device, socket, fifo: fettle changes none
)

// Image is a file or folder as it is at one moment.
type Image struct {
	Type   string            `json:"type"`
	Mode   uint32            `json:"mode,omitempty"` // permission bits as in chmod(2)
	UID    uint32            `json:"uid"`
	GID    uint32            `json:"gid"`
	Xattrs map[string][]byte `json:"xattrs,omitempty"` // ACLs are among them
	ModNS  int64             `json:"mtime_ns,omitempty"`
	Links  uint64            `json:"nlink,omitempty"`
	// Mount is set when the path itself is a mount point: rename(2) over it
	// fails with EBUSY.
	Mount bool `json:"mount,omitempty"`
	ID    ID   `json:"id,omitzero"`
	// Foreign is set where somebody other than root may rename on the way to it.
	Foreign bool `json:"foreign,omitempty"`
	// Sum is the SHA-256 of the content in hexadecimal; empty when the
	// content was not asked for. Blob is the pre-image that holds it.
	Sum  string `json:"sum,omitempty"`
	Size int64  `json:"size,omitempty"` // bytes
	Blob string `json:"blob,omitempty"`

	Content []byte `json:"-"`
}

// ContentLimit is the largest file that fettle changes, in bytes: its
// pre-image is kept.
const ContentLimit = 64 << 20
