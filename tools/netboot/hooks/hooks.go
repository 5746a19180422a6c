// Package hooks makes what is appended to the initrd of Debian's installer:
// hooks that have packages unpacked without fsync and all written to disk at
// the end, and arrays made without lists of bad blocks. The kernel unpacks
// several cpio archives one after another, each over what is there
// (Documentation/driver-api/early-userspace/buffer-format.rst).
package hooks

import (
	"embed"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/cavaliergopher/cpio"
)

//go:embed overlay
var overlay embed.FS

// Part is one of the things that the hooks do.
type Part string

const (
	Sync Part = "sync" // dpkg without fsync, and a sync at the end
	BBL  Part = "bbl"  // no lists of bad blocks in new MD arrays
)

// Parts are all there are.
var Parts = []Part{Sync, BBL}

// File is one that the installer finds in its memory.
type File struct {
	Name    string // without a leading slash
	Mode    fs.FileMode
	Content []byte
	About   string
}

// mdadmConf is read by Debian's mdadm (mdadm.conf(5), FILES). The installer's
// own has been built to read /tmp/mdadm.conf, which partman-md overwrites, and so
// reads the folder beside it.
const (
	mdadmConf   = "etc/mdadm/mdadm.conf.d/fettle-bbl.conf"
	mdadmConfDI = "tmp/mdadm.conf.d/fettle-bbl.conf"
)

// nosync is run once the base system is there, before its kernel is installed
// (base-installer 1.213, bootstrap-base.postinst: post_install_hooks, then
// install_kernel), and again before packages are selected.
const nosync = "usr/lib/pre-pkgsel.d/05fettle-nosync"

// contents says what each part is made of.
var contents = []struct {
	part  Part
	name  string
	from  string // below overlay/; empty: name
	mode  fs.FileMode
	about string
}{
	{Sync, "usr/lib/fettle-hooks/divert.sh", "", 0o644, "diverts programs of the target and takes that back"},
	{Sync, "usr/lib/post-base-installer.d/05fettle-nosync", nosync, 0o755, "before the kernel is installed: dpkg leaves out fsync"},
	{Sync, nosync, "", 0o755, "before packages are selected: the same for what came since"},
	{Sync, "usr/lib/finish-install.d/01fettle-sync", "", 0o755, "at the end: removes it, and runs sync"},
	{BBL, mdadmConf, "", 0o644, "arrays made by the installer get no list of bad blocks"},
	{BBL, mdadmConfDI, mdadmConf, 0o644, "the same, where mdadm reads /tmp/mdadm.conf"},
	{BBL, "usr/lib/finish-install.d/02fettle-bbl", "", 0o755, "at the end: the same for the installed system"},
}

// Files are the files of some parts, in the order of the archive.
func Files(parts []Part) []File {
	var out []File
	for _, c := range contents {
		if !slices.Contains(parts, c.part) {
			continue
		}
		from := c.from
		if from == "" {
			from = c.name
		}
		b, err := overlay.ReadFile("overlay/" + from)
		if err != nil {
			panic(err) // it is embedded
		}
		out = append(out, File{c.name, c.mode, b, c.about})
	}
	return out
}

// Write writes the archive: the same bytes for the same parts, always.
func Write(w io.Writer, parts []Part) error { return write(w, parts, 0) }

// write writes the archive; before is the length of what it is appended to.
func write(w io.Writer, parts []Part, before int64) error {
	c := cpio.NewWriter(w)
	files := append([]File{{Name: marker, Mode: 0o644, Content: fmt.Appendf(nil, markerFormat, before)}}, Files(parts)...)
	have := map[string]bool{}
	for _, f := range files {
		if err := writeFolders(c, path.Dir(f.Name), have); err != nil {
			return err
		}
		h := header(f.Name, cpio.TypeReg|cpio.FileMode(f.Mode))
		h.Size = int64(len(f.Content))
		if err := c.WriteHeader(h); err != nil {
			return err
		}
		if _, err := c.Write(f.Content); err != nil {
			return err
		}
	}
	return c.Close()
}

// writeFolders writes a folder and those above it, each once: the kernel makes
// none by itself, and sets the mode of those that are there.
func writeFolders(c *cpio.Writer, dir string, have map[string]bool) error {
	at := ""
	for name := range strings.SplitSeq(dir, "/") {
		at = path.Join(at, name)
		if at == "." || have[at] {
			continue
		}
		have[at] = true
		mode := cpio.FileMode(0o755)
		if at == "tmp" {
			mode = 0o1777
		}
		if err := c.WriteHeader(header(at, cpio.TypeDir|mode)); err != nil {
			return err
		}
	}
	return nil
}

func header(name string, mode cpio.FileMode) *cpio.Header {
	return &cpio.Header{Name: name, Mode: mode, ModTime: time.Unix(1, 0), Links: 1}
}
