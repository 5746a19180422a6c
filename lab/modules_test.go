package lab

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestModulesInLoadOrder(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []string{"llc", "stp", "bridge"} {
		if err := os.WriteFile(filepath.Join(dir, n+".ko"), []byte(n), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	dep := "bridge.ko: stp.ko llc.ko\nstp.ko: llc.ko\nllc.ko:\n"
	os.WriteFile(filepath.Join(dir, "modules.dep"), []byte(dep), 0o644)
	os.WriteFile(filepath.Join(dir, "modules.builtin"), []byte("kernel/drivers/net/veth.ko\nkernel/drivers/block/drbd-9.ko\n"), 0o644)
	os.WriteFile(filepath.Join(dir, "modules.builtin.modinfo"), []byte("dm_mod.license=GPL\x00ipv6.parmtype=disable:int\x00"), 0o644)
	var b bytes.Buffer
	got, err := newImage(&b).modules(dir, []string{"bridge", "veth", "ipv6", "drbd_9", "dm-mod", "stp"}, []string{"stp", "absent"})
	want := []string{"/modules/llc.ko", "/modules/stp.ko", "/modules/bridge.ko"}
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("got %v, %v; want %v", got, err, want)
	}
	if _, err := newImage(&b).modules(dir, []string{"nosuch"}, nil); err == nil || !strings.Contains(err.Error(), "no module nosuch") {
		t.Fatalf("unknown module: %v", err)
	}
}
