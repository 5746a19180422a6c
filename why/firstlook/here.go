package firstlook

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fettle/host"
)

// Question is what a confined process is asked about this host: only whether lines are its own,
// and about things that such lines name.
type Question struct {
	Hosts  []string `json:"hosts"` // all host names in the log
	Boots  []string `json:"boots"` // all boots that it names
	Claims []Claim  `json:"claims"`
	// Unit is the unit of which the log was read from this host's journal, if it was.
	Unit string `json:"unit,omitempty"`
	// Days is how many days back the journal is compared; 0: it is not.
	Days int `json:"days,omitempty"`
}

// Claim is a line that the log has, and what it names.
type Claim struct {
	By       string   `json:"by"`
	Text     string   `json:"text"`
	Template []string `json:"template"`
	Things   []Thing  `json:"things"`
}

// Here is what this host says of a log that is its own.
type Here struct {
	Own bool `json:"own"`
	// Reason says why the log is not taken for this host's.
	Reason string `json:"reason,omitempty"`
	Facts  []Fact `json:"facts,omitempty"`
	// Compared is the number of days over which the journal was compared; 0: it was not.
	Compared int `json:"compared_days,omitempty"`
	// Known says of each claim, in their order, whether the days before had its like; null
	// where that was not looked at.
	Known []*bool `json:"known,omitempty"`
}

// Fact is what this host knows of one thing.
type Fact struct {
	Thing
	Says    string `json:"says"`
	Command string `json:"command"` // shows more
	// Trap is the trap whose check finds this very thing in it now, and Finding what it says.
	Trap    string `json:"trap,omitempty"`
	Finding string `json:"finding,omitempty"`
}

// maxClaims and maxDays bound what is asked.
const (
	maxClaims = shown
	maxDays   = 30
	ownLines  = 20000
)

// Ask is the question that a report has for this host; days back its journal is compared.
func (r *Report) Ask(boots []string, days int) Question {
	q := Question{Hosts: r.Hosts, Boots: boots, Days: min(max(days, 0), maxDays)}
	for _, g := range r.Groups[:min(len(r.Groups), maxClaims)] {
		q.Claims = append(q.Claims, Claim{By: g.By, Text: g.Text, Template: strings.Fields(g.Template), Things: things(g.Text, g.Unit)})
	}
	return q
}

// Boots are the boots that the log names.
func (l *Look) Boots() []string {
	out := make([]string, 0, len(l.boots))
	for b := range l.boots {
		out = append(out, b)
	}
	slices.Sort(out)
	return out
}

// Settle takes over what the host said.
func (r *Report) Settle(h Here) {
	r.Here = &h
	for i, k := range h.Known {
		if i < len(r.Groups) {
			r.Groups[i].Known = k
		}
	}
}

// Answer answers a question about this host, in the process that may only read. A line
// is this host's own where its host name and boot are, and where this boot's journal has that
// very line by that program: a log from elsewhere does not choose what is looked at. The unit
// whose journal was asked for is looked up in any case: whoever runs fettle named it.
func Answer(ctx context.Context, h *host.Host, q Question) Here {
	if id := h.Identity(); q.Foreign(id.Hostname, id.BootID) != "" {
		return Here{Reason: q.Foreign(id.Hostname, id.BootID)}
	}
	q = q.bounded()
	unit := Thing{"unit", q.Unit}
	own, err := ownLinesOf(ctx, h, q)
	switch {
	case unit.valid():
	case err != nil:
		return Here{Reason: "this host's journal could not be read: " + host.Reason(err)}
	case len(own) == 0:
		return Here{Reason: "this host's journal of this boot does not have these lines"}
	}
	out := Here{Own: true}
	seen := map[Thing]bool{}
	look := func(t Thing) {
		if !seen[t] && t.valid() && len(seen) < 12 {
			seen[t] = true
			if f, ok := lookUp(ctx, h, t); ok {
				out.Facts = append(out.Facts, f)
			}
		}
	}
	look(unit)
	for i, c := range q.Claims {
		if _, ok := own[i]; ok {
			for _, t := range c.Things {
				look(t)
			}
		}
	}
	if q.Days > 0 && len(own) > 0 {
		out.compare(ctx, h, q, own)
	}
	return out
}

