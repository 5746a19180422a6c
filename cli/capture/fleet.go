package capture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/google/renameio/v2"

	"fettle/cli/app"
	"fettle/fleet"
	"fettle/internal/lazy"
	"fettle/internal/ui"
)

// maxCapture is the most that is taken from one host, in bytes.
const maxCapture = 2 << 30

// captureFleet is capture on other hosts: one file a host, in the folder that
// -o names. A host that fails leaves no file behind.
func captureFleet(ctx context.Context, a *app.App, o captureOptions, ids []string) error {
	switch {
	case o.root != "":
		return app.Usagef("--host captures running hosts: it does not go with --root")
	case o.keyFile != "":
		return app.Usagef("--redact-key does not go with --host: the key would have to be sent; capture without --redact here, and redact what is passed on")
	}
	dir := o.file
	if dir == "" {
		dir = "."
	}
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return app.Usagef("-o %s: with --host this is a folder that is there", dir)
	}
	if _, err := a.Find(ids); err != nil {
		return err
	}
	hosts, err := o.fleet.List(a.Stdin)
	if err != nil {
		return err
	}
	f, err := fleet.Open(o.fleet.Options)
	if err != nil {
		return app.Usagef("%w", err)
	}
	defer f.Close()
	args := append([]string{"capture", "--output=-"}, ids...)
	if o.network {
		args = append(args, "--network")
	}
	if o.redact {
		args = append(args, "--redact")
	}
	stamp := time.Now().UTC().Format("20060102T150405Z")
	var mu sync.Mutex
	failed := 0
	f.Each(ctx, hosts, func(ctx context.Context, host string) {
		name := filepath.Join(dir, fileName(host)+"-"+stamp+".tar.zst")
		size, err := captureOne(ctx, f, host, args, name)
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			failed++
			fmt.Fprintln(a.Stderr, ui.Visible("fettle: "+err.Error()))
			return
		}
		fmt.Fprintf(a.Stdout, "%s: wrote %s: %d bytes\n", host, name, size)
	})
	if failed > 0 {
		return app.Failf("%d of %d hosts gave no capture", failed, len(hosts))
	}
	return nil
}

func captureOne(ctx context.Context, f *fleet.Fleet, host string, args []string, name string) (int64, error) {
	file, err := renameio.NewPendingFile(name, renameio.WithStaticPermissions(0o600)) // it shows much of a host
	if err != nil {
		return 0, err
	}
	defer file.Cleanup()
	w := &archiveWriter{w: file}
	exit, errs, err := f.Run(ctx, host, args, w)
	switch {
	case w.err != nil:
		return 0, fmt.Errorf("%s: %w", host, w.err)
	case err != nil:
		return 0, err
	case exit != 0:
		return 0, fmt.Errorf("%s: capturing there: exit status %d: %s", host, exit, strings.Join(strings.Fields(errs), " "))
	case w.n == 0:
		return 0, fmt.Errorf("%s: no capture came back", host)
	}
	return w.n, file.CloseAtomicallyReplace()
}

// archiveWriter passes a zstd stream on, and drops what a login shell printed before it.
type archiveWriter struct {
	w    io.Writer
	head []byte
	n    int64
	err  error
}

var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd} // RFC 8878 §3.1.1

func (a *archiveWriter) Write(p []byte) (int, error) {
	size := len(p)
	if a.err != nil {
		return 0, a.err
	}
	if a.n == 0 {
		a.head = append(a.head, p...)
		i := bytes.Index(a.head, zstdMagic)
		if i < 0 {
			if len(a.head) > 64<<10 {
				a.err = errors.New("what came back is no capture")
			}
			return size, a.err
		}
		p, a.head = a.head[i:], nil
	}
	if a.n += int64(len(p)); a.n > maxCapture {
		a.err = fmt.Errorf("the capture is larger than %d bytes", int64(maxCapture))
		return 0, a.err
	}
	if _, a.err = a.w.Write(p); a.err != nil {
		return 0, a.err
	}
	return size, nil
}

var unfit = lazy.Regexp(`[^A-Za-z0-9._@-]+`)

// fileName makes a host's name fit for a file's.
func fileName(host string) string {
	return strings.TrimLeft(unfit().ReplaceAllString(host, "_"), ".")
}
