package api

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"fettle/fleet/hub/store"
)

// The hub changes nothing on hosts: it has no way to. What a fix needs is offered as text,
// for whoever has the rights over those hosts already.

// FixQuery asks how a trap is fixed on the hosts that have it.
type FixQuery struct {
	ID       string `json:"id" need:"yes" about:"the trap's name"`
	Group    string `json:"group" about:"one group; - is the one without a name"`
	Label    string `json:"label" about:"hosts with this label: NAME=VALUE, or NAME; several with commas between"`
	Severity string `json:"severity" one:"notice warning critical" about:"where it has this severity alone"`
}

// FixPlan is how a trap is fixed on many hosts.
type FixPlan struct {
	Trap    string   `json:"trap"`
	Hosts   []string `json:"hosts"`    // as they call themselves
	LeftOut int      `json:"left_out"` // hosts whose names cannot be host names
	More    bool     `json:"more"`     // there are more hosts than are listed
	Command string   `json:"command"`  // empty: by hand, or nowhere
}

const (
	fixHosts = 1000 // of one command
	fixBatch = 5
)

// hostName is what ssh and Ansible take for a name and nothing else: no option, no pattern,
// no user, no shell.
var hostName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?$`)

// Fix answers how a trap is fixed on the hosts that have it.
func (a *API) Fix(ctx context.Context, q FixQuery) (p FixPlan, err error) {
	in, err := scope(ctx, q.Group, q.Label)
	if err != nil {
		return p, err
	}
	known := a.traps[q.ID]
	if known == nil {
		return p, store.ErrNone
	}
	var sev *int
	if q.Severity != "" {
		n := rank(q.Severity)
		sev = &n
	}
	names, err := a.DB.FixTargets(ctx, in, q.ID, sev, fixHosts+1)
	if err != nil {
		return p, err
	}
	names, p.More = cut(names, fixHosts)
	p.Trap = q.ID
	p.Hosts = slices.DeleteFunc(slices.Clone(names), func(s string) bool { return !hostName.MatchString(s) })
	p.LeftOut = len(names) - len(p.Hosts)
	if known.Plan != nil && len(p.Hosts) > 0 {
		p.Command = fmt.Sprintf("fettle fix %s --host %s --batch %d", q.ID, strings.Join(p.Hosts, ","), fixBatch)
	}
	return p, nil
}

const (
	textType = "text/plain; charset=utf-8"
	yamlType = "application/yaml" // RFC 9512
)

// Inventory is those hosts as an inventory of Ansible.
func (a *API) Inventory(ctx context.Context, q FixQuery) (File, error) {
	p, err := a.Fix(ctx, q)
	if err != nil {
		return File{}, err
	}
	text := "# Hosts on which " + p.Trap + " is found.\n[fettle]\n" + strings.Join(append(p.Hosts, ""), "\n")
	return File{Name: p.Trap + ".ini", Type: textType, Content: []byte(text)}, nil
}

// Playbook fixes the trap on the hosts of the inventory, some at a time.
func (a *API) Playbook(ctx context.Context, q FixQuery) (File, error) {
	p, err := a.Fix(ctx, q)
	if err != nil {
		return File{}, err
	}
	if a.traps[q.ID].Plan == nil {
		return File{}, bad("%s is fixed by hand: see its article", clip(q.ID))
	}
	text := fmt.Sprintf(`# Fixes %[1]s. See the plans first:  ansible-playbook -i %[1]s.ini %[1]s.yml --check --diff
# Needs the collection fettle.fettle (packaging/ansible).
- name: Fix %[1]s
  hosts: fettle
  become: true
  gather_facts: false
  serial: %[2]d
  max_fail_percentage: 0
  tasks:
    - name: Fix %[1]s, and verify
      fettle.fettle.fix:
        trap: %[1]s
`, p.Trap, fixBatch)
	return File{Name: p.Trap + ".yml", Type: yamlType, Content: []byte(text)}, nil
}

// FixesQuery asks what fettle fix changed.
type FixesQuery struct {
	Trap   string `json:"trap" about:"one trap"`
	Group  string `json:"group" about:"one group; - is the one without a name"`
	Label  string `json:"label" about:"hosts with this label: NAME=VALUE, or NAME; several with commas between"`
	Offset int    `json:"offset" most:"1000000" about:"number to skip"`
	Limit  int    `json:"limit" most:"1000" about:"maximum number; default 50"`
}

// Fixes are changes that fettle fix made on hosts, the newest first.
type Fixes struct {
	Fixes []store.Fix `json:"fixes"`
	Count int         `json:"count"` // without the limit
	Next  int         `json:"next"`  // the offset of those that follow; 0: there are none
}

// CSV is a line for each.
func (l Fixes) CSV() (header []string, lines [][]string) {
	for _, x := range l.Fixes {
		lines = append(lines, texts(stamp(x.At), x.Host.Name, x.Host.Group, x.ID, x.Who, x.Trap, x.Subject, x.Standing, x.Verified, x.Undo,
			x.Host.Agent))
	}
	return []string{"time", "host", "group", "change", "who", "trap", "subject", "now", "verified", "undo", "host id"}, lines
}

// Fixes answers what fettle fix changed on hosts.
func (a *API) Fixes(ctx context.Context, q FixesQuery) (l Fixes, err error) {
	in, err := scope(ctx, q.Group, q.Label)
	if err != nil {
		return l, err
	}
	l.Fixes, l.Count, err = a.DB.Fixes(ctx, store.FixQuery{Scope: in, Trap: q.Trap, Offset: q.Offset, Limit: limit(q.Limit)})
	l.Next = following(q.Offset, len(l.Fixes), l.Count)
	return l, err
}
