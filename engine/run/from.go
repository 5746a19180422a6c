package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"fettle/host"
	"fettle/host/archive"
	"fettle/host/capture"
	"fettle/host/sosreport"
)

// openFrom opens what --from names: a capture or a sosreport, each as a file
// or as an unpacked folder, or a root folder. An archive is unpacked into spool; nil
// makes a file for it. Every error is an Unreadable.
func openFrom(path string, spool *os.File) (host.Source, error) {
	// A large archive takes seconds to read: let the user stop that.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A capture's manifest may be longer than other files that are read.
	t, err := archive.Open(ctx, path, archive.Limits{Member: sosreport.MaxMember, Manifest: capture.ManifestLimit, Spool: spool})
	if err != nil {
		if errors.Is(err, archive.ErrFormat) {
			return nil, unreadable("%s: neither a capture (.tar.zst) nor a sosreport (.tar.xz, .tar.gz) nor a folder of these", path)
		}
		return nil, unreadable("reading --from: %w", err)
	}
	src, err := fromTree(path, t)
	if err != nil {
		t.Close()
		return nil, unreadable("reading --from: %w", err)
	}
	return src, nil
}

func fromTree(path string, t *archive.Tree) (host.Source, error) {
	if capture.Is(t) {
		return capture.FromTree(t)
	}
	if sub, ok := sosreport.Find(t); ok {
		return sosreport.FromTree(sub), nil
	}
	if sub, ok := capture.Find(t); ok {
		return capture.FromTree(sub)
	}
	if i, err := t.Stat("/etc", true); err == nil && i.Mode.IsDir() {
		if st, err := os.Stat(path); err == nil && st.IsDir() {
			t.Close()
			return host.NewRoot(path)
		}
		return nil, fmt.Errorf("%s: an archive of a root folder; unpack it and give fettle the folder with --root", path)
	}
	return nil, fmt.Errorf("%s: contains neither a capture (manifest.json) nor a sosreport (sos_commands) nor a root folder (etc)", path)
}

func unreadable(format string, args ...any) error { return &Unreadable{fmt.Errorf(format, args...)} }
