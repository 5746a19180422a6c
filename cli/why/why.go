package why

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/engine/trap"
	"fettle/internal/jsondoc"
	"fettle/internal/ui"
	"fettle/report"
	"fettle/why"
	"fettle/why/firstlook"
	"fettle/why/paste"
)

type whyOptions struct {
	format  string
	noCheck bool
	journal journalFlags
}

// Cmd is fettle why.
func Cmd(a *app.App) *cobra.Command {
	var o whyOptions
	c := &cobra.Command{
		Use:   "why [TEXT...]",
		Short: "Name the trap behind an error message, a log, or a description",
		Long: `Name the trap behind an error message, lines of a log, or a problem in your own
words. The text is taken from the arguments, from standard input or, with
--unit, from this host's journal. Addresses, paths, numbers and interface names
need not match.

If no trap explains a log, the messages that stand out are shown, worst first,
with what their words mean. If the log is this host's own, also the state of the
units, disks, files and ports that they name. With --unit, it always is; its
state comes first, and messages that the last 7 days do not have are marked.

--since takes a number of days, or with --unit a time: -1h, today, yesterday or
"2026-01-31 14:00".

If the text matches several traps, up to three are named. On a Linux host, their
checks are run, unless --no-check is given: traps found here come first, and
those not found come last, in one line.

Exit status:
  0  the text matches a trap
  1  no known trap matches
  2  usage error, or the text cannot be read`,
		Example: `  fettle why "the bridge's mtu changes by itself"
  journalctl -b -p warning | fettle why
  fettle why --unit nginx`,
		RunE: func(cmd *cobra.Command, args []string) error { return answer(cmd.Context(), a, o, args) },
	}
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return fmt.Errorf("%w; text that begins with a dash goes into quotes, or behind --", err)
	})
	app.FormatFlag(c, &o.format, "text", "json")
	o.journal.flags(c)
	c.Flags().BoolVar(&o.noCheck, "no-check", false, "do not check this host for the traps that match")
	return c
}

// KeepMessages keeps messages that begin with a dash, as a shell's do ("-bash:
// warning: …"), from being read as flags of why: no flag has a space.
func KeepMessages(args []string) []string {
	at := slices.Index(args, "why")
	if at < 0 || at > 2 || at > 0 && !strings.HasPrefix(args[0], "--traps") {
		return args // another verb's argument
	}
	args = slices.Clone(args)
	for i, s := range args[at+1:] {
		if s == "--" {
			break
		}
		if name, _, _ := strings.Cut(s, "="); strings.HasPrefix(s, "-") && strings.ContainsAny(name, " \t\n") {
			args[at+1+i] = " " + s
		}
	}
	return args
}

func answer(ctx context.Context, a *app.App, o whyOptions, args []string) error {
	if err := o.journal.valid(args); err != nil {
		return err
	}
	in := a.Stdin
	switch text := strings.Join(args, " "); {
	case o.journal.unit != "":
		log, err := o.journal.log(ctx, a)
		if err != nil {
			return err
		}
		in = log
	case len(args) > 0 && strings.TrimSpace(text) == "":
		return app.Usagef("the text is empty: give a message or a description, or pipe a log in")
	case len(args) > 0 && text != "-":
		in = strings.NewReader(text)
	case len(args) == 0 && ui.IsTerminal(a.Stdin):
		fmt.Fprintln(a.Stderr, "fettle: paste the message or log, then press Ctrl-D on an empty line")
	}
	x, err := why.New(a.Traps)
	if err != nil {
		return app.Failf("%w", err)
	}
	look := firstLook{firstlook.New()}
	var head bytes.Buffer // what a short paste shows is read a second time
	ranked, err := x.RankBeside(io.TeeReader(interruptible{ctx, in}, &bounded{&head}), look.look)
	if ctx.Err() != nil {
		return app.Failf("interrupted while reading the text")
	}
	if err != nil {
		return app.Usagef("reading the text: %w", err)
	}
	said := newVerdict(why.Told(ranked))
	if o.journal.unit == "" { // a journal is no paste, and this host's own
		said.empty = strings.TrimSpace(head.String()) == ""
		said.paste(ctx, a, head.String())
	}
	if !o.noCheck && runtime.GOOS == "linux" {
		if o.journal.unit == "" {
			said.host, _ = os.Hostname()
		}
		said.look(ctx, a)
	}
	if len(said.matches)+len(said.refuted)+len(said.shown) == 0 {
		said.first = look.report(ctx, a, o)
	}
	if o.format == "json" {
		err = whyJSON(a, said)
	} else {
		err = whyText(a, said)
	}
	if err != nil {
		return err
	}
	if len(said.matches)+len(said.refuted)+len(said.shown) == 0 {
		return app.Exit(app.ExitFound, nil)
	}
	return nil
}

