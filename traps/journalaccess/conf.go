package journalaccess

import (
	"context"
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

// readSettings reads journald.conf and its fragments.
func readSettings(ctx context.Context, h *host.Host) (*settings, error) {
	s := &settings{Storage: "auto", SplitMode: "uid"}
	if err := confd.Settings(ctx, h, "systemd/journald.conf", s.parse); err != nil {
		return nil, err
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
