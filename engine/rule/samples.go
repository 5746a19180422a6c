package rule

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/sample"
)

// Result is how a rule did on one of its samples.
type Result struct {
	Name string // of the file
	// Got is what the check said, Want what it should have.
	Got, Want string
	// Err: the sample cannot be read, or the rule's plan failed.
	Err error
}

// Passed tells whether the check said what it should.
func (r Result) Passed() bool { return r.Err == nil && r.Got == r.Want }

var errNoSamples = errors.New("there must be a sample healthy*.txtar and one trapped*.txtar")

// Test runs the rule over the samples (*.txtar) in a folder, and over a host
// of which nothing was collected, where it may not say clear. Where a trapped
// sample is found and the rule has a remedy, a plan is made of it, too.
func (r *Rule) Test(ctx context.Context, dir fs.FS) ([]Result, error) {
	names, err := fs.Glob(dir, "*.txtar")
	if err != nil {
		return nil, err
	}
	all := strings.Join(names, "\n")
	if !strings.Contains("\n"+all, "\nhealthy") || !strings.Contains("\n"+all, "\ntrapped") {
		return nil, errNoSamples
	}
	var out []Result
	for _, name := range names {
		b, err := fs.ReadFile(dir, name)
		if err != nil {
			return nil, err
		}
		out = append(out, r.testOne(ctx, name, b))
	}
	src, _, err := sample.Parse([]byte("incomplete: true\n"))
	if err != nil {
		return nil, err
	}
	blind := Result{Name: "(a host of which nothing was collected)"}
	for _, o := range r.outcomes(ctx, host.New(src)) {
		if o.Status == trap.Clear || o.Status == trap.Found {
			blind.Got, blind.Want = Lines([]trap.Outcome{o}), "unknown, or not-applicable"
		}
	}
	return append(out, blind), nil
}

func (r *Rule) testOne(ctx context.Context, name string, b []byte) Result {
	res := Result{Name: name}
	src, extra, err := sample.Parse(b)
	if err != nil {
		res.Err = err
		return res
	}
	for section := range extra {
		if section != "want" && section != "plan" {
			res.Err = fmt.Errorf("no section is called %q", section)
			return res
		}
	}
	outcomes := r.outcomes(ctx, host.New(src))
	res.Got, res.Want = Lines(outcomes), strings.TrimSpace(extra["want"])
	if res.Want == "" {
		res.Err = errors.New("the section want is missing, or empty: what the check must say")
	}
	kind, _, _ := strings.Cut(strings.TrimSuffix(path.Base(name), ".txtar"), "-")
	found := strings.HasPrefix("\n"+res.Got, "\nfound ") || strings.Contains(res.Got, "\nfound ")
	switch {
	case kind == "healthy" && found:
		res.Err = errors.New("a healthy host has no finding")
	case kind == "trapped" && !found:
		res.Err = errors.New("a trapped host has a finding")
	}
	if r.Remedy == nil || res.Err != nil {
		return res
	}
	plans := ""
	for _, o := range outcomes {
		if o.Status != trap.Found || o.ByHand != "" {
			continue
		}
		p, err := r.Plan(ctx, host.New(src), o)
		if err != nil {
			plans += fmt.Sprintf("refused: %v\n", err)
			continue
		}
		for _, s := range p.Steps {
			plans += s.Describe() + "\n"
		}
	}
	if want, ok := extra["plan"]; ok {
		res.Got += "\nplan:\n" + strings.TrimSpace(plans)
		res.Want += "\nplan:\n" + strings.TrimSpace(want)
	}
	return res
}

func (r *Rule) outcomes(ctx context.Context, h *host.Host) (out []trap.Outcome) {
	trap.Run(ctx, h, []*trap.Trap{r.Trap()}, trap.Options{}, func(res trap.Result) { out = res.Outcomes })
	return out
}

// Lines writes outcomes as a sample's want does.
func Lines(outcomes []trap.Outcome) string {
	var b strings.Builder
	for _, o := range outcomes {
		b.WriteString(string(o.Status))
		if o.Status == trap.Found {
			b.WriteString(" " + o.Severity.String())
		}
		if o.Subject != "" {
			b.WriteString(" " + o.Subject)
		}
		b.WriteString(": " + o.Summary + o.Reason + o.Next() + "\n")
	}
	return strings.TrimSpace(b.String())
}
