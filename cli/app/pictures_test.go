package app

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPicturesRefused: a folder that is not there is said before anything is
// measured.
func TestPicturesRefused(t *testing.T) {
	dir := t.TempDir()
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, labProgram), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
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

// TestPicturesNeedTheLab: without fettle-lab nothing is measured, and where to
// get it is said.
func TestPicturesNeedTheLab(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := Pictures{"svg": filepath.Join(t.TempDir(), "x.svg")}.Writable()
	if err == nil || !strings.Contains(err.Error(), "--svg: the program fettle-lab is neither beside ") ||
		!strings.Contains(err.Error(), "nor on PATH; make builds it") {
		t.Errorf("%v", err)
	}
}
