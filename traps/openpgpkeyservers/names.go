package openpgpkeyservers

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"fettle/conf/accounts"
	"fettle/host"
	"fettle/internal/lazy"
	"fettle/trap"
)

// A keyserver as gpg and scripts name it, with what stands before its name.
var nameExpr = lazy.Regexp(`(?i)((?:(?:hkps?|https?|ldaps?)://)?)([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)((?::[0-9]{1,5})?)`)

// deadExpr are the names of keyservers that do not exist any more: those of
// pgp.net, gone since the 2010s; the sks pool, whose names were withdrawn in
// June 2021; keys.gnupg.net, an alias of it.
var deadExpr = lazy.Regexp(`(?i)^(?:(?:[a-z0-9-]+\.)*pgp\.net|(?:[a-z0-9-]+\.)*sks-keyservers\.net|(?:http-)?keys\.gnupg\.net)$`)

// mention is a place where a file names a keyserver.
type mention struct {
	line int
	text string
	host string
	dead bool
}

func hosts(in []mention) (out []string) {
	for _, m := range in {
		if h := strings.ToLower(m.host); !slices.Contains(out, h) {
			out = append(out, h)
		}
	}
	return out
}

// optionExpr is the option in a configuration file or on a command line.
var optionExpr = lazy.Regexp(`(?:^|\s|["'=])(?:--)?keyserver(?:\s+|=)["']?([^\s"';|&)]+)`)

// maxMentions is how many keyservers one file may name.
const maxMentions = 200

// mentions finds the keyservers that a text sets, up to one more than
// maxMentions. Comments don't.
func mentions(text string) (out []mention) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(strings.TrimSpace(line), "#") || len(line) > 4096 {
			continue
		}
		for _, m := range optionExpr().FindAllStringSubmatch(line, 8) {
			if len(out) > maxMentions {
				return out
			}
			if host := nameExpr().FindStringSubmatch(m[1]); host != nil {
				out = append(out, mention{n, strings.TrimSpace(line), host[2], deadExpr().MatchString(host[2])})
			}
		}
	}
	return out
}

// configurations looks at gpg's and dirmngr's files, the system's and each user's.
func configurations(ctx context.Context, h *host.Host, r *trap.Report) (any bool) {
	closed := unread{about: "gpg's configuration"}
	defer func() { any = closed.tell(r) || any }()
	look := func(ctx context.Context, dir string) {
		for _, name := range []string{"gpg.conf", "dirmngr.conf", "options"} {
			file := path.Join(dir, name)
			text, err := h.ReadString(ctx, file)
			switch {
			case host.IsAbsent(err):
				continue
			case err != nil:
				closed.add(err)
				continue
			}
			if m := mentions(text); len(m) > 0 {
				any = true
				judgeNames(r, file, m, "gpg")
			}
		}
	}
	look(ctx, "/etc/gnupg")
	db, err := accounts.Read(ctx, h)
	if err != nil {
		closed.add(err)
		return any
	}
	for _, u := range db.WithHomes() {
		look(host.As(ctx, u.UID), path.Join(u.Home, ".gnupg"))
	}
	return any
}

// scriptFolders hold what runs by itself, and may fetch keys.
var scriptFolders = []string{"/etc/cron.d", "/etc/cron.hourly", "/etc/cron.daily", "/etc/cron.weekly", "/etc/cron.monthly",
	"/etc/profile.d", "/etc/network/if-up.d", "/etc/apt/apt.conf.d", "/etc/init.d"}

var scriptFiles = []string{"/etc/crontab", "/etc/rc.local"}

// maxScript is the longest script that is read.
const maxScript = 256 << 10

// scripts looks for commands that name a keyserver.
func scripts(ctx context.Context, h *host.Host, r *trap.Report) (any bool) {
	closed := unread{about: "scripts"}
	defer func() { any = closed.tell(r) || any }()
	files := slices.Clone(scriptFiles)
	for _, dir := range scriptFolders {
		list, err := h.ReadDir(ctx, dir)
		if err != nil {
			closed.add(err)
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
			closed.add(err)
			continue
		}
		if !strings.Contains(text, "--keyserver") && !strings.Contains(text, "--recv-key") {
			continue
		}
		if m := mentions(text); len(m) > 0 {
			any = true
			judgeNames(r, file, m, "a script")
		}
	}
	return any
}

// alive replaces the dead names in a text by a keyserver's.
func alive(text, keyserver string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") {
			line = optionExpr().ReplaceAllStringFunc(line, func(option string) string {
				name := optionExpr().FindStringSubmatch(option)[1]
				host := nameExpr().FindStringSubmatch(name)
				if host == nil || !deadExpr().MatchString(host[2]) {
					return option
				}
				return strings.TrimSuffix(option, name) + keyserver
			})
		}
		b.WriteString(line)
	}
	return b.String()
}

var keyserverExpr = lazy.Regexp(`^(?:hkps?|https?)://[a-z0-9.-]+(?::[0-9]{1,5})?$`)

// unread collects what could not be read, to tell of it once.
type unread struct {
	about string
	first error
	more  int
}

func (u *unread) add(err error) {
	switch {
	case host.IsAbsent(err):
	case u.first == nil:
		u.first = err
	default:
		u.more++
	}
}

func (u *unread) tell(r *trap.Report) bool {
	switch {
	case u.first == nil:
		return false
	case u.more > 0:
		r.Unknown(u.about, fmt.Errorf("%w; and %d more", u.first, u.more))
	default:
		r.Unknown(u.about, u.first)
	}
	return true
}
