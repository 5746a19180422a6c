package capture

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"fettle/cli/app"
	"fettle/internal/lazy"
	"fettle/internal/ui"
)

// captureFleet is capture on other hosts: one file a host, in the folder that
// -o names. A host that fails leaves no file behind.
func captureFleet(ctx context.Context, a *app.App, o captureOptions, ids []string) error {
	switch {
	case o.root != "":
		return app.Usagef("--host captures running hosts: it does not go with --root")
	case o.keyFile != "":
		return app.Usagef(
			"--redact-key cannot be used with --host: the key would have to be sent; capture without --redact here, and redact what is passed on",
		)
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
	hosts, f, err := o.fleet.Open(ctx, a.Stdin)
	if err != nil {
		return err
	}
	defer f.Close()
	args := slices.Clone(ids)
	if o.network {
		args = append(args, "--network")
	}
	if o.limit > 0 {
		args = append(args, "--limit="+o.limit.String())
	}
	if o.redact {
		args = append(args, "--redact")
	}
	stamp := time.Now().UTC().Format("20060102T150405Z")
	var mu sync.Mutex
	failed := 0
	f.Each(ctx, hosts, func(ctx context.Context, host string) {
		name := filepath.Join(dir, fileName(host)+"-"+stamp+".tar.zst")
		size, err := f.Capture(ctx, host, args, name)
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

var unfit = lazy.Regexp(`[^A-Za-z0-9._@-]+`)

// fileName makes a host's name fit for a file's.
func fileName(host string) string {
	return strings.TrimLeft(unfit().ReplaceAllString(host, "_"), ".")
}
