package startup

import (
	"context"
	"errors"
	"path"
	"strings"

	"fettle/host"
)

// folders are where systemctl enable makes links, and packages bring them, and what generators
// made at the last start (systemd.unit(5), "Unit File Load Path"). /run/systemd/system is not
// among them: it is empty at the next start.
var folders = []string{"/etc/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system",
	"/run/systemd/generator", "/run/systemd/generator.late", "/run/systemd/generator.early"}

// Pulls are the units that units pull in by links in folders of theirs, by the name of the unit
// that pulls: NAME.wants, NAME.requires and NAME.upholds.
func Pulls(ctx context.Context, h *host.Host) (map[string][]string, error) {
	out := map[string][]string{}
	err := eachEntry(ctx, h, func(dir string, e host.Entry) error {
		ext := path.Ext(e.Name)
		if ext != ".wants" && ext != ".requires" && ext != ".upholds" {
			return nil
		}
		in, err := h.ReadDir(ctx, path.Join(dir, e.Name))
		if err != nil && !host.IsAbsent(err) {
			return err
		}
		by := strings.TrimSuffix(e.Name, ext)
		for _, l := range in {
			out[by] = append(out[by], l.Name)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// eachEntry goes through what is in those folders.
func eachEntry(ctx context.Context, h *host.Host, f func(dir string, e host.Entry) error) error {
	for _, dir := range folders {
		es, err := h.ReadDir(ctx, dir)
		if host.IsAbsent(err) || errors.Is(err, host.ErrNotRunning) { // /run of a root folder
			continue
		}
		if err != nil {
			return err
		}
		for _, e := range es {
			if err := f(dir, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// DefaultTarget is what default.target leads to (systemd.special(7)); on Debian, without a link
// in /etc, that is graphical.target.
func DefaultTarget(ctx context.Context, h *host.Host) (string, error) {
	for _, dir := range []string{"/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"} {
		to, err := h.Readlink(ctx, dir+"/default.target")
		if host.IsAbsent(err) {
			continue
		}
		if err != nil {
			return "", err
		}
		return path.Base(to), nil
	}
	return "graphical.target", nil
}
