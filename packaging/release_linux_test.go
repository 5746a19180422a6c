package packaging

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"fettle/internal/means"
)

// TestRelease rehearses a release of fettle for amd64: built twice, signed, verified and
// attacked. make lab-long rehearses all programs.
func TestRelease(t *testing.T) {
	means.OnTurn(t, 3, "builds a release twice")
	cmd := exec.CommandContext(t.Context(), "./rehearse", t.TempDir())
	cmd.Env = append(os.Environ(), "PROGRAMS=fettle", "ARCHES=amd64")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"the same bytes", "refused: a changed binary", "refused: a changed checksum", "refused: another key"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
}
