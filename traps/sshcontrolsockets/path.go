package sshcontrolsockets

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/format/sshconfig"
	"fettle/internal/sorted"
)

// sunPath is the room for the name of a Unix socket, with its last zero byte
// (unix(7)); ssh first binds a name that is longer by a dot and 16 letters
// (mux.c, muxserver_listen).
const (
	sunPath  = 108
	tempName = 17
)

// maxPaths bounds the lines of one user that are judged, each by looking at
// what it names.
const maxPaths = 200

type fault struct {
	severity        trap.Severity
	summary, detail string
}

// faults judges every ControlPath that the user's ssh may take. ev holds the
// lines; err, what could not be looked at.
func (c *client) faults(ctx context.Context, h *host.Host) (all []fault, ev []trap.Evidence, err error) {
	lines := c.lines("controlpath")
	if len(lines) > maxPaths {
		return nil, nil, fmt.Errorf("%s: more than %d lines set ControlPath: %w", c.file(), maxPaths, host.ErrTooBig)
	}
	for _, l := range lines {
		if strings.EqualFold(l.Args[0], "none") {
			continue
		}
		ev = append(ev, trap.Ev(l.Place(), "ControlPath %s", l.Args[0]))
		fs, e, ferr := c.judge(ctx, h, l)
		err = errors.Join(err, ferr)
		ev = append(ev, e...)
		for _, f := range fs {
			if !slices.Contains(all, f) {
				all = append(all, f)
			}
		}
	}
	sorted.By(all, func(a, b fault) int { return int(b.severity - a.severity) })
	return all, ev, err
}

func (c *client) judge(ctx context.Context, h *host.Host, l sshconfig.Line) (fs []fault, ev []trap.Evidence, err error) {
	name := l.Args[0]
	if why := clash(name, l.Block.Single()); why != "" {
		fs = append(fs, fault{trap.Warning, "control sockets clash: " + why,
			"ssh uses whatever connection the socket belongs to. With %C in the name, each host, port and user has a separate socket."})
	}
	full, known := c.expand(name, l)
	// ssh that makes no socket only looks for one: a name that fits is enough,
	// and a missing folder is skipped (OpenSSH 9.2).
	temp := tempName
	if !c.makes() {
		temp = 0
	}
	if known && len(full)+temp+1 > sunPath {
		fs = append(fs, fault{trap.Warning, "control socket names are too long: ssh exits instead of connecting",
			fmt.Sprintf(
				"The name takes %d bytes, and %d while it is created; a Unix socket has room for %d. %%C takes 40 whatever the host is called.",
				len(full),
				len(full)+tempName,
				sunPath-1,
			)})
	}
	dir := path.Dir(full)
	if !known || strings.ContainsAny(dir, "%$") {
		return fs, ev, nil
	}
	if !strings.HasPrefix(full, "/") {
		return append(
			fs,
			fault{
				trap.Notice,
				"control sockets are created in whatever folder ssh is started from",
				"Give ControlPath an absolute name, or one that begins with ~/.",
			},
		), ev, nil
	}
	if !h.Running() && (strings.HasPrefix(dir, "/run") || strings.HasPrefix(dir, "/var/run") || strings.HasPrefix(dir, "/tmp")) {
		return fs, ev, nil // made at boot or login
	}
	st, err := h.Stat(ctx, dir)
	switch {
	case host.IsAbsent(err) && (strings.HasPrefix(dir, "/run/user/") || !c.makes()):
		return fs, ev, nil // there while the user is logged in, or never asked for
	case host.IsAbsent(err):
		return append(fs, fault{trap.Warning, "the folder of control sockets is missing: ssh exits instead of connecting",
			dir + " does not exist, and ssh does not create it."}), append(ev, trap.Ev(dir, "is not there")), nil
	case err != nil:
		return fs, ev, err
	}
	ev = append(ev, trap.Ev("stat "+dir, "mode %04o uid %d", st.Mode.Perm(), st.UID))
	if st.Mode.Perm()&0o022 != 0 || st.UID != c.user.UID && st.UID != 0 {
		fs = append(fs, fault{trap.Warning, "control sockets are in a folder where others can write, and replace them with their own",
			dir + " is not the user's alone. Whoever creates the socket first gets the session (ssh_config(5), ControlPath)."})
	}
	return fs, ev, nil
}

// makes tells whether any line of the user's has ssh make control sockets.
func (c *client) makes() bool {
	return slices.ContainsFunc(c.lines("controlmaster"), func(l sshconfig.Line) bool { return !strings.EqualFold(l.Args[0], "no") })
}

// clash says what two connections may have in common by the name of their
// socket, although they are not the same.
func clash(name string, single bool) string {
	has := func(tokens ...string) bool {
		return slices.ContainsFunc(tokens, func(t string) bool { return strings.Contains(strings.ReplaceAll(name, "%%", ""), t) })
	}
	switch {
	case has("%C") || strings.Contains(name, "${"):
		return ""
	case !has("%h", "%n", "%k") && !single:
		return "all hosts share one name"
	case !has("%r"):
		return "all users of a host share one name"
	case !has("%p") && !single:
		return "all ports of a host share one name"
	}
	return ""
}

// expand replaces the tokens of a ControlPath by texts as long as they can
// be here; known is false where that cannot be told.
func (c *client) expand(name string, l sshconfig.Line) (full string, known bool) {
	if strings.HasPrefix(name, "~/") {
		name = path.Join(c.user.Home, name[2:])
	}
	host := c.longest(l)
	known = !strings.Contains(name, "${") && !strings.HasPrefix(name, "~")
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if name[i] != '%' || i+1 == len(name) {
			b.WriteByte(name[i])
			continue
		}
		i++
		switch name[i] {
		case '%':
			b.WriteByte('%')
		case 'C':
			b.WriteString(strings.Repeat("c", 40)) // SHA-1 in hexadecimal
		case 'd':
			b.WriteString(c.user.Home)
		case 'u', 'r':
			b.WriteString(c.user.Name)
		case 'i':
			b.WriteString(strconv.FormatUint(uint64(c.user.UID), 10))
		case 'p':
			b.WriteString("22")
		case 'h', 'n', 'k':
			b.WriteString(host)
		case 'L', 'l':
			b.WriteString("h") // the client's own name: no shorter than that
		default:
			known = false
		}
	}
	return b.String(), known
}

// longest is the longest host name that the line's block or known_hosts shows.
func (c *client) longest(l sshconfig.Line) string {
	best := "h"
	try := func(s string) {
		if len(s) > len(best) && !strings.ContainsAny(s, "*?!%") {
			best = s
		}
	}
	if l.Block != nil && l.Block.Hosts != nil && !slices.Contains(l.Block.Hosts, "*") {
		for _, s := range l.Block.Hosts {
			try(s)
		}
		return best
	}
	for _, n := range c.known {
		try(n)
	}
	for _, n := range c.lines("hostname") {
		try(n.Args[0])
	}
	return best
}
