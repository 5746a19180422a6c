package agent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle/fleet/hub/message"
	"fettle/internal/means"
)

// TestFixes: what fettle says it changed is reported, within bounds, and nothing where it
// cannot say.
func TestFixes(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "fettle")
	fill := func(script string) { means.Script(t, program, script+"\n") }
	fill(`[ "$*" = "changes --format json" ] && echo '{"changes":[{"id":"0001","trap":"bridge-mtu","by":"ann","phase":"applied","verified":true},` +
		`{"id":"","trap":"x"},{"id":"2","trap":"NO"}]}'; exit 1`)
	got := fixes(t.Context(), program, dir)
	if len(got) != 1 || got[0].ID != "0001" || got[0].By != "ann" || !got[0].Verified {
		t.Errorf("%+v", got)
	}
	if l := fixes(t.Context(), program, ""); l != nil {
		t.Errorf("without a folder: %+v", l)
	}
	if l := fixes(t.Context(), program, filepath.Join(dir, "none")); l != nil {
		t.Errorf("a folder that is not there: %+v", l)
	}
	fill("echo 'unknown flag: --format' >&2; exit 2") // an older fettle
	if l := fixes(t.Context(), program, dir); l != nil {
		t.Errorf("%+v", l)
	}
	var many []message.Fix
	for i := range 3 * message.FixesKept {
		many = append(many, message.Fix{ID: fmt.Sprint(i), Trap: "a"})
	}
	if l := message.FitFixes(many); len(l) != message.FixesKept || l[len(l)-1].ID != many[len(many)-1].ID {
		t.Errorf("%d, the last %+v", len(l), l[len(l)-1])
	}
}

// TestStopped: an agent that is stopped while it asks for the changes ends that program, and
// what it started.
func TestStopped(t *testing.T) {
	dir := t.TempDir()
	program, pids := filepath.Join(dir, "fettle"), filepath.Join(dir, "pids")
	text := "#!/bin/sh\nsleep 300 &\necho $! $$ > " + pids + ".new; mv " + pids + ".new " + pids + "\nwait\n"
	if err := os.WriteFile(program, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { fixes(ctx, program, dir); close(ended) }()
	var started []string
	means.Until(t, "it runs", func() bool {
		b, err := os.ReadFile(pids)
		started = strings.Fields(string(b))
		return err == nil
	})
	stop()
	select {
	case <-ended:
	case <-time.After(means.Patience):
		t.Error("the agent waits for it")
	}
	for _, pid := range started {
		means.Until(t, "process "+pid+" ends", func() bool {
			b, err := os.ReadFile("/proc/" + pid + "/stat")
			return err != nil || strings.Contains(string(b), ") Z ")
		})
	}
}
