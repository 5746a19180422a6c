package sshslowlogin

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/format/osrelease"
	"fettle/host/format/pam"
)

// slowWords are programs that wait for other machines, in scripts that are
// run at each login.
var slowWords = []string{
	"curl",
	"wget",
	"apt",
	"apt-get",
	"aptitude",
	"apt-check",
	"yum",
	"dnf",
	"zypper",
	"dig",
	"nslookup",
	"ping",
	"nc",
	"ldapsearch",
	"ssh",
	"docker",
	"kubectl",
	"virsh",
	"df",
	"repquota",
	"quota",
	"mount",
	"vault",
	"aws",
	"gcloud",
	"az",
}

// shipped are the scripts of Debian and Ubuntu, which keep what they show in files.
var shipped = []string{
	"00-header",
	"10-help-text",
	"10-uname",
	"50-landscape-sysinfo",
	"50-motd-news",
	"60-unminimize",
	"85-fwupd",
	"88-esm-announce",
	"90-updates-available",
	"91-contract-ua-esm-status",
	"91-release-upgrade",
	"92-unattended-upgrades",
	"95-hwe-eol",
	"97-overlayroot",
	"98-fsck-at-reboot",
	"98-reboot-required",
}

const motdDir = "/etc/update-motd.d"

// motd reports of scripts that pam_motd runs at each login, one after the
// other (Debian's and Ubuntu's patch: run-parts --lsbsysinit /etc/update-motd.d).
func (f *facts) motd(ctx context.Context, r *trap.Report, rule pam.Rule) {
	subject := pamPrefix + rule.Name()
	os, osErr := osrelease.Read(ctx, f.h)
	if osErr == nil && os.ID() != "" && !os.Is("debian") && !os.Is("ubuntu") {
		// Amazon Linux has the folder too, and a timer runs it.
		r.Clear(subject, "runs no scripts: that is a patch of Debian and Ubuntu", evidence(rule), trap.Ev(os.Path, "%s", os.Name()))
		return
	}
	slow, err := f.motdScripts(ctx)
	switch {
	case host.IsAbsent(err):
		r.Clear(subject, "runs no scripts", evidence(rule), trap.Ev(motdDir, "is not there"))
	case err != nil:
		r.Unknown(subject, err, evidence(rule))
	case len(slow) > 0 && osErr != nil && !host.IsAbsent(osErr):
		r.Unknown(subject, osErr, evidence(rule))
	case len(slow) == 0:
		r.Clear(subject, "runs only scripts that do not wait for other machines", evidence(rule))
	default:
		ev := []trap.Evidence{evidence(rule)}
		var names []string
		for _, s := range slow {
			names = append(names, path.Base(s.name))
			ev = append(ev, trap.Ev(fmt.Sprintf("%s:%d", s.name, s.line), "calls %s", s.word))
		}
		find(r, subject, trap.Notice, "each login runs "+strings.Join(names, ", ")+" and may wait for what it asks",
			"pam_motd runs these scripts one after the other before the session opens. "+measure, ev...)
	}
}

type script struct {
	name, word string
	line       int
	mode       int
}

// motdScripts lists the scripts that call a program known to wait.
func (f *facts) motdScripts(ctx context.Context) ([]script, error) {
	es, err := f.h.ReadDir(ctx, motdDir)
	if err != nil {
		return nil, err
	}
	var out []script
	for _, e := range es {
		// run-parts(8), --lsbsysinit: what packages leave behind is no script.
		if e.Type.IsDir() || slices.Contains(shipped, e.Name) || strings.Contains(e.Name, ".dpkg-") || strings.HasPrefix(e.Name, ".") {
			continue
		}
		name := path.Join(motdDir, e.Name)
		st, err := f.h.Stat(ctx, name)
		if err != nil {
			return nil, err
		}
		if st.Mode.Perm()&0o111 == 0 {
			continue
		}
		b, err := f.h.ReadFile(ctx, name)
		if err != nil {
			return nil, err
		}
		if s, ok := slowLine(string(b)); ok {
			s.name, s.mode = name, int(st.Mode.Perm())
			out = append(out, s)
		}
	}
	return out, nil
}

// slowLine finds the first call of a program that may wait, outside comments.
func slowLine(text string) (script, bool) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		for w := range strings.FieldsFuncSeq(line, func(r rune) bool { return strings.ContainsRune(" \t;|&()`$\"'<>{}", r) }) {
			if slices.Contains(slowWords, path.Base(w)) {
				return script{line: n, word: path.Base(w)}, true
			}
		}
	}
	return script{}, false
}
