// Package bootimage finds out which Linux a kernel image or an initrd contains, and nothing
// else. Both are foreign data: every length is bounded, and nothing is unpacked to disk.
package bootimage

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"fettle/host"
	"fettle/host/format/mdadmconf"
	"fettle/internal/lazy"
)

// Kernel is what a kernel image says of itself.
type Kernel struct {
	// Form is "bzImage", "arm64 Image", "EFI zboot" or "ELF".
	Form string `json:"form"`
	// Release is what uname -r will say: "6.1.0-50-amd64". Empty where the
	// image hides it (a compressed image of a form that is not known here).
	Release string `json:"release,omitempty"`
	// Package is the version that Debian's build names: "6.1.176-1".
	Package string `json:"package,omitempty"`
}

// Initrd is what an initrd holds of interest.
type Initrd struct {
	// Modules counts the kernel modules below lib/modules, by release.
	Modules map[string]int `json:"modules,omitempty"`
	// Parts are the forms of its concatenated parts: "cpio", "gzip", "xz", "zstd".
	Parts []string `json:"parts"`
	// Builder is what made it, "initramfs-tools" or "dracut"; Tools are those of mdadm, lvm, cryptsetup and
	// systemd-cryptsetup that it has.
	Builder string   `json:"builder,omitempty"`
	Tools   []string `json:"tools,omitempty"`
	// Arrays is what mdadm's configuration in it names; nil where it has none. Volumes are those that it
	// unlocks, by name, with their devices (initramfs-tools' cryptroot/crypttab).
	Arrays  *Arrays           `json:"arrays,omitempty"`
	Volumes map[string]string `json:"volumes,omitempty"`
	// Codename and Description are of the release that an installer installs
	// (etc/default-release, etc/lsb-release). Distribution is DISTRIB_ID.
	Codename     string `json:"codename,omitempty"`
	Distribution string `json:"distribution,omitempty"`
	Description  string `json:"description,omitempty"`
	// Preseed are the lines of /preseed.cfg that name a mirror. The rest may
	// hold passwords, and stays where it is.
	Preseed []string `json:"preseed,omitempty"`
}

// Arrays is a mdadm.conf.
type Arrays struct {
	HomeHost string            `json:"home_host,omitempty"`
	Lines    []mdadmconf.Array `json:"lines,omitempty"`
}

// ReadKernel asks a host for what a kernel image says.
func ReadKernel(ctx context.Context, h *host.Host, name string) (Kernel, error) {
	return host.Extract(ctx, h, "kernel", name, ParseKernel)
}

// ReadInitrd asks a host for what an initrd holds, or that of a unified kernel image.
func ReadInitrd(ctx context.Context, h *host.Host, name string) (Initrd, error) {
	return host.Extract(ctx, h, "initrd", name, parseInitrdOf)
}

var (
	errTruncated = errors.New("the kernel image is cut off")
	errNoKernel  = errors.New("no kernel image of a form that fettle reads (bzImage, arm64 Image, EFI zboot, ELF; gzip around them)")
)

// truncated is for an image that ends where more must come; a disk that fails there is no such end.
func truncated(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errTruncated
	}
	return err
}

const (
	maxKernel  = 256 << 20 // bytes, unpacked
	maxInitrd  = 2 << 30   // bytes of all parts, unpacked
	maxRatio   = 400       // times its packed size, after the first 64 MiB
	maxEntries = 1 << 18
	maxName    = 4096     // PATH_MAX
	maxKept    = 64 << 10 // bytes of a file that is looked into
	window     = 64 << 20 // bytes of a decompressor's dictionary
	bufferSize = 64 << 10
)

// ParseKernel reads a kernel image from its beginning to its end.
func ParseKernel(r io.Reader) (Kernel, error) {
	b := bufio.NewReaderSize(io.LimitReader(r, maxKernel), bufferSize)
	head, err := b.Peek(0x250)
	if err != nil && err != io.EOF {
		return Kernel{}, err
	}
	switch {
	case bytes.HasPrefix(head, []byte("\x1f\x8b")),
		bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")),
		bytes.HasPrefix(head, []byte("\xfd7zXZ\x00")):
		in, _, err := open(b)
		if err != nil {
			return Kernel{}, fmt.Errorf("unpacking the kernel image: %w", err)
		}
		return plain(bufio.NewReaderSize(limited(in), bufferSize))
	case len(head) > 0x206 && string(head[0x202:0x206]) == "HdrS":
		return bzImage(b, head)
	case len(head) > 0x20 && bytes.HasPrefix(head, []byte("MZ")) && string(head[4:8]) == "zimg":
		return zboot(b, head)
	}
	return plain(b)
}

