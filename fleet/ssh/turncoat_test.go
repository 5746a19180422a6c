package ssh

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAlternatingHost: a host that says each time that it is another machine
// is given up, and not asked until its time is over.
func TestAlternatingHost(t *testing.T) {
	for name, c := range map[string]struct {
		says string // the machine, by how often ssh was run
		runs int
		why  string
	}{
		"by turns":             {`[ $((n % 2)) = 0 ] && m=x86_64 || m=aarch64`, 2, "did so before"},
		"after the copy":       {`[ $n -lt 3 ] && m=aarch64 || m=x86_64`, 4, "did so before"},
		"always a new one":     {`m=armv$n; [ $n = 1 ] && m=riscv64`, 2, "did so before"},
		"the same, ever again": {`m=aarch64`, 4, "is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("XDG_RUNTIME_DIR", "")
			t.Setenv("XDG_CACHE_HOME", dir)
			write := func(name, text string) string {
				t.Helper()
				name = filepath.Join(dir, name)
				if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
				return name
			}
			for _, arch := range []string{"amd64", "arm64", "arm", "riscv64"} {
				write("fettle-linux-"+arch, arch)
			}
			ssh := write("ssh", `#!/bin/sh
for a; do :; done # the last argument is the command
echo run >> `+dir+`/runs
n=$(wc -l < `+dir+`/runs)
[ $n -gt 20 ] && exit 1
case $a in *gzip*) cat > /dev/null; exit 0;; esac
`+c.says+`
echo "`+needed+` Linux $m" >&2
exit 97
`)
			f, err := Open(Options{SSH: ssh, Self: write("self", "self"), BinaryDir: dir})
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			_, _, err = f.Run(t.Context(), "host", []string{"check"}, io.Discard)
			if err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("%v, want an error with %q", err, c.why)
			}
			b, _ := os.ReadFile(filepath.Join(dir, "runs"))
			if got := strings.Count(string(b), "\n"); got > c.runs {
				t.Errorf("ssh was run %d times, want at most %d", got, c.runs)
			}
		})
	}
}
