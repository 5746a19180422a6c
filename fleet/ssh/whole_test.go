package ssh

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fettle/report"
)

// TestCheckOneIsWhole: a host whose report lacks its end is an error, however much of
// it came.
func TestCheckOneIsWhole(t *testing.T) {
	l := lines(t)
	for name, c := range map[string]struct {
		lines []string
		exit  string
		want  string
	}{
		"whole":      {l, "1", ""},
		"cut off":    {l[:2], "137", "the report was cut off (exit status 137): Killed"},
		"no report":  {[]string{"Welcome"}, "1", "fettle ended there without a report (exit status 1): Killed"},
		"not at all": {nil, "2", "fettle ended there without a report (exit status 2): Killed"},
		"silent":     {nil, "0", "fettle ended there without a report (exit status 0)"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("XDG_RUNTIME_DIR", "")
			t.Setenv("XDG_CACHE_HOME", dir)
			for name, text := range map[string]string{
				"said": strings.Join(c.lines, "\n") + "\n", "self": "self",
				"ssh": "#!/bin/sh\ncat " + dir + "/said\n[ " + c.exit + " = 0 ] || echo Killed >&2\nexit " + c.exit + "\n",
			} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			f, err := Open(Options{SSH: filepath.Join(dir, "ssh"), Self: filepath.Join(dir, "self"), BinaryDir: dir})
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			err = f.checkOne(context.Background(), "host", []string{"check"}, func(report.Line) {})
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
