package host

import "context"

// Held is what a process that serves files holds on to: a folder goes on being
// served under whatever name it has now, or none, while it is a process's working
// folder or root, or mounted where it looks. Sources: /proc/PID/cwd, root, fd,
// mountinfo and cmdline, proc(5).
type Held struct {
	Process
	// Denied: what it holds could not be looked at (of another user, without root).
	Denied bool `json:"denied,omitempty"`
	// Paths are the absolute paths among its arguments. Others are not kept.
	Paths []string `json:"paths,omitempty"`
	Cwd   HeldFile `json:"cwd,omitzero"`
	Root  HeldFile `json:"root,omitzero"`
	// Files are regular files that it has open for reading and that are deleted.
	Files []HeldFile `json:"files,omitempty"`
	// Mounts are folders mounted for it alone, in a mount namespace of its own;
	// their Path is the mount point there.
	Mounts []HeldFile `json:"mounts,omitempty"`
}

// HeldFile is a file or folder by the name that the kernel gives it now.
type HeldFile struct {
	Path    string `json:"path,omitempty"`
	Deleted bool   `json:"deleted,omitempty"`
	Dev     uint64 `json:"dev,omitempty"`
	Ino     uint64 `json:"ino,omitempty"`
}

// fileServers are the programs, by the name of their process, that hand out files
// over TFTP and HTTP.
var fileServers = map[string]bool{"in.tftpd": true, "tftpd": true, "atftpd": true, "dnsmasq": true,
	"nginx": true, "apache2": true, "httpd": true, "lighttpd": true}

// heldMost bounds what is told of one process.
const heldMost = 100

// Held lists what servers of files hold.
func (h *Host) Held(ctx context.Context) ([]Held, error) {
	return readTable[[]Held](ctx, h, TableHeld)
}
