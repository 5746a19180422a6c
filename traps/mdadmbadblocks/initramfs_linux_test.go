package mdadmbadblocks

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle/internal/means"
)

// TestRealInitramfs boots a Debian kernel with a real initramfs of
// initramfs-tools that has the script, root on RAID1: the lists are gone when the
// root's init runs, but for the one of an array that has an entry. It fetches
// packages, and takes some minutes.
func TestRealInitramfs(t *testing.T) {
	means.Long(t, "builds and boots a real initramfs")
	means.Root(t)
	for _, tool := range []string{"qemu-system-x86_64", "apt-get", "sfdisk", "mkfs.ext4"} {
		means.Tool(t, tool)
	}
	out := t.TempDir()
	script, err := filepath.Abs("atboot/fettle-md-no-bbl")
	if err != nil {
		t.Fatal(err)
	}
	tell(
		t,
		10*time.Minute,
		means.Tool(t, "unshare"),
		"--mount",
		"--propagation",
		"private",
		"--",
		"/bin/sh",
		"testdata/initramfs/build.sh",
		out,
		script,
	)
	disks := []string{out + "/d0", out + "/d1"}
	for _, d := range disks {
		if err := os.WriteFile(d, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(d, 160<<20); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(means.Tool(t, "sfdisk"), "--quiet", d)
		cmd.Stdin = strings.NewReader("label: dos\n,64M,fd\n,30M,fd\n,30M,fd\n")
		if b, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("sfdisk: %v\n%s", err, b)
		}
	}
	boot := func(initrd, args string) string {
		argv := []string{
			"-accel",
			"tcg",
			"-m",
			"512",
			"-nographic",
			"-no-reboot",
			"-net",
			"none",
			"-kernel",
			out + "/vmlinuz",
			"-initrd",
			out + "/" + initrd,
			"-append",
			"console=ttyS0 panic=-1 quiet " + args,
		}
		for _, d := range disks {
			argv = append(argv, "-drive", "file="+d+",format=raw,if=virtio")
		}
		return tell(t, 5*time.Minute, means.Tool(t, "qemu-system-x86_64"), argv...)
	}
	want := func(name, said string, parts ...string) {
		t.Helper()
		for _, p := range parts {
			if !strings.Contains(said, p) {
				t.Fatalf("%s: no %q in\n%s", name, p, said)
			}
		}
	}
	lists := func(state string, members ...string) (lines []string) {
		for _, m := range members {
			lines = append(lines, state+" /dev/"+m)
		}
		return lines
	}
	const none, empty = "No bad-blocks list configured on", "Bad-blocks list is empty in"
	root := "root=LABEL=fettle-root ro"
	want(
		"making the arrays",
		boot("initrd-prepare", "rdinit=/prepare"),
		append(lists(empty, "vda1", "vdb1", "vda2", "vdb2", "vda3"), "4096 for 8 sectors", "PREPARED")...)
	fresh := make([][]byte, len(disks))
	for i, d := range disks {
		if fresh[i], err = os.ReadFile(d); err != nil {
			t.Fatal(err)
		}
	}
	want("without the script", boot("plain", root), append(lists(empty, "vda1", "vdb1", "vda2", "vdb2"), "BOOTED")...)
	want("turned off", boot("initrd", root+" fettle.keep_bbl"), append(lists(empty, "vda1", "vdb1", "vda2", "vdb2"), "BOOTED")...)
	for _, initrd := range []string{"initrd", "initrd-klibc"} {
		for i, d := range disks {
			if err := os.WriteFile(d, fresh[i], 0o600); err != nil {
				t.Fatal(err)
			}
		}
		said := boot(initrd, root)
		want(initrd, said, append(lists(none, "vda1", "vdb1", "vda2", "vdb2"), empty+" /dev/vda3", "4096 for 8 sectors",
			"taking 2 empty bad blocks lists away", "vdb3 has bad blocks recorded; its list stays", "lab:rootmd -> ../md", "written", "BOOTED")...)
		again := boot(initrd, root)
		want(initrd+", once more", again, append(lists(none, "vda1", "vdb1", "vda2", "vdb2"), "BOOTED")...)
		if strings.Contains(again, "taking") {
			t.Errorf("%s: at the second boot it acted again:\n%s", initrd, again)
		}
	}
}

func tell(t *testing.T, limit time.Duration, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	var b bytes.Buffer
	cmd.Stdout, cmd.Stderr = &b, &b
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, b.String())
	}
	return b.String()
}
