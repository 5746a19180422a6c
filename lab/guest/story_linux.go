package guest

import (
	"encoding/json"
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
		shell()
		return
	}
	if p.orders.Shell == lab.ShellAfterStory {
		defer shell()
	}
	if s.Innocent {
		p.stage("check", p.expect(false))
		return
	}
	p.stage("check", p.expect(true))
	if s.Unfixable {
		return
	}
	p.stage("fix", func() (string, error) {
		argv := []string{"fettle", "fix", p.orders.Trap, "--yes"}
		if s.Subject != "" {
			argv = append(argv, "--on", s.Subject)
		}
		return p.verb(argv)
	})
	p.stage("recheck", p.expect(false))
	p.stage("undo", func() (string, error) { return p.verb([]string{"fettle", "undo"}) })
	if !s.UndoKeeps {
		p.stage("after-undo", p.expect(true))
	}
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
	if name == "check" || name == "recheck" || name == "after-undo" {
		st.Probes = map[string]string{}
		for _, pr := range p.orders.Scenario.Probes {
			out, _, err := run(pr.Run, nil)
			if err != nil {
				out = err.Error()
			}
			first, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
			st.Probes[pr.Name] = first
		}
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
