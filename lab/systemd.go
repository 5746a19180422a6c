package lab

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// PlayStory is the hidden verb that plays the orders in a machine whose
// process 1 is systemd.
const PlayStory = "__lab-story"

// StoryUnit is the service that runs it.
const StoryUnit = "fettle-lab.service"

// diskMiB is the size of the disk that keeps /etc and /var over a restart of
// the machine. It is a sparse file in memory.
const diskMiB = 96

// diskFile is where the supervisor keeps it: on its own tmpfs, so that it goes
// with the machine.
const diskFile = "/tmp/disk"

// RestartMark is in the disk's first bytes, which ext4 leaves alone, when
// the machine is to be started again once it has ended.
const RestartMark = "fettle: start me again\n"

// NextOffset is where on the disk, in bytes, the guest keeps the number of the
// act to go on with. Not in a file: its fsync would take along what a power
// cut ought to lose.
const NextOffset = 512

// systemdTools are what the units of a minimal boot run. Those that not every
// release of systemd has are in systemdMay.
var (
	systemdTools = []string{"systemd", "systemctl", "systemd-run", "systemd-journald", "journalctl", "systemd-tmpfiles",
		"systemd-sysctl", "systemd-shutdown", "mount", "umount", "mkfs.ext4"}
	systemdMay = []string{"systemd-executor"}
	// systemdLibs are opened by systemd when they are there (dlopen(3)), so no program names them.
	systemdLibs = []string{"libmount.so.1", "libkmod.so.2", "libseccomp.so.2", "libacl.so.1", "libblkid.so.1", "libcrypt.so.1"}
)

// systemdWants are the units of a minimal boot: what writes the journal, makes
// files, and sets sysctls, as on a host.
var systemdWants = []string{
	"sysinit.target.wants/systemd-journald.service",
	"sysinit.target.wants/systemd-journal-flush.service",
	"sysinit.target.wants/systemd-tmpfiles-setup.service",
	"sysinit.target.wants/systemd-sysctl.service",
	"sockets.target.wants/systemd-journald.socket",
	"sockets.target.wants/systemd-journald-dev-log.socket",
}

// storyUnit starts the story when the machine is as good as booted.
const storyUnit = `[Unit]
Description=The story of a throwaway machine
After=basic.target

[Service]
ExecStart=/init ` + PlayStory + `
StandardOutput=file:/dev/console
StandardError=inherit
TimeoutStopSec=2s
`

// allTools are those of the host that the machine must have.
func (n Needs) allTools() []string {
	if n.Systemd {
		return append(systemdTools[:len(systemdTools):len(systemdTools)], n.Tools...)
	}
	return n.Tools
}

// allFiles are those whose package is known: the others are of the machine itself.
func (n Needs) allFiles() []string {
	files := slices.Clone(n.Files)
	if n.Client != nil {
		files = append(files, n.Client.files()...)
	}
	return slices.DeleteFunc(files, func(f string) bool { return packageOf[f] == "" })
}

const systemdUnits = "/usr/lib/systemd/system"

// systemd adds the host's systemd with its own units, of which only those of a
// minimal boot are wanted, and the configuration files that its packages bring.
func (im *image) systemd() error {
	tools := systemdTools
	for _, t := range systemdMay {
		if _, err := FindTool(t); err == nil {
			tools = append(tools[:len(tools):len(tools)], t)
		}
	}
	for _, t := range tools {
		if err := im.tool(t); err != nil {
			return err
		}
	}
	for _, l := range systemdLibs {
		im.library(l) // where the host has it
	}
	units, err := os.ReadDir(systemdUnits)
	if err != nil {
		return err
	}
	for _, u := range units {
		if u.IsDir() {
			continue
		}
		if err := im.copy(filepath.Join(systemdUnits, u.Name())); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	for _, w := range systemdWants {
		if err := im.link(filepath.Join(systemdUnits, w), "../"+filepath.Base(w)); err != nil {
			return err
		}
	}
	for _, d := range []string{"/usr/lib/tmpfiles.d", "/usr/lib/sysctl.d"} {
		if err := im.copy(d); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	for name, text := range map[string]string{
		filepath.Join(systemdUnits, StoryUnit):      storyUnit,
		"/etc/machine-id":                           "0123456789abcdef0123456789abcdef\n",
		"/etc/systemd/system.conf.d/lab.conf":       "[Manager]\nDefaultTimeoutStopSec=5s\nRuntimeWatchdogSec=0\nShowStatus=no\n",
		"/usr/lib/systemd/journald.conf.d/lab.conf": "[Journal]\nReadKMsg=no\nAudit=no\nSystemMaxUse=16M\n",
	} {
		if err := im.file(name, fs.FileMode(0o644), int64(len(text)), strings.NewReader(text)); err != nil {
			return err
		}
	}
	if err := im.link("/etc/systemd/system/default.target", systemdUnits+"/multi-user.target"); err != nil {
		return err
	}
	return im.link(systemdUnits+"/multi-user.target.wants/"+StoryUnit, "../"+StoryUnit)
}

// disk is the guest's device of the disk, and diskModules what drives it.
func (k Kernel) disk() string {
	if k.Engine == "uml" {
		return "/dev/ubda"
	}
	return "/dev/vda"
}

func (k Kernel) diskModules() []string {
	if k.Engine == "uml" {
		return []string{"ext4"}
	}
	return []string{"virtio_pci", "virtio_blk", "ext4"}
}
