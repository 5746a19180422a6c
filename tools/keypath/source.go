// Package keypath finds signature paths between OpenPGP keys: who signed whom,
// from a key that one trusts to a key that one would like to trust.
//
// An index says who claims to have signed whom; it is quick to search and is
// never believed. What is shown as a path has been verified, signature by
// signature, against the keyrings themselves.
package keypath

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"fettle/host/format/openpgp"
)

// maxArmored is how much ASCII armor is held in memory.
const maxArmored = 256 << 20

// maxFiles bounds the files of one folder.
const maxFiles = 1 << 20

// Source is a file with keys.
type Source struct {
	Path    string       `json:"path"`
	Form    openpgp.Form `json:"form"`
	Size    int64        `json:"size"`
	ModTime int64        `json:"mtime"` // nanoseconds
}

// Sources finds the files with keys among paths. Of a folder (a dump, sq's
// store, keys one a file) files of other kinds are passed over.
func Sources(ctx context.Context, paths []string) ([]Source, error) {
	var out []Source
	for _, p := range paths {
		st, err := os.Stat(p)
		if err != nil {
			return nil, fmt.Errorf("keyring %s: %w", p, plain(err))
		}
		if !st.IsDir() {
			s, err := sourceOf(p, st)
			if err != nil {
				return nil, err
			}
			out = append(out, s)
			continue
		}
		in, err := folder(ctx, p)
		if err != nil {
			return nil, err
		}
		out = append(out, in...)
	}
	return out, nil
}

// plain leaves out of a path error what the message around it says.
func plain(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

func sourceOf(path string, st fs.FileInfo) (Source, error) {
	s := Source{Path: path, Size: st.Size(), ModTime: st.ModTime().UnixNano()}
	if !st.Mode().IsRegular() {
		return s, fmt.Errorf("keyring %s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return s, fmt.Errorf("keyring %s: %w", path, plain(err))
	}
	defer f.Close()
	head := make([]byte, 4096)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return s, fmt.Errorf("keyring %s: %w", path, plain(err))
	}
	s.Form = openpgp.FormOf(head[:n])
	if s.Form == openpgp.Unknown {
		return s, fmt.Errorf(
			"%s contains no OpenPGP public keys (expected what gpg --export writes, ASCII-armored or not, or a pubring.kbx)",
			path,
		)
	}
	return s, nil
}

func folder(ctx context.Context, dir string) ([]Source, error) {
	var out []Source
	files := 0
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		if !d.Type().IsRegular() {
			return nil
		}
		if files++; files > maxFiles {
			return fmt.Errorf("more than %d files", maxFiles)
		}
		st, err := d.Info()
		if err != nil {
			return nil // it has just vanished
		}
		if s, err := sourceOf(p, st); err == nil && s.Form != openpgp.Empty {
			out = append(out, s)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("folder %s: %w", dir, err)
	}
	if files == 0 {
		return nil, fmt.Errorf("%s contains no files: expected OpenPGP public keys", dir)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("none of the %d files in %s contains OpenPGP public keys", files, dir)
	}
	return out, nil
}

// opened is a source that is being read. For armored ones offsets count in
// what the armor holds.
type opened struct {
	io.ReaderAt
	spans []openpgp.Span
	close func() error
}

func (s Source) open() (*opened, error) {
	f, err := os.Open(s.Path)
	if err != nil {
		return nil, fmt.Errorf("keyring %s: %w", s.Path, plain(err))
	}
	o := &opened{ReaderAt: f, close: f.Close, spans: []openpgp.Span{{Length: s.Size}}}
	switch s.Form {
	case openpgp.Keybox:
		// Damage in a keybox does not hide the keys before it.
		o.spans, err = openpgp.Keyblocks(f, s.Size)
		if len(o.spans) > 0 {
			err = nil
		}
	case openpgp.Armored:
		var b []byte
		b, err = openpgp.Dearmor(f, maxArmored)
		if len(b) > 0 {
			err = nil // broken armor further on does not hide the keys before it
		}
		f.Close()
		o = &opened{ReaderAt: bytes.NewReader(b), close: func() error { return nil }, spans: []openpgp.Span{{Length: int64(len(b))}}}
	}
	if err != nil {
		o.close()
		return nil, fmt.Errorf("keyring %s: %w", s.Path, err)
	}
	return o, nil
}
