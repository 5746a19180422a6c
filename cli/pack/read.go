package pack

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os/exec"
	"strings"

	"fettle/cli/app"
	"fettle/engine/pack"
	"fettle/internal/files"
	"fettle/internal/httpget"
)

// byHub begins what is no file and no URL: the name of a pack that the hub of this host offers.
const byHub = "hub:"

// offered reads a pack, and verifies or installs it.
func offered(ctx context.Context, a *app.App, from string, take func([]byte) (*pack.Pack, error)) (*pack.Pack, error) {
	b, err := read(ctx, a, from)
	if err != nil {
		return nil, err
	}
	p, err := take(b)
	if err != nil {
		return nil, app.Failf("%s: %w", from, err)
	}
	return p, nil
}

// read reads a pack from a file, over https, or from the hub.
func read(ctx context.Context, a *app.App, from string) ([]byte, error) {
	if strings.HasPrefix(from, "http://") {
		return nil, app.Usagef("%s: packs are fetched over https", from)
	}
	if name, ok := strings.CutPrefix(from, byHub); ok {
		return fetch(ctx, a, name)
	}
	if !strings.HasPrefix(from, "https://") {
		b, err := files.ReadAtMost(from, pack.Limit)
		if err != nil {
			return nil, app.Unread(err, "a pack: a file, a URL of https, or hub:NAME")
		}
		return b, nil
	}
	res, err := httpget.Get(ctx, from, httpget.Options{Limit: pack.Limit})
	if err != nil {
		return nil, app.Usagef("%w", err)
	}
	defer res.Body.Close()
	if res.Status != 200 {
		return nil, app.Usagef("%s answers %d %s", from, res.Status, res.Reason)
	}
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, app.Usagef("fetching %s: %w", from, err)
	}
	return b, nil
}

// fetch has fettle-agent, which has joined the hub, fetch a pack. A pack of another name is refused here: the hub is not
// trusted, and who asked for one pack did not mean another.
func fetch(ctx context.Context, a *app.App, name string) ([]byte, error) {
	if err := pack.ValidName(name); err != nil {
		return nil, app.Usagef("%s%s: %w", byHub, name, err)
	}
	bin, err := app.FindAgent()
	if err != nil {
		return nil, app.Failf("%s%s: %w", byHub, name, err)
	}
	c := exec.CommandContext(ctx, bin, "pack", name)
	var got bytes.Buffer
	c.Stdout, c.Stderr = &got, a.Stderr
	err = c.Run()
	var status *exec.ExitError
	switch {
	case errors.As(err, &status) && status.Exited():
		return nil, app.Exit(status.ExitCode(), nil)
	case err != nil:
		return nil, app.Failf("starting %s: %w", bin, err)
	}
	if is := pack.NameOf(got.Bytes()); is != name {
		return nil, app.Failf("%s%s: the hub hands on the pack %q under this name", byHub, name, is)
	}
	return got.Bytes(), nil
}
