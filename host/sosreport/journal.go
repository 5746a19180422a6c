package sosreport

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"fettle/host"
)

// logTail is how much of a log is read, from its end, in bytes.
const logTail = 32 << 20

// bootJournals are the outputs that hold this boot alone; in those that hold
// all, lines of earlier boots are left out by the mark between them. sos 4
// writes the first, sos 3 the second.
var bootJournals = []string{"sos_commands/logs/journalctl_--no-pager_--catalog_--boot", "sos_commands/logs/journalctl_--no-pager_--boot",
	"sos_commands/logs/journalctl_--all_--this-boot_--no-pager"}

// syslogs are what sos collects where it takes no journal, and on Red Hat's
// always.
var syslogs = []string{"/var/log/syslog", "/var/log/messages"}

// journal reads the log of the last boot from its text.
func (s *Source) journal() (host.Journal, error) {
	t := host.LogText{Now: s.id.Time, Boot: s.booted(), Units: s.troubledProcesses()}
	for _, f := range bootJournals {
		if j, err := s.logText("/"+f, "journalctl", t, true); err == nil {
			return s.withDmesg(j, t), nil
		}
	}
	var missing error = &pathError{Op: "read", Path: "/" + bootJournals[0], Err: host.ErrNotCollected}
	for _, f := range syslogs {
		j, err := s.logText(f, f, t, false)
		if err == nil {
			return s.withDmesg(j, t), nil
		}
	}
	none := host.Log{Missing: s.collector() + " collected neither the journal nor a file of syslog"}
	j := s.withDmesg(host.Journal{Kernel: none, Manager: none, Failed: none, Recent: none}, t)
	if j.Kernel.Missing != "" {
		return j, missing
	}
	return j, nil
}

func (s *Source) logText(file, source string, t host.LogText, thisBoot bool) (host.Journal, error) {
	if c, ok := s.man.commands[strings.TrimPrefix(file, "/")]; ok && !c.usable() {
		return host.Journal{}, host.ErrNotCollected
	}
	b, cut, err := s.tree.ReadTail(file, logTail)
	if err != nil {
		return host.Journal{}, err
	}
	text := string(b)
	first, _, _ := strings.Cut(text, "\n")
	// journalctl of a host without a journal prints a line without a stamp.
	if len(b) == 0 || strings.HasPrefix(first, "No journal files") {
		return host.Journal{}, errors.New("empty")
	}
	j := host.TextJournal(source, text, t, thisBoot && !cut && !s.tailed(file))
	if j.Recent.Lines == 0 {
		return j, host.ErrNotCollected
	}
	return j, nil
}

// tailed tells that sos itself kept the end alone.
func (s *Source) tailed(file string) bool {
	to, err := s.tree.Readlink(file)
	return err == nil && strings.HasSuffix(path.Base(to), ".tailed")
}

// withDmesg takes the kernel's messages from its own ring where the log has
// none of them, or begins late.
func (s *Source) withDmesg(j host.Journal, t host.LogText) host.Journal {
	if j.Kernel.Missing == "" && !j.Kernel.Cut {
		return j
	}
	text, err := s.output("sos_commands/kernel/dmesg", "sos_commands/kernel/dmesg_-T", "sos_commands/general/dmesg", "dmesg")
	if err != nil {
		return j
	}
	if k := host.DmesgLog(text, t); k.Lines > 0 && (j.Kernel.Missing != "" || !k.Cut) {
		k.Until = s.id.Time
		j.Kernel = k
	}
	return j
}

// troubledProcesses are those that systemd itself started for services that failed or
// wait for their next start, each with its service: ExecMainPID, and the "pid=" of each
// command. 1 is systemd, which speaks of every unit.
func (s *Source) troubledProcesses() map[string]string {
	listed, err := s.troubledUnits()
	if err != nil || len(listed.Stdout) == 0 {
		return nil
	}
	shown, err := s.shown()
	if err != nil {
		return nil
	}
	units := map[string]string{}
	for _, u := range host.ParseListedUnits(listed.Stdout) {
		block, _ := shown.unit(u.Name)
		for line := range strings.Lines(block) {
			property, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			if !strings.HasPrefix(property, "Exec") {
				continue
			}
			if property != "ExecMainPID" {
				_, value, _ = strings.Cut(value, " ; pid=")
				value, _, _ = strings.Cut(value, " ")
			}
			if value != "" && value != "0" && value != "1" {
				units[value] = u.Name
			}
		}
	}
	return units
}

// troubledUnits answers systemctl list-units with host.TroubledUnits: what has
// failed from the tables that sos has, what waits for its next start from these or
// from the units' properties.
func (s *Source) troubledUnits() (host.Output, error) {
	const dir = "sos_commands/systemd/systemctl_"
	failed, err := s.output(dir+"list-units_--failed", dir+"list-units_--all", dir+"list-units")
	if err != nil {
		return host.Output{}, err
	}
	var b strings.Builder
	list := func(text string, in func(host.Unit) bool) {
		for _, u := range host.ParseListedUnits([]byte(text)) {
			if in(u) {
				fmt.Fprintf(&b, "%s %s %s %s -\n", u.Name, u.LoadState, u.ActiveState, u.SubState)
			}
		}
	}
	list(failed, func(u host.Unit) bool { return u.ActiveState == "failed" })
	waits := func(u host.Unit) bool { return u.SubState == "auto-restart" }
	if all, err := s.output(dir+"list-units_--all", dir+"list-units"); err == nil {
		list(all, waits)
	} else if shown, err := s.shown(); err == nil {
		for _, block := range shown.blocks {
			if property(block, "SubState") == "auto-restart" {
				list(property(block, "Id")+" loaded activating auto-restart", waits)
			}
		}
	}
	return host.Output{Stdout: []byte(b.String())}, nil
}
