package why

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"fettle/cli/app"
	"fettle/engine/run"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/why/firstlook"
)

// firstLookWidth is how wide a first look is at most: lines of logs are hard to read wider.
const firstLookWidth = 100

// askTime is how long this host may be looked at for a log of its own.
const askTime = 20 * time.Second

// answerName is what the confined child is asked by.
const answerName = "first-look"

// Answers are what fettle's confined child can be asked.
var Answers = run.Answers{
	answerName: func(ctx context.Context, h *host.Host, question json.RawMessage) (any, error) {
		var q firstlook.Question
		if err := json.Unmarshal(question, &q); err != nil {
			return nil, fmt.Errorf("reading the question: %w", err)
		}
		ctx, cancel := context.WithTimeout(ctx, askTime)
		defer cancel()
		return firstlook.Answer(ctx, h, q), nil
	},
}

// firstLook reads along while the text is searched for traps, until one is named.
type firstLook struct{ look *firstlook.Look }

// report is the first look at a log that no trap explains; nil where the text is no log and
// none of its words has a meaning that is written down.
func (l firstLook) report(ctx context.Context, a *app.App, o whyOptions) *firstlook.Report {
	r := l.look.Report()
	if !l.look.IsLog() && !r.Explains() {
		return nil
	}
	q := r.Ask(l.look.Boots(), o.journal.days)
	q.Unit = o.journal.unit
	name, err := os.Hostname()
	switch {
	case o.noCheck || runtime.GOOS != "linux" || err != nil:
	case q.Foreign(name, "") != "":
		r.Settle(firstlook.Here{Reason: q.Foreign(name, "")})
	default:
		var here firstlook.Here
		if err := a.Ask(ctx, run.Target{}, answerName, q, &here); err != nil {
			here = firstlook.Here{Reason: err.Error()}
		}
		if len(here.Facts) > 0 {
			check(ctx, a, here.Facts)
		}
		r.Settle(here)
	}
	if o.journal.days > 0 && (r.Here == nil || r.Here.Compared == 0) {
		reason := "--no-check was given"
		if r.Here != nil && r.Here.Reason != "" {
			reason = r.Here.Reason
		}
		fmt.Fprintf(a.Stderr, "fettle: the log was not compared with this host's journal: %s\n", reason)
	}
	return r
}

// check runs the checks that cost nothing, and notes which of them find something in what a log
// of this host names.
func check(ctx context.Context, a *app.App, facts []firstlook.Fact) {
	var traps []*trap.Trap
	for _, t := range a.Traps {
		if t.Cost == trap.Instant && !t.Talks {
			traps = append(traps, t)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	err := a.CheckLive(ctx, traps, trap.Options{}, func(r trap.Result) { note(facts, r) })
	if err != nil {
		fmt.Fprintf(a.Stderr, "fettle: could not check this host: %v\n", err)
	}
}

// note notes what one check found of things.
func note(facts []firstlook.Fact, r trap.Result) {
	for _, o := range r.Outcomes {
		for i := range facts {
			if f := &facts[i]; o.Status == trap.Found && f.Trap == "" && names(o.Subject, f.Name) {
				f.Trap, f.Finding = r.Trap, o.Summary
			}
		}
	}
}

// names tells whether a finding's subject is a thing, or has its name as one of its words.
func names(subject, thing string) bool {
	for _, w := range strings.FieldsFunc(subject, func(r rune) bool { return r == ' ' || r == ',' }) {
		if strings.TrimPrefix(w, "/dev/") == thing {
			return true
		}
	}
	return false
}
