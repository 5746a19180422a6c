package traps

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/capture"
)

// TestPark replays captures of hosts that Debian's packages made (lab/park):
// what is found is what stands in the file beside each. Traps that are newer
// than a capture find nothing in it.
func TestPark(t *testing.T) {
	files, _ := filepath.Glob("testdata/park/*.tar.zst")
	if len(files) < 3 {
		t.Fatalf("%d captures", len(files))
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".tar.zst"), func(t *testing.T) {
			src, err := capture.Open(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			defer src.Close()
			var got []string
			trap.Run(t.Context(), host.New(src), All(), trap.Options{}, func(r trap.Result) {
				for _, o := range r.Outcomes {
					if o.Status == trap.Found {
						got = append(got, fmt.Sprintf("%s %s: %s\n", o.Severity, o.ID(), o.Summary))
					}
				}
			})
			want, err := os.ReadFile(strings.TrimSuffix(f, ".tar.zst") + ".found")
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(got)
			if text := strings.Join(got, ""); text != string(want) {
				t.Errorf("found:\n%s\nwant:\n%s", text, want)
			}
		})
	}
}
