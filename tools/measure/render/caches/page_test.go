package caches

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"fettle/tools/measure/blockcache"
)

// A page needs nothing from elsewhere, and is not taken over by what a host or a
// folder is called.
func TestPage(t *testing.T) {
	run := func(kind string, v float64, dm string) *blockcache.Run {
		r := &blockcache.Run{Kind: kind, Series: blockcache.Series{Interval: 500 * time.Millisecond}, Totals: blockcache.Totals{IOPS: v}}
		for i := range 100 {
			r.Series.IOPS = append(r.Series.IOPS, v*(1+0.01*float64(i*7%5-2)))
		}
		r.Conditions = blockcache.Conditions{
			Before:     dm,
			After:      dm,
			Target:     blockcache.Target{Path: "/srv/<script>alert(1)</script>"},
			Kernel:     "6.1.0-30-amd64",
			Fio:        "fio-3.33",
			Device:     "dm-3 (254:3)",
			Bytes:      3 << 39,
			Model:      "WDC WD10",
			Scheduler:  "mq-deadline",
			Rotational: "1",
			FileSystem: "xfs",
			Load:       "0.31 0.42 0.50",
			Table:      "0 9 cache 254:1 254:0",
		}
		r.Conditions.Host, r.Conditions.Processors, r.Started = "nas7", 2, time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
		if kind == "fast" {
			r.Conditions.Load = "22.14 18.00 9.50 3/812 4711"
		}
		r.Runtime, r.Job = 90*time.Minute, "[load]\nrw=randread\n"
		return r
	}
	got := blockcache.JudgeAll(
		[]blockcache.Set{
			{Runs: []*blockcache.Run{run("slow", 400, ""), run("fast", 3000, ""), run("empty", 420, "0 9 cache 8 1/2 128 100/256 0"),
				run("other", 2950, "0 9 cache 8 1/2 128 256/256 0")}},
			{Name: "old<b>", Runs: []*blockcache.Run{run("other", 410, "")}},
		},
	)
	var page bytes.Buffer
	if err := Blockcache(got).Page(&page); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	for _, bad := range []string{"<script", "old<b>", "src=", "<link", "@import", "<?xml", "ZgotmplZ"} {
		if strings.Contains(text, bad) {
			t.Errorf("%q is in the page", bad)
		}
	}
	for _, want := range []string{"<svg", "converges to fast", "stays at slow", "not empty: 100 of its 256",
		"for 1h30m, a reading each 500ms", "6.1.0-30-amd64, fio-3.33", "(xfs)",
		"dm-3 (254:3), WDC WD10, 1.5 TiB, rotating", "mq-deadline", "0.31 0.42 0.50", "0 9 cache 254:1 254:0",
		"<title>Block cache: nas7, 2026-03-01<", "<p>nas7, 2026-03-01<", "a load of 22.14 on 2 processors", "256/256",
		"Job of old&lt;b&gt;", "prefers-color-scheme: dark"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in the page", want)
		}
	}
	for _, address := range regexp.MustCompile(`[a-z]+://[^"' >]*|url\([^)]*`).FindAllString(text, -1) {
		if !strings.HasPrefix(address, "http://www.w3.org/") { // names of XML, which nobody loads
			t.Errorf("the page refers to %s", address)
		}
	}
	if err := (Blockcache{}).Page(&page); err == nil {
		t.Error("a page of no runs")
	}
}

// What a page says of when and where runs were made, and whose job it shows.
func TestAbout(t *testing.T) {
	run := func(set, host string, day int) blockcache.Judged {
		r := &blockcache.Run{Job: "job of " + set + host}
		if r.Conditions.Host = host; day > 0 {
			r.Started = time.Date(2026, 3, day, 9, 0, 0, 0, time.UTC)
		}
		return blockcache.Judged{Run: r, Set: set}
	}
	for _, c := range []struct {
		runs        []blockcache.Judged
		about, jobs string
	}{
		{[]blockcache.Judged{run("", "a", 0)}, "a", "[{the first run job of a}]"},
		{[]blockcache.Judged{run("", "", 2)}, "2026-03-02", "[{the first run job of }]"},
		{[]blockcache.Judged{run("x", "a", 0), run("x", "b", 3), run("y", "a", 2), run("y", "a", 4)}, "a, b, 2026-03-02 to 2026-03-04",
			"[{x job of xa} {y job of ya}]"},
		{[]blockcache.Judged{run("", "a", 2), run("y", "a", 3)}, "a, 2026-03-02 to 2026-03-03", "[{the first run job of a} {y job of ya}]"},
		{[]blockcache.Judged{run("x", "a", 2)}, "a, 2026-03-02", "[{the first run job of xa}]"},
	} {
		if got := about(c.runs); got != c.about {
			t.Errorf("about %q, want %q", got, c.about)
		}
		if got := fmt.Sprint(jobs(c.runs)); got != c.jobs {
			t.Errorf("jobs %s, want %s", got, c.jobs)
		}
	}
}
