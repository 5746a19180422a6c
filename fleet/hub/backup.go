package hub

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/google/renameio/v2"
	"github.com/klauspost/compress/zstd"

	"fettle/fleet/hub/bus"
	"fettle/fleet/hub/store"
)

// restoreLimit bounds a file of a backup, in bytes.
const restoreLimit = 1 << 40

// Backup writes what a hub is: its database as it is at this moment, keys and
// authority. The stream is not in it: agents send again what the database does
// not have.
func Backup(ctx context.Context, dir string, known Known, file string) (err error) {
	out, err := renameio.NewPendingFile(file, renameio.WithPermissions(0o600))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Cleanup()) }()
	z, err := zstd.NewWriter(out)
	if err != nil {
		return err
	}
	w := tar.NewWriter(z)
	for _, name := range append(bus.Files(), RevokedFile, knownFile) {
		if err := addFile(w, filepath.Join(dir, name), name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if known.Database == "" {
		if err := addDatabase(ctx, w, dir, known); err != nil {
			return err
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		return err
	}
	return out.CloseAtomicallyReplace()
}

func addDatabase(ctx context.Context, w *tar.Writer, dir string, known Known) error {
	db, err := store.Open(ctx, known.Where(dir))
	if err != nil {
		return err
	}
	defer db.Close()
	tmp, err := os.MkdirTemp(dir, ".backup-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	snapshot := filepath.Join(tmp, DatabaseFile)
	if err := db.CopyTo(ctx, snapshot); err != nil {
		return err
	}
	return addFile(w, snapshot, DatabaseFile)
}

func addFile(w *tar.Writer, file, name string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: st.Size(), ModTime: time.Now(), Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return err
}

// Restore makes a hub's folder of a backup: one that has nothing of a hub yet. What was
// revoked after the backup is in the list revoked, a file; without one, the hub gets a new
// key to sign with, and no agent is admitted until it joins again.
func Restore(dir, file, revoked string) error {
	if err := requireEmpty(dir); err != nil {
		return err
	}
	var list []store.RevokedKey
	if revoked != "" {
		var err error
		if list, err = readRevoked(revoked); err != nil {
			return err
		}
	}
	if err := OpenDir(dir); err != nil {
		return err
	}
	err := unpack(dir, file)
	if err == nil {
		err = keepOut(dir, list, revoked == "")
	}
	if err == nil {
		err = hand(dir)
	}
	if err != nil {
		// A part of a hub is none, and would be in the way of the next try.
		for _, name := range hubFiles() {
			_ = os.Remove(filepath.Join(dir, name))
		}
		return err
	}
	return nil
}

// keepOut has the restored hub admit nobody who was shut out after the backup.
func keepOut(dir string, list []store.RevokedKey, all bool) error {
	if all {
		return bus.NewSigning(dir)
	}
	file := filepath.Join(dir, RevokedFile)
	had, err := readRevoked(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return writeRevoked(file, merged(had, list))
}

// hubFiles are the files of a hub, but for what NATS keeps. SQLite would take a
// log that is beside a database for that one's own.
func hubFiles() []string {
	out := append(bus.Files(), knownFile, RevokedFile, DatabaseFile)
	for _, suffix := range []string{"-wal", "-shm", "-journal"} {
		out = append(out, DatabaseFile+suffix)
	}
	return out
}

// hand gives what root restored to whose folder it is: the service has a user of
// its own.
func hand(dir string) error {
	st, err := os.Stat(dir)
	if err != nil {
		return err
	}
	owner, ok := st.Sys().(*syscall.Stat_t)
	if !ok || os.Geteuid() != 0 {
		return nil
	}
	for _, name := range hubFiles() {
		if err := os.Lchown(filepath.Join(dir, name), int(owner.Uid), int(owner.Gid)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// requireEmpty refuses a folder that has something of a hub: what is left of another
// one would become a part of the restored one.
func requireEmpty(dir string) error {
	for _, name := range append(hubFiles(), bus.Folder) {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return fmt.Errorf("%s has %s of another hub already: restore into an empty folder, or move this one away", dir, name)
		} else if !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

func unpack(dir, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := zstd.NewReader(f)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	defer z.Close()
	// The file that other verbs go by comes last.
	var known []byte
	r := tar.NewReader(z)
	for {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("%s is no backup of fettle-hub: %w", file, err)
		}
		if h.Name == knownFile {
			if known, err = io.ReadAll(io.LimitReader(r, 1<<20)); err != nil {
				return err
			}
			continue
		}
		if err := restoreFile(r, h, dir); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	if known == nil {
		return fmt.Errorf("%s is no backup of fettle-hub", file)
	}
	return renameio.WriteFile(filepath.Join(dir, knownFile), known, 0o600)
}

func restoreFile(r io.Reader, h *tar.Header, dir string) error {
	ours := h.Name == DatabaseFile || h.Name == RevokedFile
	for _, name := range bus.Files() {
		ours = ours || h.Name == name
	}
	if !ours || h.Typeflag != tar.TypeReg {
		return fmt.Errorf("%.60q is no file of a hub", h.Name)
	}
	out, err := renameio.NewPendingFile(filepath.Join(dir, h.Name), renameio.WithPermissions(0o600))
	if err != nil {
		return err
	}
	defer out.Cleanup()
	if _, err := io.Copy(out, io.LimitReader(r, restoreLimit)); err != nil {
		return err
	}
	return out.CloseAtomicallyReplace()
}