// interruptible ends with its context: a log may take minutes to read.
type interruptible struct {
	ctx context.Context
	r   io.Reader
}

func (i interruptible) Read(p []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	return i.r.Read(p)
}

// verdict is what is said of a text: the traps that it speaks of, as far as this
// host does not tell otherwise.
type verdict struct {
	matches []why.Match // those found here first
	refuted []why.Match // of which the check is clear here, or does not apply
	near    []why.Match // no matches, and this host says nothing either
	here    map[string]trap.Result
	first   *firstlook.Report // no trap matches a log: what an experienced admin would see in it
	shown   []trap.Result     // what checks find on the host that the paste shows
	of      []string          // and what of it was read
	empty   bool              // nothing was given to read
	host    string            // this one's name; empty where the text is its own, whatever name it had
}

func newVerdict(matches, near []why.Match) *verdict {
	return &verdict{matches: matches, near: near, here: map[string]trap.Result{}}
}

// look asks this host. What is found here beats any score: also what is only near
// is a match then.
func (v *verdict) look(ctx context.Context, a *app.App) {
	if len(v.shown) > 0 {
		return // a paste that shows the trap is of the host that it was taken from
	}
	asked := slices.DeleteFunc(append(slices.Clone(v.matches), v.near...), v.foreign)
	if len(asked) == 0 {
		return
	}
	v.here = lookHere(ctx, a, asked)
	var found, open, near []why.Match
	for i, m := range append(slices.Clone(v.matches), v.near...) {
		r, looked := v.here[m.Trap]
		switch met := looked && has(&r, trap.Found); {
		case met:
			found = append(found, m)
		case looked && !has(&r, trap.Unknown) && !talks(a, m.Trap):
			if i < len(v.matches) {
				v.refuted = append(v.refuted, m)
			}
		case i < len(v.matches):
			open = append(open, m)
		default:
			near = append(near, m)
		}
	}
	v.matches, v.near = append(found, open...), near
}

// foreign tells whether the lines that speak for a trap are all from other hosts' logs.
func (v *verdict) foreign(m why.Match) bool {
	short := func(name string) string {
		name, _, _ = strings.Cut(strings.ToLower(name), ".")
		return name
	}
	return len(m.Hosts) > 0 && v.host != "" && !slices.ContainsFunc(m.Hosts, func(h string) bool {
		return short(h) == short(v.host) || short(h) == "localhost"
	})
}

// paste has the checks judge what a paste shows.
func (v *verdict) paste(ctx context.Context, a *app.App, text string) {
	h, of := paste.Host(text)
	if h == nil {
		return
	}
	v.shown, v.of = paste.Checked(ctx, h, a.Traps), of
	for _, r := range v.shown { // said once
		v.matches = slices.DeleteFunc(v.matches, func(m why.Match) bool { return m.Trap == r.Trap })
	}
}

// bounded keeps as much as a paste may have, and drops what is longer: a log.
type bounded struct{ b *bytes.Buffer }

func (w *bounded) Write(p []byte) (int, error) {
	if w.b.Len() <= paste.Limit {
		w.b.Write(p)
	}
	return len(p), nil
}

// found tells whether this host is in the trap.
func (v *verdict) found(id string) bool {
	r, ok := v.here[id]
	return ok && has(&r, trap.Found)
}

func has(r *trap.Result, s trap.Status) bool {
	return slices.ContainsFunc(r.Outcomes, func(o trap.Outcome) bool { return o.Status == s })
}

