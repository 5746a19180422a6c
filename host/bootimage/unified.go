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
	"fettle/internal/sorted"
)

// Unified is a unified kernel image: kernel, initrd and command line in sections of one EFI
// program (UAPI.5, Unified Kernel Image; systemd-stub(7)).
type Unified struct {
	Title   string `json:"title,omitempty"`   // PRETTY_NAME of .osrel
	Release string `json:"release,omitempty"` // .uname: what uname -r will say
	Options string `json:"options,omitempty"` // .cmdline
	Kernel  bool   `json:"kernel"`
	Initrd  bool   `json:"initrd"`
}

// ReadUnified asks a host for what a unified kernel image says.
func ReadUnified(ctx context.Context, h *host.Host, name string) (Unified, error) {
	return host.Extract(ctx, h, "unified", name, ParseUnified)
}

// ErrNotUnified: an EFI program of another kind.
var ErrNotUnified = errors.New("an EFI program that is no unified kernel image")

// ParseUnified reads a unified kernel image.
func ParseUnified(r io.Reader) (Unified, error) {
	var u Unified
	err := sections(r, func(name string, in io.Reader) error {
		switch name {
		case ".linux":
			u.Kernel = true
		case ".initrd":
			u.Initrd = true
		case ".osrel", ".uname", ".cmdline":
			b, err := io.ReadAll(io.LimitReader(in, maxKept))
			if err != nil {
				return err
			}
			text := string(bytes.TrimRight(b, "\x00"))
			switch name {
			case ".uname":
				u.Release = word(text)
			case ".cmdline":
				u.Options = strings.Join(strings.Fields(text), " ")
			default:
				u.Title = pretty(text)
			}
		}
		return nil
	})
	if err == nil && !u.Kernel {
		err = ErrNotUnified
	}
	return u, err
}

// pretty is PRETTY_NAME of os-release(5).
func pretty(text string) string {
	for line := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); ok {
			return printable(strings.Trim(v, `"'`))
		}
	}
	return ""
}

// parseInitrdOf reads an initrd, also that in a unified kernel image.
func parseInitrdOf(r io.Reader) (Initrd, error) {
	b := bufio.NewReaderSize(r, bufferSize)
	if magic, _ := b.Peek(2); string(magic) != "MZ" {
		return ParseInitrd(b)
	}
	var found *Initrd
	err := sections(b, func(name string, in io.Reader) error {
		if name != ".initrd" {
			return nil
		}
		i, err := ParseInitrd(in)
		found = &i
		return err
	})
	switch {
	case err != nil:
		return Initrd{}, err
	case found == nil:
		return Initrd{}, fmt.Errorf("%w with an initrd", ErrNotUnified)
	}
	return *found, nil
}

// section is a part of an EFI program that lies at a place in its file.
type section struct {
	name     string
	at, size int64
}

// sections calls f with each section of an EFI program, in the order in which they lie in the file
// (Microsoft PE Format, "COFF File Header", "Section Table").
func sections(r io.Reader, f func(name string, in io.Reader) error) error {
	b := &counted{r: r}
	all, err := sectionTable(b)
	if err != nil {
		return unexpected(err)
	}
	for _, s := range all {
		if s.at < b.n || s.size == 0 {
			continue
		}
		if _, err := io.CopyN(io.Discard, b, s.at-b.n); err != nil {
			return unexpected(err)
		}
		in := io.LimitReader(b, s.size)
		if err := f(s.name, in); err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, in); err != nil {
			return err
		}
		if b.n < s.at+s.size {
			return ErrCut
		}
	}
	return nil
}

func sectionTable(b *counted) ([]section, error) {
	le := binary.LittleEndian
	var dos [64]byte
	if _, err := io.ReadFull(b, dos[:]); err != nil {
		return nil, err
	}
	at := int64(le.Uint32(dos[60:]))
	if string(dos[:2]) != "MZ" || at < 64 || at > 1<<20 {
		return nil, ErrNotUnified
	}
	if _, err := io.CopyN(io.Discard, b, at-b.n); err != nil {
		return nil, err
	}
	var coff [24]byte
	if _, err := io.ReadFull(b, coff[:]); err != nil {
		return nil, err
	}
	n := int(le.Uint16(coff[6:]))
	if string(coff[:4]) != "PE\x00\x00" || n > 96 { // the loader of Windows has that bound
		return nil, ErrNotUnified
	}
	if _, err := io.CopyN(io.Discard, b, int64(le.Uint16(coff[20:]))); err != nil {
		return nil, err
	}
	var all []section
	for range n {
		var h [40]byte
		if _, err := io.ReadFull(b, h[:]); err != nil {
			return nil, err
		}
		virtual, raw := int64(le.Uint32(h[8:])), int64(le.Uint32(h[16:])) // raw is rounded up
		all = append(all, section{string(bytes.TrimRight(h[:8], "\x00")), int64(le.Uint32(h[20:])), min(virtual, raw)})
	}
	sorted.By(all, func(a, b section) int { return int(a.at - b.at) })
	return all, nil
}

// counted knows how far it has read.
type counted struct {
	r io.Reader
	n int64
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}
