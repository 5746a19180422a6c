package report

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"fettle/engine/remedy"
	"fettle/engine/trap"
	"fettle/host"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func someTrap(id, title string, fixable bool) *trap.Trap {
	t := &trap.Trap{Lore: trap.Lore("---\nid: " + id + "\ntitle: " + title + "\n---\n# What happens\n")}
	if fixable {
		t.Plan = func(context.Context, *host.Host, trap.Finding) (remedy.Plan, error) { return remedy.Plan{}, nil }
	}
	return t
}

// nasty is a name that somebody on the host chose.
const nasty = "br\x1b[2J\x1b]0;owned\a\n|<&>\"\\ \u202e\xff'"

// run is a run with every outcome, and with strings that would break a format
// that does not escape them.
var run = struct {
	meta    Meta
	traps   []*trap.Trap
	results []trap.Result
	took    time.Duration
}{
	meta: Meta{Host: "web1", Kind: host.KindLive, Version: "1.2.3", Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Identity: host.Identity{Hostname: "web1", Sysname: "Linux", Release: "6.1.0-30-amd64", Machine: "x86_64",
			Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), EUID: 1000}},
	traps: []*trap.Trap{someTrap("alpha", "The first trap", true), someTrap("beta", "The second trap", false),
		someTrap("gamma", "The third trap", false), someTrap("delta", "The fourth trap", false)},
	results: []trap.Result{
		{Trap: "alpha", Took: 12 * time.Millisecond, Outcomes: []trap.Outcome{
			{Trap: "alpha", Subject: "br0", Status: trap.Found, Severity: trap.Warning, Fixable: true,
				Summary: "The MTU of br0 is not the one that is configured, because a port with a lower one was added to it",
				Detail:  "Two lines of detail:\nthis is the second, and it is long enough to be wrapped at eighty columns.",
				Evidence: []trap.Evidence{{Source: "/etc/network/interfaces:12", Value: "mtu 1500"},
					{Source: "netlink", Value: "br0 mtu 1400, ports vnet0 mtu 1400 vnet1 mtu 1500 vnet2 mtu 1500 eth0 mtu 9000"}}},
			{Trap: "alpha", Subject: nasty, Status: trap.Found, Severity: trap.Critical, Fixable: true, Summary: "Summary with " + nasty,
				Evidence: []trap.Evidence{{Source: "/srv/" + nasty, Value: "value " + nasty}}},
			{Trap: "alpha", Subject: "br1", Status: trap.Clear, Summary: "its MTU is 1500, as configured"},
			{Trap: "alpha", Subject: "br2", Status: trap.Clear, Summary: "its MTU is 9000, as configured"},
		}},
		{Trap: "beta", Took: 3 * time.Second, Outcomes: []trap.Outcome{
			{Trap: "beta", Status: trap.Unknown, Reason: "needs root: open /var/log/journal/x: permission denied"},
			{Trap: "beta", Subject: "alice", Status: trap.Found, Severity: trap.Notice, Summary: "alice sees only her own messages",
				Accepted: &trap.Acceptance{Reason: "she is a <guest> & knows", Until: "2027-01-31", By: "root"}},
			{Trap: "beta", Subject: "bob", Status: trap.Found, Severity: trap.Notice, Summary: "bob sees only his own messages", Known: true},
			{Trap: "beta", Subject: "carol", Status: trap.Found, Severity: trap.Notice, Summary: "carol sees only her own messages",
				Accepted: &trap.Acceptance{Reason: "until she is back", Until: "2025-12-31", Lapsed: "it ended on 2025-12-31"}},
		}},
		{Trap: "gamma", Took: time.Millisecond, Outcomes: []trap.Outcome{
			{
				Trap:   "gamma",
				Status: trap.NotApplicable,
				Reason: "no interface forwards IPv6, so router advertisements are taken as they come, whatever accept_ra says",
			}}},
		{
			Trap: "delta",
			Took: time.Millisecond,
			Resolved: []trap.Resolved{
				{Subject: "ksm\x1b[2J|", Said: "warning: KSM <scans> & never ends", Since: time.Date(2025, 12, 24, 0, 0, 0, 0, time.UTC)},
			},
			Outcomes: []trap.Outcome{
				{
					Trap:     "delta",
					Status:   trap.Clear,
					Summary:  "KSM is off",
					Evidence: []trap.Evidence{{Source: "/sys/kernel/mm/ksm/run", Value: "0"}},
				}},
		},
	},
	took: 3012 * time.Millisecond,
}

func write(t testing.TB, format string, opt Options) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := New(format, &b, opt)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Begin(run.meta, run.traps); err != nil {
		t.Fatal(err)
	}
	for _, r := range run.results {
		if err := w.Result(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.End(run.took); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestGolden(t *testing.T) {
	for name, c := range map[string]struct {
		format string
		opt    Options
	}{
		"text": {"text", Options{}}, "text-verbose": {"text", Options{Verbose: true}}, "text-colour": {"text", Options{Colour: true, Width: 60}},
		"json": {"json", Options{}}, "jsonl": {"jsonl", Options{}}, "junit": {"junit", Options{FailOn: trap.Warning}},
		"sarif": {"sarif", Options{}}, "sarif-new": {"sarif", Options{New: true}}, "nagios": {"nagios", Options{}},
		"prometheus": {"prometheus", Options{}}, "html": {"html", Options{}}, "csv": {"csv", Options{}},
	} {
		t.Run(name, func(t *testing.T) {
			golden(t, name, write(t, c.format, c.opt))
		})
	}
}

// golden compares with a file of testdata/golden.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("differs from %s (rewrite with -update, then read the diff):\n%s", file, got)
	}
}
