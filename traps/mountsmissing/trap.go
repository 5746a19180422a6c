// Package mountsmissing finds file systems that fstab or a mount unit
// configures, and that are not mounted.
package mountsmissing

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/fact/container"
	"fettle/host/fact/mount"
	"fettle/host/format/fstab"
	"fettle/internal/units"
)

//go:embed lore.md
var lore trap.Lore

// Trap is mounts-missing.
var Trap = trap.Trap{Lore: lore, Cost: trap.Instant, Check: check, Plan: plan}

// wanted is a mount that is to be there.
type wanted struct {
	fstab.Entry
	where string // the line or the file that says so
}

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	if !h.Running() {
		return host.ErrNotRunning
	}
	if c := container.Of(ctx, h); c != "" {
		r.NotApplicable("", "the container engine mounts its file systems")
		return nil
	}
	all, err := configured(ctx, h)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		r.NotApplicable("", "no file system is configured to be mounted at boot")
		return nil
	}
	mounted, err := mounts(ctx, h)
	if err != nil {
		return err
	}
	for _, w := range all {
		f, missing, err := judge(ctx, h, w, mounted)
		switch {
		case err != nil:
			r.Unknown(w.Mount, err)
		case missing:
			r.Found(f)
		default:
			r.Clear(w.Mount, "is mounted, or need not be", trap.Ev(w.where, "%s", w.Entry))
		}
	}
	return nil
}

// ofKernel are file systems that are the kernel's own: systemd mounts them by itself.
var ofKernel = []string{
	"proc",
	"sysfs",
	"devpts",
	"devtmpfs",
	"securityfs",
	"debugfs",
	"tracefs",
	"cgroup",
	"cgroup2",
	"pstore",
	"efivarfs",
	"bpf",
	"mqueue",
	"hugetlbfs",
	"configfs",
	"fusectl",
	"binfmt_misc",
	"usbfs",
	"selinuxfs",
	"rpc_pipefs",
	"nfsd",
}

// configured lists what is to be mounted at boot.
func configured(ctx context.Context, h *host.Host) ([]wanted, error) {
	entries, err := fstab.Read(ctx, h)
	if err != nil {
		return nil, err
	}
	var out []wanted
	for _, e := range entries {
		if !strings.HasPrefix(e.Mount, "/") || e.Mount == "/" || e.Type == "swap" || e.Type == "none" && !has(e, "bind", "rbind") ||
			e.Type == "ignore" ||
			slices.Contains(ofKernel, e.Type) ||
			has(e, "noauto", "x-systemd.automount", "comment=systemd.automount", "x-initrd.mount") {
			continue
		}
		e.Mount = path.Clean(e.Mount)
		out = append(out, wanted{e, fmt.Sprintf("%s:%d", fstab.File, e.Line)})
	}
	more, err := mountUnits(ctx, h)
	return append(out, more...), err
}

func has(e fstab.Entry, options ...string) bool {
	return slices.ContainsFunc(e.Options, func(o string) bool { return slices.Contains(options, o) })
}

// wantsDirs are where systemctl enable links mount units.
var wantsDirs = []string{
	"/etc/systemd/system/local-fs.target.wants",
	"/etc/systemd/system/remote-fs.target.wants",
	"/etc/systemd/system/multi-user.target.wants",
	"/etc/systemd/system/local-fs.target.requires",
}

// mountUnits are the enabled mount units that an admin wrote.
func mountUnits(ctx context.Context, h *host.Host) ([]wanted, error) {
	var out []wanted
	for _, dir := range wantsDirs {
		links, err := h.Glob(ctx, dir, "*.mount")
		if err != nil {
			return nil, err
		}
		for _, l := range links {
			file := "/etc/systemd/system/" + path.Base(l)
			b, err := h.ReadFile(ctx, file)
			if host.IsAbsent(err) {
				continue // of a package: it knows when
			}
			if err != nil {
				return nil, err
			}
			e := fstab.Entry{Options: []string{"defaults"}, Type: "auto"}
			for line := range strings.Lines(string(b)) {
				k, v, _ := strings.Cut(strings.TrimSpace(line), "=")
				switch v = strings.TrimSpace(v); strings.TrimSpace(k) {
				case "What":
					e.Device = v
				case "Where":
					e.Mount = path.Clean(v)
				case "Type":
					e.Type = v
				case "Options":
					e.Options = strings.Split(v, ",")
				}
			}
			if strings.HasPrefix(e.Mount, "/") && !strings.Contains(e.Mount+e.Device, "%") {
				out = append(out, wanted{e, file})
			}
		}
	}
	return out, nil
}

