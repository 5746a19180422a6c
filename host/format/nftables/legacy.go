package nftables

import (
	"context"
	"fmt"
	"strings"

	"fettle/host"
)

// Families of the old iptables, whose tables nft(8) does not show.
const (
	Legacy  = "iptables-legacy"
	Legacy6 = "ip6tables-legacy"
)

// legacy asks for the chains of the old iptables. Its tables are loaded where the kernel names them; a question
// about others would load them.
func legacy(ctx context.Context, h *host.Host) ([]Chain, error) {
	var out []Chain
	for _, f := range [][2]string{{Legacy, "/proc/net/ip_tables_names"}, {Legacy6, "/proc/net/ip6_tables_names"}} {
		names, err := h.ReadString(ctx, f[1])
		if host.IsAbsent(err) || err == nil && names == "" {
			continue
		}
		if err != nil {
			return nil, err
		}
		saved, err := h.Run(ctx, f[0]+"-save")
		if err != nil {
			return nil, err
		}
		if saved.Exit != 0 {
			return nil, fmt.Errorf("%s-save failed with status %d", f[0], saved.Exit)
		}
		out = append(out, ParseLegacy(f[0], string(saved.Stdout))...)
	}
	return out, nil
}

// ParseLegacy reads what iptables-save prints (iptables-save(8)): *TABLE, :CHAIN POLICY [counters], -A CHAIN RULE.
func ParseLegacy(family, text string) []Chain {
	var out []Chain
	table := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		f := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "*"):
			table = line[1:]
		case strings.HasPrefix(line, ":") && len(f) > 1:
			c := Chain{Family: family, Table: table, Name: f[0][1:]}
			if f[1] != "-" { // of one's own
				c.Hook = "policy " + strings.ToLower(f[1])
			}
			out = append(out, c)
		case strings.HasPrefix(line, "-A ") && len(f) > 1:
			for i := range out {
				if c := &out[i]; c.Table == table && c.Name == f[1] {
					c.Rules = append(c.Rules, line)
				}
			}
		}
	}
	return out
}
