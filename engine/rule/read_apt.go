package rule

import (
	"fmt"
	"strings"

	"fettle/host/format/aptsources"
)

// sourceFact is a repository that apt fetches from.
type sourceFact struct {
	seen
	URI        string   `cel:"uri"`
	Suite      string   `cel:"suite"`
	Components []string `cel:"components"`
	From       string   `cel:"from"`    // file:line
	Signed     bool     `cel:"signed"`  // Signed-By says whose keys count
	Trusted    bool     `cel:"trusted"` // taken for signed, whatever its keys
}

func readSources(r *reading, _ *Fact) ([]*sourceFact, error) {
	all, err := aptsources.Read(r.ctx, r.h)
	if err != nil {
		return nil, err
	}
	out := []*sourceFact{}
	for _, s := range all {
		out = append(out, &sourceFact{seen: seen{s.From, fmt.Sprintf("%s %s %s", s.URI, s.Suite, strings.Join(s.Components, " "))},
			URI: s.URI, Suite: s.Suite, Components: s.Components, From: s.From, Signed: s.Signed, Trusted: s.Trusted})
	}
	return out, nil
}
