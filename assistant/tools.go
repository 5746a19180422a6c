package assistant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"fettle/internal/units"
)

// tools registers all of them.
func (d *desk) tools(s *mcp.Server) {
	tool(d, s, "check", "Check a host for known traps", true, d.check,
		"Runs fettle's checks and returns what is found, worst first, with what to do. Evidence on request. Reads only.")
	tool(d, s, "why", "Explain an error message or a log", false, d.why,
		"Names the trap that an error message, a log or a description speaks of, or what stands out in a log that no trap explains. "+
			"Give text, or the name of a systemd unit of this host whose journal is read.")
	tool(d, s, "explain", "Explain a trap", false, d.explain,
		"The article about a trap: what happens, how to recognise it, how bad it is, what to do.")
	tool(d, s, "list", "List the traps that fettle knows", false, d.list, "All traps with their titles; search filters by a word.")
	tool(d, s, "plan", "Show how a finding would be fixed", false, d.plan,
		"The plan of fettle fix for a trap on this host: its steps with diffs and commands, how each is undone, and the command that a "+
			"person would run. Nothing is changed.")
	tool(d, s, "before_reboot", "Tell whether a host comes back from a restart", false, d.beforeReboot,
		"The verdict, and what would be lost at the next start.")
	tool(d, s, "after_reboot", "Tell what did not come back after a restart", false, d.afterReboot,
		"Compares this host with the snapshot that was saved before the restart.")
	tool(d, s, "history", "List recorded checks, or show one", false, d.history,
		"The recorded runs of fettle check on this host, or one of them.")
	tool(d, s, "diff", "Compare two recorded checks", false, d.diff,
		"What is new and what was resolved between two recorded runs; \"now\" is the host as it is.")
	tool(d, s, "measure", "Measure", true, d.measure,
		"Measures for some seconds: counters (network rates), disks (the one that holds the others back), ksm (memory saved by merging), "+
			"login (where the time of an ssh login goes; needs an allowed host). Reports progress; may be cancelled.")
	if d.Hub != "" {
		tool(d, s, "fleet", "Ask a hub about its hosts", true, d.fleet,
			"What a fettle-hub knows: overview, hosts, one host, which hosts have a trap, what changed.")
	}
}

// paged is how long lists are read.
type paged struct {
	Cursor string `json:"cursor,omitempty" jsonschema:"the cursor of the answer before"`
	Limit  int    `json:"limit,omitempty" jsonschema:"how many entries at most"`
}

type checkInput struct {
	target
	paged
	Traps    []string `json:"traps,omitempty" jsonschema:"only these traps"`
	Evidence bool     `json:"evidence,omitempty" jsonschema:"with what was read, and where"`
	All      bool     `json:"all,omitempty" jsonschema:"also what is clear or does not apply"`
}

func (d *desk) check(ctx context.Context, _ *call, in checkInput) (Answer, error) {
	args := []string{"check", "--format=json"}
	flags, err := d.flags(in.target)
	if err != nil {
		return Answer{}, err
	}
	args = append(append(args, flags...), "--")
	for _, t := range in.Traps {
		if err := named("trap", trapName, t); err != nil {
			return Answer{}, err
		}
		args = append(args, t)
	}
	doc, _, err := d.document(ctx, "", args...)
	if err != nil {
		return Answer{}, err
	}
	report, err := oneReport(doc)
	if err != nil {
		return Answer{}, err
	}
	entries, counts := outcomes(report, in)
	a := Answer{Says: fmt.Sprintf("%d found, %d unknown, %d clear, %d not applicable", counts["found"], counts["unknown"], counts["clear"],
		counts["not-applicable"])}
	a.HostSays, a.Cursor, err = page(entries, in.Cursor, in.Limit)
	return a, err
}

// oneReport is the report of one host: of check, or the only one of a fleet's.
func oneReport(doc map[string]any) (map[string]any, error) {
	hosts, fleet := doc["hosts"].([]any)
	if !fleet {
		return doc, nil
	}
	for _, h := range hosts {
		m, _ := h.(map[string]any)
		if r, ok := m["report"].(map[string]any); ok {
			return r, nil
		}
		if said, ok := m["error"].(string); ok {
			return nil, errors.New(said)
		}
	}
	return nil, errors.New("the host sent no report")
}

var rank = map[string]int{"critical": 0, "warning": 1, "notice": 2}