// lookHere runs the checks of traps on this host. Those that need an interval or
// the network are left out.
func lookHere(ctx context.Context, a *app.App, matches []why.Match) map[string]trap.Result {
	var traps []*trap.Trap
	for _, t := range a.Traps {
		for _, m := range matches {
			if m.Trap == t.ID() && t.Cost == trap.Instant {
				traps = append(traps, t)
			}
		}
	}
	here := map[string]trap.Result{}
	if len(traps) == 0 {
		return here
	}
	err := a.CheckLive(ctx, traps, trap.Options{}, func(r trap.Result) { here[r.Trap] = r })
	if err != nil {
		fmt.Fprintf(a.Stderr, "fettle: could not check this host: %v\n", err)
	}
	return here
}

func whyJSON(a *app.App, v *verdict) error {
	out := []match{}
	for _, m := range slices.Concat(v.matches, v.refuted) {
		j := match{Match: m, Title: a.Title(m.Trap)}
		if r, ok := v.here[m.Trap]; ok {
			r = r.WithoutFacts()
			j.Here = &r
		}
		out = append(out, j)
	}
	d := document{Envelope: jsondoc.New("why"), Matches: out}
	for _, r := range v.shown {
		d.Shown = append(d.Shown, shown{Trap: r.Trap, Title: a.Title(r.Trap), From: v.of, Outcomes: r.WithoutFacts().Outcomes})
	}
	if len(out)+len(v.shown) == 0 && len(v.near) > 0 {
		d.Near = &v.near[0]
	}
	d.FirstLook = v.first
	return a.JSON(d)
}

// document is the answer as JSON.
type document struct {
	jsondoc.Envelope
	Matches []match    `json:"matches"`
	Shown   []shown    `json:"shown,omitempty"` // what checks find on the host that the paste shows
	Near    *why.Match `json:"near,omitempty"`  // no match, but the nearest
	// FirstLook is what stands out in a log that no trap explains.
	FirstLook *firstlook.Report `json:"first_look,omitempty"`
}

type shown struct {
	Trap     string         `json:"trap"`
	Title    string         `json:"title"`
	From     []string       `json:"from"` // what of the paste was read
	Outcomes []trap.Outcome `json:"outcomes"`
}

type match struct {
	why.Match
	Title string       `json:"title"`
	Here  *trap.Result `json:"here,omitempty"` // what the check says of this host
}

// talks tells whether a trap's check asks other hosts too where it may.
func talks(a *app.App, id string) bool {
	return slices.ContainsFunc(a.Traps, func(t *trap.Trap) bool { return t.ID() == id && t.Talks })
}

func whyText(a *app.App, v *verdict) error {
	p := printer{a: a, v: v, width: ui.Width(a.Stdout), paint: ui.Painter(ui.Colour(a.Stdout))}
	matches, refuted := v.matches, v.refuted
	if len(matches) == 0 && len(refuted) > 0 && len(v.shown) == 0 { // the text may be another host's
		matches, refuted = refuted[:1], refuted[1:]
	}
	p.shown()
	if len(matches) == 0 && len(v.shown) == 0 {
		p.nothing()
	}
	for i := range matches {
		if i+len(v.shown) > 0 {
			p.b.WriteByte('\n')
		}
		p.match(&matches[i])
	}
	if len(refuted) > 0 {
		var names []string
		for _, m := range refuted {
			names = append(names, m.Trap)
		}
		p.b.WriteString("\n" + ui.Wrap("not on this host: "+strings.Join(names, ", "), p.width, "", "  "))
	}
	_, err := io.WriteString(a.Stdout, p.b.String())
	return err
}

// printer writes a verdict as text.
type printer struct {
	a     *app.App
	v     *verdict
	b     strings.Builder
	width int
	paint ui.Painter
}

func (p *printer) nothing() {
	if p.v.empty {
		p.b.WriteString("There was nothing to read: the text is empty.\n")
		return
	}
	if p.v.first != nil {
		p.b.WriteString(p.v.first.Text(min(p.width, firstLookWidth)))
		return
	}
	p.b.WriteString("No known trap matches this.\n")
	for i, m := range p.v.near {
		start := "or"
		if i == 0 {
			start = "The nearest is"
		}
		p.b.WriteString(
			ui.Wrap(fmt.Sprintf("%s %s (%d %%): %s", start, m.Trap, percent(m.Score), ui.Visible(p.a.Title(m.Trap))), p.width, "",
				"  "),
		)
	}
	p.b.WriteString(ui.Wrap("Try a few more lines around the message, or other words; fettle list shows all known traps.", p.width, "",
		""))
}

