package tmpfiles

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
)

// types are the letters that tmpfiles.d(5) knows; settled are those that
// change owner, mode or ACL of what is there.
const (
	types   = "fFwdDevqQpLcbCxXrRzZtThHaAm"
	settled = "fdDevqQzZaA"
)

// parseLine reads one line that is neither empty nor a comment. expand
// replaces specifiers.
func parseLine(s string, expand func(string) (string, error)) (Line, error) {
	var l Line
	var f [6]string // type, path, mode, user, group, age
	n := 0
	for ; n < len(f); n++ {
		w, rest, ok, err := word(s)
		if err != nil {
			return l, err
		}
		if !ok {
			break
		}
		f[n], s = w, rest
	}
	if n < 2 {
		return l, errors.New("a line needs a type and a path")
	}
	if err := l.action(f[0]); err != nil {
		return l, err
	}
	var err error
	if l.Path, err = expand(f[1]); err != nil {
		return l, fmt.Errorf("path: %w", err)
	}
	if !path.IsAbs(l.Path) {
		return l, errors.New("the path is not absolute")
	}
	l.Path = path.Clean(l.Path)
	if l.Mode, err = parseMode(f[2]); err != nil {
		return l, err
	}
	if l.User, err = parseOwner(f[3], expand); err != nil {
		return l, fmt.Errorf("user: %w", err)
	}
	if l.Group, err = parseOwner(f[4], expand); err != nil {
		return l, fmt.Errorf("group: %w", err)
	}
	if f[5] != "-" {
		l.Age = f[5]
	}
	if arg := strings.TrimRight(s, blanks); arg != "" && arg != "-" {
		if l.Argument, err = expand(arg); err != nil {
			return l, fmt.Errorf("argument: %w", err)
		}
	}
	if strings.IndexByte("aAtThH", l.Type) >= 0 && l.Argument == "" {
		return l, fmt.Errorf("a line of type %c needs an argument", l.Type)
	}
	return l, nil
}

func (l *Line) action(s string) error {
	if s == "" || strings.IndexByte(types, s[0]) < 0 {
		return errors.New("unknown type")
	}
	l.Type = s[0]
	l.Supported = strings.IndexByte(settled, l.Type) >= 0
	for _, m := range s[1:] {
		flag, ok := map[rune]*bool{'!': &l.Boot, '+': &l.Append, '-': &l.TryOnly, '=': &l.Replace,
			'~': &l.Base64, '^': &l.Cred, '$': &l.Purge, '?': &l.Question}[m]
		if !ok || *flag {
			return errors.New("the type has an unknown or repeated modifier")
		}
		*flag = true
	}
	return nil
}

func parseMode(s string) (Mode, error) {
	var m Mode
	if s == "" || s == "-" {
		return m, nil
	}
	rest := s
	for rest != "" {
		switch rest[0] {
		case '~':
			m.Masked = true
		case ':':
			m.New = true
		default:
			n, err := strconv.ParseUint(rest, 8, 16)
			if err != nil || n > 0o7777 {
				return m, errors.New("the mode is not an octal number up to 7777")
			}
			m.Set, m.Bits = true, uint32(n)
			return m, nil
		}
		rest = rest[1:]
	}
	return m, errors.New("the mode has no digits")
}

func parseOwner(s string, expand func(string) (string, error)) (Owner, error) {
	var o Owner
	if s == "" || s == "-" {
		return o, nil
	}
	s, o.New = strings.CutPrefix(s, ":")
	name, err := expand(s)
	if name == "" && err == nil {
		err = errors.New("a name is missing")
	}
	o.Name = name
	return o, err
}
