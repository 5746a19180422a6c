package cli

import (
	"os"
	"regexp"
	"strconv"
	"testing"
)

// maxInit is how much one of our packages may allocate before main, in
// allocations; each is paid twice by every check, in the parent and in the
// child, whether the package is used or not. Regular expressions that few
// runs need belong in a sync.OnceValue.
const maxInit = 1600

func TestStartupIsCheap(t *testing.T) {
	cmd := synthetic(0, "--version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lines := regexp.MustCompile(`(?m)^init (fettle/\S+) .* (\d+) allocs$`).FindAllSubmatch(out, -1)
	if len(lines) == 0 {
		t.Fatalf("no trace of initialisation:\n%s", out)
	}
	for _, l := range lines {
		if n, _ := strconv.Atoi(string(l[2])); n > maxInit {
			t.Errorf("%s allocates %d times before main, more than %d", l[1], n, maxInit)
		}
	}
}
