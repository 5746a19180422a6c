package keypath

import (
	"fmt"
	"strings"
	"time"

	"fettle/host/format/openpgp"
	"fettle/internal/ui"
	"fettle/tools/keypath"
)

// answer is what there is to show.
type answer struct {
	w     *keypath.Web
	ask   question
	paths []keypath.Path
}

func (v *verb) text(a answer) string {
	var b strings.Builder
	width := ui.Width(v.Stdout)
	fmt.Fprintf(&b, "%s\n\n", v.headline(a))
	for i, p := range a.paths {
		if len(a.paths) > 1 {
			fmt.Fprintf(&b, "Path %d: %s\n", i+1, count(len(p), "signature"))
		}
		fmt.Fprintf(&b, "  %s\n", keyLine(a.w, p[0].From, width-2))
		for _, h := range p {
			fmt.Fprintf(&b, "    │ %s\n", ui.Cut(describe(a.w, h), width-6))
			fmt.Fprintf(&b, "  %s\n", keyLine(a.w, h.To, width-2))
		}
		if i < len(a.paths)-1 {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func (v *verb) headline(a answer) string {
	n := fmt.Sprintf("%s known, each signature shown is verified", count(a.w.Keys, "key"))
	switch {
	case len(a.paths) == 1 && v.disjoint == 1:
		return fmt.Sprintf("A shortest path: %s (%s)", count(len(a.paths[0]), "signature"), n)
	case len(a.paths) == 1:
		return fmt.Sprintf("One path; any other shares a key in between with it (%s)", n)
	}
	return fmt.Sprintf("%d paths that share no key in between (%s)", len(a.paths), n)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func keyLine(w *keypath.Web, k keypath.Key, width int) string {
	return ui.Cut(ui.Visible(w.Title(k)), width)
}

// describe says what a hop is: when, how, and over which user id if that is
// not the key's first.
func describe(w *keypath.Web, h *keypath.Hop) string {
	s := "signed " + h.Made.UTC().Format(time.DateOnly) + ", " + h.Hash.String()
	switch h.Type {
	case openpgp.CertCasual:
		s += ", casually checked"
	case openpgp.CertPositive:
		s += ", carefully checked"
	case openpgp.CertPersona:
		s += ", not checked"
	}
	if !h.Expires.IsZero() {
		s += ", until " + h.Expires.UTC().Format(time.DateOnly)
	}
	if h.Name != w.FirstName(h.To) {
		s += ", over " + ui.Visible(h.Name)
	}
	return s
}

// explain shows the path that comes nearest.
func (v *verb) explain(w *keypath.Web, ask question) error {
	p, err := w.WhyNot(v.ctx, ask.Query)
	if err != nil {
		return v.Failf("looking for the nearest path: %w", err)
	}
	if p == nil {
		forward, backward := w.Reach(rootKeys(ask), ask.To)
		_, err := fmt.Fprintf(v.Stdout, "No signatures lead there, not even ones that do not count.\n%s\n", reach(w, ask, forward, backward))
		return err
	}
	bad := 0
	for _, h := range p {
		if !h.Valid() {
			bad++
		}
	}
	if v.format == "json" {
		return v.json(answerJSON(answer{w, ask, []keypath.Path{p}}))
	}
	if v.format != "text" {
		return v.Usagef("--why-not has no %s: expected text or json", v.format)
	}
	var b strings.Builder
	switch {
	case bad == 0 && len(p) > ask.MaxLength:
		fmt.Fprintf(&b, "There is a path, but its %d signatures exceed --max-length %d.\n\n", len(p), ask.MaxLength)
	case bad == 0:
		fmt.Fprintf(&b, "Nothing is wrong: there is a path.\n\n")
	default:
		fmt.Fprintf(
			&b,
			"The nearest path has %s, of which %d %s not count.\n\n",
			count(len(p), "signature"),
			bad,
			map[bool]string{true: "does", false: "do"}[bad == 1],
		)
	}
	width := ui.Width(v.Stdout)
	fmt.Fprintf(&b, "  %s\n", keyLine(w, p[0].From, width-2))
	for _, h := range p {
		if h.Valid() {
			fmt.Fprintf(&b, "    │ %s\n", ui.Cut(describe(w, h), width-6))
		}
		for _, why := range h.Against {
			b.WriteString(ui.Wrap("does not count: "+ui.Visible(why), width, "    ✗ ", "      "))
		}
		fmt.Fprintf(&b, "  %s\n", keyLine(w, h.To, width-2))
	}
	_, err = fmt.Fprint(v.Stdout, b.String())
	return err
}

func rootKeys(ask question) (out []keypath.Key) {
	for _, r := range ask.Roots {
		out = append(out, r.Key)
	}
	return out
}

// noPath says how far each side reaches.
func (v *verb) noPath(w *keypath.Web, ask question) error {
	ends := []keypath.Key{ask.To}
	if len(ask.Roots) == 1 {
		ends = append(rootKeys(ask), ask.To)
	}
	for _, k := range ends {
		if s := w.State(k); !s.Live() {
			return v.Usagef("no path: key %s %s", ui.Visible(w.Title(k)), s.Against)
		}
	}
	forward, backward := w.Reach(rootKeys(ask), ask.To)
	return v.Usagef("no path of at most %s: %s; --why-not tells more", count(ask.MaxLength, "signature"), reach(w, ask, forward, backward))
}

func reach(w *keypath.Web, ask question, forward, backward int) string {
	from := "FROM leads"
	if len(ask.Roots) > 1 {
		from = "the keys to start from lead"
	}
	return fmt.Sprintf("%s to %d of %d keys, and %d lead to TO", from, forward, w.Keys, backward)
}