// shown prints what the checks find on the host that the paste shows.
func (p *printer) shown() {
	for i := range p.v.shown {
		r := &p.v.shown[i]
		if i > 0 {
			p.b.WriteByte('\n')
		}
		p.b.WriteString(p.paint.Paint(ui.Bold, r.Trap) + "  (shown by the paste)\n")
		line := func(s string) { p.b.WriteString(ui.Wrap(s, p.width, "  ", "    ")) }
		line(ui.Visible(p.a.Title(r.Trap)))
		for _, o := range r.Outcomes[:min(3, len(r.Outcomes))] {
			on := ""
			if o.Subject != "" {
				on = " on " + ui.Visible(o.Subject)
			}
			line("found" + on + ": " + ui.Visible(string(o.Summary)))
			if o.Detail != "" {
				line(ui.Visible(string(o.Detail)))
			}
		}
		line("read from " + ui.Visible(strings.Join(p.v.of, ", ")) + "; the rest of that host was not seen")
		line("fettle explain " + r.Trap)
	}
}

func (p *printer) match(m *why.Match) {
	sure := likely(m.Score)
	if p.v.found(m.Trap) {
		sure = "found here"
	}
	p.b.WriteString(p.paint.Paint(ui.Bold, m.Trap) + fmt.Sprintf("  (%s, %d %%)\n", sure, percent(m.Score)))
	line := func(s string) { p.b.WriteString(ui.Wrap(s, p.width, "  ", "    ")) }
	line(ui.Visible(p.a.Title(m.Trap)))
	for _, l := range m.Lines {
		p.b.WriteString("  " + p.paint.Paint(ui.Faint, "| "+ui.Cut(ui.Visible(l), p.width-4)) + "\n")
	}
	if m.Symptom != "" {
		line("fits: " + ui.Visible(m.Symptom))
	}
	if p.v.foreign(*m) {
		line("this log is of host " + ui.Visible(strings.Join(m.Hosts, ", ")) + ", not of this one: run fettle check " + m.Trap + " there")
	}
	if r, ok := p.v.here[m.Trap]; ok {
		for _, s := range saysHere(&r, talks(p.a, m.Trap)) {
			said, command, ok := strings.Cut(s, next)
			line(said)
			if ok { // never broken in two: it is there to be copied
				p.b.WriteString("    " + command + "\n")
			}
		}
	}
	line("fettle explain " + m.Trap)
}

// percent is never 100: no words are proof.
func percent(score float64) int { return min(99, int(100*score+0.5)) }

func likely(score float64) string {
	switch {
	case score >= 0.9:
		return "very likely"
	case score >= 0.7:
		return "likely"
	}
	return "perhaps"
}

// next is before the command for what was said.
const next = "\x00"

// saysHere puts into lines what a check says of this host: findings and what
// could not be looked at, or that it is clear. A check that talks to other
// hosts was not let to.
func saysHere(r *trap.Result, talks bool) []string {
	var out []string
	clear := 0
	var not string
	for i := range r.Outcomes {
		o := &r.Outcomes[i]
		on := ""
		if o.Subject != "" {
			on = " on " + ui.Visible(o.Subject)
		}
		switch o.Status {
		case trap.Found:
			out = append(out, "here: found"+on+": "+ui.Visible(o.Summary)+next+report.Command(o))
		case trap.Clear:
			clear++
		case trap.NotApplicable:
			not = ui.Visible(o.Reason)
		default:
			out = append(out, "here: unknown"+on+": "+ui.Visible(o.Reason))
		}
	}
	switch {
	case len(out) > 4:
		return append(out[:3], fmt.Sprintf("here: and %d more; fettle check %s shows them", len(out)-3, r.Trap))
	case len(out) > 0:
		return out
	case clear > 0 && talks:
		return []string{"here: clear as far as this host's own files tell; to ask others: fettle check " + r.Trap + " --network"}
	case clear > 0:
		return []string{"here: clear, this host is not in the trap now"}
	}
	return []string{"here: does not apply: " + not}
}
