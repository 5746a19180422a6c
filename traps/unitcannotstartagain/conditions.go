package unitcannotstartagain

import (
	"context"
	"path"
	"strings"

	"fettle/host"
	"fettle/host/format/ini"
)

// conditions: systemd skips a unit without a word when one of them is false (systemd.unit(5),
// "Conditions and Asserts"). Only those that ask for files are looked at, and of a service that
// goes on running: a oneshot may well make false what let it run.
func conditions(ctx context.Context, h *host.Host, s *service) (*fault, error) {
	if t := s.Value("Service", "Type"); t == "oneshot" {
		return nil, nil
	}
	for _, kind := range []string{"Condition", "Assert"} {
		f, err := s.group(ctx, h, kind)
		if f != nil || err != nil {
			return f, err
		}
	}
	return nil, nil
}

// tests are the questions about files.
var tests = map[string]func(ctx context.Context, h *host.Host, name string) (bool, error){
	"PathExists": func(ctx context.Context, h *host.Host, name string) (bool, error) { return h.Exists(ctx, name) },
	"PathIsDirectory": func(ctx context.Context, h *host.Host, name string) (bool, error) {
		st, err := h.Stat(ctx, name)
		return st.Mode.IsDir(), unlessAbsent(err)
	},
	"PathExistsGlob": func(ctx context.Context, h *host.Host, name string) (bool, error) {
		if strings.ContainsAny(path.Dir(name), "*?[") {
			return true, nil
		}
		in, err := h.Glob(ctx, path.Dir(name), path.Base(name))
		return len(in) > 0, err
	},
	"FileNotEmpty": func(ctx context.Context, h *host.Host, name string) (bool, error) {
		st, err := h.Stat(ctx, name)
		return st.Mode.IsRegular() && st.Size > 0, unlessAbsent(err)
	},
	"FileIsExecutable": func(ctx context.Context, h *host.Host, name string) (bool, error) {
		st, err := h.Stat(ctx, name)
		return st.Mode.IsRegular() && st.Mode.Perm()&0o111 != 0, unlessAbsent(err)
	},
	"DirectoryNotEmpty": func(ctx context.Context, h *host.Host, name string) (bool, error) {
		in, err := h.ReadDir(ctx, name)
		return len(in) > 0, unlessAbsent(err)
	},
}

func unlessAbsent(err error) error {
	if host.IsAbsent(err) {
		return nil
	}
	return err
}

// group looks at all conditions, or all asserts: each must hold, and of those with "|" one.
func (s *service) group(ctx context.Context, h *host.Host, kind string) (*fault, error) {
	var failed *fault
	var anyOf, one bool
	for _, e := range s.settings(kind) {
		ok, f, err := s.holds(ctx, h, kind, e)
		if err != nil {
			return nil, err
		}
		switch {
		case strings.HasPrefix(e.Value, "|"):
			anyOf, one = true, one || ok
			if !ok {
				failed = f
			}
		case !ok:
			return f, nil
		}
	}
	if anyOf && !one {
		return failed, nil
	}
	return nil, nil
}

// settings are the conditions in force: an empty one takes away all before it.
func (s *service) settings(kind string) []ini.Entry {
	var out []ini.Entry
	for _, e := range s.Entries {
		switch {
		case e.Section != "Unit" || !strings.HasPrefix(e.Key, kind):
		case e.Value == "":
			out = nil
		default:
			out = append(out, e)
		}
	}
	return out
}

// holds evaluates one condition; what nobody can know before the start holds.
func (s *service) holds(ctx context.Context, h *host.Host, kind string, e ini.Entry) (bool, *fault, error) {
	test := tests[strings.TrimPrefix(e.Key, kind)]
	name := strings.TrimPrefix(e.Value, "|")
	name, negated := strings.CutPrefix(name, "!")
	name, known := s.Expand(strings.TrimSpace(name))
	if test == nil || !known || !path.IsAbs(name) || volatile(name) {
		return true, nil, nil
	}
	ok, err := test(ctx, h, name)
	if err != nil || ok != negated {
		return true, nil, err
	}
	f := &fault{name + " is not what " + e.Key + "= asks for",
		"restore " + name + ", or take " + e.Key + "= out of " + e.Path, e.At(), e.Key + "=" + e.Value}
	switch {
	case negated:
		f.says, f.byHand = name+" exists, which "+e.Key+"= forbids", "remove "+name
	case strings.HasSuffix(e.Key, "PathExists"):
		f.says = name + " does not exist, which " + e.Key + "= asks for"
	}
	return false, f, nil
}

// volatile tells whether a path is in a place that the start itself fills.
func volatile(name string) bool {
	for _, top := range []string{"/run/", "/var/run/", "/tmp/", "/dev/", "/proc/", "/sys/"} {
		if strings.HasPrefix(name, top) {
			return true
		}
	}
	return false
}
