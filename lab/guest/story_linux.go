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
	host   teller
	failed bool

	// run runs a command to its end, act does one act of the scenario.
	run func(argv []string, stdin []byte) (out string, code int, err error)
	act func(lab.Act) error
	// ended names what was started to run on, and has ended.
	ended func() string
	// tree describes the host's files.
	tree func() (map[string]string, error)

	trapped, fixed map[string]string // what the probes showed in these stages
}

// teller is the part of lab.Teller that a story needs.
type teller interface{ Stage(lab.Stage) error }

func newPlayer(o lab.Orders, host teller) *player {
	d := &daemons{}
	return &player{orders: o, host: host, run: run, act: d.act, ended: d.ended, tree: tree}
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
			if err := p.act(a); err != nil {
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
		p.stage("innocent", p.expect(innocent))
		return
	}
	p.stage("check", p.expect(found))
	if s.Unfixable {
		return
	}
	var before, files map[string]string
	p.stage("fix", func() (string, error) {
		var err error
		if files, err = p.tree(); err != nil {
			return "", fmt.Errorf("reading the files before the fix: %w", err)
		}
		if before, err = p.others(); err != nil {
			return "", fmt.Errorf("looking for other traps before the fix: %w", err)
		}
		argv := append(p.fettle(), p.fix()...)
		out, code, err := p.mend(argv)
		return strings.TrimSpace(out), failed(argv, code, err)
	})
	p.stage("recheck", p.expect(mended))
	if s.Confirm != nil {
		p.stage("confirm", func() (string, error) {
			out, err := p.verb(s.Confirm)
			if err == nil && !strings.Contains(out, "is confirmed") {
				err = errors.New("no change waited to be confirmed")
			}
			return out, err
		})
	}
	p.stage("files", func() (string, error) {
		now, err := p.tree()
		if err != nil {
			return "", err
		}
		return mendedFiles(s.Files, files, now)
	})
	p.stage("others", func() (string, error) { return p.compare(before) })
	p.stage("undo", func() (string, error) { return p.verb([]string{"fettle", "undo", "--yes"}) })
	if !s.UndoKeeps {
		p.stage("as-before", func() (string, error) {
			now, err := p.tree()
			if err != nil {
				return "", err
			}
			if left := differing(files, now); len(left) > 0 {
				return "", fmt.Errorf("the undo does not bring back: %s", strings.Join(left, "; "))
			}
			return "all files are as before the fix", nil
		})
		p.stage("after-undo", p.expect(found))
	}
	if p.orders.Sabotage == "" && p.orders.Shell == "" && !s.UndoKeeps && !p.failed {
		p.spoilt(files, before)
		p.slips(files, before)
	}
}

// fix is the verb that fixes, with its arguments.
func (p *player) fix() []string {
	s := p.orders.Scenario
	argv := []string{"fix", p.orders.Trap, "--yes", "--yes-irreversible", "--limit", checkLimit}
	if s.Subject != "" {
		argv = append(argv, "--on", s.Subject)
	}
	return append(argv, s.FixArgs...)
}

// fettle is how the one that fixes is started.
func (p *player) fettle() []string {
	if p.orders.Sabotage != "" {
		return []string{"fettle-lab", lab.SabotagedVerb, p.orders.Trap, p.orders.Sabotage}
	}
	return []string{"fettle"}
}

// checkLimit is what each check may take: an emulated machine, beside others on a busy one,
// takes ten times as long as the host that a trap's own limit is made for.
const checkLimit = "3m"

// others checks every trap and tells of each subject of the other traps what
// was found of it.
func (p *player) others() (map[string]string, error) {
	argv := []string{"fettle", "check", "--format", "jsonl", "--limit", checkLimit}
	out, code, err := p.run(argv, nil)
	if err != nil {
		return nil, err
	}
	if code == 2 || code == 3 {
		return nil, fmt.Errorf("%s: exit status %d: %s", strings.Join(argv, " "), code, lastLine(out))
	}
	seen := statusOf(outcomes(out), p.orders.Trap)
	if len(seen) == 0 {
		return nil, fmt.Errorf("%s: no other trap was looked for", strings.Join(argv, " "))
	}
	return seen, nil
}

// statusOf tells the status of each subject of the traps other than this one.
func statusOf(all []outcome, this string) map[string]string {
	seen := map[string]string{}
	for _, o := range all {
		if o.Trap != this {
			seen[strings.TrimSuffix(o.Trap+":"+o.Subject, ":")] = o.Status
		}
	}
	return seen
}

// compare is the house's rule that remedies do not set other traps. A trap that
// does not apply to the guest, or could not be looked for, could not be set.
func (p *player) compare(before map[string]string) (string, error) {
	after, err := p.others()
	for range 2 { // on a busy machine a check may have taken too long
		if err == nil && len(newlyUnknown(before, after)) > 0 {
			after, err = p.others()
		}
	}
	if err != nil {
		return "", err
	}
	told := p.orders.Scenario.Sets
	set := newlySet(before, after)
	if extra := slices.DeleteFunc(slices.Clone(set), func(s string) bool { return slices.Contains(told, s) }); len(extra) > 0 {
		return "", fmt.Errorf("the fix sets another trap: %s", strings.Join(extra, ", "))
	}
	if len(set) < len(told) {
		return "", fmt.Errorf("the fix should set %s too, and sets %d", strings.Join(told, ", "), len(set))
	}
	if lost := newlyUnknown(before, after); len(lost) > 0 {
		return "", fmt.Errorf("after the fix these cannot be looked at any more: %s", strings.Join(lost, ", "))
	}
	all, could := map[string]bool{}, map[string]bool{}
	for id, status := range after {
		name, _, _ := strings.Cut(id, ":")
		all[name] = true
		if status == "found" || status == "clear" {
			could[name] = true
		}
	}
	return fmt.Sprintf(
		"the fix sets none of the %d other traps that could be set here; %d do not apply to this machine",
		len(could),
		len(all)-len(could),
	), nil
}

