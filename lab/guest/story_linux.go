package guest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"fettle/lab"
)

// player tells one scenario's story, stage by stage.
type player struct {
	orders lab.Orders
	host   *lab.Teller
	failed bool
}

// outcome is the part of fettle's JSON that a story needs.
type outcome struct {
	Trap     string `json:"trap"`
	Subject  string `json:"subject"`
	Status   string `json:"status"`
	Severity string `json:"severity"`
	Summary  string `json:"summary"`
	Reason   string `json:"reason"`
}

func (p *player) story() {
	s := p.orders.Scenario
	p.stage("prepare", func() (string, error) {
		for _, a := range s.Prepare {
			if err := act(a); err != nil {
				return "", err
			}
		}
		return fmt.Sprintf("%d acts", len(s.Prepare)), nil
	})
	if p.orders.Shell == lab.ShellAfterPrepare {
		shell(p.orders.Console)
		return
	}
	if p.orders.Shell == lab.ShellAfterStory {
		defer shell(p.orders.Console)
	}
	if s.Innocent {
		p.stage("check", p.expect(false))
		return
	}
	p.stage("check", p.expect(true))
	if s.Unfixable {
		return
	}
	var before map[string]bool
	p.stage("fix", func() (string, error) {
		var err error
		if before, err = p.others(); err != nil {
			return "", fmt.Errorf("looking for other traps before the fix: %w", err)
		}
		argv := []string{"fettle", "fix", p.orders.Trap, "--yes"}
		if s.Subject != "" {
			argv = append(argv, "--on", s.Subject)
		}
		return p.verb(argv)
	})
	p.stage("recheck", p.expect(false))
	if s.Confirm != nil {
		p.stage("confirm", func() (string, error) {
			out, err := p.verb(s.Confirm)
			if err == nil && !strings.Contains(out, "is confirmed") {
				err = errors.New("no change waited to be confirmed")
			}
			return out, err
		})
	}
	p.stage("others", func() (string, error) { return p.compare(before) })
	p.stage("undo", func() (string, error) { return p.verb([]string{"fettle", "undo"}) })
	if !s.UndoKeeps {
		p.stage("after-undo", p.expect(true))
	}
}

// others checks every trap and tells of each subject of the other traps
// whether the trap is found in it.
func (p *player) others() (map[string]bool, error) {
	argv := []string{"fettle", "check", "--format", "jsonl"}
	out, code, err := run(argv, nil)
	if err != nil {
		return nil, err
	}
	if code == 2 || code == 3 {
		return nil, fmt.Errorf("%s: exit status %d: %s", strings.Join(argv, " "), code, lastLine(out))
	}
	found := foundOf(outcomes(out), p.orders.Trap)
	if len(found) == 0 {
		return nil, fmt.Errorf("%s: no other trap was looked for", strings.Join(argv, " "))
	}
	return found, nil
}

// foundOf tells of each subject of the traps other than this one whether it was found.
func foundOf(all []outcome, this string) map[string]bool {
	found := map[string]bool{}
	for _, o := range all {
		if o.Trap != this {
			found[strings.TrimSuffix(o.Trap+":"+o.Subject, ":")] = o.Status == "found"
		}
	}
	return found
}

// compare is the house's rule that remedies do not set other traps.
func (p *player) compare(before map[string]bool) (string, error) {
	after, err := p.others()
	if err != nil {
		return "", err
	}
	if set := newlySet(before, after); len(set) > 0 {
		return "", fmt.Errorf("the fix sets another trap: %s", strings.Join(set, ", "))
	}
	traps := map[string]bool{}
	for id := range after {
		name, _, _ := strings.Cut(id, ":")
		traps[name] = true
	}
	return fmt.Sprintf("the fix sets none of %d other traps", len(traps)), nil
}

// newlySet lists what is found after and was not before.
func newlySet(before, after map[string]bool) []string {
	var set []string
	for id, found := range after {
		if found && !before[id] {
			set = append(set, id)
		}
	}
	slices.Sort(set)
	return set
}

// stage runs one stage unless an earlier one failed, probes, and tells.
func (p *player) stage(name string, do func() (string, error)) {
	if p.failed {
		return
	}
	start := time.Now()
	said, err := do()
	st := lab.Stage{Name: name, OK: err == nil, Said: said, Took: time.Since(start)}
	if err != nil {
		p.failed = true
		st.Said = strings.TrimSpace(err.Error() + "\n" + said)
	}
	if nth := slices.Index([]string{"check", "recheck", "after-undo"}, name); nth >= 0 {
		p.probe(&st, nth)
	}
	p.host.Stage(st)
}

func (p *player) verb(argv []string) (string, error) {
	out, code, err := run(argv, nil)
	if err == nil && code != 0 {
		err = fmt.Errorf("%s: exit status %d", strings.Join(argv, " "), code)
	}
	return strings.TrimSpace(out), err
}

// expect checks the trap and compares with what the story wants.
func (p *player) expect(found bool) func() (string, error) {
	return func() (string, error) {
		s := p.orders.Scenario
		argv := append([]string{"fettle", "check", p.orders.Trap, "--format", "jsonl"}, s.CheckArgs...)
		out, code, err := run(argv, nil)
		if err != nil {
			return out, err
		}
		if code == 2 || code == 3 {
			return out, fmt.Errorf("%s: exit status %d", strings.Join(argv, " "), code)
		}
		all := outcomes(out)
		// What the story is about comes first.
		slices.SortStableFunc(all, func(a, b outcome) int { return meant(b, s.Subject) - meant(a, s.Subject) })
		lines := make([]string, len(all))
		for i, o := range all {
			lines[i] = strings.TrimSpace(fmt.Sprintf("%s %s %s: %s%s", o.Status, o.Severity, o.Subject, o.Summary, o.Reason))
		}
		said := strings.Join(lines, "\n")
		is := slices.ContainsFunc(all, func(o outcome) bool {
			return o.Status == "found" && (s.Subject == "" || o.Subject == s.Subject)
		})
		unknown := slices.ContainsFunc(all, func(o outcome) bool {
			return o.Status == "unknown" && (s.Subject == "" || o.Subject == s.Subject || o.Subject == "")
		})
		switch {
		case len(all) == 0:
			return out, fmt.Errorf("the check said nothing that could be read")
		case found && !is:
			return said, fmt.Errorf("expected to be found, and was not")
		case !found && is:
			return said, fmt.Errorf("expected to be clear, and was found")
		case !found && unknown:
			return said, fmt.Errorf("expected to be clear, and could not be looked at")
		}
		return said, nil
	}
}

func meant(o outcome, subject string) int {
	if subject != "" && o.Subject == subject {
		return 1
	}
	return 0
}

// outcomes picks the outcomes out of fettle's JSON lines.
func outcomes(out string) []outcome {
	var all []outcome
	for line := range strings.Lines(out) {
		var r struct {
			Outcomes []outcome `json:"outcomes"`
			Result   struct {
				Outcomes []outcome `json:"outcomes"`
			} `json:"result"`
		}
		if json.Unmarshal([]byte(line), &r) == nil {
			all = append(append(all, r.Outcomes...), r.Result.Outcomes...)
		}
	}
	return all
}
