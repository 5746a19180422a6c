// Package deletedopenfiles finds what still runs on files that have lost
// their names: space that deleting did not free, programs and libraries
// replaced under a running daemon, logs rotated away under their writer.
package deletedopenfiles

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fettle/engine/remedy"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/internal/ui"
)

//go:embed lore.md
var lore string

// Trap is deleted-open-files.
var Trap = trap.Trap{Lore: trap.Lore(lore), Check: check, Plan: plan, Choices: []trap.Choice{
	{
		Name: "copy",
		About: "where the content of deleted files is copied " +
			"before a restart destroys it: a folder, or no; below " + remedy.DefaultDir + " unless given",
	},
}}

// The kinds of finding.
const (
	kindSpace   = "space"   // subject: a mount point
	kindProgram = "program" // subject: a unit, a comm, userSessions, a container or containers
	kindLog     = "log"     // subject: the log's name before it was rotated
)

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	table, err := h.OpenFiles(ctx)
	if err != nil {
		return err
	}
	found := checkSpace(ctx, h, r, table.Files)
	found = checkPrograms(r, table.Files) || found
	found = checkLogs(ctx, h, r, table.Files) || found
	switch {
	case table.Denied > 0:
		err := fmt.Errorf("inspecting processes of other users: %w", host.ErrDenied)
		if h.Identity().EUID == 0 {
			// ptrace(2), "Ptrace access mode checking": being root alone is not
			// enough to follow what others have open.
			err = errors.New("could not inspect some processes, even as root: a container without CAP_SYS_PTRACE, or a security module")
		}
		r.Unknown("", err, trap.Ev("/proc/*/fd", "%d processes inspected, %s", table.Looked, saysRefused(table)))
	case table.Looked == 0:
		r.Unknown("", errors.New("no process could be inspected"))
	case !found:
		r.Clear("", "no program uses deleted, replaced or rotated files that matter",
			trap.Ev("/proc/*/fd, /proc/*/maps", "%d processes inspected", table.Looked))
	}
	return nil
}

// saysRefused says how many processes, and which where they are few: a user without
// root is refused nearly all.
func saysRefused(t host.OpenFiles) string {
	said := fmt.Sprintf("%d refused", t.Denied)
	if len(t.Refused) == 0 || len(t.Refused) < t.Denied {
		return said
	}
	pids := make([]string, len(t.Refused))
	for i, p := range t.Refused {
		pids[i] = strconv.Itoa(p)
	}
	return said + " (PID " + strings.Join(pids, ", ") + ")"
}

// group is the files that one finding is about.
type group struct {
	subject string
	files   []host.OpenFile
}

// groupBy groups files by a key, in the order in which keys appear. An empty
// key leaves a file out.
func groupBy(files []host.OpenFile, key func(host.OpenFile) string) []*group {
	var out []*group
	at := map[string]*group{}
	for _, f := range files {
		k := key(f)
		if k == "" {
			continue
		}
		g := at[k]
		if g == nil {
			g = &group{subject: k}
			at[k], out = g, append(out, g)
		}
		g.files = append(g.files, f)
	}
	return out
}

// restartable tells whether a unit is one that systemctl can restart: scopes
// are made by whoever starts the processes in them.
func restartable(unit string) bool { return strings.HasSuffix(unit, ".service") }

// session tells whether a unit is somebody's login or the manager behind it.
func session(unit string) bool {
	return strings.HasPrefix(unit, "session-") && strings.HasSuffix(unit, ".scope") || strings.HasPrefix(unit, "user@")
}

// owners splits the holders of files into units that can be restarted and
// processes that fettle leaves to the admin, worded for him.
func owners(files []host.OpenFile) (units, loose []string) {
	for _, f := range files {
		if restartable(f.Unit) && !session(f.Unit) && !f.Elsewhere {
			units = append(units, f.Unit)
			continue
		}
		s := fmt.Sprintf("%d (%s)", f.PID, f.Comm)
		if f.FD >= 0 {
			s = fmt.Sprintf("%d (%s, descriptor %d)", f.PID, f.Comm, f.FD)
		}
		if f.Container != "" {
			s += " in container " + f.Container
		}
		loose = append(loose, s)
	}
	slices.Sort(units)
	return slices.Compact(units), unique(loose)
}

// unique drops repetitions and keeps the order.
func unique(in []string) []string {
	var out []string
	for _, s := range in {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// facts are what the check tells the plan.
type facts struct {
	Kind  string   `json:"kind"`            // kindSpace, …
	Units []string `json:"units,omitempty"` // services that hold the files
	Loose []string `json:"loose,omitempty"` // processes that belong to none, worded for people
	// Container is set where the holders are in one, and Inside are their units
	// there.
	Container string   `json:"container,omitempty"`
	Inside    []string `json:"inside,omitempty"`
}

func factsOf(kind string, files []host.OpenFile) facts {
	units, loose := owners(files)
	return facts{Kind: kind, Units: units, Loose: first(loose, 5)}
}

// loose is the processes in one line.
func (f facts) loose() string { return ui.Visible(strings.Join(f.Loose, ", ")) }

// first keeps n and counts the rest.
func first(in []string, n int) []string {
	if len(in) <= n+1 {
		return in
	}
	return append(slices.Clone(in[:n]), fmt.Sprintf("and %d more", len(in)-n))
}

// who words the process behind a file: "812 rsyslogd (rsyslog.service)".
func who(f host.OpenFile) string {
	s := fmt.Sprintf("%d %s", f.PID, f.Comm)
	if f.Unit != "" {
		s += " (" + f.Unit + ")"
	}
	switch {
	case f.Container != "":
		s += " in container " + f.Container
	case f.Elsewhere:
		s += " in a container"
	}
	return s
}

// where is the file of /proc that showed f.
func where(f host.OpenFile) string {
	switch {
	case f.Program:
		return fmt.Sprintf("/proc/%d/exe", f.PID)
	case f.FD < 0:
		return fmt.Sprintf("/proc/%d/maps", f.PID)
	}
	return fmt.Sprintf("/proc/%d/fd/%d", f.PID, f.FD)
}
