package tune

import "fettle/internal/exposition"

// metrics writes the Prometheus text format 0.0.4.
func (b *book) metrics(r Reading, o Order, c *Controller) []byte {
	var page exposition.Text
	share, _ := c.share(r)
	page.Gauge("fettle_ksm_saved_bytes", "Memory that merging saves.")
	exposition.Add(&page, r.Saved()*r.Page)
	if r.HasProfit {
		page.Gauge("fettle_ksm_profit_bytes", "Memory that merging saves, less what its records take.")
		exposition.Add(&page, r.Profit)
	}
	page.Gauge("fettle_ksm_known_bytes", "Memory that ksmd has records of.")
	exposition.Add(&page, r.Known()*r.Page)
	page.Counter("fettle_ksm_cpu_seconds_total", "CPU time of ksmd since boot.")
	exposition.Add(&page, r.CPU.Seconds())
	page.Counter("fettle_ksm_cow_breaks_total", "Merged pages parted again by a write, since boot.")
	exposition.Add(&page, r.Breaks)
	page.Counter("fettle_ksm_passes_total", "Passes over all mergeable memory since fettle tune ksm started.")
	exposition.Add(&page, c.Passes)
	page.Gauge("fettle_ksm_last_minute_cpu_seconds", "CPU time of ksmd in the last minute.")
	exposition.Add(&page, c.spent.lastMinute().Seconds())
	page.Gauge("fettle_ksm_budget_share", "Share of one CPU that ksmd may take, as it is now.")
	exposition.Add(&page, share)
	page.Gauge("fettle_ksm_guests", "Virtual machines that run.")
	exposition.Add(&page, r.Guests)
	page.Gauge("fettle_ksm_state", "What ksmd is made to do.")
	for _, a := range []Activity{Working, Resting, Waiting} {
		exposition.Add(&page, a == o.State, "state", string(a))
	}
	page.Gauge("fettle_ksm_last_look_seconds", "When KSM was last read, since the epoch.")
	exposition.Add(&page, r.At.Unix())
	return []byte(page.String())
}
