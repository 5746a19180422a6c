package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Kernel is a bootable kernel on this machine and the folder of its modules
// (the one that holds modules.dep); none for a kernel without modules.
type Kernel struct {
	Engine  string // "uml" or "qemu"
	File    string // linux.uml or a bzImage
	Modules string
	// Root is a folder of programs and libraries that were built with the
	// kernel, laid out as below /; empty where there are none.
	Root string
}

// UML is Debian's user-mode-linux: the default engine. It needs neither root
// nor KVM.
func UML() (Kernel, error) {
	p, err := FindTool("linux.uml")
	if err != nil {
		return Kernel{}, fmt.Errorf("%w: apt-get install user-mode-linux", err)
	}
	k := Kernel{Engine: "uml", File: p}
	if dirs, _ := filepath.Glob("/usr/lib/uml/modules/*/modules.dep"); len(dirs) > 0 {
		k.Modules = filepath.Dir(dirs[len(dirs)-1])
	}
	return k, nil
}

// kernelFD is the kernel's open file: its path may lie below the /tmp that a
// throwaway machine covers with its own.
const kernelFD = "/proc/self/fd/6"

// acpiFD is a table of the firmware's, where there is one.
const acpiFD = "/proc/self/fd/7"

// argv is the command that boots k under its engine. Descriptors: 3 is the
// image, 4 is what the guest's channel is written to, 5 is its (silent) input,
// 6 is the kernel, 7 an ACPI table, 8 a library that is loaded first on some processors (internal/uml).
func (k Kernel) argv(memMiB int, opt Options) ([]string, error) {
	switch k.Engine {
	case "uml":
		con0 := "con0=null,fd:1"
		if opt.Shell != "" {
			con0 = "con0=fd:0,fd:1"
		}
		uml := []string{kernelFD, fmt.Sprintf("mem=%dM", memMiB), "initrd=/proc/self/fd/3", "con=null", con0,
			"ssl0=fd:5,fd:4", "uml_dir=/tmp", fmt.Sprintf("umid=fettle-%d", os.Getpid()), "panic=-1", "quiet",
			"seccomp=auto", // from 6.16 on; half the time of ptrace(2)
			"lpj=16777216"} // no loop delays for a device here: measuring it takes a tenth of a second of each boot
		if opt.disk > 0 {
			uml = append(uml, "ubd0="+diskFile)
		}
		if !opt.raid6 {
			uml = append(uml, "initcall_blacklist=raid6_select_algo,raid6_init") // as 6.1 and 7.2 call it
		}
		return uml, nil
	case "qemu":
		qemu, err := FindTool("qemu-system-x86_64")
		if err != nil {
			return nil, fmt.Errorf("%w: apt-get install qemu-system-x86", err)
		}
		// The emulator's default, without cmpxchg16b: qemu 7.2 now and then leaves garbage
		// in the flags behind one, and kernels that allocate memory by it panic.
		accel := []string{"-accel", "tcg", "-cpu", "qemu64,-cx16"}
		if opt.KVM {
			accel = []string{"-accel", "kvm", "-cpu", "host"}
		}
		if opt.disk > 0 {
			// What the guest has flushed stays with the file; the host's own disk is not in it.
			accel = append(accel, "-drive", "if=virtio,format=raw,cache=unsafe,file="+diskFile)
		}
		if opt.client != nil {
			accel = append(accel, opt.client.beside()...)
		}
		if opt.acpi != nil {
			accel = append(accel, "-acpitable", "file="+acpiFD)
		}
		// The machine's memory is not offered for merging: this host's KSM is none of its business.
		return append(
			[]string{
				qemu,
				"-machine",
				"mem-merge=off",
				"-nodefaults",
				"-no-user-config",
				"-display",
				"none",
				"-no-reboot",
				"-m",
				fmt.Sprint(memMiB),
				"-kernel",
				kernelFD,
				"-initrd",
				"/proc/self/fd/3",
				"-append",
				"console=ttyS0 panic=-1 quiet",
				"-chardev",
				"stdio,id=console,signal=off",
				"-serial",
				"chardev:console",
				"-serial",
				"file:/proc/self/fd/4",
			},
			append(accel, opt.devices...)...), nil
	}
	return nil, fmt.Errorf("unknown engine %q: expected uml or qemu", k.Engine)
}

// Channel is the guest's device that leads to the host.
func (k Kernel) channel() string {
	if k.Engine == "uml" {
		return "/dev/ttyS0"
	}
	return "/dev/ttyS1"
}

// console is the terminal that the kernel's console is on.
func (k Kernel) console() string {
	if k.Engine == "uml" {
		return "/dev/tty0"
	}
	return "/dev/ttyS0"
}

// QEMU takes a kernel image, or the newest of those installed in /boot.
func QEMU(file string) (Kernel, error) {
	if file == "" {
		all, _ := filepath.Glob("/boot/vmlinuz-*")
		if len(all) == 0 {
			return Kernel{}, fmt.Errorf("no kernel in /boot to boot in qemu: apt-get install linux-image-cloud-amd64, or name one with --kernel")
		}
		file = all[len(all)-1]
	}
	if err := checkBzImage(file); err != nil {
		return Kernel{}, err
	}
	k := Kernel{Engine: "qemu", File: file}
	release := strings.TrimPrefix(filepath.Base(file), "vmlinuz-")
	for _, d := range []string{"/lib/modules/" + release, "/usr/lib/modules/" + release} {
		if _, err := os.Stat(d + "/modules.dep"); err == nil {
			k.Modules = d
			break
		}
	}
	return k, nil
}

// checkBzImage looks for the boot protocol's magic "HdrS" at 0x202
// (Documentation/arch/x86/boot.rst).
func checkBzImage(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("opening the kernel: %w", err)
	}
	defer f.Close()
	b := make([]byte, 4)
	if _, err := f.ReadAt(b, 0x202); err != nil || string(b) != "HdrS" {
		return fmt.Errorf("%s is not a Linux kernel image: no boot protocol magic HdrS at offset 0x202", file)
	}
	return nil
}
