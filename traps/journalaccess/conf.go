package journalaccess

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/format/confd"
	"fettle/host/format/ini"
)

// settings is what of journald.conf(5) matters here.
type settings struct {
	Storage   string // auto, persistent, volatile, none
	SplitMode string // uid, none
	Evidence  []trap.Evidence
	Errors    []*host.SyntaxError
}

// readSettings reads journald.conf and its fragments: the first main file of
// /etc, /run, /usr/local/lib and /usr/lib, then the fragments, which count more.
func readSettings(ctx context.Context, h *host.Host) (*settings, error) {
	s := &settings{Storage: "auto", SplitMode: "uid"}
	for _, main := range confd.Dirs("systemd/journald.conf") {
		b, err := h.ReadFile(ctx, main)
		if host.IsAbsent(err) || errors.Is(err, host.ErrNotRunning) { // a root folder has no /run
			continue
		}
		if err != nil {
			return nil, err
		}
		s.parse(main, b)
		break
	}
	files, err := confd.Files(ctx, h, confd.Dirs("systemd/journald.conf.d"), ".conf")
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if f.Null {
			continue
		}
		b, err := h.ReadFile(ctx, f.Path)
		if host.IsAbsent(err) {
			continue // a link that leads nowhere
		}
		if err != nil {
			return nil, err
		}
		s.parse(f.Path, b)
	}
	return s, nil
}

// parse reads one file. What journald ignores with a warning is ignored, and told.
func (s *settings) parse(file string, text []byte) {
	f := ini.Parse(ini.Systemd, file, text)
	for _, e := range f.Entries {
		if e.Section == "Journal" {
			s.set(e.Path, e.Line, e.Key, e.Value)
		}
	}
	for _, err := range f.Errs {
		s.fail(err.Path, err.Line, "%s, and journald ignores it", err.Msg)
	}
}

func (s *settings) set(file string, n int, key, value string) {
	var to *string
	var allowed []string
	switch key {
	case "Storage":
		to, allowed = &s.Storage, []string{"auto", "persistent", "volatile", "none"}
	case "SplitMode":
		to, allowed = &s.SplitMode, []string{"uid", "none", "login"} // login: until systemd 233
	default:
		return
	}
	for _, a := range allowed {
		if value == a {
			*to = value
			s.Evidence = append(s.Evidence, trap.Ev(fmt.Sprintf("%s:%d", file, n), "%s=%s", key, value))
			return
		}
	}
	s.fail(file, n, "%s is not one of %s, and journald ignores it", key, strings.Join(allowed, ", "))
}

func (s *settings) fail(file string, line int, format string, args ...any) {
	s.Errors = append(s.Errors, &host.SyntaxError{Path: file, Line: line, Msg: fmt.Sprintf(format, args...)})
}
