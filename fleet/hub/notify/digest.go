package notify

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"fettle/fleet/hub/store"
	"fettle/internal/jsondoc"
	"fettle/internal/ui"
	"fettle/internal/units"
	"fettle/report"
	"fettle/report/notify"
)

//go:embed digest.html
var digestHTML string

var digestPage = template.Must(template.New("digest").Parse(digestHTML))

// digest is what a digest says.
type digest struct {
	Hub, URL, Period string
	Hosts            int
	Counts           report.Counts
	New, Resolved    int
	Silent           []row // the longest first
	AllSilent        int
	Traps, Groups    []row // the worst first
}

// row is a line of one of its tables.
type row struct {
	Name                      string
	Critical, Warning, Notice int
	Note                      string
}

// digestRows is how many rows a table has.
const digestRows = 10

// digest sends one where it is due; a new channel gets its first at the next time.
func (n *Notifier) digest(ctx context.Context, c *Channel, st store.ChannelState) error {
	due := c.due.last(n.Now())
	since := st.Digest
	if !since.Before(due) {
		return nil
	}
	st.Digest = due
	if since.IsZero() {
		return n.DB.Tell(ctx, c.key(), st, nil, nil)
	}
	d, err := n.gathered(ctx, c, since)
	if err != nil {
		return err
	}
	m := &notify.Message{Envelope: jsondoc.New("changes"), ID: newID(), Host: n.Hub, Hosts: d.Hosts, Started: n.Now(), URL: n.URL,
		Counts: d.Counts, New: []notify.Finding{}, Resolved: []notify.Finding{}, Text: d.Headline(), Plain: d.text()}
	var b strings.Builder
	if err := digestPage.Execute(&b, d); err != nil {
		return err
	}
	m.HTML = b.String()
	return n.enqueue(ctx, c, st, m, &difference{})
}

func (n *Notifier) gathered(ctx context.Context, c *Channel, since time.Time) (*digest, error) {
	d := &digest{Hub: ui.Visible(n.Hub), URL: n.URL, Period: "since " + since.In(time.Local).Format("Mon 2 January 15:04")}
	groups, err := n.DB.Groups(ctx, c.scope())
	if err != nil {
		return nil, err
	}
	d.Counts = c.counts(groups)
	sums := map[string]*row{}
	var order []string
	for _, g := range groups {
		if !among(c.Groups, g.Name) {
			continue
		}
		d.Hosts += g.Hosts
		name := g.Name
		if name == "" {
			name = "no group"
		}
		d.Groups = append(d.Groups, row{ui.Visible(name), g.Critical, g.Warning, g.Notice, units.Count(g.Hosts, "host", "hosts")})
		if err := n.ofGroup(ctx, c, d, g.Name, since, sums, &order); err != nil {
			return nil, err
		}
	}
	for _, t := range order {
		d.Traps = append(d.Traps, *sums[t])
	}
	worst(d.Traps)
	d.Traps, d.Groups = d.Traps[:min(len(d.Traps), digestRows)], d.Groups[:min(len(d.Groups), digestRows)]
	d.Silent = d.Silent[:min(len(d.Silent), digestRows)]
	return d, nil
}

// ofGroup adds what one group's digest needs: its traps, its changes, its silent hosts.
func (n *Notifier) ofGroup(
	ctx context.Context,
	c *Channel,
	d *digest,
	group string,
	since time.Time,
	sums map[string]*row,
	order *[]string,
) error {
	in := store.Scope{Groups: []string{group}, Labels: c.labels}
	traps, err := n.DB.TrapSums(ctx, in)
	if err != nil {
		return err
	}
	for _, t := range traps {
		if t.Found() == 0 || !among(c.Traps, t.Trap) {
			continue
		}
		r := sums[t.Trap]
		if r == nil {
			r = &row{Name: ui.Visible(t.Trap)}
			sums[t.Trap], *order = r, append(*order, t.Trap)
		}
		r.Critical, r.Warning, r.Notice = r.Critical+t.Critical, r.Warning+t.Warning, r.Notice+t.Notice
		r.Note = units.Count(r.Critical+r.Warning+r.Notice, "host", "hosts")
	}
	for kind, into := range map[string]*int{store.New: &d.New, store.Returned: &d.New, store.Resolved: &d.Resolved} {
		k, err := n.DB.CountChanges(ctx, store.ChangeQuery{Since: since, Kinds: []string{kind}, Scope: in, Rank: max(c.least, 1)})
		if err != nil {
			return err
		}
		*into += k
	}
	silent := n.silentSince(n.Now())
	if silent.IsZero() {
		return nil
	}
	q := store.HostQuery{Scope: in, SilentBefore: silent, Order: "seen", Limit: digestRows}
	all, err := n.DB.CountHosts(ctx, q)
	if err != nil {
		return err
	}
	d.AllSilent += all
	list, err := n.DB.Hosts(ctx, q)
	for _, h := range list {
		note := "never reported"
		if !h.Seen.IsZero() {
			note = "silent for " + units.Duration(n.Now().Sub(h.Seen).Truncate(time.Minute))
		}
		d.Silent = append(d.Silent, row{Name: ui.Visible(h.Name), Note: note})
	}
	return err
}

// Headline is the digest in a line, for its subject and the template.
func (d *digest) Headline() string {
	s := d.Hub + ": "
	if d.AllSilent > 0 {
		s += fmt.Sprintf("%d of ", d.AllSilent)
	}
	s += units.Count(d.Hosts, "host", "hosts")
	if d.AllSilent > 0 {
		s += " silent"
	}
	c := d.Counts.Severities
	return s + fmt.Sprintf(", %d critical, %d warning, %d notice; %d new, %d resolved", c.Critical, c.Warning, c.Notice, d.New, d.Resolved)
}

func (d *digest) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n", d.Headline(), d.Period)
	if d.URL != "" {
		fmt.Fprintf(&b, "%s\n", d.URL)
	}
	section := func(title string, rows []row, more int) {
		if len(rows) == 0 {
			return
		}
		fmt.Fprintf(&b, "\n%s\n", title)
		for _, r := range rows {
			if r.Critical+r.Warning+r.Notice > 0 {
				fmt.Fprintf(&b, "  %s: %d critical, %d warning, %d notice, %s\n", r.Name, r.Critical, r.Warning, r.Notice, r.Note)
			} else {
				fmt.Fprintf(&b, "  %s: %s\n", r.Name, r.Note)
			}
		}
		if more > 0 {
			fmt.Fprintf(&b, "  and %d more\n", more)
		}
	}
	section("Silent hosts", d.Silent, d.AllSilent-len(d.Silent))
	section("Traps, by affected hosts", d.Traps, 0)
	section("Groups", d.Groups, 0)
	return b.String()
}

// worst brings the rows with the gravest first.
func worst(rows []row) {
	slices.SortStableFunc(rows, func(a, b row) int {
		return cmp.Or(b.Critical-a.Critical, b.Warning-a.Warning, b.Notice-a.Notice, strings.Compare(a.Name, b.Name))
	})
}