// Foreign says why a log is not this host's; empty where its names are this host's. boot is empty
// where it is not known.
func (q Question) Foreign(hostname, boot string) string {
	short, _, _ := strings.Cut(hostname, ".")
	if q.Unit != "" { // a host's name may have changed since the boot
		return ""
	}
	if len(q.Hosts) == 0 {
		return "its lines have no host name"
	}
	for _, n := range q.Hosts {
		if s, _, _ := strings.Cut(n, "."); s != short || strings.Contains(n, ".") && strings.Contains(hostname, ".") && n != hostname {
			return "it has lines of other hosts"
		}
	}
	boot = strings.ReplaceAll(boot, "-", "")
	for _, b := range q.Boots {
		if boot != "" && b != boot {
			return "it has lines of other boots"
		}
	}
	return ""
}

// bounded is a question within its bounds: it comes from another process.
func (q Question) bounded() Question {
	q.Claims = slices.Clone(q.Claims[:min(len(q.Claims), maxClaims)])
	for i := range q.Claims {
		c := &q.Claims[i]
		c.Things = c.Things[:min(len(c.Things), maxThings)]
		c.Template = c.Template[:min(len(c.Template), maxTokens)]
	}
	q.Days = min(max(q.Days, 0), maxDays)
	return q
}

// identifier is what may follow SYSLOG_IDENTIFIER= in a match.
func identifier(s string) bool {
	return s != "" && len(s) <= 64 &&
		strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.@()/:-") == ""
}

// matches are journalctl's matches for who said the claims.
func matches(q Question) []string {
	var out []string
	kernel := false
	for _, c := range q.Claims {
		if c.By == "kernel" {
			kernel = true
		} else if m := "SYSLOG_IDENTIFIER=" + c.By; identifier(c.By) && !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	if kernel {
		if len(out) > 0 {
			out = append(out, "+")
		}
		out = append(out, "_TRANSPORT=kernel")
	}
	return out
}

// ownLinesOf finds which claims this boot's journal has, and when each was logged first.
func ownLinesOf(ctx context.Context, h *host.Host, q Question) (map[int]time.Time, error) {
	m := matches(q)
	if len(m) == 0 {
		return nil, nil
	}
	own := map[int]time.Time{}
	args := append([]string{"-b", "-o", "json", "--no-pager", "-n", strconv.Itoa(ownLines), host.JournalFields}, m...)
	return own, journal(ctx, h, args, func(l host.LogLine) {
		for i, c := range q.Claims {
			if _, have := own[i]; !have && c.By == l.By && c.Text == trimmed(l.Text) {
				own[i] = l.At
			}
		}
	})
}

// trimmed is a text as a group keeps it.
func trimmed(s string) string {
	s = strings.TrimSpace(s)
	return s[:min(len(s), maxText)]
}

func journal(ctx context.Context, h *host.Host, args []string, each func(host.LogLine)) error {
	out, err := h.Run(ctx, "journalctl", args...)
	if err != nil {
		return err
	}
	if out.Exit != 0 && len(out.Stdout) == 0 {
		return fmt.Errorf("journalctl failed: %s", strings.TrimSpace(string(out.Stderr[:min(len(out.Stderr), 200)])))
	}
	for line := range strings.Lines(string(out.Stdout)) {
		if l, ok := host.JournalLine([]byte(line)); ok {
			each(l)
		}
	}
	return nil
}

// compare looks in the journal of the days before for messages that are like the claims.
func (out *Here) compare(ctx context.Context, h *host.Host, q Question, own map[int]time.Time) {
	first := h.Now()
	for _, at := range own {
		if at.Before(first) {
			first = at
		}
	}
	since := first.AddDate(0, 0, -min(q.Days, maxDays))
	args := []string{"-o", "json", "--no-pager", "-n", strconv.Itoa(ownLines), "--since=@" + strconv.FormatInt(since.Unix(), 10),
		"--until=@" + strconv.FormatInt(first.Unix()-1, 10), host.JournalFields}
	found := make([]bool, len(q.Claims))
	err := journal(ctx, h, append(args, matches(q)...), func(l host.LogLine) {
		words := tokens(masked(nil, []byte(trimmed(l.Text))))
		for i, c := range q.Claims {
			found[i] = found[i] || c.By == l.By && fits(c.Template, words)
		}
	})
	if err != nil {
		return
	}
	out.Compared = q.Days
	for i := range q.Claims {
		var known *bool
		if _, ok := own[i]; ok {
			known = &found[i]
		}
		out.Known = append(out.Known, known)
	}
}

// fits reports whether a text has the words of a template.
func fits(template []string, words [][]byte) bool {
	if len(template) != len(words) {
		return false
	}
	for i, w := range words {
		if template[i] != string(w) && template[i] != wild {
			return false
		}
	}
	return true
}
