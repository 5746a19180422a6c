package deletedopenfiles

import (
	"slices"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
)

// Subjects for what has no name that lasts: login sessions, and containers
// whose manager is not known. A container that has a name is its own subject.
const (
	userSessions = "user-sessions"
	containers   = "containers"
	shims        = "container-shims"
	guests       = "virtual-machines"
)

// checkPrograms finds what runs with programs or libraries that were replaced
// or removed since it started: one finding a unit.
func checkPrograms(r *trap.Report, files []host.OpenFile) bool {
	groups := groupBy(files, programSubject)
	for _, g := range groups {
		program := slices.ContainsFunc(g.files, func(f host.OpenFile) bool { return f.Program })
		f, told := trap.Finding{Subject: g.subject, Severity: trap.Warning}, factsOf(kindProgram, g.files)
		switch {
		case g.subject == userSessions:
			f.Severity = trap.Notice
			f.Summary = "programs in login sessions run with files that were replaced or deleted since they started"
		case g.files[0].Container != "":
			f.Severity = trap.Notice
			told.Container, told.Inside = g.subject, unitsInside(g.files)
			f.Summary = "programs in this container run with files that were replaced or deleted since they started"
		case g.subject == containers:
			f.Severity = trap.Notice
			f.Summary = "programs in containers run with files that were replaced or deleted since they started"
		case g.subject == shims:
			f.Severity = trap.Notice
			f.Summary = "the monitors of running containers were replaced or deleted since they started: each goes with its container"
		case g.subject == guests:
			f.Severity = trap.Notice
			f.Summary = "virtual machines run in a program or with libraries that were replaced or deleted since they started"
		case program:
			f.Summary = "runs a program that was replaced or deleted since it started: it needs a restart"
		default:
			f.Summary = "runs with libraries that were replaced or deleted since it started: it needs a restart"
		}
		var procs, names []string
		for _, o := range g.files {
			procs, names = append(procs, who(o)), append(names, o.Path)
		}
		procs, names = unique(procs), unique(names)
		for _, o := range g.files[:min(len(g.files), 8)] {
			f.Evidence = append(f.Evidence, trap.Ev(where(o), "%s (deleted)", o.Path))
		}
		f.Detail = trap.Lines("files: "+strings.Join(first(names, 5), ", "), "processes: "+strings.Join(first(procs, 5), ", "))
		f.ByHand, _ = leaves(f.Subject, told)
		f.Facts = trap.FactsOf(told)
		r.Found(f)
	}
	return len(groups) > 0
}

// programSubject is whom to restart for a file; empty when the file is no
// program, or one that its owner unlinked on purpose: code written at run time
// into a folder for temporary files (libffi, JITs), mapped and deleted immediately.
func programSubject(f host.OpenFile) string {
	if !f.Deleted || !f.Exec {
		return ""
	}
	if !f.Program {
		for _, p := range []string{"/tmp/", "/var/tmp/", "/run/", "/dev/"} {
			if strings.HasPrefix(f.Path, p) {
				return ""
			}
		}
	}
	switch {
	case f.Container != "":
		return f.Container
	case f.Elsewhere:
		return containers
	case session(f.Unit):
		return userSessions
	case slices.Contains([]string{"containerd-shim", "conmon", "lxc-start"}, f.Comm):
		return shims // they outlive a restart of the service in whose control group they are
	case !restartable(f.Unit) && (f.Comm == "kvm" || f.Comm == "qemu-kvm" || strings.HasPrefix(f.Comm, "qemu-system-")):
		return guests
	case restartable(f.Unit) || f.Unit == "init.scope":
		return f.Unit
	}
	return f.Comm
}