// newlySet lists what is found after and was not before.
func newlySet(before, after map[string]string) []string {
	return newly("found", before, after)
}

// newlyUnknown lists what cannot be looked at after and could be before.
func newlyUnknown(before, after map[string]string) []string {
	return newly("unknown", before, after)
}

func newly(status string, before, after map[string]string) []string {
	var ids []string
	for id, now := range after {
		if now == status && before[id] != status {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
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
	if nth := slices.Index(probed, name); nth >= 0 {
		p.probe(&st, nth)
	}
	if gone := p.ended(); gone != "" && st.OK {
		p.failed, st.OK = true, false
		st.Said = "what the scenario had started has ended: " + gone
	}
	p.host.Stage(st)
}

// probed are the stages after which probes run, in the order of Probe.Want.
var probed = []string{"check", "recheck", "after-undo"}

func (p *player) verb(argv []string) (string, error) {
	out, code, err := p.run(argv, nil)
	return strings.TrimSpace(out), failed(argv, code, err)
}

func failed(argv []string, code int, err error) error {
	if err == nil && code != 0 {
		err = fmt.Errorf("%s: exit status %d", strings.Join(argv, " "), code)
	}
	return err
}

// noSubject is what fix says where its check, an instant ago, did not find the subject.
const noSubject = "found no subject"

// mend runs fix. A check that watches for some seconds may meet a moment in which a starved
// machine does nothing: that is no answer, and asked again.
func (p *player) mend(argv []string) (out string, code int, err error) {
	for range 4 {
		out, code, err = p.run(argv, nil)
		if err != nil || code != 2 || !strings.Contains(out, noSubject) {
			break
		}
	}
	return out, code, err
}

// expect checks the trap, and has judge say of its outcomes what is wrong.
func (p *player) expect(judge func(all []outcome, s lab.Scenario) error) func() (string, error) {
	return func() (string, error) {
		s := p.orders.Scenario
		argv := append([]string{"fettle", "check", p.orders.Trap, "--format", "jsonl", "--limit", checkLimit}, s.CheckArgs...)
		out, code, err := p.run(argv, nil)
		if err != nil {
			return out, err
		}
		if code == 2 || code == 3 {
			return out, fmt.Errorf("%s: exit status %d", strings.Join(argv, " "), code)
		}
		all := outcomes(out)
		if len(all) == 0 {
			return out, errors.New("the check said nothing that could be read")
		}
		// What the story is about comes first.
		slices.SortStableFunc(all, func(a, b outcome) int { return meant(b, s.Subject) - meant(a, s.Subject) })
		lines := make([]string, len(all))
		for i, o := range all {
			lines[i] = strings.TrimSpace(fmt.Sprintf("%s %s %s: %s%s", o.Status, o.Severity, o.Subject, o.Summary, o.Reason))
		}
		return strings.Join(lines, "\n"), judge(all, s)
	}
}

// found wants the trap found in the scenario's subject.
func found(all []outcome, s lab.Scenario) error {
	if len(with("found", all, s.Subject)) == 0 {
		return errors.New("expected to be found, and was not")
	}
	return nil
}

// mended wants the very subject clear, or as the scenario says: that a check
// says nothing of it any more, or that it does not apply, fixes nothing.
func mended(all []outcome, s lab.Scenario) error {
	if err := innocent(all, s); err != nil {
		return err
	}
	of := all
	if s.Subject != "" {
		of = slices.DeleteFunc(slices.Clone(all), func(o outcome) bool { return o.Subject != s.Subject })
	}
	switch {
	case s.Vanishes && len(with("clear", of, s.Subject)) == 0 && len(of) > 0:
		return fmt.Errorf("expected not to be spoken of any more, and is %s", of[0].Status)
	case s.Vanishes:
		return nil
	case len(of) == 0:
		return errors.New("expected to be clear, and the check does not speak of it any more")
	case len(with("clear", of, s.Subject)) == 0:
		return fmt.Errorf("expected to be clear, and is %s", of[0].Status)
	}
	return nil
}

// innocent wants nothing found, and no subject that could not be looked at.
func innocent(all []outcome, s lab.Scenario) error {
	switch {
	case len(with("found", all, s.Subject)) > 0:
		return errors.New("expected to be clear, and was found")
	case len(with("unknown", all, s.Subject)) > 0 || s.Subject != "" &&
		slices.ContainsFunc(all, func(o outcome) bool { return o.Subject == "" && o.Status == "unknown" }):
		return errors.New("expected to be clear, and could not be looked at")
	}
	return nil
}

// with is the outcomes of this status about the subject; "" is every subject.
func with(status string, all []outcome, subject string) []outcome {
	var some []outcome
	for _, o := range all {
		if o.Status == status && (subject == "" || o.Subject == subject) {
			some = append(some, o)
		}
	}
	return some
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
