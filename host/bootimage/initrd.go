package bootimage

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"fettle/host/format/mdadmconf"
	"fettle/internal/lazy"
)

// ErrCut: the initrd ends before it is whole.
var ErrCut = errors.New("the initrd is cut off")

// ParseInitrd reads an initrd as the kernel does (init/initramfs.c,
// unpack_to_rootfs): cpio archives in the new ASCII form, packed or not, one
// behind the other, with zeros between them.
func ParseInitrd(r io.Reader) (Initrd, error) {
	p := &parser{found: Initrd{Modules: map[string]int{}, Parts: []string{}}}
	packed := &meter{r: io.LimitReader(r, maxInitrd)}
	b := bufio.NewReaderSize(packed, bufferSize)
	for {
		if err := skipZeros(b); err == io.EOF {
			break
		} else if err != nil {
			return Initrd{}, err
		}
		in, form, err := open(b)
		if err != nil {
			return Initrd{}, fmt.Errorf("part %d of the initrd: %w", len(p.found.Parts)+1, err)
		}
		if len(p.found.Parts) == 64 {
			return Initrd{}, errors.New("the initrd has more than 64 parts: refused")
		}
		p.found.Parts = append(p.found.Parts, form)
		un := &meter{r: in, count: &p.unpacked, packed: &packed.n}
		if err := p.archives(bufio.NewReaderSize(un, bufferSize), form == "cpio", b); err != nil {
			return Initrd{}, fmt.Errorf("part %d of the initrd (%s): %w", len(p.found.Parts), form, err)
		}
	}
	if packed.n == maxInitrd {
		return Initrd{}, fmt.Errorf("the initrd is larger than %d GiB: refused", maxInitrd>>30)
	}
	if len(p.found.Parts) == 0 {
		return Initrd{}, errors.New("the initrd is empty")
	}
	return p.found, nil
}

// meter counts what is read, and refuses what grows beyond measure.
type meter struct {
	r      io.Reader
	n      int64
	count  *int64 // of all parts
	packed *int64
}

func (m *meter) Read(b []byte) (int, error) {
	n, err := m.r.Read(b)
	m.n += int64(n)
	if m.count != nil {
		*m.count += int64(n)
		switch {
		case *m.count > maxInitrd:
			return n, fmt.Errorf("it unpacks to more than %d GiB: refused", maxInitrd>>30)
		case *m.count > 64<<20 && *m.count > *m.packed*maxRatio:
			return n, fmt.Errorf("it unpacks to over %d times its size: refused as a decompression bomb", maxRatio)
		}
	}
	return n, err
}

// limited bounds a kernel's unpacked size.
func limited(r io.Reader) io.Reader { return io.LimitReader(r, maxKernel) }

// skipZeros goes on to the next part; io.EOF: there is none.
func skipZeros(b *bufio.Reader) error {
	for {
		c, err := b.ReadByte()
		if err != nil {
			return err
		}
		if c != 0 {
			return b.UnreadByte()
		}
	}
}

type parser struct {
	found    Initrd
	unpacked int64
	entries  int
}

// archives reads the cpio archives of one part. A part that is not packed ends
// with its archive: what follows in raw is the next part.
func (p *parser) archives(b *bufio.Reader, plain bool, raw *bufio.Reader) error {
	if plain {
		return p.archive(raw)
	}
	for {
		err := skipZeros(b)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return unexpected(err)
		}
		if err := p.archive(b); err != nil {
			return err
		}
	}
}

// unexpected is for a stream that ends where more must come.
func unexpected(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return ErrCut
	}
	return err
}

// headerSize is that of the new ASCII form (cpio(5), newc): a magic of six
// bytes and thirteen numbers of eight hexadecimal digits.
const headerSize = 110

func (p *parser) archive(b *bufio.Reader) error {
	for {
		var h [headerSize]byte
		if _, err := io.ReadFull(b, h[:]); err != nil {
			return unexpected(err)
		}
		if m := string(h[:6]); m != "070701" && m != "070702" {
			return errors.New("no cpio archive in the new ASCII form")
		}
		mode, err1 := field(h, 1)
		size, err2 := field(h, 6)
		length, err3 := field(h, 11)
		if err := errors.Join(err1, err2, err3); err != nil {
			return errors.New("a cpio header contains no number")
		}
		if length == 0 || length > maxName {
			return fmt.Errorf("a name of %d bytes: refused", length)
		}
		if p.entries++; p.entries > maxEntries {
			return fmt.Errorf("more than %d files: refused", maxEntries)
		}
		name := make([]byte, length+pad(headerSize+length))
		if _, err := io.ReadFull(b, name); err != nil {
			return unexpected(err)
		}
		file := string(bytes.TrimRight(name[:length], "\x00"))
		if file == "TRAILER!!!" {
			return nil
		}
		if err := p.entry(b, file, mode, size); err != nil {
			return err
		}
		if _, err := b.Discard(int(pad(size))); err != nil {
			return unexpected(err)
		}
	}
}