// mounts are the folders on which something is mounted.
func mounts(ctx context.Context, h *host.Host) (map[string]bool, error) {
	all, err := h.Filesystems(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for _, f := range all {
		out[path.Clean(f.Mount)] = true
	}
	return out, nil
}

// judge tells whether a mount is missing that ought to be there.
func judge(ctx context.Context, h *host.Host, w wanted, mounted map[string]bool) (trap.Finding, bool, error) {
	real, err := resolve(ctx, h, w.Mount)
	if mounted[w.Mount] || mounted[real] {
		return trap.Finding{}, false, nil
	}
	if err != nil {
		return trap.Finding{}, false, err
	}
	us, err := h.Units(ctx, mount.Unit(w.Mount))
	if err != nil && !errors.Is(err, host.ErrNoSystemd) && !errors.Is(err, host.ErrNoCommand) {
		return trap.Finding{}, false, err
	}
	if u := us[mount.Unit(w.Mount)]; u.LoadState == "masked" || u.ActiveState == "activating" {
		return trap.Finding{}, false, nil
	}
	f := trap.Finding{
		Subject:  w.Mount,
		Severity: trap.Warning,
		Summary:  "is configured but not mounted: files written there go to the file system below",
		Evidence: []trap.Evidence{trap.Ev(w.where, "%s", w.Entry), trap.Ev("mounts", "nothing on %s", real)},
	}
	know := facts{Unit: mount.Unit(w.Mount)}
	dev := fstab.Device(w.Device)
	unplugged := false
	switch {
	case dev == "" && has(w.Entry, "nofail"):
		f.Severity = trap.Notice
	case dev != "":
		there, err := h.Exists(ctx, dev)
		switch {
		case err != nil:
			return f, false, err
		case !there:
			unplugged = has(w.Entry, "nofail")
			f.Evidence = append(f.Evidence, trap.Ev(dev, "does not exist"))
			f.ByHand = "blkid lists the devices; fix " + w.where + ", then mount " + w.Mount
		}
	}
	files, err := written(ctx, h, real, mounted)
	if unplugged && (err != nil || len(files) == 0) {
		return f, false, err // a disk that is not plugged in, and nobody took its folder for it
	}
	if know.Below = len(files); know.Below > 0 {
		f.Detail = "the folder has entries, which a mount would hide"
		f.Evidence = append(f.Evidence, trap.Ev(real, "%s, the first is %s", units.Count(len(files), "entry", "entries"), files[0].Name))
		if f.ByHand == "" {
			f.ByHand = "stop what writes to " + w.Mount + ", move its files away, mount it, and copy back what is wanted"
		}
	}
	f.Facts = trap.FactsOf(know)
	return f, true, nil
}

// written are the entries of a folder that somebody wrote there: neither hidden ones, nor
// folders that are empty, or that something else is mounted on.
func written(ctx context.Context, h *host.Host, dir string, mounted map[string]bool) ([]host.Entry, error) {
	es, err := h.ReadDir(ctx, dir)
	if host.IsAbsent(err) {
		return nil, nil
	}
	var out []host.Entry
	for _, e := range es {
		if e.Name == "lost+found" || strings.HasPrefix(e.Name, ".") || mounted[path.Join(dir, e.Name)] {
			continue
		}
		if e.Type.IsDir() && len(out) == 0 { // later ones only add to the count
			in, err := h.ReadDir(ctx, path.Join(dir, e.Name))
			if err == nil && len(in) == 0 {
				continue
			}
			if err != nil && !host.IsAbsent(err) {
				return nil, err
			}
		}
		out = append(out, e)
	}
	return out, err
}

// resolve follows the symlinks of a folder's name; the error says that there may be one that is not known.
func resolve(ctx context.Context, h *host.Host, name string) (string, error) {
	var unread error
	todo := strings.Split(strings.Trim(name, "/"), "/")
	at := "/"
	for links := 0; len(todo) > 0; {
		next := path.Join(at, todo[0])
		todo = todo[1:]
		to, err := h.Readlink(ctx, next)
		if err != nil {
			if host.IsWithheld(err) {
				unread = cmp.Or(unread, err)
			}
			at = next
			continue
		}
		if links++; links > 20 {
			return name, nil
		}
		if path.IsAbs(to) {
			at = "/"
		}
		todo = append(strings.Split(strings.Trim(to, "/"), "/"), todo...)
	}
	return at, unread
}
