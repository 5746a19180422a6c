// Package sysctlconf reads the files that set kernel parameters at boot, in the order in which
// they take effect, and says which line wins for a key and which lines lose.
//
// Two programs read sysctl.d, and they differ: systemd-sysctl(8), at boot and
// from udev for each network interface that appears, and sysctl(8) --system
// of procps. Both are checked against the real programs by this package's
// tests (systemd 252, procps 4.0.2).
//
// Two things that set keys are not seen here: sysctl.KEY= on the kernel's
// command line, which comes before the files, and the credential sysctl.extra of
// systemd-sysctl.service.
package sysctlconf

import (
	"cmp"
	"context"
	"errors"
	"path"
	"sort"
	"strings"
	"sync"
	"syscall"

	"fettle/host"
)

// Reader is a program that applies sysctl.d.
type Reader string

const (
	Systemd Reader = "systemd-sysctl"
	Procps  Reader = "sysctl --system"
)

// MainFile is the traditional file. systemd-sysctl does not read it by itself since
// systemd 207: it is in force where something below sysctl.d links to it.
// Debian 12, Red Hat and SUSE install such a link, Debian 13 does not.
const MainFile = "/etc/sysctl.conf"

// dirs come in order of precedence: of two files with the same name, the one
// in the earlier folder is read and the other not. sysctl.d(5); /lib is read
// by systemd up to 255 built for split /usr, and by procps.
var dirs = []string{"/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d", "/lib/sysctl.d"}

// Setting is one line that sets, or excludes, a key.
type Setting struct {
	// Key is the path below /proc/sys ("net/ipv4/ip_forward"), or a glob of such paths.
	Key   string `json:"key"`
	Value string `json:"value"`
	Path  string `json:"path"`
	Line  int    `json:"line"` // 1-based
	// IgnoreFailure is the "-" before a key with a value.
	IgnoreFailure bool `json:"ignore_failure,omitempty"`
	// Exclude is a "-" before a key without a value: globs do not set it.
	Exclude bool `json:"exclude,omitempty"`
}

// Glob reports whether the key is a pattern.
func (s *Setting) Glob() bool { return isGlob(s.Key) }

// Config is what one reader takes from the files.
type Config struct {
	Reader Reader
	// Files are the files read, in the order in which they are read.
	Files []string
	// Masked are files that another of the same name replaces, and files
	// that are links to /dev/null.
	Masked []string
	// Settings are the lines, in the order in which they are read.
	Settings []Setting
	// NotRead are the lines of MainFile where the reader does not read it.
	NotRead []Setting
	// Syntax are lines that are no settings; the reader skips them.
	Syntax []*host.SyntaxError
	// Unread are files and folders that could not be looked at: what they
	// say is not known.
	Unread []error

	once  sync.Once
	order []Setting       // see prepare
	named map[string]bool // keys that a line names
}

// Installed tells which reader applies sysctl.d when the host boots:
// systemd-sysctl where it is installed. Where nobody can tell (a capture
// without programs), it is taken to be systemd.
func Installed(ctx context.Context, h *host.Host) Reader {
	if ok, err := systemd(ctx, h); ok || err != nil {
		return Systemd
	}
	return Procps
}

// Unsure is why Installed may be wrong: nobody could look, and systemd does not run here.
func Unsure(ctx context.Context, h *host.Host) error {
	if _, err := systemd(ctx, h); errors.Is(h.Systemd(ctx), host.ErrNoSystemd) {
		return err
	}
	return nil
}

// systemd reports whether systemd-sysctl is there.
func systemd(ctx context.Context, h *host.Host) (bool, error) {
	var unseen error
	for _, p := range []string{"/usr/lib/systemd/systemd-sysctl", "/lib/systemd/systemd-sysctl"} {
		ok, err := h.Exists(ctx, p)
		if ok {
			return true, nil
		}
		unseen = cmp.Or(unseen, err)
	}
	return false, unseen
}

// Read reads the files as r does. The error is only of a context that ended;
// everything else is in the Config.
func Read(ctx context.Context, h *host.Host, r Reader) (*Config, error) {
	c := &Config{Reader: r}
	files, links := c.list(ctx, h)
	linked := false
	for _, f := range files {
		target := links[f]
		linked = linked || target == MainFile
		if target == "/dev/null" {
			c.Masked = append(c.Masked, f)
			continue
		}
		c.Settings = append(c.Settings, c.file(ctx, h, f)...)
	}
	switch {
	case r == Procps: // last of all, sysctl(8), "SYSTEM FILE PRECEDENCE"
		c.Settings = append(c.Settings, c.file(ctx, h, MainFile)...)
	case !linked:
		// What an unread file says wrongly, or does not let us read, is of no concern.
		unread := &Config{Reader: r}
		c.NotRead = unread.file(ctx, h, MainFile)
	}
	return c, ctx.Err()
}

// list finds the files to read, in order, and where those that are links
// lead. Both programs keep the first file of a name, in the order of dirs, and
// sort by name, as bytes.
func (c *Config) list(ctx context.Context, h *host.Host) (files []string, links map[string]string) {
	links = map[string]string{}
	seen := map[string]string{}
	for _, dir := range dirs {
		es, err := h.ReadDir(ctx, dir)
		if err != nil {
			c.unread(h, dir, err)
			continue
		}
		for _, e := range es {
			// systemd skips hidden files, procps does not. A folder of such
			// a name counts: it masks, and cannot be read.
			p := path.Join(dir, e.Name)
			if !strings.HasSuffix(e.Name, ".conf") || e.Name[0] == '.' && c.Reader == Systemd {
				continue
			}
			if first, ok := seen[e.Name]; ok {
				if !c.same(ctx, h, first, p) {
					c.Masked = append(c.Masked, p)
				}
				continue
			}
			seen[e.Name] = p
			files = append(files, p)
			if e.Type&symlink != 0 {
				if to, err := h.Readlink(ctx, p); err == nil {
					links[p] = absolute(dir, to)
				}
			}
		}
	}
	sort.SliceStable(files, func(i, j int) bool { return path.Base(files[i]) < path.Base(files[j]) })
	return files, links
}

// same reports whether two names are the same file: /lib is a link to /usr/lib
// on most hosts, and then nothing is masked.
func (c *Config) same(ctx context.Context, h *host.Host, a, b string) bool {
	to, err := h.Readlink(ctx, "/lib")
	return err == nil && strings.HasPrefix(b, "/lib/") && path.Join("/", to, strings.TrimPrefix(b, "/lib")) == a
}

// file reads one file. One that has gone, or a link that leads nowhere, is empty to both readers.
func (c *Config) file(ctx context.Context, h *host.Host, name string) []Setting {
	b, err := h.ReadFile(ctx, name)
	if errors.Is(err, host.ErrNotRegular) || errors.Is(err, syscall.EISDIR) {
		return nil // neither reader gets anything out of a folder or a device
	}
	if err != nil {
		c.unread(h, name, err)
		return nil
	}
	c.Files = append(c.Files, name)
	set, bad := Parse(c.Reader, name, b)
	c.Syntax = append(c.Syntax, bad...)
	return set
}

// unread keeps what could not be looked at. What is absent was looked at, and
// of a root folder nobody expects /run.
func (c *Config) unread(h *host.Host, name string, err error) {
	if host.IsAbsent(err) || !h.Running() && strings.HasPrefix(name, "/run/") {
		return
	}
	c.Unread = append(c.Unread, err)
}

func absolute(dir, target string) string {
	if !path.IsAbs(target) {
		target = path.Join(dir, target)
	}
	return path.Clean(target)
}
