// Package bootloader reads which kernel a boot loader starts by itself: GRUB's grub.cfg with
// its environment block, and entries of the Boot Loader Specification for GRUB and systemd-boot.
package bootloader

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"fettle/host"
)

// ErrNone: no boot loader's configuration was found where distributions have it.
var ErrNone = errors.New("no configuration of GRUB or systemd-boot was found")

// Entry is one entry of a boot loader's menu.
type Entry struct {
	Title string
	ID    string // --id of GRUB; the file's name, without .conf, of a BLS entry
	// Kernel and Initrds are paths on this host, as far as they exist; Options is the kernel's
	// command line.
	Kernel  string
	Initrds []string
	Options string
	// Source is the file that the entry is in.
	Source string
	// Unified: Kernel is a unified kernel image of this release, and Initrds, if any, lie in it.
	Unified bool
	Release string

	inner []Entry // of a submenu
	other bool    // it starts something else: another loader, the firmware's set-up
	err   error   // why it could not be read
}

// Option is the value of a parameter of the kernel's command line, the last one of that name.
func (e *Entry) Option(name string) string {
	v := ""
	for _, f := range strings.Fields(e.Options) {
		if val, ok := strings.CutPrefix(f, name+"="); ok {
			v = strings.Trim(val, `"`)
		}
	}
	return v
}

// Linux reports whether the entry starts a Linux kernel.
func (e *Entry) Linux() bool { return e.Kernel != "" && !e.other }

// grubFiles are where distributions have GRUB's configuration.
var grubFiles = []string{"/boot/grub/grub.cfg", "/boot/grub2/grub.cfg"}

// Default is the entry that is started when nobody touches a key. ErrNone: there is no
// boot loader that this package reads.
func Default(ctx context.Context, h *host.Host) (*Entry, error) {
	for _, f := range grubFiles {
		b, err := h.ReadFile(ctx, f)
		if host.IsAbsent(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return grubDefault(ctx, h, f, string(b))
	}
	for _, dir := range []string{"/efi", "/boot/efi", "/boot"} {
		b, err := h.ReadFile(ctx, dir+"/loader/loader.conf")
		if host.IsAbsent(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return systemdBoot(ctx, h, dir, string(b))
	}
	return firmware(ctx, h)
}

// firmware is the one unified kernel image that there is: the firmware starts it without a loader.
// Of several, which one it starts is a variable of its own.
func firmware(ctx context.Context, h *host.Host) (*Entry, error) {
	for _, dir := range []string{"/efi", "/boot/efi", "/boot"} {
		entries, err := unified(ctx, h, dir)
		if err != nil {
			return nil, err
		}
		switch len(entries) {
		case 0:
			continue
		case 1:
			return &entries[0], entries[0].err
		}
		return nil, fmt.Errorf("%s has %d unified kernel images, and which one the firmware starts is an EFI variable", dir+unifiedDir,
			len(entries))
	}
	return nil, ErrNone
}

// onHost finds a path that a boot loader knows, from the top of its file system, on this host:
// /boot may be a file system of its own, and Btrfs has a subvolume's name before it. What is
// nowhere, is named as it would be below /boot.
func onHost(ctx context.Context, h *host.Host, name string, tops ...string) (string, error) {
	if strings.HasPrefix(name, "(") { // a device: (hd0,gpt2)/vmlinuz
		if i := strings.IndexByte(name, ')'); i > 0 {
			name = name[i+1:]
		}
	}
	name = path.Clean("/" + name)
	tried := []string{name}
	for _, top := range append(tops, "/boot") {
		tried = append(tried, path.Join(top, name))
	}
	if _, rest, ok := strings.Cut(name[1:], "/"); ok {
		tried = append(tried, "/"+rest)
	}
	for _, n := range tried {
		if there, err := h.Exists(ctx, n); err != nil || there {
			return n, err
		}
	}
	if strings.HasPrefix(name, "/boot/") || len(tops) > 0 {
		return tried[min(len(tops), 1)], nil
	}
	return "/boot" + name, nil
}