// outcomes are a report's, worst first, and how many there are of each status.
func outcomes(report map[string]any, in checkInput) ([]any, map[string]int) {
	counts := map[string]int{}
	titles := map[string]any{}
	traps, _ := report["traps"].([]any)
	for _, t := range traps {
		if m, ok := t.(map[string]any); ok {
			titles[fmt.Sprint(m["id"])] = m["title"]
		}
	}
	var out []map[string]any
	results, _ := report["results"].([]any)
	for _, r := range results {
		m, _ := r.(map[string]any)
		list, _ := m["outcomes"].([]any)
		for _, o := range list {
			o, _ := o.(map[string]any)
			status := fmt.Sprint(o["status"])
			counts[status]++
			if status != "found" && status != "unknown" && !in.All {
				continue
			}
			e := map[string]any{"trap": o["trap"], "title": titles[fmt.Sprint(o["trap"])], "status": status}
			for _, k := range []string{"severity", "subject", "summary", "reason", "by_hand", "fixable", "accepted"} {
				if v, ok := o[k]; ok {
					e[k] = v
				}
			}
			if in.Evidence {
				e["evidence"], e["detail"] = o["evidence"], o["detail"]
			}
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b map[string]any) int { return place(a) - place(b) })
	entries := make([]any, len(out))
	for i := range out {
		entries[i] = out[i]
	}
	return entries, counts
}

// place is a finding's by severity, then what is unknown, then the rest.
func place(o map[string]any) int {
	switch o["status"] {
	case "found":
		return rank[fmt.Sprint(o["severity"])]
	case "unknown":
		return 3
	}
	return 4
}

type whyInput struct {
	Text string `json:"text,omitempty" jsonschema:"an error message, a log, the output of a command, or a description"`
	Unit string `json:"unit,omitempty" jsonschema:"a systemd unit of this host: its journal of this boot is read"`
}

// maxPaste bounds a text that is pasted, and journalLines a unit's journal.
const (
	maxPaste     = 1 << 20
	journalLines = "2000"
)

func (d *desk) why(ctx context.Context, _ *call, in whyInput) (Answer, error) {
	text := in.Text
	switch {
	case (in.Text == "") == (in.Unit == ""):
		return Answer{}, errors.New("give text or unit, one of them")
	case len(text) > maxPaste:
		return Answer{}, fmt.Errorf("text has %d bytes: at most %d are read", len(text), maxPaste)
	case in.Unit != "":
		if err := named("unit", unitName, in.Unit); err != nil {
			return Answer{}, err
		}
		b, _, err := output(ctx, "", []string{"/usr/bin/journalctl", "--unit=" + in.Unit, "--boot", "--no-pager", "--lines=" + journalLines,
			"--output=short-iso"})
		if err != nil {
			return Answer{}, fmt.Errorf("reading the journal: %w", err)
		}
		text = string(b)
	}
	args := []string{"why", "--format=json"}
	if in.Unit == "" {
		args = append(args, "--no-check") // a pasted log chooses nothing that is looked at here
	}
	doc, _, err := d.document(ctx, text, args...)
	if err != nil {
		return Answer{}, err
	}
	matches, _ := doc["matches"].([]any)
	a := Answer{Says: units.Count(len(matches), "known trap matches", "known traps match")}
	if len(matches) == 0 {
		a.Says = "no known trap matches; what stands out in a log is no diagnosis"
	}
	a.HostSays = hostSays(doc)
	return a, nil
}

// without is a document without its envelope, and without some other parts.
func without(doc map[string]any, parts ...string) map[string]any {
	out := map[string]any{}
	for k, v := range doc {
		if !slices.Contains([]string{"format", "schema", "fettle"}, k) && !slices.Contains(parts, k) {
			out[k] = v
		}
	}
	return out
}

// hostSays is what a document says, as an answer may hold it.
func hostSays(doc map[string]any) any { return trimmed(foreign(without(doc), 0)) }

// trimmed shortens lists until the whole fits an answer.
func trimmed(v any) any {
	for keep := 100; keep > 0; keep /= 2 {
		if b, err := json.Marshal(v); err != nil || len(b) <= maxAnswer {
			return v
		}
		v = shorter(v, keep)
	}
	b, _ := json.Marshal(v)
	return map[string]any{"cut": visible(string(b), maxAnswer/2)}
}

func shorter(v any, keep int) any {
	switch v := v.(type) {
	case []any:
		more := len(v) - keep
		out := make([]any, 0, keep+1)
		for _, e := range v[:min(len(v), keep)] {
			out = append(out, shorter(e, keep))
		}
		if more > 0 {
			out = append(out, fmt.Sprintf("… (%d more)", more))
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			out[k] = shorter(e, keep)
		}
		return out
	}
	return v
}

