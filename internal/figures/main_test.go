package main

import (
	"bytes"
	"errors"
	"fettle/internal/means"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestSpread(t *testing.T) {
	d := []time.Duration{time.Millisecond, 2500 * time.Microsecond, time.Second}
	if got, want := spread(d), "2.5 ms (1.0 to 1000.0)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestTable(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	n, err := writeLog(log, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(log); err != nil || st.Size() != n || n < 1<<20 {
		t.Errorf("%v, %d bytes said", err, n)
	}
	var out bytes.Buffer
	if err := (command{what: "cat", argv: []string{"cat"}, stdin: log, bytes: n}).table(&out, 3); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^\| cat \| [0-9.]+ ms \([0-9.]+ to [0-9.]+\), \d+ MB/s \| .* ms .* \| [0-9.]+ MiB \|\n$`).Match(out.Bytes()) {
		t.Errorf("%s", &out)
	}
	if err := (command{what: "false", argv: []string{"sh", "-c", "echo no >&2; exit 2"}}).table(&out, 3); err == nil {
		t.Error("a command that fails is measured")
	}
}

// TestMeasure: a fettle that counts its runs in a file, and an unshare that isolates nothing.
func TestMeasure(t *testing.T) {
	dir := t.TempDir()
	program := func(name, script string) { means.Script(t, filepath.Join(dir, name), script) }
	program("unshare", `shift 2; exec "$@"`)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("TMPDIR", t.TempDir())
	const counts = "echo \"$*\" >>'%s/runs'\n[ \"$1\" != --version ] || echo 'fettle 1.2\nmore'\n[ \"$*\" != 'why --no-check' ] || cat " +
		">/dev/null\n"
	ms := ` [0-9.]+ ms \([0-9.]+ to [0-9.]+\)`
	for name, c := range map[string]struct{ script, says, fails string }{
		"all": {fmt.Sprintf(counts, dir), `^\d{4}-\d\d-\d\d, Linux \d\S+, \d+ CPUs, load \d+\.\d\d; fettle 1\.2, 0\.0 MB\n\n` +
			`\| what \| CPU \| wall \| memory \|\n\|---\|---\|---\|---\|\n(\|[^|]+\|` + ms + `(, \d+ MB/s)? \|` + ms + ` \| [0-9.]+ MiB \|\n){7}$`,
			`^$`},
		"finds":  {"exit 1", "; fettle, 0.0 MB\n(?s:.*syslog of 1 MiB)", `^$`},
		"fails":  {"echo no >&2; exit 2", "", "^start-up alone: exit status 2: no$"},
		"killed": {"kill -9 $$", "", "^start-up alone: signal: killed: $"},
		"none":   {"", "", "fettle: no such file or directory; make builds it$"},
	} {
		program("fettle", c.script)
		if name == "none" {
			os.Remove(filepath.Join(dir, "fettle"))
		}
		var out bytes.Buffer
		fails := ""
		if err := measure(&out, dir, 1, 1); err != nil {
			fails = err.Error()
		}
		if !regexp.MustCompile(c.says).Match(out.Bytes()) || !regexp.MustCompile(c.fails).MatchString(fails) {
			t.Errorf("%s: %s\n%s", name, fails, &out)
		}
	}
	runs, _ := os.ReadFile(filepath.Join(dir, "runs"))
	if got, want := string(runs), "--version\n"+strings.Repeat("--version\n", 2)+strings.Repeat("list\n", 2)+strings.Repeat("check\n", 4)+
		strings.Repeat("explain bridge-mtu\n", 2)+strings.Repeat("why --no-check br-lan: mtu less than device minimum\n", 2)+
		strings.Repeat("why --no-check\n", 2); got != want {
		t.Errorf("runs are\n%s, want\n%s", got, want)
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestRuns: what reads a log is run at most seven times, and once before.
func TestRuns(t *testing.T) {
	for bytes, want := range map[int64]int{0: 10, 1: 8} {
		ran := filepath.Join(t.TempDir(), "ran")
		if err := (command{argv: []string{"sh", "-c", "echo >>" + ran}, bytes: bytes}).table(io.Discard, 9); err != nil {
			t.Fatal(err)
		}
		if b, _ := os.ReadFile(ran); len(b) != want {
			t.Errorf("of %d bytes: %d runs, want %d", bytes, len(b), want)
		}
	}
	for _, c := range []command{{argv: []string{"absent/program"}}, {argv: []string{"cat"}, stdin: "absent"}} {
		if _, _, err := c.run(); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestWriteLog(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	before := means.OpenFiles(t)
	if n, err := writeLog(log, 90); err != nil || n < 90 {
		t.Errorf("%d bytes, %v", n, err)
	}
	if _, _, err := (command{argv: []string{"cat"}, stdin: log}).run(); err != nil {
		t.Error(err)
	}
	if after := means.OpenFiles(t); !maps.Equal(before, after) {
		t.Errorf("open are %v, before %v", after, before)
	}
	const want = "Mar  1 00:00:00 web1 sshd[1000]: Accepted publickey for deploy from 192.0.2.0 port 0 ssh2: ED25519 SHA256:k3o8pX\n"
	if b, _ := os.ReadFile(log); string(b) != want {
		t.Errorf("%q, want %q", b, want)
	}
	if n, err := writeLog(log, int64(len(want))); err != nil || n != int64(len(want)) {
		t.Errorf("a log of one line: %d bytes, %v", n, err)
	}
	if _, err := writeLog(filepath.Join(log, "below"), 1); err == nil {
		t.Error("a log below a file is written")
	}
	if _, err := writeLog("/dev/full", 2<<20); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a full disk: %v", err)
	}
}

func TestFirst(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ text, want string }{"words": {" 6.1 x\n", "6.1"}, "empty": {"\n", "unknown"}} {
		if os.WriteFile(filepath.Join(dir, name), []byte(c.text), 0o600); first(filepath.Join(dir, name)) != c.want {
			t.Errorf("%s: %q, want %q", name, first(filepath.Join(dir, name)), c.want)
		}
	}
	if got := first(filepath.Join(dir, "absent")); got != "unknown" {
		t.Errorf("absent: %q", got)
	}
}
