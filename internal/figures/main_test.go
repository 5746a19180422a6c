package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
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
