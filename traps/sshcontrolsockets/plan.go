package sshcontrolsockets

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/format/accounts"
	"fettle/host/format/sshconfig"
	"fettle/internal/lazy"
)

// socket is a name in a folder that ssh itself keeps to the user.
const socket = "~/.ssh/control-%C"

var (
	hostPattern = lazy.Regexp(`^[A-Za-z0-9*?!._:@%/-]+(?: [A-Za-z0-9*?!._:@%/-]+)*$`)
	persistTime = lazy.Regexp(`^(?:yes|no|(?:[0-9]+[smhdwSMHDW]?)+)$`)
)

// plan sets up control sockets for one user, or puts those that he has into ~/.ssh.
func plan(ctx context.Context, h *host.Host, fd trap.Finding) (remedy.Plan, error) {
	db, err := accounts.Read(ctx, h)
	if err != nil {
		return remedy.Plan{}, err
	}
	u, ok := db.User(fd.Subject)
	if !ok {
		return remedy.Plan{}, remedy.Refuse("the user %s no longer exists", fd.Subject)
	}
	c := &client{user: u}
	ctx = host.As(ctx, u.UID)
	folder, err := c.safe(ctx, h)
	if err != nil {
		return remedy.Plan{}, err
	}
	for _, x := range []struct {
		cfg             **sshconfig.Config
		file, dir, home string
	}{{&c.own, c.file(), path.Dir(c.file()), u.Home}, {&c.system, sshconfig.System, "/etc/ssh", "/root"}} {
		if *x.cfg, err = sshconfig.Read(ctx, h, x.file, x.dir, x.home); host.IsAbsent(err) {
			*x.cfg, err = nil, nil
		}
		if err != nil {
			return remedy.Plan{}, err
		}
	}
	if err := c.unseen(); err != nil {
		return remedy.Plan{}, remedy.Refuse("%v", err)
	}
	p := remedy.Plan{Title: "share the SSH connections of " + u.Name}
	if folder.Mode.Perm()&0o022 != 0 {
		p.Steps = append(p.Steps, step.Perm{Path: path.Dir(c.file()), Mode: 0o700, UID: -1, GID: -1})
	}
	p.Notes = []string{
		"Whoever can act as " + u.Name + " on this host can use an open connection without key or password while it lasts.",
		"ssh -O exit HOST ends a shared connection; ssh -o ControlPath=none HOST bypasses it.",
	}
	bad, err := c.bad(ctx, h)
	if err != nil {
		return remedy.Plan{}, err
	}
	if len(bad) > 0 {
		p.Title = "put the control sockets of " + u.Name + " where they are safe"
		steps, err := replaced(ctx, h, c, bad)
		p.Steps = append(p.Steps, steps...)
		return p, err
	}
	for _, cfg := range []*sshconfig.Config{c.own, c.system} {
		if cfg == nil {
			continue
		}
		if l, ok := cfg.Get(fd.Chosen("host"), "controlmaster"); ok { // the first line counts (ssh_config(5))
			return remedy.Plan{}, remedy.Refuse("%s already says ControlMaster %s for %s: change it there", l.Place(), l.Args[0], fd.Chosen("host"))
		}
	}
	steps, err := c.block(ctx, h, fd.Chosen("host"), fd.Chosen("persist"))
	p.Steps = append(p.Steps, steps...)
	return p, err
}

// safe refuses what could not be changed with the user's rights, which is
// what the steps are taken with: ~/.ssh and config are his own, and what they
// seem.
func (c *client) safe(ctx context.Context, h *host.Host) (host.Info, error) {
	dir := path.Dir(c.file())
	st, err := h.Lstat(ctx, dir)
	if host.IsAbsent(err) {
		return st, remedy.Refuse("%s is not there: have the user connect once", dir)
	}
	if err != nil {
		return st, err
	}
	if !st.Mode.IsDir() || st.UID != c.user.UID {
		return st, remedy.Refuse("%s is not a folder of %s's own", dir, c.user.Name)
	}
	f, err := h.Lstat(ctx, c.file())
	if err != nil && !host.IsAbsent(err) {
		return st, err
	}
	if err == nil && (!f.Mode.IsRegular() || f.Nlink != 1 || f.UID != c.user.UID) {
		return st, remedy.Refuse("%s is not a plain file of %s's own: make the change by hand", c.file(), c.user.Name)
	}
	return st, nil
}

// bad lists the lines ControlPath that are at fault.
func (c *client) bad(ctx context.Context, h *host.Host) ([]sshconfig.Line, error) {
	var out []sshconfig.Line
	for _, l := range c.lines("controlpath") {
		if strings.EqualFold(l.Args[0], "none") {
			continue
		}
		fs, _, err := c.judge(ctx, h, l)
		if err != nil {
			return nil, err
		}
		if len(fs) > 0 {
			out = append(out, l)
		}
	}
	return out, nil
}

var controlPath = lazy.Regexp(`(?i)^(\s*controlpath(?:\s*=\s*|\s+))("[^"]*"|\S+)`)

// replaced gives the lines another ControlPath.
func replaced(ctx context.Context, h *host.Host, c *client, bad []sshconfig.Line) ([]step.Step, error) {
	var steps []step.Step
	var files []string
	for _, l := range bad {
		if !slices.Contains(files, l.File) {
			files = append(files, l.File)
		}
	}
	for _, file := range files {
		if file != c.file() && !strings.HasPrefix(file, "/etc/ssh/") {
			return nil, remedy.Refuse("%s is included from elsewhere: write ControlPath %s there by hand", file, socket)
		}
		was, err := h.ReadFile(ctx, file)
		if err != nil {
			return nil, err
		}
		lines := strings.SplitAfter(string(was), "\n")
		for _, l := range bad {
			if l.File != file {
				continue
			}
			if l.Num > len(lines) || !controlPath().MatchString(lines[l.Num-1]) {
				return nil, remedy.Refuse("%s is not of the form that fettle changes: write ControlPath %s there by hand", l.Place(), socket)
			}
			lines[l.Num-1] = controlPath().ReplaceAllString(lines[l.Num-1], "${1}"+socket)
		}
		steps = append(steps, step.File{Path: file, Was: was, Content: []byte(strings.Join(lines, ""))})
	}
	return steps, nil
}

// block adds a Host block at the end, so that what the user decided already
// still comes first.
func (c *client) block(ctx context.Context, h *host.Host, pattern, persist string) ([]step.Step, error) {
	if !hostPattern().MatchString(pattern) {
		return nil, remedy.Refuse("host=%q is not a pattern of host names, as in ssh_config(5)", pattern)
	}
	if !persistTime().MatchString(persist) {
		return nil, remedy.Refuse("persist=%q is not a time, as in ControlPersist", persist)
	}
	was, err := h.ReadFile(ctx, c.file())
	if err != nil && !host.IsAbsent(err) {
		return nil, err
	}
	f := step.File{Path: c.file(), Mode: 0o600}
	text := string(was)
	if err == nil {
		f.Was = append([]byte{}, was...)
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		if text != "" {
			text += "\n"
		}
	}
	f.Content = fmt.Appendf(
		nil,
		"%s# Added by fettle (ssh-control-sockets):\n# commands to one host share a connection.\nHost %s\n    ControlMaster auto\n    "+
			"ControlPath %s\n    ControlPersist %s\n",
		text,
		pattern,
		socket,
		persist,
	)
	return []step.Step{f}, nil // made in his folder, it is his
}
