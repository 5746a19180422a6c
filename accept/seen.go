package accept

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"

	"fettle/trap"
)

// Seen remembers the findings that runs of check --new showed, of one host.
type Seen struct {
	file string
	was  map[string]string // finding → what it said
	now  map[string]string
}

type seenFile struct {
	Version  int               `json:"version"`
	Findings map[string]string `json:"findings"`
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
		return "", fmt.Errorf("where to keep what was shown: %w", err)
	}
	return filepath.Join(home, ".local", "state", "fettle"), nil
}

// OpenSeen reads what was shown of a host, which is named by its kind and its
// name. Nothing at all, the first time.
func OpenSeen(dir, kind, name string) (*Seen, error) {
	s := &Seen{file: filepath.Join(dir, "new", kind+"-"+fileName(name)+".json"), was: map[string]string{}, now: map[string]string{}}
	b, err := os.ReadFile(s.file)
	if isAbsent(err) {
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading what was shown before: %w", err)
	}
	var f seenFile
	if err := json.Unmarshal(b, &f); err != nil || f.Version != 1 {
		return nil, fmt.Errorf("%s: cannot be read (%v); delete it, and the next run shows all findings", s.file, err)
	}
	for id, said := range f.Findings {
		s.was[id] = said
		s.now[id] = said
	}
	return s, nil
}

// Mark sets Known on the findings of r that were shown before and say the
// same, and remembers those of r. What could not be looked at this time, and
// traps that were not checked, are remembered as they were.
func (s *Seen) Mark(r *trap.Result) {
	blind := false // an unknown of the whole host: its subjects may be hidden by it
	looked := map[string]bool{}
	for i := range r.Outcomes {
		o := &r.Outcomes[i]
		switch o.Status {
		case trap.Found:
			said := o.Severity.String() + ": " + o.Summary
			o.Known = s.was[o.ID()] == said
			s.now[o.ID()] = said
			looked[o.ID()] = true
		case trap.Unknown:
			looked[o.ID()] = true
			blind = blind || o.Subject == ""
		}
	}
	for id := range s.was {
		if (id == r.Trap || strings.HasPrefix(id, r.Trap+":")) && !looked[id] && !blind {
			delete(s.now, id)
		}
	}
}

// Save writes what was shown, for the next run.
func (s *Seen) Save() error {
	b, err := json.MarshalIndent(seenFile{1, s.now}, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(s.file), 0o700); err != nil {
		return fmt.Errorf("remembering what was shown: %w", err)
	}
	if err := renameio.WriteFile(s.file, append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("remembering what was shown: %w", err)
	}
	return nil
}

// fileName makes one safe path element of a host's name, a different one for
// each name.
func fileName(s string) string {
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