// field is the nth number of a header.
func field(h [headerSize]byte, n int) (int64, error) {
	v, err := strconv.ParseUint(string(h[6+8*n:14+8*n]), 16, 32)
	return int64(v), err
}

// pad is how many bytes lead to the next multiple of four.
func pad(n int64) int64 { return -n & 3 }

// entry looks into the few files that matter, and goes past all others.
func (p *parser) entry(b *bufio.Reader, name string, mode, size int64) error {
	if slices.Contains(strings.Split(name, "/"), "..") {
		return fmt.Errorf("a file is called %.60q, which leads out of the archive: refused", name)
	}
	name = strings.TrimPrefix(path.Clean("/"+name), "/")
	const regular, types = 0o100000, 0o170000
	if m := module().FindStringSubmatch(name); m != nil && mode&types == regular {
		if _, known := p.found.Modules[m[1]]; known || len(p.found.Modules) < 16 {
			p.found.Modules[m[1]]++
		}
	}
	if dir, base := path.Split(name); programs[dir] && slices.Contains(volumeTools, base) && !slices.Contains(p.found.Tools, base) {
		p.found.Tools = append(p.found.Tools, base)
	}
	if b := builders[name]; b != "" {
		p.found.Builder = b
	}
	keep, wanted := kept[name]
	if wanted && mode&types == regular && size <= maxKept {
		text := make([]byte, size)
		if _, err := io.ReadFull(b, text); err != nil {
			return unexpected(err)
		}
		keep(&p.found, string(text))
		return nil
	}
	n, err := io.CopyN(io.Discard, b, size)
	if n < size && err == io.EOF {
		return ErrCut
	}
	return unexpected(err)
}

var module = lazy.Regexp(`^(?:usr/)?lib/modules/([0-9][0-9A-Za-z.+~_-]{0,63})/.*\.ko(?:\.(?:gz|xz|zst))?$`)

// builders are the programs that make initramfs, by files that they always put there (initramfs-tools 0.142,
// mkinitramfs; dracut 059, modules.d/99base/module-setup.sh; both with and without a merged /usr).
var builders = map[string]string{"conf/initramfs.conf": "initramfs-tools", "lib/dracut-lib.sh": "dracut", "usr/lib/dracut-lib.sh": "dracut"}

// volumeTools make block devices that a root file system may lie on, in the folders of programs.
var (
	volumeTools = []string{"mdadm", "lvm", "cryptsetup", "systemd-cryptsetup"}
	programs    = map[string]bool{"bin/": true, "sbin/": true, "usr/bin/": true, "usr/sbin/": true, "lib/systemd/": true,
		"usr/lib/systemd/": true}
)

// kept are the files that are looked into. A later one of the same name
// replaces an earlier one, as in the kernel.
var kept = map[string]func(*Initrd, string){
	"etc/default-release": func(i *Initrd, s string) { i.Codename = word(s) },
	"etc/lsb-release": func(i *Initrd, s string) {
		for line := range strings.Lines(s) {
			k, v, _ := strings.Cut(strings.TrimSpace(line), "=")
			v = printable(strings.Trim(v, `"`))
			switch k {
			case "DISTRIB_ID":
				i.Distribution = v
			case "DISTRIB_RELEASE":
				i.Description = v
			}
		}
	},
	"preseed.cfg":          func(i *Initrd, s string) { i.Preseed = MirrorLines(s) },
	"etc/mdadm/mdadm.conf": arraysOf,
	"etc/mdadm.conf":       arraysOf,
	"cryptroot/crypttab": func(i *Initrd, s string) {
		i.Volumes = map[string]string{}
		for line := range strings.Lines(s) {
			if f := strings.Fields(line); len(f) > 1 && !strings.HasPrefix(f[0], "#") {
				i.Volumes[f[0]] = f[1]
			}
		}
	},
}

func arraysOf(i *Initrd, s string) {
	i.Arrays = &Arrays{}
	i.Arrays.Lines, i.Arrays.HomeHost = mdadmconf.Arrays(s)
}

// MirrorLines are the lines of a preseed file that name the mirror, the suite
// or a further file. Others may hold passwords.
func MirrorLines(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) >= 4 && len(out) < 64 && (strings.HasPrefix(f[1], "mirror/") && f[1] != "mirror/http/proxy") {
			out = append(out, printable(strings.Join(f, " ")))
		}
	}
	return out
}

// word is the only word of a file.
func word(s string) string {
	if f := strings.Fields(s); len(f) == 1 {
		return printable(f[0])
	}
	return ""
}

// printable is foreign text that may be shown and kept: ASCII, not too long.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, s)
	return s[:min(len(s), 200)]
}
