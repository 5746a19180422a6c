package keyservers

import (
	"context"
	"path"
	"slices"
	"strings"

	"fettle/host"
	"fettle/host/format/accounts"
)

// File is a file that names keyservers.
type File struct {
	Path     string
	Mentions []Mention
}

// Configured are gpg's and dirmngr's files, the system's and each user's, that an
// installed GnuPG reads. missed is called with what could not be read.
func Configured(ctx context.Context, h *host.Host, missed func(error)) (out []File) {
	versions := installed(ctx, h, missed)
	look := func(ctx context.Context, dir string, names []string) {
		for _, name := range names {
			file := path.Join(dir, name)
			text, err := h.ReadString(ctx, file)
			if err != nil {
				missed(err)
				continue
			}
			if m := Find(text); len(m) > 0 {
				out = append(out, File{file, m})
			}
		}
	}
	if slices.ContainsFunc(versions, func(v version) bool { return v.reads().system }) {
		look(ctx, "/etc/gnupg", []string{"gpg.conf", "dirmngr.conf"})
	}
	db, err := accounts.Read(ctx, h)
	if err != nil {
		missed(err)
		return out
	}
	for _, u := range db.WithHomes() {
		as, dir := host.As(ctx, u.UID), path.Join(u.Home, ".gnupg")
		look(as, dir, used(as, h, dir, versions))
	}
	return out
}

// scriptFolders hold what runs by itself, and may fetch keys.
var scriptFolders = []string{"/etc/cron.d", "/etc/cron.hourly", "/etc/cron.daily", "/etc/cron.weekly", "/etc/cron.monthly",
	"/etc/profile.d", "/etc/network/if-up.d", "/etc/apt/apt.conf.d", "/etc/init.d"}

var scriptFiles = []string{"/etc/crontab", "/etc/rc.local"}

// maxScript is the longest script that is read.
const maxScript = 256 << 10

// Scripts are those of the system with commands that name a keyserver. missed is
// told what could not be read.
func Scripts(ctx context.Context, h *host.Host, missed func(error)) (out []File) {
	files := slices.Clone(scriptFiles)
	for _, dir := range scriptFolders {
		list, err := h.ReadDir(ctx, dir)
		if err != nil {
			missed(err)
			continue
		}
		for _, e := range list {
			if e.Type.IsRegular() && !strings.HasPrefix(e.Name, ".") {
				files = append(files, path.Join(dir, e.Name))
			}
		}
	}
	for _, file := range files {
		if st, err := h.Stat(ctx, file); err == nil && st.Size > maxScript {
			continue
		}
		text, err := h.ReadString(ctx, file)
		if err != nil {
			missed(err)
			continue
		}
		if !strings.Contains(text, "--keyserver") && !strings.Contains(text, "--recv-key") {
			continue
		}
		if m := Find(text); len(m) > 0 {
			out = append(out, File{file, m})
		}
	}
	return out
}
