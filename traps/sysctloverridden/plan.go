package sysctloverridden

import (
	"context"
	"strings"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/format/sysctlconf"
)

// facts are what the plan needs to know: what the next boot would set.
type facts struct {
	Key   string `json:"key"` // a path below /proc/sys
	Value string `json:"value"`
}

// plan sets the running value that the files name.
func plan(_ context.Context, _ *host.Host, f trap.Finding) (remedy.Plan, error) {
	if f.ByHand != "" {
		return remedy.Plan{}, remedy.Refuse("%s", f.ByHand)
	}
	know, err := trap.FactsIn[facts](f)
	if err != nil {
		return remedy.Plan{}, err
	}
	p := remedy.Plan{Title: "set " + sysctlconf.Dotted(know.Key) + " to what the next boot would set",
		Notes:    []string{"If the running value is the one you want, change the file instead."},
		Steps:    []step.Step{step.Sysctl{Key: know.Key, Value: know.Value}},
		Vanishes: "the check reports only parameters that differ from their files, which this one no longer does"}
	for _, risky := range []string{"forward", "rp_filter", "disable_ipv6", "arp_", "icmp_"} {
		p.CutsConnection = p.CutsConnection || strings.HasPrefix(know.Key, "net/") && strings.Contains(know.Key, risky)
	}
	return p, nil
}
