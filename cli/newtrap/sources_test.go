package newtrap

import (
	"io/fs"
	"path"
	"strings"
)

// sources is a checkout without what a build does not read.
type sources struct{ fs.FS }

func (s sources) ReadDir(name string) ([]fs.DirEntry, error) {
	all, err := fs.ReadDir(s.FS, name)
	var kept []fs.DirEntry
	for _, d := range all {
		switch {
		case d.Name() == ".git", d.Name() == "corpus", d.Name() == "fuzz":
		case d.Type()&fs.ModeType&^fs.ModeDir != 0: // a link or a device
		case name == "." && !d.IsDir() && path.Ext(d.Name()) != ".mod" && path.Ext(d.Name()) != ".sum":
		case strings.HasSuffix(d.Name(), "_test.go"):
		default:
			kept = append(kept, d)
		}
	}
	return kept, err
}
