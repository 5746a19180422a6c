package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"fettle/host"
	"fettle/host/archive"
	"fettle/host/capture"
	"fettle/host/sosreport"
	"fettle/host/supportconfig"
)

// openFrom opens what --from names: a capture, a sosreport or a supportconfig, each as
// a file or as an unpacked folder, or a root folder; inside names a folder in the
// archive. An archive is unpacked into spool; nil makes a file for it. Every error is an
// Unreadable.
func openFrom(path, inside string, spool *os.File) (host.Source, error) {
	// A large archive takes seconds to read: let the user stop that.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A capture's manifest may be longer than other files that are read.
	t, err := archive.Open(ctx, path, archive.Limits{Member: sosreport.MaxMember, Manifest: capture.ManifestLimit, Spool: spool})
	if err != nil {
		if errors.Is(err, archive.ErrFormat) {
			return nil, unreadable("%w", notArchive(path))
		}
		return nil, unreadable("reading --from: %w", err)
	}
	src, err := fromTree(path, inside, t)
	if err != nil {
		t.Close()
		return nil, unreadable("reading --from: %w", err)
	}
	return src, nil
}

func fromTree(path, inside string, t *archive.Tree) (host.Source, error) {
	name, sub := path, t
	if inside != "" {
		name = filepath.Join(path, inside)
		var err error
		if sub, err = t.Sub("/" + inside); err != nil {
			return nil, fmt.Errorf("%s contains no folder %s", path, inside)
		}
	}
	if capture.Is(sub) {
		return capture.FromTree(sub)
	}
	if err := known(name, sub); err != nil {
		return nil, err
	}
	switch one, _ := theReport(name, sub); {
	case one.tree != nil && one.kind == isSupportconfig:
		return supportconfig.FromTree(one.tree)
	case one.tree != nil:
		return sosreport.FromTree(one.tree), nil
	}
	if sub, ok := capture.Find(sub); ok {
		return capture.FromTree(sub)
	}
	if st, err := os.Stat(name); err == nil && st.IsDir() {
		t.Close()
		return host.NewRoot(name)
	}
	return nil, fmt.Errorf("%s: an archive of a root folder; unpack it and give fettle the folder with --root", name)
}

// known is nil for a tree that is one host, and else says what was expected.
func known(name string, t *archive.Tree) error {
	one, err := theReport(name, t)
	if err != nil {
		return err
	}
	if _, ok := capture.Find(t); ok || one.tree != nil || rootLike(t) {
		return nil
	}
	return fmt.Errorf("%s contains no capture (manifest.json), sosreport (sos_commands), supportconfig "+
		"(basic-environment.txt) or root folder (etc, usr)%s", name, about(name, t))
}

// look refuses folders that are no host before anything is started: the confined child
// sees no folder above them, and so cannot say which one was meant.
func (t Target) look(ctx context.Context) error {
	dir, flag := t.Root, "--root"
	if dir == "" {
		dir, flag = t.From, "--from"
	}
	if st, err := os.Stat(dir); dir == "" || err != nil || !st.IsDir() {
		return nil
	}
	tree, err := archive.Open(ctx, dir, archive.Limits{})
	if err != nil {
		return unreadable("reading %s: %w", flag, err)
	}
	defer tree.Close()
	switch {
	case t.Root == "":
		if err := known(dir, tree); err != nil {
			return unreadable("reading --from: %w", err)
		}
	case !rootLike(tree):
		return unreadable("--root %s: no root folder of a Linux system: expected one with etc, usr and var, as below /%s", dir, about(dir, tree))
	}
	return nil
}

// FromPath takes apart what --from names: an archive may be followed by the name of
// a folder in it. The path is made absolute and real.
func FromPath(arg string) (file, inside string, err error) {
	abs, err := filepath.Abs(arg)
	if err != nil {
		return "", "", err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err == nil {
		return real, "", nil
	}
	for dir := filepath.Dir(abs); dir != "/" && dir != "."; dir = filepath.Dir(dir) {
		st, serr := os.Stat(dir)
		if serr != nil {
			continue
		}
		if !st.Mode().IsRegular() {
			break
		}
		if file, serr = filepath.EvalSymlinks(dir); serr != nil {
			break
		}
		return file, strings.TrimPrefix(abs[len(dir):], "/"), nil
	}
	return "", "", err
}

func unreadable(format string, args ...any) error { return &Unreadable{fmt.Errorf(format, args...)} }
