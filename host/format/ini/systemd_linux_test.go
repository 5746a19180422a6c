package ini

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fettle/internal/means"
)

// TestAsSystemd: systemd-analyze names each key that it does not know, with its
// section, and each line that it ignores; we must see the same ones, in order.
// It counts the last of joined lines, we the first.
func TestAsSystemd(t *testing.T) {
	means.Short(t, "takes seconds")
	analyze := means.Tool(t, "systemd-analyze")
	rnd := rand.New(rand.NewPCG(1, 2))
	pieces := []string{
		"[Unit]",
		" [Service] ",
		"K%d=1",
		"K%d = 2 \\",
		"K%d=3\\\\",
		"K%d=4\\\\\\",
		"K%d=5 \\ ",
		"# c",
		"  ; c \\",
		"",
		"word%d",
		"=v",
		"\tK%d=6",
		"K%d=[x]",
		"[Service]",
	}
	for round := range 40 {
		text := "[Unit]\nDescription=x\n[Service]\nExecStart=/bin/true\n"
		for i := range 30 {
			p := pieces[rnd.IntN(len(pieces))]
			if strings.Contains(p, "%d") {
				p = fmt.Sprintf(p, i)
			}
			text += p + "\n"
		}
		file := filepath.Join(t.TempDir(), "x.service")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(analyze, "verify", file)
		cmd.Env = []string{"LC_ALL=C", "SYSTEMD_LOG_TARGET=console"}
		out, _ := cmd.CombinedOutput()
		if got, want := ours(file, text), theirs(string(out)); !slices.Equal(got, want) || len(want) == 0 {
			t.Fatalf("round %d\n%s\nours   %q\ntheirs %q\n%s", round, text, got, want, out)
		}
	}
}

// ours are the keys and the lines without one, in order.
func ours(file, text string) []string {
	type said struct {
		line int
		what string
	}
	var all []said
	f := Parse(Systemd, file, []byte(text))
	for _, e := range f.Entries {
		if e.Key != "Description" && e.Key != "ExecStart" {
			all = append(all, said{e.Line, e.Key + " in " + e.Section})
		}
	}
	for _, e := range f.Errs {
		all = append(all, said{e.Line, map[string]string{"neither [section] nor key=value": "no =", "no key before the =": "no key"}[e.Msg]})
	}
	slices.SortStableFunc(all, func(a, b said) int { return a.line - b.line })
	var out []string
	for _, s := range all {
		out = append(out, s.what)
	}
	return out
}

var unknownKey = regexp.MustCompile(`:(\d+): Unknown key(?: name)? '(.*)' in section '?\[?(\w+)\]?'?, ignoring`)

func theirs(out string) []string {
	var all []string
	for line := range strings.Lines(out) {
		switch m := unknownKey.FindStringSubmatch(line); {
		case m != nil:
			if _, err := strconv.Atoi(m[1]); err == nil {
				all = append(all, m[2]+" in "+m[3])
			}
		case strings.Contains(line, "Missing '='"):
			all = append(all, "no =")
		case strings.Contains(line, "Missing key name"):
			all = append(all, "no key")
		}
	}
	return all
}
