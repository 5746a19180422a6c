package sosreport

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fettle/host"
)

func TestMdadmExamine(t *testing.T) {
	dir, _ := report(t)
	md := filepath.Join(dir, top, "sos_commands/md")
	if err := os.MkdirAll(md, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"mdadm_-E_.dev.sda1": "/dev/sda1:\n          Magic : " +
		"a92b4efc\n        Version : 1.2\n", "mdadm_-E_.dev.sdb": "mdadm: No md superblock detected on /dev/sdb.\n"} {
		if err := os.WriteFile(filepath.Join(md, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	h := host.New(open(t, dir))
	out, err := h.Run(t.Context(), "mdadm", "--examine", "/dev/sda1")
	if err != nil || out.Exit != 0 || !strings.Contains(string(out.Stdout), "Version : 1.2") {
		t.Errorf("sda1: %+v, %v", out, err)
	}
	if out, err = h.Run(t.Context(), "mdadm", "--examine", "/dev/sdb"); err != nil || out.Exit != 1 {
		t.Errorf("no superblock: %+v, %v", out, err)
	}
	if _, err = h.Run(t.Context(), "mdadm", "--examine", "/dev/sdc"); !errors.Is(err, host.ErrNotCollected) {
		t.Errorf("not collected: %v", err)
	}
	if _, err = h.MDMembers(t.Context()); !errors.Is(err, host.ErrNotCollected) {
		t.Errorf("superblocks: %v", err)
	}
}
