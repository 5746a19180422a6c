package sshslowlogin

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/host"
	"fettle/host/format/sshd"
	"fettle/internal/lazy"
)

// dropIn is read before all other files of its folder, so that it wins.
const dropIn = sshd.DropIns + "/00-fettle-slow-login.conf"

// turnOff sets one keyword of sshd to no for all connections.
func (f *facts) turnOff(ctx context.Context, keyword, name, title string, notes ...string) (remedy.Plan, error) {
	s, others, err := f.setting(keyword)
	if err != nil {
		return remedy.Plan{}, err
	}
	e := &edits{ctx: ctx, f: f, files: map[string]*edit{}}
	if s.Is("yes") {
		if !f.sshd.DropIns || !e.addDropIn(keyword, name) {
			if s.Default() {
				e.insert(mainFile, name+" no")
			} else {
				e.replace(s.Place)
			}
		}
	}
	for _, d := range others {
		if len(d.Args) > 0 && strings.EqualFold(d.Args[0], "yes") {
			e.replace(d.Place)
		}
	}
	if e.err != nil {
		return remedy.Plan{}, e.err
	}
	if err := f.only(ctx, e, keyword); err != nil {
		return remedy.Plan{}, err
	}
	p := remedy.Plan{Title: title, CutsConnection: true, Notes: notes}
	unit, err := f.unit(ctx)
	if err != nil {
		return remedy.Plan{}, err
	}
	if unit != "" {
		// A configuration that is broken already must not be blamed on this change.
		p.Steps = append(p.Steps, step.Check{Run: []string{"/usr/sbin/sshd", "-t"}})
	}
	p.Steps = append(p.Steps, e.steps()...)
	if unit != "" {
		p.Steps = append(p.Steps, step.Check{Run: []string{"/usr/sbin/sshd", "-t"}}, step.Unit{Name: unit, Act: "reload"})
		p.Notes = append(p.Notes, "Open connections are not affected.")
	} else {
		p.Notes = append(p.Notes, "sshd is not running: it reads the change when it is started.")
	}
	return p, nil
}

// unit is the unit that runs sshd and can be reloaded; empty when none is
// active, as with socket activation: each connection then reads the files.
func (f *facts) unit(ctx context.Context) (string, error) {
	us, err := f.h.Units(ctx, "ssh.service", "sshd.service")
	if errors.Is(err, host.ErrNoSystemd) {
		return "", remedy.Refuse(
			"this host does not run systemd, so fettle cannot reload sshd: make the change by hand, then sshd -t, then send the main sshd a SIGHUP",
		)
	}
	if errors.Is(err, host.ErrNotRunning) {
		return "", nil
	}
	for _, n := range []string{"ssh.service", "sshd.service"} {
		if us[n].Active() {
			return n, nil
		}
	}
	return "", err
}

// only makes sure that the edits turn the keyword off, and change nothing
// else: not what a second factor needs (keyboard-interactive, UsePAM,
// AuthenticationMethods), in no Match block.
func (f *facts) only(ctx context.Context, e *edits, keyword string) error {
	after, err := sshd.ReadWith(ctx, f.h, e.contents())
	if err != nil {
		return err
	}
	if len(after.Errors) > 0 {
		return fmt.Errorf("the change would break sshd's configuration, which is a bug in fettle: %w", after.Errors[0])
	}
	rest := func(c *sshd.Config) []string {
		var out []string
		for _, l := range c.For(sshd.Conn{}).Dump() {
			if !strings.HasPrefix(l, keyword+" ") {
				out = append(out, l)
			}
		}
		for _, d := range c.Lines {
			if d.Keyword != keyword {
				out = append(out, fmt.Sprint(d.Match, d.Keyword, d.Args))
			}
		}
		return out
	}
	if !slices.Equal(rest(f.sshd), rest(after)) {
		return errors.New("the change would touch other settings of sshd, which is a bug in fettle")
	}
	if !after.For(sshd.Conn{}).Get(keyword).Is("no") || slices.ContainsFunc(after.Settings(keyword), func(d sshd.Directive) bool {
		return !d.Global() && len(d.Args) > 0 && strings.EqualFold(d.Args[0], "yes")
	}) {
		return fmt.Errorf("the change would not turn %s off, which is a bug in fettle", keyword)
	}
	for _, d := range f.sshd.Settings("authenticationmethods") {
		for _, m := range d.Args {
			if method := map[string]string{"gssapiauthentication": "gssapi", "hostbasedauthentication": "hostbased"}[keyword]; method != "" &&
				strings.Contains(m, method) {
				return remedy.Refuse("%s requires it (%s %s): without it, all logins would fail", d.Place, d.Spelling, m)
			}
		}
	}
	return nil
}

// edits collects changes of several files.
type edits struct {
	ctx   context.Context
	f     *facts
	order []string
	files map[string]*edit
	err   error
}

type edit struct {
	was   []byte // nil: a new file
	lines []string
}

func (e *edits) open(name string) *edit {
	if x, ok := e.files[name]; ok {
		return x
	}
	// A package's own file is replaced with the package; and a main file beside
	// it would take the place of all that it says.
	if strings.HasPrefix(name, "/usr/") || name == mainFile && !slices.Contains(e.f.sshd.Files, mainFile) {
		e.err = errors.Join(
			e.err,
			remedy.Refuse("%s belongs to the package: make the setting in a file of %s that it includes", e.f.sshd.Files[0], sshd.DropIns),
		)
	}
	b, err := e.f.h.ReadFile(e.ctx, name)
	if err != nil && !host.IsAbsent(err) {
		e.err = errors.Join(e.err, err)
	}
	x := &edit{was: b}
	if err == nil && b == nil {
		x.was = []byte{}
	}
	for l := range strings.Lines(string(b)) {
		x.lines = append(x.lines, l)
	}
	e.files[name] = x
	e.order = append(e.order, name)
	return x
}

var yes = lazy.Regexp(`(?i)^(\s*[a-z]+(?:\s*=\s*|\s+)["']?)yes\b`)

// replace writes no in place of yes.
func (e *edits) replace(p sshd.Place) {
	x := e.open(p.File)
	if p.Line < 1 || p.Line > len(x.lines) || !yes().MatchString(x.lines[p.Line-1]) {
		e.err = errors.Join(e.err, remedy.Refuse("%s is not of the form that fettle changes: write no there by hand", p))
		return
	}
	x.lines[p.Line-1] = yes().ReplaceAllString(x.lines[p.Line-1], "${1}no")
}

// insert puts a line before all others, so that it is global and the first.
func (e *edits) insert(name, line string) {
	x := e.open(name)
	x.lines = slices.Insert(x.lines, 0, "# Set by fettle (ssh-slow-login).\n", line+"\n")
}

// addDropIn sets the keyword in fettle's own file; false where that would not
// be the first file to set it.
func (e *edits) addDropIn(keyword, name string) bool {
	for _, d := range e.f.sshd.Settings(keyword) {
		if d.Global() && path.Dir(d.File) == sshd.DropIns && d.File < dropIn {
			return false
		}
		if d.File == dropIn {
			return false // changed in its place
		}
	}
	e.insert(dropIn, name+" no")
	return e.err == nil
}

func (e *edits) contents() map[string][]byte {
	out := map[string][]byte{}
	for name, x := range e.files {
		out[name] = []byte(strings.Join(x.lines, ""))
	}
	return out
}

func (e *edits) steps() []step.Step {
	var out []step.Step
	for _, name := range e.order {
		x := e.files[name]
		out = append(out, step.File{Path: name, Was: x.was, Content: []byte(strings.Join(x.lines, ""))})
	}
	return out
}
