package accept

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fettle/engine/trap"
	"fettle/internal/files"
)

// Seen remembers what runs of check --new showed of one host.
type Seen struct {
	file     string
	at       time.Time
	was, now memory
}

// memory is what a run showed: findings and what was unknown, by id.
type memory struct {
	Version  int              `json:"version"` // seenVersion
	Findings map[string]shown `json:"findings"`
	Unknown  map[string]shown `json:"unknown"`
}

// shown is what was said of a finding, and since when.
type shown struct {
	Said  string    `json:"said"`
	Since time.Time `json:"since,omitzero"`
}

const seenVersion = 2

// firstMemory is version 1 of the file.
type firstMemory struct {
	Findings map[string]string `json:"findings"`
}

func emptyMemory() memory {
	return memory{seenVersion, map[string]shown{}, map[string]shown{}}
}

// StateDir is where fettle keeps what it remembers: $STATE_DIRECTORY, which
// systemd sets for units with StateDirectory= (systemd.exec(5)); /var/lib/fettle
// for root; else $XDG_STATE_HOME/fettle.
func StateDir() (string, error) {
	if d, _, _ := strings.Cut(os.Getenv("STATE_DIRECTORY"), ":"); filepath.IsAbs(d) {
		return d, nil
	}
	if os.Geteuid() == 0 {
		return "/var/lib/fettle", nil
	}
	if d := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, "fettle"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("finding where to record what was shown: %w", err)
	}
	return filepath.Join(home, ".local", "state", "fettle"), nil
}

// OpenSeen reads what dir remembers of what was shown of a host, which is named by its kind and its
// name. Nothing at all, the first time. at is when the run began.
func OpenSeen(dir, kind, name string, at time.Time) (*Seen, error) {
	s := &Seen{file: filepath.Join(dir, kind+"-"+FileName(name)+".json"), at: at, was: emptyMemory(), now: emptyMemory()}
	b, err := os.ReadFile(s.file)
	if isAbsent(err) {
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading what an earlier run showed: %w", err)
	}
	if s.was, err = parseMemory(b); err != nil {
		return nil, fmt.Errorf("%s: cannot be read (%v); delete it, and the next run shows all findings", s.file, err)
	}
	s.now.Findings, s.now.Unknown = maps.Clone(s.was.Findings), maps.Clone(s.was.Unknown)
	return s, nil
}

func parseMemory(b []byte) (memory, error) {
	m := emptyMemory()
	var head struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return m, err
	}
	switch head.Version {
	case 1:
		var old firstMemory
		if err := json.Unmarshal(b, &old); err != nil {
			return m, err
		}
		for id, said := range old.Findings {
			m.Findings[id] = shown{Said: said}
		}
		return m, nil
	case seenVersion:
		err := json.Unmarshal(b, &m)
		if err == nil && (m.Findings == nil || m.Unknown == nil) {
			err = errors.New("not what fettle writes")
		}
		return m, err
	}
	return m, fmt.Errorf("version %d", head.Version)
}

// Mark sets Known and Since on the findings of r that were shown before and
// say the same, and Known on what was unknown before for the same reason; adds
// what was resolved, and remembers all that. What could not be inspected this
// time, and traps that were not checked, are remembered as they were.
func (s *Seen) Mark(r *trap.Result) {
	blind := false // an unknown of the whole host: its subjects may be hidden by it
	inspected, unknown := map[string]bool{}, map[string]bool{}
	for i := range r.Outcomes {
		o := &r.Outcomes[i]
		switch o.Status {
		case trap.Found:
			id := text(o.ID())
			o.Known, o.Since = s.remember(s.was.Findings, s.now.Findings, id, text(o.Severity.String()+": "+o.Summary))
			inspected[id] = true
		case trap.Unknown:
			id := text(o.ID())
			o.Known, _ = s.remember(s.was.Unknown, s.now.Unknown, id, text(o.Reason))
			inspected[id], unknown[id] = true, true
			blind = blind || o.Subject == ""
		}
	}
	for _, id := range of(s.was.Unknown, r.Trap) {
		if !unknown[id] {
			delete(s.now.Unknown, id)
		}
	}
	for _, id := range of(s.was.Findings, r.Trap) {
		if !inspected[id] && !blind {
			delete(s.now.Findings, id)
			was := s.was.Findings[id]
			r.Resolved = append(
				r.Resolved,
				trap.Resolved{Subject: strings.TrimPrefix(strings.TrimPrefix(id, r.Trap), ":"), Said: was.Said, Since: was.Since},
			)
		}
	}
}

// Before is what an earlier run said of an outcome's subject, and since when.
func (s *Seen) Before(o *trap.Outcome) (said string, since time.Time, ok bool) {
	was, ok := s.was.Findings[text(o.ID())]
	return was.Said, was.Since, ok
}

// text is s as JSON keeps it: names may have any bytes.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// remember notes what is said of id; known: an earlier run said the same, since then.
func (s *Seen) remember(was, now map[string]shown, id, said string) (known bool, since time.Time) {
	before, known := was[id]
	known = known && before.Said == said
	if !known {
		before = shown{said, s.at}
	}
	now[id] = before
	return known, before.Since
}

// of are the ids that are a trap's, in order.
func of(m map[string]shown, id string) []string {
	var out []string
	for k := range m {
		if k == id || strings.HasPrefix(k, id+":") {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}

// Save writes what was shown, for the next run.
func (s *Seen) Save() error {
	b, err := json.MarshalIndent(s.now, "", "  ")
	if err != nil {
		return err
	}
	if err := files.Make(filepath.Dir(s.file), 0o700); err != nil {
		return fmt.Errorf("recording what was shown: %w", err)
	}
	if err := files.WriteFile(s.file, append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("recording what was shown: %w", err)
	}
	return nil
}

// FileName makes one safe path element of a host's name, a different one for
// each name.
func FileName(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '.' && b.Len() > 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	return b.String()
}
