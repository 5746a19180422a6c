package run

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"fettle/host/archive"
	"fettle/host/capture"
	"fettle/host/sosreport"
	"fettle/host/supportconfig"
	"fettle/internal/ui"
)

// inEtc are names in /etc of which every system has one, also one that was cut down to
// its configuration: that tells it from a user's own folder of that name.
var inEtc = []string{"passwd", "group", "hostname", "hosts", "fstab", "os-release", "debian_version", "redhat-release", "alpine-release",
	"machine-id", "nsswitch.conf", "resolv.conf", "sysctl.conf", "sysctl.d", "init.d", "systemd", "ssh", "apt", "default", "sysconfig",
	"network", "netplan", "NetworkManager", "pam.d", "cron.d", "ssl", "profile", "shells", "ld.so.conf"}

// rootLike tells whether a tree is the root folder of a system.
func rootLike(t *archive.Tree) bool {
	if sosreport.Is(t) { // has a part of the host's etc
		return false
	}
	if t.Exists("/share") && !t.Exists("/usr") { // /usr itself, which has an etc on SUSE
		return false
	}
	if t.Exists("/usr/lib/os-release") {
		return true
	}
	return slices.ContainsFunc(inEtc, func(name string) bool { return t.Exists("/etc/" + name) })
}

// The forms that reports have.
const (
	isSosreport     = "sosreport"
	isSupportconfig = "supportconfig"
)

// found is a report in a tree, by the name of its folder there; "" is the tree itself.
type found struct {
	name, kind string
	tree       *archive.Tree
}

func reportOf(name string, t *archive.Tree) (found, bool) {
	switch {
	case sosreport.Is(t):
		return found{name, isSosreport, t}, true
	case supportconfig.Is(t):
		return found{name, isSupportconfig, t}, true
	}
	return found{}, false
}

// maxFolders bounds how many folders are looked at for reports.
const maxFolders = 1000

// subtrees calls f with each folder in a tree, in the order of their names.
func subtrees(t *archive.Tree, f func(name string, sub *archive.Tree)) {
	es, err := t.ReadDir("/")
	if err != nil {
		return
	}
	var names []string
	for _, e := range es {
		if e.Type.IsDir() {
			names = append(names, e.Name)
		}
	}
	slices.Sort(names)
	for _, name := range names[:min(len(names), maxFolders)] {
		if sub, err := t.Sub("/" + name); err == nil {
			f(name, sub)
		}
	}
}

// theReport is the tree's one report. Of several none is chosen: which of the hosts is
// meant, only the user knows.
func theReport(name string, t *archive.Tree) (found, error) {
	if r, ok := reportOf("", t); ok {
		return r, nil
	}
	var all []found
	subtrees(t, func(n string, sub *archive.Tree) {
		if r, ok := reportOf(n, sub); ok {
			all = append(all, r)
		}
	})
	switch len(all) {
	case 0:
		return found{}, nil
	case 1:
		return all[0], nil
	}
	var names []string
	for _, r := range all {
		names = append(names, r.name)
	}
	return found{}, fmt.Errorf("%s contains %d reports: %s; name one: --from %s",
		name, len(all), ui.Few(names, 8), filepath.Join(name, names[0]))
}

// about says what a folder is instead of a host, and what to give fettle: "; …", or "".
func about(name string, t *archive.Tree) string {
	if r, ok := reportOf("", t); ok {
		return fmt.Sprintf("; it is a %s: fettle check --from %s", r.kind, name)
	}
	if capture.Is(t) {
		return "; it is a capture: fettle check --from " + name
	}
	var roots, reports, gathered []string
	subtrees(t, func(n string, sub *archive.Tree) {
		switch _, isReport := reportOf("", sub); {
		case isReport:
			reports = append(reports, n)
		case sub.Exists("/cluster-scoped-resources"):
			gathered = append(gathered, n)
		case rootLike(sub):
			roots = append(roots, n)
		}
	})
	packed := archives(t)
	switch {
	case t.Exists("/cluster-scoped-resources") || len(gathered) > 0:
		return "; it is a must-gather of OpenShift, which describes a cluster and no host: use omc or oc adm inspect for it, " +
			"and make a sosreport of the node (oc debug node/NAME, then toolbox and sos report) for fettle"
	case len(roots) > 0:
		return fmt.Sprintf("; inside it %s %s: fettle check --root %s", ui.Few(roots, 8), isAre(len(roots), "a root folder", "root folders"),
			filepath.Join(name, roots[0]))
	case len(reports) > 0:
		return fmt.Sprintf("; inside it %s %s: fettle check --from %s", ui.Few(reports, 8), isAre(len(reports), "a report", "reports"),
			filepath.Join(name, reports[0]))
	case len(packed) > 0:
		return fmt.Sprintf("; inside it %s %s: fettle check --from %s", ui.Few(packed, 8), isAre(len(packed), "an archive", "archives"),
			filepath.Join(name, packed[0]))
	}
	return above(name)
}

func isAre(n int, one, many string) string {
	if n == 1 {
		return "is " + one
	}
	return "are " + many
}

// archives are packed reports in a folder, by their names.
func archives(t *archive.Tree) []string {
	es, _ := t.ReadDir("/")
	var names []string
	for _, e := range es {
		for _, end := range []string{".tar.xz", ".tar.gz", ".tar.zst", ".tar.bz2", ".tar", ".txz", ".tgz", ".tbz"} {
			if strings.HasSuffix(e.Name, end) {
				names = append(names, e.Name)
				break
			}
		}
	}
	slices.Sort(names)
	return names
}

// above looks for a host in the folders above: --root was given /mnt/etc, or
// sos_commands.
func above(name string) string {
	dir, err := filepath.Abs(name)
	for range 3 {
		if dir = filepath.Dir(dir); err != nil || dir == "/" { // every folder is below this host's own root
			return "; to check this host itself: fettle check"
		}
		t, oerr := archive.Open(context.Background(), dir, archive.Limits{})
		if oerr != nil {
			return ""
		}
		r, isReport := reportOf("", t)
		isRoot := rootLike(t)
		t.Close()
		switch {
		case isReport:
			return fmt.Sprintf("; it is a part of the %s %s: fettle check --from %[2]s", r.kind, dir)
		case isRoot:
			return fmt.Sprintf("; it is a part of the root folder %s: fettle check --root %[1]s", dir)
		}
	}
	return ""
}

// notArchive is the error of a file that is no archive: a log is for another verb.
func notArchive(path string) error {
	if isText(path) {
		return fmt.Errorf("%s is a text file, not a capture; if it is a log, this names the traps in it: fettle why < %[1]s", path)
	}
	return fmt.Errorf("%s: neither a capture (.tar.zst) nor a sosreport (.tar.xz, .tar.gz) nor a supportconfig (.txz, .tgz) "+
		"nor a folder of these", path)
}

func isText(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 64<<10))
	if err != nil || len(b) == 0 || slices.Contains(b, 0) {
		return false
	}
	for i := 0; i < utf8.UTFMax && !utf8.Valid(b); i++ { // a letter that was cut
		b = b[:len(b)-1]
	}
	return utf8.Valid(b) && strings.Contains(string(b), "\n")
}
