package park

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// Expected is what a host's looks must come to.
type Expected struct {
	Found   []Expectation `yaml:"found"`
	Clear   []Expectation `yaml:"clear"`
	Unknown []Expectation `yaml:"unknown"`
	Why     []Expectation `yaml:"why"` // what fettle why makes of its journal
}

// Expectation allows one outcome, and says why it is right.
type Expectation struct {
	Trap     string   `yaml:"trap"`     // may be a pattern, as path.Match takes it
	On       string   `yaml:"on"`       // subject, or a pattern; "" is every subject
	Severity string   `yaml:"severity"` // of what is found
	In       []string `yaml:"in"`       // the looks that it is for; none: all
	Why      string   `yaml:"why"`
}

// looks are the ways of looking at a host.
var looks = []string{"container", "machine", "inside", "sosreport", "sosreport-3"}

// Expectations reads what a host must come to: its own file, and what every
// host has in common.
func Expectations(dir fs.FS, host string) (own, common Expected, err error) {
	own, err = readExpected(dir, host+".yaml")
	if err != nil {
		return own, common, err
	}
	common, err = readExpected(dir, "common.yaml")
	return own, common, err
}

func readExpected(dir fs.FS, file string) (Expected, error) {
	var e Expected
	b, err := fs.ReadFile(dir, file)
	if err != nil {
		return e, err
	}
	if err := yaml.UnmarshalWithOptions(b, &e, yaml.Strict()); err != nil {
		return e, fmt.Errorf("%s: %w", file, err)
	}
	for _, x := range slices.Concat(e.Found, e.Clear, e.Unknown, e.Why) {
		if x.Trap == "" || x.Why == "" {
			return e, fmt.Errorf("%s: %q: trap and why are both needed", file, x.Trap)
		}
		for _, l := range x.In {
			if !slices.Contains(looks, l) {
				return e, fmt.Errorf("%s: %s: there is no look %q", file, x.Trap, l)
			}
		}
	}
	return e, nil
}

func (x Expectation) covers(look string, o Outcome) bool {
	if len(x.In) > 0 && !slices.Contains(x.In, look) || x.Severity != o.Severity {
		return false
	}
	return like(x.Trap, o.Trap) && (x.On == "" || like(x.On, o.Subject))
}

// like tells whether s is the name, or fits it as a pattern of path.Match.
func like(name, s string) bool {
	ok, err := path.Match(name, s)
	return name == s || err == nil && ok
}

// Judge compares one look with what is expected of it. The error names every
// outcome that nobody justified, and every finding that did not come.
func Judge(look string, all []Outcome, own, common Expected) error {
	var errs []error
	lists := map[string][]Expectation{
		"found":   append(own.Found, common.Found...),
		"clear":   append(own.Clear, common.Clear...),
		"unknown": append(own.Unknown, common.Unknown...),
	}
	for _, o := range all {
		list, judged := lists[o.Status]
		if judged && !slices.ContainsFunc(list, func(x Expectation) bool { return x.covers(look, o) }) {
			errs = append(
				errs,
				fmt.Errorf(
					"%s: - {trap: %s, on: %q, severity: %q, in: [%s], why: } # %s%s",
					o.Status,
					o.Trap,
					o.Subject,
					o.Severity,
					look,
					o.Summary,
					o.Reason,
				),
			)
		}
	}
	for _, x := range own.Found {
		if len(x.In) == 0 || slices.Contains(x.In, look) {
			errs = append(errs, met(look, x, all, lists["unknown"]))
		}
	}
	return errors.Join(errs...)
}

// met tells whether an expected finding came, or could not be seen for a
// reason that is expected as well.
func met(look string, x Expectation, all []Outcome, unknown []Expectation) error {
	for _, o := range all {
		if o.Status == "found" && x.covers(look, o) {
			return nil
		}
		if o.Status == "unknown" && o.Trap == x.Trap && slices.ContainsFunc(unknown, func(u Expectation) bool { return u.covers(look, o) }) {
			return nil
		}
	}
	return fmt.Errorf("not found: %s on %q, severity %s", x.Trap, x.On, x.Severity)
}

// Same compares a replay with the look that it is a capture of.
func Same(live, replay []Outcome) error {
	var errs []error
	for _, o := range live {
		if !slices.ContainsFunc(replay, func(p Outcome) bool { return agree(o, p) }) {
			errs = append(errs, fmt.Errorf("the replay lacks: %s on %q %s", o.Trap, o.Subject, o.Status))
		}
	}
	for _, p := range replay {
		if !slices.ContainsFunc(live, func(o Outcome) bool { return agree(o, p) }) {
			errs = append(errs, fmt.Errorf("only the replay has: %s on %q %s (%s)", p.Trap, p.Subject, p.Status, p.Reason))
		}
	}
	return errors.Join(errs...)
}

// SameRedacted compares a look with a redacted capture's: whatever the subjects
// are called there, each trap comes to as many outcomes of each sort. One that says that
// redaction left out what it wants is as good as clear.
func SameRedacted(live, redacted []Outcome) error {
	type sort struct{ trap, status, severity string }
	more := map[sort]int{}
	for _, o := range live {
		more[sort{o.Trap, o.Status, o.Severity}]++
	}
	for _, o := range redacted {
		more[sort{o.Trap, o.Status, o.Severity}]--
	}
	leftOut := func(o Outcome) bool { return strings.HasPrefix(o.Reason, "redaction left out") }
	var errs []error
	for k, n := range more {
		judged := k.status == "found" || !slices.ContainsFunc(redacted, func(o Outcome) bool { return o.Trap == k.trap && leftOut(o) })
		if n != 0 && judged {
			i := slices.IndexFunc(redacted, func(o Outcome) bool { return o.Trap == k.trap })
			reason := ""
			if i >= 0 {
				reason = redacted[i].Summary + redacted[i].Reason
			}
			errs = append(errs, fmt.Errorf("%s: %d outcomes %s %s more than when redacted (%s)", k.trap, n, k.status, k.severity, reason))
		}
	}
	return errors.Join(errs...)
}

// Quiet fails for a trap that fettle why sees in the host's journal and nobody
// expects there.
func Quiet(look string, matches []Match, own Expected) error {
	var errs []error
	for _, m := range matches {
		o := Outcome{Trap: m.Trap}
		if !slices.ContainsFunc(own.Why, func(x Expectation) bool { return x.covers(look, o) }) {
			errs = append(errs, fmt.Errorf("why: - {trap: %s, in: [%s], why: } # %s", m.Trap, look, strings.Join(m.Lines, "\n")))
		}
	}
	return errors.Join(errs...)
}

func agree(a, b Outcome) bool {
	return a.Trap == b.Trap && a.Subject == b.Subject && a.Status == b.Status && a.Severity == b.Severity && a.Summary == b.Summary
}

// Mild fails for what is worth more than a notice on a host as its
// distribution leaves it.
func Mild(all []Outcome) error {
	for _, o := range all {
		if o.Status == "found" && o.Severity != "notice" {
			return fmt.Errorf("%s on %q is worth %s on a fresh host", o.Trap, o.Subject, o.Severity)
		}
	}
	return nil
}
