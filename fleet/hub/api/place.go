package api

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"fettle/fleet/hub/store"
)

// SetQuery puts hosts in order.
type SetQuery struct {
	Hosts   string `json:"hosts" need:"yes" long:"100000" about:"the hosts' ids, with commas between"`
	Group   string `json:"group" about:"their group; - is the one without a name; empty: as it is"`
	Name    string `json:"name" about:"the name of one host, kept whatever it calls itself; empty: as it is"`
	OwnName bool   `json:"own_name" about:"the names that the hosts call themselves"`
	Label   string `json:"label" about:"labels to set: NAME=VALUE, with commas between"`
	Remove  string `json:"remove" about:"names of labels to remove, with commas between"`
}

// placedAtOnce is how many hosts one act puts in order.
const placedAtOnce = 1000

// SetHosts puts hosts in order: all of them, or none.
func (a *API) SetHosts(ctx context.Context, q SetQuery) (Done, error) {
	agents := slices.Compact(slices.Sorted(slices.Values(split(q.Hosts))))
	if len(agents) == 0 || len(agents) > placedAtOnce {
		return Done{}, bad("hosts: expected 1 to %d ids", placedAtOnce)
	}
	p, err := q.placing(len(agents))
	if err != nil {
		return Done{}, err
	}
	by := who(ctx)
	if p.Group != nil && !by.Sees.Over(*p.Group) {
		return Done{}, &Forbidden{fmt.Sprintf("you have no rights over the group %q", clip(*p.Group))}
	}
	for _, agent := range agents {
		if _, err := a.host(ctx, agent); err != nil {
			return Done{}, err
		}
	}
	err = a.DB.Place(ctx, agents, p, store.Audit{At: a.Now(), Who: by.Name, From: by.From, What: "set host", Details: Placed(p)})
	return Done{err == nil}, err
}

// placing reads what is to be set on n hosts.
func (q *SetQuery) placing(n int) (p store.Placing, err error) {
	p = store.Placing{Group: group(q.Group), Name: strings.TrimSpace(q.Name), OwnName: q.OwnName, Labels: map[string]string{}}
	switch {
	case p.Name != "" && n > 1:
		return p, bad("a name is for one host; %d are given", n)
	case p.Name != "" && p.OwnName:
		return p, bad("give a name or own_name, not both")
	case len(p.Name) > 255 || strings.ContainsFunc(p.Name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return p, bad("name: expected up to 255 bytes that can be printed")
	}
	if p.Group != nil {
		if err := store.CheckGroup(*p.Group); err != nil {
			return p, bad("%v", err)
		}
	}
	for _, l := range split(q.Label) {
		name, value, has := strings.Cut(l, "=")
		if !has {
			return p, bad("label %q: expected NAME=VALUE", clip(l))
		}
		if err := store.CheckLabel(name, value); err != nil {
			return p, bad("%v", err)
		}
		p.Labels[name] = value
	}
	p.Remove = split(q.Remove)
	if p.Group == nil && p.Name == "" && !p.OwnName && len(p.Labels)+len(p.Remove) == 0 {
		return p, bad("nothing to set: give a group, a name, a label, or one to remove")
	}
	return p, nil
}

// split takes a list with commas apart.
func split(s string) []string {
	var out []string
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// Placed says in words what was set.
func Placed(p store.Placing) string {
	var out []string
	switch {
	case p.Group == nil:
	case *p.Group == "":
		out = append(out, "no group")
	default:
		out = append(out, "group "+*p.Group)
	}
	if p.Name != "" {
		out = append(out, "name "+p.Name)
	}
	if p.OwnName {
		out = append(out, "its own name")
	}
	for _, name := range slices.Sorted(maps.Keys(p.Labels)) {
		out = append(out, "label "+name+"="+p.Labels[name])
	}
	for _, name := range p.Remove {
		out = append(out, "without label "+name)
	}
	return strings.Join(out, ", ")
}