type trapInput struct {
	Trap string `json:"trap" jsonschema:"the trap's name, as list gives it"`
}

func (d *desk) explain(ctx context.Context, _ *call, in trapInput) (Answer, error) {
	text, err := d.article(ctx, in.Trap)
	if err != nil {
		return Answer{}, err
	}
	return Answer{Says: "the article about " + in.Trap, FettleSays: text}, nil
}

// article is a trap's, as text.
func (d *desk) article(ctx context.Context, trap string) (string, error) {
	if err := named("trap", trapName, trap); err != nil {
		return "", err
	}
	b, _, err := d.fettle(ctx, "", "explain", "--", trap)
	return visible(string(b), maxAnswer), err
}

type listInput struct {
	Search string `json:"search,omitempty" jsonschema:"a word in the name or title"`
	paged
}

func (d *desk) list(ctx context.Context, _ *call, in listInput) (Answer, error) {
	doc, _, err := d.document(ctx, "", "list", "--format=json")
	if err != nil {
		return Answer{}, err
	}
	all, _ := doc["traps"].([]any)
	var entries []any
	for _, t := range all {
		m, _ := t.(map[string]any)
		if strings.Contains(strings.ToLower(fmt.Sprint(m["id"], " ", m["title"])), strings.ToLower(in.Search)) {
			entries = append(entries, m)
		}
	}
	a := Answer{Says: fmt.Sprintf("%d of %d traps", len(entries), len(all))}
	a.FettleSays, a.Cursor, err = page(entries, in.Cursor, in.Limit)
	return a, err
}

type planInput struct {
	Trap    string `json:"trap" jsonschema:"the trap's name"`
	Subject string `json:"subject,omitempty" jsonschema:"the finding's subject, as check gives it; without it all findings of the trap"`
}

func (d *desk) plan(ctx context.Context, _ *call, in planInput) (Answer, error) {
	if err := named("trap", trapName, in.Trap); err != nil {
		return Answer{}, err
	}
	if len(in.Subject) > 400 || strings.ContainsAny(in.Subject, "\x00\n") {
		return Answer{}, errors.New("unknown subject: use one that check reports")
	}
	args := []string{"fix", "--plan", "--format=json"}
	command := "sudo fettle fix " + in.Trap
	if in.Subject != "" {
		args = append(args, "--on="+in.Subject)
		command += " --on " + quoted(in.Subject)
	}
	doc, _, err := d.document(ctx, "", append(args, "--", in.Trap)...)
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Says: "no plan: nothing is found that it would change, or it has to be done by hand", HostSays: hostSays(doc)}
	plan, _ := doc["plan"].(map[string]any)
	if digest, ok := plan["digest"].(string); ok && digest != "" {
		a.Says = "the plan; a person applies it by the command, which asks before it acts"
		a.Digest, a.Command = digest, visible(command+" --as-planned "+quoted(digest), maxText)
	}
	return a, nil
}

