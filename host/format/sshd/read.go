package sshd

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"fettle/host"
)

// maxDepth and maxFiles bound Include: sshd refuses 16 levels (servconf.c,
// SERVCONF_MAX_DEPTH), and a file may include itself several times a level.
const (
	maxDepth = 16
	maxFiles = 1000
)

// Read reads /etc/ssh/sshd_config of h and what it includes, or Vendor in its
// place. ErrAbsent: there is no such file. Lines that sshd would refuse are in
// Errors, files that could not be read in Unread.
func Read(ctx context.Context, h *host.Host) (*Config, error) { return ReadWith(ctx, h, nil) }

// ReadFile is Read of another file (sshd -f).
func ReadFile(ctx context.Context, h *host.Host, name string) (*Config, error) {
	return read(ctx, h, name, nil)
}

// ReadWith is Read of the host as it would be with some files changed or
// added: what a remedy would make of it.
func ReadWith(ctx context.Context, h *host.Host, files map[string][]byte) (*Config, error) {
	c, err := read(ctx, h, Main, files)
	if host.IsAbsent(err) {
		if v, verr := read(ctx, h, Vendor, files); !host.IsAbsent(verr) {
			return v, verr
		}
	}
	return c, err
}

func read(ctx context.Context, h *host.Host, name string, with map[string][]byte) (*Config, error) {
	var err error
	c := &Config{}
	r := &reader{ctx: ctx, h: h, c: c, with: with}
	b, err := r.read(name)
	if err != nil {
		return nil, err
	}
	c.Version, c.Server, err = version(ctx, h)
	if err != nil {
		c.VersionErr = err
	}
	r.file(name, string(b), nil, 0)
	r.commandUsers()
	c.Unread = errors.Join(r.unread...)
	return c, nil
}

// commandUsers: sshd does not start with a command that no user is named for.
// It looks at what holds for everybody.
func (r *reader) commandUsers() {
	for _, name := range []string{"authorizedkeyscommand", "authorizedprincipalscommand"} {
		command, user := r.first(name), r.first(name+"user")
		if command != nil && command.values[0] != "none" && user == nil {
			r.fail(command.Place, "%s is set without %suser", name, name)
		}
	}
}

// first is the first line outside of Match blocks that sets a keyword.
func (r *reader) first(keyword string) *Directive {
	i := slices.IndexFunc(r.c.Lines, func(d Directive) bool { return d.Keyword == keyword && len(d.Match) == 0 })
	if i < 0 {
		return nil
	}
	return &r.c.Lines[i]
}

// servers are the packages that bring sshd, by distribution.
var servers = []string{"openssh-server", "openssh"}

func version(ctx context.Context, h *host.Host) (Version, string, error) {
	var last error
	for _, n := range servers {
		p, err := h.Package(ctx, n)
		if err == nil {
			v, ok := ParseVersion(p.Version)
			if !ok {
				err = fmt.Errorf("package %s has a version that fettle does not understand: %s", n, p.Version)
			}
			return v, n + " " + p.Version, err
		}
		last = err
	}
	return Version{}, "", last
}

type reader struct {
	ctx    context.Context
	h      *host.Host
	c      *Config
	unread []error
	files  int
	names  []string // of subsystems
	// methods: the global part has set AuthenticationMethods.
	methods bool
	with    map[string][]byte // files that stand in for those of the host
}

func (r *reader) read(name string) ([]byte, error) {
	if b, ok := r.with[name]; ok {
		return b, nil
	}
	return r.h.ReadFile(r.ctx, name)
}

// list is the names in a folder.
func (r *reader) list(dir string) ([]string, error) {
	es, err := r.h.ReadDir(r.ctx, dir)
	var out []string
	for _, e := range es {
		out = append(out, e.Name)
	}
	for name := range r.with {
		if path.Dir(name) == dir && !slices.Contains(out, path.Base(name)) {
			out = append(out, path.Base(name))
		}
	}
	return out, err
}

func (r *reader) fail(p Place, format string, args ...any) {
	r.c.Errors = append(r.c.Errors, &host.SyntaxError{Path: p.File, Line: p.Line, Msg: fmt.Sprintf(format, args...)})
}

