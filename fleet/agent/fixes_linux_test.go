package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"fettle/fleet/hub/message"
)

// TestFixes: what fettle says it changed is reported, within bounds, and nothing where it
// cannot say.
func TestFixes(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "fettle")
	fill := func(script string) {
		t.Helper()
		if err := os.WriteFile(program, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
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
