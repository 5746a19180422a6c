package means

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Fuzz tries odd input on the fuzz targets of the calling package, each for the
// time that FETTLE_FUZZ names (1s), beginning with their seeds. Without it only
// the seeds are run, by go test itself. It starts the test's own binary again,
// which was not built to guide the search by coverage; .ci/fuzz does that.
//
// Input that fails is written to the package's testdata/fuzz: keep it there, as
// the test of the fix.
func Fuzz(t *testing.T) {
	t.Helper()
	forTime := os.Getenv("FETTLE_FUZZ")
	if forTime == "" {
		t.Skip("FETTLE_FUZZ=TIME tries odd input on the fuzz targets; this run tried their seeds")
	}
	limit, err := time.ParseDuration(forTime)
	if err != nil {
		t.Fatalf("FETTLE_FUZZ: %v", err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	list, err := exec.CommandContext(t.Context(), self, "-test.list", "^Fuzz").Output()
	if err != nil {
		t.Fatalf("listing the fuzz targets: %v", err)
	}
	cache := t.TempDir()
	for _, target := range strings.Fields(string(list)) {
		t.Run(target, func(t *testing.T) {
			out, err := exec.CommandContext(t.Context(), self, "-test.run", "^$", "-test.fuzz", "^"+target+"$", "-test.fuzztime", limit.String(),
				"-test.fuzzcachedir", cache, "-test.parallel", "1").CombinedOutput()
			if err != nil && !lateEnd(string(out)) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// lateEnd tells of a failure that is none: Go's coordinator of the fuzzing
// sometimes takes the end of its own time for an error, when it meets the
// deadline before its workers have been told.
func lateEnd(out string) bool {
	return strings.Contains(out, "\n    context deadline exceeded\n") && !strings.Contains(out, "Failing input")
}
