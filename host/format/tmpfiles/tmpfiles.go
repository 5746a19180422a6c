// Package tmpfiles reads tmpfiles.d(5): what systemd-tmpfiles creates and adjusts at boot, and
// what it would do to an existing file.
package tmpfiles

import (
	"context"
	"errors"
	"strings"

	"fettle/host"
	"fettle/host/format/confd"
)

// Line is one line that would be acted on.
type Line struct {
	File string
	Num  int
	Type byte // 'd', 'z', 'a', …: the first letter
	// The modifiers after it.
	Boot      bool // !  only at boot
	Append    bool // +  also: force, of f, L, …
	TryOnly   bool // -  failure is tolerated
	Replace   bool // =  removes what is of another type
	Base64    bool // ~
	Cred      bool // ^
	Purge     bool // $  systemd 256 and newer
	Question  bool // ?  systemd 257 and newer, of L
	Path      string
	Mode      Mode
	User      Owner
	Group     Owner
	Age       string
	Argument  string // specifiers expanded
	Supported bool   // the type is one that Settle understands
}

// Mode is the third field.
type Mode struct {
	Set    bool
	Bits   uint32 // as in chmod(2)
	Masked bool   // ~: bits that the file lacks for everybody are not added
	New    bool   // :: only of what is created
}

// Owner is the fourth or fifth field: a name or a number; "" leaves it.
type Owner struct {
	Name string
	New  bool // :: only of what is created
}

// Config is all that a host's fragments say.
type Config struct {
	Lines []Line // in the order in which they are read
	// Files that count; Null ones mask others.
	Files []confd.File
	// Errors are lines that systemd-tmpfiles would complain of and leave out.
	Errors []*host.SyntaxError
	// Skipped are lines with a specifier (%b, %m) that this host's files and
	// state did not answer: whether they count is not known.
	Skipped []*host.SyntaxError
	// Unread is set when folders or files could not be looked at; then a line
	// that is not there may still be.
	Unread error
}

// Read reads all fragments of h.
func Read(ctx context.Context, h *host.Host) *Config {
	c := &Config{}
	var errs []error
	var err error
	c.Files, err = confd.Files(ctx, h, confd.Dirs("tmpfiles.d"), ".conf")
	errs = append(errs, err)
	spec := &specifiers{ctx: ctx, h: h}
	for _, f := range c.Files {
		if f.Null {
			continue
		}
		b, err := h.ReadFile(ctx, f.Path)
		if host.IsAbsent(err) {
			continue // a link that leads nowhere hides others and says nothing
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		c.parse(f.Path, string(b), spec.expand)
	}
	c.Unread = errors.Join(errs...)
	return c
}

// Parse reads the text of one fragment as it would read on h.
func Parse(ctx context.Context, h *host.Host, file, text string) *Config {
	c := &Config{}
	c.parse(file, text, (&specifiers{ctx: ctx, h: h}).expand)
	return c
}

// parse reads one fragment.
func (c *Config) parse(file, text string, expand func(string) (string, error)) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.Trim(line, blanks)
		if line == "" || line[0] == '#' {
			continue
		}
		l, err := parseLine(line, expand)
		var unanswered *unanswered
		switch {
		case errors.As(err, &unanswered):
			c.Skipped = append(c.Skipped, &host.SyntaxError{Path: file, Line: n, Msg: err.Error()})
		case err != nil:
			c.Errors = append(c.Errors, &host.SyntaxError{Path: file, Line: n, Msg: err.Error()})
		default:
			l.File, l.Num = file, n
			c.Lines = append(c.Lines, l)
		}
	}
}
