package tune

import (
	"fmt"
	"strings"
)

// metrics writes the Prometheus text format 0.0.4.
func (b *book) metrics(r Reading, o Order, c *Controller) []byte {
	var out strings.Builder
	metric := func(name, kind, help string, value any) {
		fmt.Fprintf(&out, "# HELP %s %s\n# TYPE %s %s\n%s %v\n", name, help, name, kind, name, value)
	}
	share, _ := c.share(r)
	metric("fettle_ksm_saved_bytes", "gauge", "Memory that merging saves.", r.Saved()*r.Page)
	if r.HasProfit {
		metric("fettle_ksm_profit_bytes", "gauge", "Memory that merging saves, less what its records take.", r.Profit)
	}
	metric("fettle_ksm_known_bytes", "gauge", "Memory that ksmd has records of.", r.Known()*r.Page)
	metric("fettle_ksm_cpu_seconds_total", "counter", "CPU time of ksmd since boot.", r.CPU.Seconds())
	metric("fettle_ksm_cow_breaks_total", "counter", "Merged pages parted again by a write, since boot.", r.Breaks)
	metric("fettle_ksm_passes_total", "counter", "Passes over all mergeable memory since fettle tune ksm started.", c.Passes)
	metric("fettle_ksm_last_minute_cpu_seconds", "gauge", "CPU time of ksmd in the last minute.", c.spent.lastMinute().Seconds())
	metric("fettle_ksm_budget_share", "gauge", "Share of one CPU that ksmd may take, as it is now.", share)
	metric("fettle_ksm_guests", "gauge", "Virtual machines that run.", r.Guests)
	fmt.Fprint(&out, "# HELP fettle_ksm_state What ksmd is made to do.\n# TYPE fettle_ksm_state gauge\n")
	for _, a := range []Activity{Working, Resting, Waiting} {
		n := map[bool]int{true: 1}[a == o.State]
		fmt.Fprintf(&out, "fettle_ksm_state{state=%q} %d\n", string(a), n)
	}
	metric("fettle_ksm_last_look_seconds", "gauge", "When KSM was last read, since the epoch.", r.At.Unix())
	return []byte(out.String())
}
