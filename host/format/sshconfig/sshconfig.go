// Package sshconfig reads configurations of the OpenSSH client, ssh_config(5),
// from files alone. It follows OpenSSH 9.2, readconf.c. Conditions that only a
// running ssh can judge (Match exec, originalhost after CanonicalizeHostname)
// are kept and reported, not guessed.
package sshconfig

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"fettle/host"
	"fettle/host/format/sshd"
)

// System is the configuration for all users, which ssh reads after the user's.
const System = "/etc/ssh/ssh_config"

// Block is a Host or Match line and what follows it.
type Block struct {
	File string
	Line int
	// Hosts are the patterns of a Host line; nil for Match.
	Hosts []string
	// Match is what follows the keyword Match.
	Match string
	outer *Block // the block that includes this one's file
}

// Single reports whether the block is for one name, without wildcards.
func (b *Block) Single() bool {
	return b != nil && len(b.Hosts) == 1 && !strings.ContainsAny(b.Hosts[0], "*?!")
}

// Line is one line that sets something.
type Line struct {
	File    string
	Num     int // from 1
	Keyword string
	Args    []string
	Block   *Block // nil: before the first Host or Match
}

// Place is "/home/alice/.ssh/config:7".
func (l Line) Place() string { return fmt.Sprintf("%s:%d", l.File, l.Num) }

// Config is what the files say.
type Config struct {
	Lines  []Line
	Names  []string // of Host lines, without wildcards, each once
	Errors []*host.SyntaxError
	Unread error // files that could not be looked at
}

const (
	maxDepth = 16
	maxFiles = 500
	maxLines = 20_000 // of all files together
)

// Read reads one file and what it includes. Names in Include that are not
// absolute are below dir: ~/.ssh of the user, or /etc/ssh. home is what ~
// stands for. ErrAbsent: there is no such file.
func Read(ctx context.Context, h *host.Host, name, dir, home string) (*Config, error) {
	b, err := h.ReadFile(ctx, name)
	if err != nil {
		return nil, err
	}
	r := &reader{ctx: ctx, h: h, c: &Config{}, dir: dir, home: home, seen: map[string]bool{}}
	r.file(name, string(b), nil, 0)
	r.c.Unread = errors.Join(r.unread...)
	return r.c, nil
}

type reader struct {
	ctx       context.Context
	h         *host.Host
	c         *Config
	dir, home string
	unread    []error
	files     int
	lines     int
	seen      map[string]bool // names
}

func (r *reader) fail(file string, line int, format string, args ...any) {
	r.c.Errors = append(r.c.Errors, &host.SyntaxError{Path: file, Line: line, Msg: fmt.Sprintf(format, args...)})
}

func (r *reader) file(name, text string, outer *Block, depth int) {
	r.files++
	block := outer
	n := 0
	text, _, _ = strings.Cut(text, "\x00")
	for line := range strings.SplitSeq(text, "\n") {
		n++
		if r.lines++; r.lines > maxLines {
			if r.lines == maxLines+1 {
				r.unread = append(r.unread, fmt.Errorf("%s: more than %d lines: %w", name, maxLines, host.ErrTooBig))
			}
			return
		}
		word, rest := sshd.Keyword(line)
		if word == "" {
			continue
		}
		args, ok := sshd.Split(rest)
		if !ok || len(args) == 0 {
			r.fail(name, n, "no argument after the keyword, or quotes that do not close")
			continue
		}
		switch low := strings.ToLower(word); low {
		case "host":
			block = &Block{File: name, Line: n, Hosts: args, outer: outer}
			r.names(args)
		case "match":
			block = &Block{File: name, Line: n, Match: strings.TrimSpace(rest), outer: outer}
		case "include":
			for _, a := range args {
				r.include(name, n, a, block, depth)
			}
		default:
			r.c.Lines = append(r.c.Lines, Line{name, n, low, args, block})
		}
	}
}

// names notes the hosts that a Host line names.
func (r *reader) names(args []string) {
	for _, a := range args {
		if !strings.ContainsAny(a, "*?!,") && !r.seen[a] {
			r.seen[a] = true
			r.c.Names = append(r.c.Names, a)
		}
	}
}

func (r *reader) include(file string, line int, arg string, block *Block, depth int) {
	switch {
	case strings.HasPrefix(arg, "~/"):
		arg = path.Join(r.home, arg[2:])
	case !strings.HasPrefix(arg, "/"):
		arg = path.Join(r.dir, arg)
	}
	if depth >= maxDepth || r.files >= maxFiles {
		r.fail(file, line, "too many levels of Include, or files")
		return
	}
	names := []string{arg}
	if strings.ContainsAny(arg, "*?[") {
		var err error
		// Wildcards in folders are rare enough to do without.
		if names, err = r.h.Glob(r.ctx, path.Dir(arg), path.Base(arg)); err != nil {
			r.unread = append(r.unread, err)
		}
	}
	for _, name := range names {
		if path.Base(name)[0] == '.' && !strings.HasPrefix(path.Base(arg), ".") {
			continue
		}
		b, err := r.h.ReadFile(r.ctx, name)
		if host.IsAbsent(err) {
			continue
		}
		if err != nil {
			r.unread = append(r.unread, err)
			continue
		}
		r.file(name, string(b), block, depth+1)
	}
}

// Applies reports whether a block counts for the name that was given to ssh. A
// Match block other than "all" and "host": sure is false.
func (b *Block) Applies(name string) (applies, sure bool) {
	if b == nil {
		return true, true
	}
	applies, sure = b.outer.Applies(name)
	if !applies {
		return false, sure
	}
	if b.Hosts != nil {
		return hostList(name, b.Hosts), sure
	}
	f := strings.Fields(strings.ToLower(b.Match))
	switch {
	case len(f) == 1 && f[0] == "all":
		return true, sure
	case len(f) == 2 && (f[0] == "host" || f[0] == "originalhost"):
		return sshd.PatternList(strings.ToLower(name), f[1]) == 1, sure
	}
	return false, false
}

// hostList matches the patterns of a Host line: a negated one that matches
// refuses, whichever else does (readconf.c, oHost).
func hostList(name string, patterns []string) bool {
	got := false
	for _, p := range patterns {
		switch sshd.PatternList(name, p) {
		case -1:
			return false
		case 1:
			got = true
		}
	}
	return got
}

// Get is the first line that sets a keyword for a name, as ssh takes it.
func (c *Config) Get(name, keyword string) (Line, bool) {
	for _, l := range c.Lines {
		if l.Keyword == strings.ToLower(keyword) {
			if ok, _ := l.Block.Applies(name); ok {
				return l, true
			}
		}
	}
	return Line{}, false
}

// All lists the lines that set a keyword, under whatever condition.
func (c *Config) All(keyword string) []Line {
	return slices.DeleteFunc(slices.Clone(c.Lines), func(l Line) bool { return l.Keyword != strings.ToLower(keyword) })
}
