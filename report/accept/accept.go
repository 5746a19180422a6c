// Package accept records which findings admins accepted, why and until when,
// and what a run of check --new has already shown.
package accept

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"fettle/engine/trap"
	"fettle/internal/yamlfile"
)

// Entry is one accepted finding, as in the file. A finding is a trap in a
// subject; severity and summary are what was accepted of it.
type Entry struct {
	Trap     string `yaml:"trap" json:"trap"`
	Subject  string `yaml:"subject,omitempty" json:"subject,omitempty"`   // empty: the whole host
	Severity string `yaml:"severity,omitempty" json:"severity,omitempty"` // empty: whatever it is
	Summary  string `yaml:"summary,omitempty" json:"summary,omitempty"`   // empty: whatever it says
	Reason   string `yaml:"reason" json:"reason"`
	Until    string `yaml:"until,omitempty" json:"until,omitempty"` // YYYY-MM-DD, the last day; empty: no end
	By       string `yaml:"by,omitempty" json:"by,omitempty"`
	On       string `yaml:"on,omitempty" json:"on,omitempty"` // the day it was accepted
}

// ID is the finding's.
func (e *Entry) ID() string {
	return (&trap.Outcome{Trap: e.Trap, Subject: e.Subject}).ID()
}

// Lapsed says why e no longer holds for o, or is empty. now is the admin's
// clock: an acceptance holds through its last day there.
func (e *Entry) Lapsed(o *trap.Outcome, now time.Time) string {
	switch {
	case e.Until != "" && now.Format(time.DateOnly) > e.Until:
		return "it ended on " + e.Until
	case e.Severity != "" && e.Severity != o.Severity.String():
		return fmt.Sprintf("its severity was %s and is %s now", e.Severity, o.Severity)
	case e.Summary != "" && e.Summary != o.Summary:
		return "it said then: " + e.Summary
	}
	return ""
}

// List is what was accepted, from one file or two.
type List struct {
	Entries []Entry
	// Skipped says which of the usual files could not be read, and why: what
	// is accepted there is shown as found.
	Skipped []error
}

// Mark sets Accepted on every outcome of r that an entry speaks of.
func (l *List) Mark(r *trap.Result, now time.Time) {
	for i := range r.Outcomes {
		o := &r.Outcomes[i]
		if o.Status != trap.Found {
			continue
		}
		for k := range l.Entries {
			e := &l.Entries[k]
			if e.Trap != o.Trap || e.Subject != o.Subject {
				continue
			}
			a := &trap.Acceptance{Reason: e.Reason, Until: e.Until, By: e.By, Lapsed: e.Lapsed(o, now)}
			// Where two files speak of it, the one that holds counts.
			if o.Accepted == nil || o.Accepted.Lapsed != "" {
				o.Accepted = a
			}
		}
	}
}

// System is the file of the whole host; put it under configuration management
// if you like.
const System = "/etc/fettle/accepted.yaml"

// Own is the file that fettle accept writes: the system's for root, else the
// user's own.
func Own() (string, error) {
	if os.Geteuid() == 0 {
		return System, nil
	}
	dir, err := os.UserConfigDir() // XDG_CONFIG_HOME
	if err != nil {
		return "", fmt.Errorf("where to keep accepted findings: %w", err)
	}
	return filepath.Join(dir, "fettle", "accepted.yaml"), nil
}

// Default reads what holds for whoever runs fettle: the system's file and, for
// a user, the own one. Files that do not exist accept nothing. One that the
// user may not read or that has no place (no HOME: cron, service users; HOME of
// somebody else: su, sudo) is skipped: that hides no finding.
func Default() (*List, error) {
	files := []string{System}
	l := &List{}
	switch own, err := Own(); {
	case err != nil && homeless():
	case err != nil:
		l.Skipped = append(l.Skipped, err)
	case own != System:
		files = append(files, own)
	}
	for _, f := range files {
		one, err := Load(f)
		switch {
		case errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0:
			l.Skipped = append(l.Skipped, err)
		case err != nil:
			return nil, err
		default:
			l.Entries = append(l.Entries, one.Entries...)
		}
	}
	return l, nil
}

// homeless tells whether the user has no place for files, and so has none.
func homeless() bool { return os.Getenv("XDG_CONFIG_HOME") == "" && os.Getenv("HOME") == "" }

// Load reads one file, strictly: each mistake is an error with file, line and
// column. A file that does not exist accepts nothing.
func Load(file string) (*List, error) {
	b, err := read(file)
	if err != nil {
		return nil, err
	}
	entries, _, err := parse(file, b)
	return &List{Entries: entries}, err
}

func read(file string) ([]byte, error) {
	b, err := yamlfile.Read(file)
	if err != nil {
		return nil, fmt.Errorf("reading accepted findings: %w", err)
	}
	return b, nil
}

func isAbsent(err error) bool {
	return err != nil && (os.IsNotExist(err) || strings.Contains(err.Error(), syscall.ENOTDIR.Error()))
}
