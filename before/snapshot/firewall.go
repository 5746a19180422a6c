package snapshot

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"fettle/host"
)

// ruleset are nft(8)'s arguments: all rules, without counters.
var ruleset = []string{"-s", "list", "ruleset"}

func firewall(ctx context.Context, h *host.Host, s *State) error {
	out, err := h.Run(ctx, "nft", ruleset...)
	if errors.Is(err, host.ErrNoCommand) && !loaded(ctx, h) {
		return nil
	}
	if err != nil {
		return err
	}
	if out.Exit != 0 {
		return fmt.Errorf("nft list ruleset failed with status %d", out.Exit)
	}
	s.Chains = parseRuleset(string(out.Stdout))
	return nil
}

// loaded tells whether the kernel's nf_tables has been asked for: without it there are no rules.
func loaded(ctx context.Context, h *host.Host) bool {
	modules, err := h.ReadString(ctx, "/proc/modules")
	return err == nil && (strings.HasPrefix(modules, "nf_tables ") || strings.Contains(modules, "\nnf_tables "))
}

// parseRuleset reads the chains of nft list ruleset (nftables, src/rule.c): a mark of each rule,
// by the chain. Sets and maps change as programs use them.
func parseRuleset(text string) map[string][]string {
	chains := map[string][]string{}
	table, chain := "", ""
	depth := 0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		f := strings.Fields(strings.TrimSuffix(line, "{"))
		switch {
		case strings.HasSuffix(line, "{") && depth == 0 && len(f) == 3 && f[0] == "table":
			table = f[1] + " " + f[2]
		case strings.HasSuffix(line, "{") && depth == 1 && len(f) == 2 && f[0] == "chain":
			chain = table + " " + f[1]
			chains[chain] = []string{}
		case depth == 2 && chain != "" && line != "}" && line != "":
			rule, _, _ := strings.Cut(line, ` comment "`)
			m := mark(rule)
			if strings.HasPrefix(rule, "type ") { // its hook, priority and policy
				m = hook + m
			}
			chains[chain] = append(chains[chain], m)
		}
		depth += strings.Count(line, "{") - strings.Count(line, "}")
		if depth < 2 {
			chain = ""
		}
	}
	return chains
}

// hook begins the mark of a chain's own line.
const hook = "hook "

// mark is by what a rule is known again.
func mark(rule string) string {
	sum := sha256.Sum256([]byte(rule))
	return fmt.Sprintf("%x", sum[:8])
}
