// Package supportconfig turns what SUSE's supportconfig collected into a host.
//
// A supportconfig is a folder of text files (basic-environment.txt, network.txt,
// env.txt, …), each a row of sections: a command with its output, a configuration
// file, a log. Which text file holds which section differs from release to release,
// so all are read, and each section is laid out as a file of the host or as sos
// names the output of the same command; package sosreport reads the rest.
//
// The form is that of bin/supportconfig.rc of supportutils 3.0 and 3.2 (_log_cmd,
// conf_files, log_files).
package supportconfig

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"fettle/host"
	"fettle/host/archive"
	"fettle/host/sosreport"
)

// textLimit is how much of one text file is read, from its end, in bytes: in
// messages.txt the newest lines come last.
const textLimit = 64 << 20

// Is reports whether a tree is a supportconfig: every one has the basic environment.
func Is(t *archive.Tree) bool {
	i, err := t.Stat("/basic-environment.txt", true)
	return err == nil && i.Mode.IsRegular()
}

// Open opens a supportconfig: its folder, or the archive that it made.
func Open(ctx context.Context, file string) (*sosreport.Source, error) {
	t, err := archive.Open(ctx, file, archive.Limits{Member: sosreport.MaxMember})
	if err != nil {
		return nil, err
	}
	if !Is(t) {
		t.Close()
		return nil, fmt.Errorf("%s: not a supportconfig (no basic-environment.txt)", file)
	}
	return FromTree(t)
}

// FromTree makes a host of an open supportconfig, and closes the tree: all of it is in
// memory then.
func FromTree(t *archive.Tree) (*sosreport.Source, error) {
	defer t.Close()
	es, err := t.ReadDir("/")
	if err != nil {
		return nil, err
	}
	l := newLayout()
	for _, e := range es {
		if e.Type != 0 && e.Type != fs.ModeSymlink || !strings.HasSuffix(e.Name, ".txt") {
			continue
		}
		b, cut, err := t.ReadTail("/"+e.Name, textLimit)
		if err != nil {
			continue // what it holds is not known
		}
		l.whole = !cut
		for _, s := range sections(string(b)) {
			l.add(e.Name, s)
		}
	}
	return l.host(t.Name()), nil
}

// collector is what the host's report is called.
const collector = "supportconfig"

func (l *layout) host(name string) *sosreport.Source {
	l.finish()
	return sosreport.FromLayout(sosreport.Layout{
		Tree: archive.Memory(name, l.files), Collector: collector, Looked: l.looked, Absent: l.absent,
	})
}

var _ host.Source = (*sosreport.Source)(nil)