// file reads one file's lines under the condition of where it is included.
func (r *reader) file(name, text string, outer []*Match, depth int) {
	r.files++
	if !slices.Contains(r.c.Files, name) {
		r.c.Files = append(r.c.Files, name)
	}
	under := outer
	n := 0
	text, _, _ = strings.Cut(text, "\x00") // sshd reads it as a C string
	for line := range strings.SplitSeq(text, "\n") {
		n++
		p := Place{name, n}
		spelling, rest := Keyword(line)
		if spelling == "" {
			continue
		}
		low := strings.ToLower(spelling)
		if rest == "" {
			r.fail(p, "no argument after the keyword")
			continue
		}
		switch low {
		case "match":
			m, err := parseMatch(p, rest)
			if err != nil {
				r.fail(p, "%v", err)
				m = &Match{Place: p, Text: rest, criteria: []criterion{{"never", ""}}}
			}
			under = append(slices.Clip(outer), m)
		case "include":
			args, ok := Split(rest)
			if !ok || len(args) == 0 {
				r.fail(p, "include: quotes do not close, or no file is named")
				continue
			}
			for _, a := range args {
				r.include(p, a, under, depth)
			}
		default:
			r.directive(p, spelling, rest, under)
		}
	}
}

// directive reads one line that sets something.
func (r *reader) directive(p Place, spelling, rest string, under []*Match) {
	d := Directive{Place: p, Spelling: spelling, Match: under}
	low := strings.ToLower(spelling)
	args, ok := Split(rest)
	if !ok {
		r.fail(p, "quotes do not close")
		return
	}
	d.Args = args
	if deprecated[low] {
		d.Keyword, d.Ignored = low, "deprecated: sshd reads it over"
		r.c.Lines = append(r.c.Lines, d)
		return
	}
	k, ok := lookup(spelling)
	if !ok {
		r.fail(p, "unknown keyword")
		return
	}
	d.Keyword = k.name
	if !k.match && slices.ContainsFunc(under, func(m *Match) bool { return !m.All() }) {
		r.fail(p, "%s is not allowed within a Match block", k.name)
		return
	}
	var err error
	d.values, err = k.canonical(args, rest)
	if err == nil && r.c.Version.Before(10, 3) { // later ones may have others
		err = knownAlgorithms(k.name, args[0])
	}
	if err != nil {
		r.fail(p, "%v", err)
		return
	}
	if k.kind == kSubsystem {
		if slices.Contains(r.names, args[0]) {
			if r.c.Version.Before(9, 5) {
				r.fail(p, "a subsystem is defined twice")
			}
			return // the first counts
		}
		r.names = append(r.names, args[0])
	}
	// servconf.c of 9.2 looks at the global list also when it reads a Match block.
	if k.name == "authenticationmethods" && r.c.Version.Before(9, 3) {
		if slices.Contains(args, "any") && r.methods {
			r.fail(p, "authenticationmethods: any must be the only method, and an earlier line names others")
			return
		}
		r.methods = r.methods || len(under) == 0
	}
	r.c.Lines = append(r.c.Lines, d)
}

// include reads the files that a pattern names, in the order of glob(3).
func (r *reader) include(p Place, arg string, under []*Match, depth int) {
	if arg == "" {
		r.fail(p, "include has an empty argument")
		return
	}
	if !strings.HasPrefix(arg, "/") && !strings.HasPrefix(arg, "~") {
		arg = "/etc/ssh/" + arg
	}
	if depth >= maxDepth || r.files >= maxFiles {
		r.fail(p, "too many levels of Include, or files")
		return
	}
	if path.Dir(arg) == DropIns && (p.File == Main || p.File == Vendor) && len(under) == 0 && len(r.c.Lines) == 0 {
		if ok, _ := path.Match(path.Base(arg), dropInName); ok {
			r.c.DropIns = true
		}
	}
	r.c.Includes = true
	for _, name := range r.glob(arg) {
		b, err := r.read(name)
		if err != nil {
			r.unread = append(r.unread, err)
			continue
		}
		r.file(name, string(b), under, depth+1)
	}
}

// glob lists the files of a pattern that may have wildcards in any of its
// parts, sorted byte by byte as glob(3) does in the C locale.
func (r *reader) glob(pattern string) []string {
	found := []string{"/"}
	parts := strings.Split(strings.Trim(path.Clean(pattern), "/"), "/")
	for _, part := range parts {
		var next []string
		for _, dir := range found {
			if !strings.ContainsAny(part, `*?[\`) {
				next = append(next, path.Join(dir, part))
				continue
			}
			names, err := r.list(dir)
			if err != nil && !host.IsAbsent(err) {
				r.unread = append(r.unread, err)
			}
			for _, n := range names {
				if n[0] == '.' && part[0] != '.' {
					continue
				}
				if ok, err := path.Match(strings.ReplaceAll(part, "[!", "[^"), n); ok && err == nil {
					next = append(next, path.Join(dir, n))
				}
			}
		}
		if found = next; len(found) > maxFiles {
			found = found[:maxFiles]
		}
	}
	slices.Sort(found)
	return slices.DeleteFunc(found, func(name string) bool {
		if _, ok := r.with[name]; ok {
			return false
		}
		ok, err := r.h.Exists(r.ctx, name)
		if err != nil {
			r.unread = append(r.unread, err)
		}
		return !ok
	})
}