// quoted is a word of a shell's.
func quoted(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+,") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

type restartInput struct{ target }

// verdicts are those of fettle before reboot, in a sentence.
var verdicts = map[string]string{"comes-back": "it comes back, and nothing is lost that fettle looks at",
	"comes-back-without": "it comes back without something", "does-not-come-back": "it does not come back",
	"cannot-say": "nothing was found that stops it, but not everything could be inspected"}

func (d *desk) beforeReboot(ctx context.Context, _ *call, in restartInput) (Answer, error) {
	flags, err := d.flags(in.target)
	if err != nil {
		return Answer{}, err
	}
	doc, _, err := d.document(ctx, "", append([]string{"before", "reboot", "--no-snapshot", "--format=json"}, flags...)...)
	if err != nil {
		return Answer{}, err
	}
	var entries []any
	if hosts, many := doc["hosts"].([]any); many && len(hosts) == 1 {
		doc, _ = hosts[0].(map[string]any)
		if why, failed := doc["error"].(string); failed {
			return Answer{}, errors.New(why)
		}
		entries, _ = doc["found"].([]any)
	} else {
		report, _ := doc["report"].(map[string]any)
		entries, _ = outcomes(report, checkInput{})
	}
	found, _, err := page(entries, "", 0)
	said := foreign(without(doc, "report", "found"), 0).(map[string]any)
	said["findings"] = found
	return Answer{Says: verdicts[fmt.Sprint(doc["verdict"])], HostSays: trimmed(said)}, err
}

type nothing struct{}

func (d *desk) afterReboot(ctx context.Context, _ *call, _ nothing) (Answer, error) {
	doc, exit, err := d.document(ctx, "", "after", "--format=json")
	if err != nil {
		return Answer{}, err
	}
	says := map[int]string{0: "all is as it was", 1: "something did not come back",
		4: "nothing is missing, but not everything could be compared"}[exit]
	return Answer{Says: says, HostSays: hostSays(doc)}, nil
}

type historyInput struct {
	Run string `json:"run,omitempty" jsonschema:"a run's number or name; without it the runs are listed"`
	paged
}

func (d *desk) history(ctx context.Context, _ *call, in historyInput) (Answer, error) {
	args := []string{"history", "--format=json"}
	if in.Run != "" {
		if err := named("run", runName, in.Run); err != nil {
			return Answer{}, err
		}
		args = append(args, "--", in.Run)
	}
	doc, _, err := d.document(ctx, "", args...)
	if err != nil {
		return Answer{}, err
	}
	runs, listed := doc["runs"].([]any)
	if !listed {
		runs, _ = outcomes(doc, checkInput{})
	}
	a := Answer{Says: map[bool]string{true: "recorded runs, the newest first", false: "what the run found"}[listed]}
	a.HostSays, a.Cursor, err = page(runs, in.Cursor, in.Limit)
	return a, err
}

type diffInput struct {
	From string `json:"from,omitempty" jsonschema:"a recorded run: its number or name; without both, the last two"`
	To   string `json:"to,omitempty" jsonschema:"another one, or now"`
}

func (d *desk) diff(ctx context.Context, _ *call, in diffInput) (Answer, error) {
	args := []string{"diff", "--format=json", "--"}
	if in.From == "" && in.To != "" {
		return Answer{}, errors.New("to needs from")
	}
	for _, r := range []string{in.From, in.To} {
		if r == "" {
			continue
		}
		if err := named("run", runName, r); err != nil {
			return Answer{}, err
		}
		args = append(args, r)
	}
	doc, exit, err := d.document(ctx, "", args...)
	if err != nil {
		return Answer{}, err
	}
	says := map[int]string{0: "no difference", 1: "they differ"}[exit]
	return Answer{Says: says, HostSays: hostSays(doc)}, nil
}

type measureInput struct {
	What    string `json:"what" jsonschema:"counters, disks, ksm or login"`
	On      string `json:"on,omitempty" jsonschema:"counters: a network interface; login: an allowed host"`
	Seconds int    `json:"seconds,omitempty" jsonschema:"how long to measure, 2 to 120 (default 10)"`
}

func (d *desk) measure(ctx context.Context, c *call, in measureInput) (Answer, error) {
	if in.Seconds == 0 {
		in.Seconds = 10
	}
	if in.Seconds < 2 || in.Seconds > 120 {
		return Answer{}, fmt.Errorf("seconds is %d: expected 2 to 120", in.Seconds)
	}
	interval := fmt.Sprintf("--interval=%ds", max(1, in.Seconds/5))
	var args []string
	switch in.What {
	case "counters":
		args = []string{"measure", "counters", "--format=json", fmt.Sprintf("--for=%ds", in.Seconds), interval}
		if in.On != "" {
			if err := named("interface", ifaceName, in.On); err != nil {
				return Answer{}, err
			}
			args = append(args, "--", in.On)
		}
	case "ksm":
		args = []string{"measure", "ksm", "--format=json", fmt.Sprintf("--for=%ds", in.Seconds), interval}
	case "disks":
		args = []string{"measure", "disks", "--format=json", fmt.Sprintf("--interval=%ds", in.Seconds)}
	case "login":
		if err := d.allowedHost(in.On); err != nil {
			return Answer{}, err
		}
		args = []string{"measure", "login", "--format=json", "--", in.On}
	default:
		return Answer{}, fmt.Errorf("what is %q: expected counters, disks, ksm or login", visible(in.What, 40))
	}
	told := make(chan struct{})
	ended, end := context.WithCancel(ctx)
	go func() {
		defer close(told)
		for began := time.Now(); ; {
			select {
			case <-ended.Done():
				return
			case <-time.After(time.Second):
				c.progress(ctx, min(time.Since(began).Seconds(), float64(in.Seconds)), float64(in.Seconds))
			}
		}
	}()
	doc, _, err := d.document(ctx, "", args...)
	end()
	<-told
	if err != nil {
		return Answer{}, err
	}
	return Answer{Says: "measured", HostSays: hostSays(doc)}, nil
}