// bzImage reads the setup header (Documentation/arch/x86/boot.rst, protocol
// 2.00 and newer): kernel_version at 0x20e points to a string behind the
// boot sector; setup_sects at 0x1f1 and syssize at 0x1f4 tell how long the
// image must be.
func bzImage(r io.Reader, head []byte) (Kernel, error) {
	if len(head) < 0x210 {
		return Kernel{}, errTruncated
	}
	le := binary.LittleEndian
	sects := int64(head[0x1f1])
	if sects == 0 {
		sects = 4 // boot.rst, setup_sects
	}
	at, setup, all := int64(le.Uint16(head[0x20e:]))+0x200, (sects+1)*512, (sects+1)*512+int64(le.Uint32(head[0x1f4:]))*16
	b := make([]byte, setup)
	if _, err := io.ReadFull(r, b); err != nil {
		return Kernel{}, truncated(err)
	}
	rest, err := io.Copy(io.Discard, r)
	switch {
	case err != nil:
		return Kernel{}, err
	case setup+rest < all:
		return Kernel{}, fmt.Errorf("%w: %d bytes where its header says %d", errTruncated, setup+rest, all)
	case at >= setup:
		return Kernel{}, fmt.Errorf("the kernel image's version is outside of its setup code")
	}
	text, _, ok := bytes.Cut(b[at:], []byte{0})
	if !ok {
		return Kernel{}, fmt.Errorf("the kernel image's version has no end")
	}
	return versioned("bzImage", string(text))
}

// zboot reads an EFI image that unpacks itself (drivers/firmware/efi/libstub/
// zboot-header.S, Linux 6.1): the payload's offset and size, and its packing.
func zboot(r io.Reader, head []byte) (Kernel, error) {
	at, size := int64(binary.LittleEndian.Uint32(head[8:])), int64(binary.LittleEndian.Uint32(head[12:]))
	if _, err := io.CopyN(io.Discard, r, at); err != nil {
		return Kernel{}, truncated(err)
	}
	in, _, err := open(bufio.NewReaderSize(io.LimitReader(r, size), bufferSize))
	if err != nil {
		return Kernel{}, fmt.Errorf("unpacking the kernel image: %w", err)
	}
	k, err := plain(bufio.NewReaderSize(limited(in), bufferSize))
	k.Form = "EFI zboot"
	return k, err
}

// plain reads an image that is not packed: arm64's, whose header has a magic at
// 0x38 (Documentation/arch/arm64/booting.rst), or ELF. The banner in its data
// tells the version (init/version.c, linux_banner).
func plain(b *bufio.Reader) (Kernel, error) {
	head, err := b.Peek(64)
	if err != nil && err != io.EOF {
		return Kernel{}, truncated(err)
	}
	form := ""
	switch {
	case len(head) == 64 && string(head[0x38:0x3c]) == "ARM\x64":
		form = "arm64 Image"
	case bytes.HasPrefix(head, []byte("\x7fELF")):
		form = "ELF"
	default:
		return Kernel{}, errNoKernel
	}
	text, err := banner(b)
	if err != nil {
		return Kernel{}, fmt.Errorf("looking for the version of an %s: %w", form, err)
	}
	return versioned(form, text)
}

const bannerBegin = "Linux version "

// banner finds the text behind "Linux version " that is one: the words occur in
// other strings too, and then a "%s" or nothing follows.
func banner(r *bufio.Reader) (string, error) {
	const long = 512
	for {
		b, err := r.Peek(bufferSize)
		for from := 0; ; {
			i := bytes.Index(b[from:], []byte(bannerBegin))
			if i < 0 || from+i+long > len(b) && err == nil {
				break // whole in the next round
			}
			text := b[from+i+len(bannerBegin):]
			text, _, ended := bytes.Cut(text[:min(len(text), long)], []byte{0})
			if (ended || len(text) == long) && release().Match(text) { // not one that is cut off with the image
				return string(text), nil
			}
			from += i + len(bannerBegin)
		}
		if err != nil {
			return "", truncated(err)
		}
		if _, err := r.Discard(len(b) - long); err != nil {
			return "", err
		}
	}
}

var (
	release = lazy.Regexp(`^([0-9]+\.[0-9]+[0-9A-Za-z.+~_-]{0,60})(?: |$)`)
	debian  = lazy.Regexp(` Debian ([0-9][0-9A-Za-z.+:~-]*)`)
)

// versioned reads a version string as "6.1.0-50-amd64 (someone@host) #1 SMP Debian 6.1.176-1 (2026-07-02)".
func versioned(form, text string) (Kernel, error) {
	m := release().FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return Kernel{}, fmt.Errorf("the kernel image's version cannot be read: %.40q", text)
	}
	k := Kernel{Form: form, Release: m[1]}
	if m := debian().FindAllStringSubmatch(text, -1); m != nil {
		k.Package = m[len(m)-1][1] // the first may be the compiler's
	}
	return k, nil
}
