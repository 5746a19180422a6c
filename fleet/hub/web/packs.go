package web

import (
	"net/http"

	"fettle/fleet/hub/api"
)

func (s *site) packs(r *http.Request) (*page, error) {
	if _, err := ask[api.Nothing](r); err != nil {
		return nil, err
	}
	l, err := s.api.Packs(acting(r), api.Nothing{})
	return &page{Title: "Packs", template: "packs", Data: l.Packs}, err
}

func (s *site) pack(r *http.Request) (*page, error) {
	q, err := ask[api.PackQuery](r)
	if err != nil {
		return nil, err
	}
	l, err := s.api.PackHosts(acting(r), q)
	return &page{Title: "Pack " + l.Pack.Name, template: "pack", Data: map[string]any{
		"Pack": l.Pack, "Hosts": l.Hosts, "Pages": pagesOf(r, q.Offset, 50, len(l.Hosts), l.Count)}}, err
}

// stopped are the packs that go on only when somebody looks, for who sees all hosts.
func (s *site) stopped(a *asking) (out []api.Pack) {
	for _, p := range answer(a, s.api.Packs, api.Nothing{}).Packs {
		if p.Stalled {
			out = append(out, p)
		}
	}
	return out
}
