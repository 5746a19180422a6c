package host

import (
	"context"
	"io/fs"
	"time"
)

// Kind tells where a host's answers come from.
type Kind string

const (
	KindLive      Kind = "live"      // the running machine, seen from /
	KindRoot      Kind = "root"      // a root folder somewhere else: configuration only
	KindCapture   Kind = "capture"   // a file made by fettle capture
	KindSosreport Kind = "sosreport" // a folder or archive made by sos report, or by SUSE's supportconfig
)

// Source answers what checks ask. Paths are absolute, clean, and as seen from
// the host's own root. Every error wraps one of the errors of this package,
// so that whoever asks can tell "absent" from "could not look".
//
// Implementations: Live, Root (this package), and those of host/capture and
// host/sosreport. All methods may be called concurrently.
type Source interface {
	Kind() Kind
	// Name is what messages call the host: its host name, or the path it is read from.
	Name() string
	Identity() Identity
	Stat(ctx context.Context, path string, follow bool) (Info, error)
	// ReadFile reads at most limit bytes; a longer file is ErrTooBig.
	ReadFile(ctx context.Context, path string, limit int64) ([]byte, error)
	ReadDir(ctx context.Context, path string) ([]Entry, error)
	Readlink(ctx context.Context, path string) (string, error)
	// Xattr reads one extended attribute; a missing one is ErrAbsent. Follows symlinks.
	Xattr(ctx context.Context, path, name string) ([]byte, error)
	// Command runs one of Commands.
	Command(ctx context.Context, c Command) (Output, error)
	// Table reads running state that is not a file: see TableLinks and its siblings.
	Table(ctx context.Context, t Table) ([]byte, error)
	Close() error
}

// Identity is what is known of a host before anything is asked.
type Identity struct {
	Hostname string    `json:"hostname"`
	Sysname  string    `json:"sysname"` // uname -s
	Release  string    `json:"release"` // uname -r; empty when only a root folder is seen
	Version  string    `json:"version"` // uname -v
	Machine  string    `json:"machine"` // uname -m
	Time     time.Time `json:"time"`    // the host's clock when it was looked at
	EUID     int       `json:"euid"`    // who looked; -1 when not known
	BootID   string    `json:"boot_id,omitempty"`
	// Collector is what made the report, where it was not sos: "supportconfig".
	Collector string `json:"collector,omitempty"`
}

// Info is the part of stat(2) that checks use.
type Info struct {
	Mode    fs.FileMode `json:"mode"`
	UID     uint32      `json:"uid"`
	GID     uint32      `json:"gid"`
	Size    int64       `json:"size"` // bytes
	Nlink   uint64      `json:"nlink"`
	Dev     uint64      `json:"dev"`
	Ino     uint64      `json:"ino"`
	ModTime time.Time   `json:"mtime"`
}

// Entry is one name in a folder. Type holds only the type bits.
type Entry struct {
	Name string      `json:"name"`
	Type fs.FileMode `json:"type"`
}

// Table names running state that no single file holds. A capture stores each
// as JSON, in the form given here.
type Table string

const (
	// TableLinks is what `ip -j -d address show` prints: every link of the
	// network namespace, with its addresses. Read it with Host.Links.
	TableLinks Table = "links"
	// TableRoutes6 is what `ip -j -6 route show table all` prints. Read it with Host.Routes6.
	TableRoutes6 Table = "routes6"
	// TableRoutes4 is what `ip -j -4 route show table all` prints. Read it with Host.Routes4.
	TableRoutes4 Table = "routes4"
	// TableRules is a []PolicyRule: the rules that choose a table of routes. Read it with Host.Rules.
	TableRules Table = "rules"
	// TableNeighbours is a []Neighbour: those that do not expire. Read it with Host.Neighbours.
	TableNeighbours Table = "neighbours"
	// TableProcesses is a []Process, without open files. Read it with Host.Processes.
	TableProcesses Table = "processes"
	// TableOpenFiles is an OpenFiles: regular files that processes hold open
	// or mapped, and that are deleted, or open for writing in a folder for
	// logs. Read it with Host.OpenFiles.
	TableOpenFiles Table = "openfiles"
	// TableFilesystems is a []Filesystem: mounts and how full each is,
	// network file systems without figures. Read it with Host.Filesystems.
	TableFilesystems Table = "filesystems"
	// TableListeners is a []Listener: sockets that wait for others. Read it with Host.Listeners.
	TableListeners Table = "listeners"
	// TableHeld is a []Held: what servers of files hold on to. Read it with Host.Held.
	TableHeld Table = "held"
)
