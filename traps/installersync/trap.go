// Package installersync finds what an installation left behind that makes
// packages be installed without fsync.
package installersync

import (
	"context"
	_ "embed"
	"errors"
	"slices"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/internal/lazy"
)

//go:embed lore.md
var lore trap.Lore

// Trap is installer-sync.
var Trap = trap.Trap{Lore: lore, Cost: trap.Instant, Check: check, Plan: plan}

const (
	diversionsFile = "/var/lib/dpkg/diversions"
	preloadFile    = "/etc/ld.so.preload"
)

// facts are what the plan needs to know beyond the subject.
type facts struct {
	Case string // one of the cases below
	To   string // where the program was diverted to
	By   string // the package whose diversion it is; ":" is none (local)
}

const (
	wrapped = "wrapped" // a wrapper is in the program's place
	missing = "missing" // nothing does
	halfway = "halfway" // the program is back, and its diversion was not taken back
	preload = "preload"
)

// programs are what installers divert.
var programs = []string{"/usr/bin/dpkg", "/usr/bin/apt-get", "/usr/bin/apt", "/usr/bin/aptitude", "/usr/bin/tasksel"}

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	there, err := h.Exists(ctx, host.DpkgStatus)
	if err != nil {
		return err
	}
	if !there {
		r.NotApplicable("", "dpkg does not manage the packages here")
		return nil
	}
	b, err := h.ReadFile(ctx, diversionsFile)
	if err != nil && !host.IsAbsent(err) {
		return err
	}
	said := false
	for _, d := range parse(string(b)) {
		if slices.Contains(programs, d.from) {
			said = judge(ctx, h, r, d) || said
		}
	}
	p, err := preloaded(ctx, h)
	if err != nil {
		return err
	}
	if p != "" {
		said = true
		r.Found(trap.Finding{Subject: preloadFile, Severity: trap.Critical, Facts: trap.FactsOf(facts{Case: preload}),
			Evidence: []trap.Evidence{trap.Ev(preloadFile, "%s", p)},
			Summary:  "fsync has no effect in any program: " + preloadFile + " loads libeatmydata into all of them"})
	}
	if !said {
		r.Clear("", "dpkg and what runs it are not diverted, and fsync works")
	}
	return nil
}

// diversion is one of dpkg's: three lines of its file (dpkg, lib/dpkg/diversiondb.c).
type diversion struct{ from, to, by string }

func parse(text string) (out []diversion) {
	lines := strings.Split(text, "\n")
	for i := 0; i+2 < len(lines); i += 3 {
		out = append(out, diversion{lines[i], lines[i+1], lines[i+2]})
	}
	return out
}

// bootID is what fettle's own wrapper compares the running boot with.
var bootID = lazy.Regexp(`\[ "\$boot" = ([0-9a-f-]{36}) \]`)

// maxWrapper is how large a wrapper is at most, in bytes; programs are larger.
const maxWrapper = 8 << 10

// judge tells whether a diversion is one that leaves out fsync, and how it stands.
func judge(ctx context.Context, h *host.Host, r *trap.Report, d diversion) (said bool) {
	ev := []trap.Evidence{trap.Ev(diversionsFile, "%s is diverted to %s", d.from, d.to)}
	f := trap.Finding{Subject: d.from, Severity: trap.Critical}
	_, toErr := h.Stat(ctx, d.to)
	now, err := h.Stat(ctx, d.from)
	switch {
	case err != nil && !host.IsAbsent(err) || toErr != nil && !host.IsAbsent(toErr):
		r.Unknown(d.from, errors.Join(err, toErr), ev...)
		return true
	case host.IsAbsent(err) && toErr == nil:
		f.Facts = trap.FactsOf(facts{missing, d.to, d.by})
		f.Summary = d.from + " is missing: it was diverted to " + d.to + ", and nothing was put in its place"
	case host.IsAbsent(err):
		return false // aptitude, removed since
	case host.IsAbsent(toErr) && now.Size > maxWrapper:
		f.Severity = trap.Warning
		f.Facts = trap.FactsOf(facts{halfway, d.to, d.by})
		f.Summary = d.from + " will not be upgraded: its diversion was left behind, so that a new version goes to " + d.to
	case now.Size > maxWrapper:
		return false // somebody else's program in its place
	default:
		text, err := h.ReadString(ctx, d.from)
		if err != nil {
			r.Unknown(d.from, err, ev...)
			return true
		}
		if !strings.Contains(text, "eatmydata") {
			return false
		}
		f.Facts = trap.FactsOf(facts{wrapped, d.to, d.by})
		f.Summary = d.from + " has run without fsync since the installation: a power cut during an upgrade can leave empty files and a " +
			"broken package database"
		if host.IsAbsent(toErr) {
			f.Summary = d.from + " cannot run: it is the installer's wrapper, and the program that it runs is gone"
			f.ByHand = "unpack the program from its package on " +
				"another host (dpkg-deb -x), copy it to " + d.to + ", and run fettle fix installer-sync"
		}
		if m := bootID().FindStringSubmatch(text); m != nil && m[1] != h.Identity().BootID && toErr == nil {
			f.Severity = trap.Notice
			f.Summary = d.from + " is still the installer's wrapper, which has done nothing since the first boot"
		}
		ev = append(ev, trap.Ev(d.from, "%s", firstCommand(text)))
	}
	f.Evidence = ev
	r.Found(f)
	return true
}

// firstCommand is the line that runs eatmydata.
func firstCommand(text string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, "eatmydata") && !strings.HasPrefix(strings.TrimSpace(line), "#") {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// preloaded is what loads libeatmydata into every program (ld.so(8), FILES).
func preloaded(ctx context.Context, h *host.Host) (string, error) {
	text, err := h.ReadString(ctx, preloadFile)
	if host.IsAbsent(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	for _, lib := range libraries(text) {
		if strings.Contains(lib, "libeatmydata") {
			return lib, nil
		}
	}
	return "", nil
}

// libraries are the names in ld.so.preload: separated by blanks and colons.
func libraries(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\n:", r) })
}
