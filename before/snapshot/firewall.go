package snapshot

import (
	"context"
	"crypto/sha256"
	"fmt"

	"fettle/host"
	"fettle/host/format/nftables"
)

func firewall(ctx context.Context, h *host.Host, s *State) error {
	all, err := nftables.Read(ctx, h)
	if err != nil {
		return err
	}
	s.Chains = marks(all)
	return nil
}

// marks are a mark of each rule, by the chain.
func marks(all []nftables.Chain) map[string][]string {
	out := map[string][]string{}
	for _, c := range all {
		ms := []string{}
		if c.Hook != "" {
			ms = append(ms, hook+mark(c.Hook))
		}
		for _, r := range c.Rules {
			ms = append(ms, mark(r))
		}
		out[c.Family+" "+c.Table+" "+c.Name] = ms
	}
	return out
}

// hook begins the mark of a chain's own line: its hook, priority and policy.
const hook = "hook "

// mark is by what a rule is known again.
func mark(rule string) string {
	sum := sha256.Sum256([]byte(rule))
	return fmt.Sprintf("%x", sum[:8])
}
