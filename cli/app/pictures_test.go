package app

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestPicturesRefused: a folder that is not there is said before anything is
// measured.
func TestPicturesRefused(t *testing.T) {
	dir := t.TempDir()
	var s *Status
	err := Pictures{"svg": filepath.Join(dir, "no", "x.svg")}.Writable()
	if !errors.As(err, &s) || s.Code != ExitUsage {
		t.Errorf("%v", err)
	}
	if err := (Pictures{"svg": filepath.Join(dir, "x.svg"), "png": ""}).Writable(); err != nil {
		t.Error(err)
	}
	if es, _ := os.ReadDir(dir); len(es) != 0 {
		t.Errorf("asking left %v", es)
	}
}
