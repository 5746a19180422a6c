package udev

import (
	"context"
	"errors"

	"fettle/host"
	"fettle/host/format/confd"
)

// Rules are all rules of a host, in the order in which udev takes them.
type Rules struct {
	Rules []Rule
	// Errs are lines that udev ignores.
	Errs []*host.SyntaxError
	// Err joins the folders and files that nobody could look at.
	Err error
}

// dirs are udev's folders, the one that counts most first (udev(7), RULES FILES);
// before the merge of /usr, /lib is another folder than /usr/lib.
func dirs() []string { return append(confd.Dirs("udev/rules.d"), "/lib/udev/rules.d") }

// maxRules bounds what is kept of one host.
const maxRules = 100_000

// Read reads the rules of a host.
func Read(ctx context.Context, h *host.Host) *Rules {
	return ReadSome(ctx, h, func(string) bool { return true })
}

// ReadSome is Read of the files whose paths are wanted. A file that another one of
// its name takes the place of is in neither.
func ReadSome(ctx context.Context, h *host.Host, wanted func(path string) bool) *Rules {
	r := &Rules{}
	files, err := confd.Files(ctx, h, dirs(), ".rules")
	errs := []error{err}
	for _, f := range files {
		if f.Null || !wanted(f.Path) {
			continue
		}
		b, err := h.ReadFile(ctx, f.Path)
		if err != nil {
			if !host.IsAbsent(err) {
				errs = append(errs, err)
			}
			continue
		}
		rules, bad := Parse(f.Path, b)
		if r.Errs = append(r.Errs, bad...); len(r.Rules)+len(rules) > maxRules {
			errs = append(errs, errors.New("more than 100,000 udev rules: the rest was not read"))
			break
		}
		r.Rules = append(r.Rules, rules...)
	}
	r.Err = errors.Join(errs...)
	return r
}
