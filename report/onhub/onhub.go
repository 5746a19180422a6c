// Package onhub has what operators accept on a hub. Here these are labels: fettle-agent keeps
// them in its folder as the hub sent them, and whether they count is for root to say, in
// fettle.yaml.
package onhub

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"fettle/engine/trap"
	"fettle/internal/files"
)

// Dir is the folder of fettle-agent, and File its file of what the hub accepts.
const (
	Dir  = "/var/lib/fettle-agent"
	File = "hub-accepted.json"
)

const limit = 1 << 20 // bytes; what agents write is far smaller

// Entry is one acceptance of a hub's operator.
type Entry struct {
	Trap     string `json:"trap"`
	Subject  string `json:"subject,omitempty"`
	Any      bool   `json:"any,omitempty"` // whatever the subject, and whatever it says
	Severity string `json:"severity"`      // the gravest
	Summary  string `json:"summary,omitempty"`
	Reason   string `json:"reason"`
	Until    string `json:"until,omitempty"` // YYYY-MM-DD, the last day
	By       string `json:"by,omitempty"`
}

// List is what a hub accepts on this host.
type List struct {
	Digest  string  `json:"digest"` // names the list
	Entries []Entry `json:"entries"`
}

// holds tells whether e speaks of o, and still does.
func (e *Entry) holds(o *trap.Outcome, now time.Time) bool {
	most, ok := trap.ParseSeverity(e.Severity)
	return ok && e.Trap == o.Trap && o.Severity <= most && (e.Until == "" || now.Format(time.DateOnly) <= e.Until) &&
		(e.Any || e.Subject == o.Subject && e.Summary == o.Summary)
}

// Read reads what the agent keeps in its folder; nothing where there is none.
func Read(dir string) (*List, error) {
	file := filepath.Join(dir, File)
	st, err := os.Stat(file)
	if os.IsNotExist(err) {
		return &List{}, nil
	}
	if err != nil {
		return &List{}, err
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); os.Geteuid() == 0 && (!ok || sys.Uid != 0 || st.Mode().Perm()&0o022 != 0) {
		return &List{}, fmt.Errorf("%s: others than root may write it", file)
	}
	b, err := files.ReadAtMost(file, limit)
	if err != nil {
		return &List{}, err
	}
	l := &List{}
	if err := json.Unmarshal(b, l); err != nil {
		return &List{}, fmt.Errorf("%s: %w", file, err)
	}
	return l, nil
}

// Mark says of findings that they are accepted on the hub. They count unless they are
// believed, by the word of this host's root.
func (l *List) Mark(r *trap.Result, believed bool, now time.Time) {
	for i := range r.Outcomes {
		o := &r.Outcomes[i]
		if o.Status != trap.Found {
			continue
		}
		for k := range l.Entries {
			e := &l.Entries[k]
			if !e.holds(o, now) {
				continue
			}
			o.OnHub = &trap.Acceptance{Reason: e.Reason, Until: e.Until, By: e.By}
			if believed && (o.Accepted == nil || o.Accepted.Lapsed != "") {
				o.Accepted = &trap.Acceptance{Reason: e.Reason, Until: e.Until, By: e.By, Hub: true}
			}
			break
		}
	}
}
