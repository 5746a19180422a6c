package accept

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle/engine/trap"
)

// TestMemory: what an earlier version of fettle remembered is read; what a later one did is refused, with what to do.
func TestMemory(t *testing.T) {
	for text, want := range map[string]string{
		`{"version":1,"findings":{"a:s":"warning: it is so"}}`:                       "",
		`{"version":2,"findings":{"a:s":{"said":"warning: it is so"}},"unknown":{}}`: "",
		`{"version":1,"findings":7}`:                                                 "cannot unmarshal", `{"version":2,"findings":{},"unknown":null}`: "not what fettle writes",
		`{"version":2,"findings":null,"unknown":{}}`: "not what fettle writes", `{"version":3}`: "version 3", `[]`: "cannot unmarshal",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "live-h.json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		s, err := OpenSeen(dir, "live", "h", time.Unix(1e9, 0))
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "delete it") {
				t.Errorf("%s: %v, want %s", text, err, want)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		r := trap.Result{Trap: "a", Outcomes: []trap.Outcome{{Trap: "a", Subject: "s", Status: trap.Found, Severity: trap.Warning,
			Summary: "it is so"}}}
		if s.Mark(&r); !r.Outcomes[0].Known {
			t.Errorf("%s: a finding that was shown is new", text)
		}
		if said, _, ok := s.Before(&r.Outcomes[0]); !ok || said != "warning: it is so" {
			t.Errorf("%s: %q", text, said)
		}
	}
}
