// Package nftables reads what nft list ruleset prints (nftables 1.0, src/rule.c).
package nftables

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"fettle/host"
)

// Chain is one chain of the running ruleset.
type Chain struct {
	Family, Table, Name string
	// Hook is the chain's own line, "type filter hook input priority filter; policy drop;"; empty
	// of chains that others jump to.
	Hook string
	// Rules are its rules, without counters and comments.
	Rules []string
}

// Question is nft(8)'s arguments: all rules, without counters.
var Question = []string{"-s", "list", "ruleset"}

// Read asks the kernel for its chains, those of the old iptables among them; none where neither is in use.
func Read(ctx context.Context, h *host.Host) ([]Chain, error) {
	chains, err := read(ctx, h)
	if err != nil {
		return nil, err
	}
	old, err := legacy(ctx, h)
	return append(chains, old...), err
}

func read(ctx context.Context, h *host.Host) ([]Chain, error) {
	out, err := h.Run(ctx, "nft", Question...)
	if errors.Is(err, host.ErrNoCommand) && !loaded(ctx, h) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if out.Exit != 0 {
		return nil, fmt.Errorf("nft list ruleset failed with status %d", out.Exit)
	}
	return Parse(string(out.Stdout)), nil
}

// loaded reports whether the kernel's nf_tables has been asked for: without it there are no rules.
func loaded(ctx context.Context, h *host.Host) bool {
	modules, err := h.ReadString(ctx, "/proc/modules")
	return err == nil && (strings.HasPrefix(modules, "nf_tables ") || strings.Contains(modules, "\nnf_tables "))
}

// Parse reads the chains. Sets and maps, which change as programs use them, are left out.
func Parse(text string) []Chain {
	var out []Chain
	var c *Chain
	family, table := "", ""
	depth := 0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		f := strings.Fields(strings.TrimSuffix(line, "{"))
		switch {
		case strings.HasSuffix(line, "{") && depth == 0 && len(f) == 3 && f[0] == "table":
			family, table = f[1], f[2]
		case strings.HasSuffix(line, "{") && depth == 1 && len(f) == 2 && f[0] == "chain":
			out = append(out, Chain{Family: family, Table: table, Name: f[1]})
			c = &out[len(out)-1]
		case depth == 2 && c != nil && line != "}" && line != "":
			if rule, _, _ := strings.Cut(line, ` comment "`); strings.HasPrefix(rule, "type ") {
				c.Hook = rule
			} else {
				c.Rules = append(c.Rules, rule)
			}
		}
		depth += strings.Count(line, "{") - strings.Count(line, "}")
		if depth < 2 {
			c = nil
		}
	}
	return out
}
