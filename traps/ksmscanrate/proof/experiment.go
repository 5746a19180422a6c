package proof

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"fettle/internal/mergeable"
	"fettle/lab"
)

// tools are those of the scenarios, and what ksmtuned is made of where it is
// installed: it is the real script.
var tools = lab.Needs{
	Engine:   "qemu",
	Tools:    []string{"cat"},
	MayTools: []string{"ksmtuned", "bash", "awk", "pgrep", "ps", "sleep", "touch", "env"},
}

func sized(mem int, limit time.Duration) lab.Needs {
	n := tools
	n.MemMiB, n.Limit = mem, limit
	return n
}

// Experiments are those of the trap.
var Experiments = append([]lab.Experiment{
	{
		Name: "paces", About: "Memory saved and ksmd's CPU time by pace, and whether fettle tune ksm keeps its promises",
		Long: true, Needs: sized(640, 15*time.Minute),
		Run: func(ctx context.Context, b *lab.Bench) error { return tabled(ctx, b, Small[0], time.Minute) },
	},
	{
		Name: "service", About: "fettle tune ksm under systemd, ended in every way: is KSM as it was?",
		Long: true, Needs: lab.Needs{Engine: "qemu", Systemd: true, MemMiB: 768, Limit: 8 * time.Minute,
			Tools: []string{"systemctl", "journalctl"}},
		Run: service,
	},
	{
		Name: "paces-for-10-min", About: "The same for one load over ten minutes",
		Named: true, Needs: sized(640, 90*time.Minute),
		Run: func(ctx context.Context, b *lab.Bench) error { return tabled(ctx, b, Small[0], 10*time.Minute) },
	},
}, byLoad()...)

// byLoad are the other loads, each a machine of its own.
func byLoad() (out []lab.Experiment) {
	for _, l := range Small[1:] {
		out = append(out, lab.Experiment{
			Name: "paces-by-load/" + l.fileName(), About: "The same for another load: " + l.Name,
			Named: true, Needs: sized(1024, 15*time.Minute),
			Run: func(ctx context.Context, b *lab.Bench) error { return tabled(ctx, b, l, time.Minute) },
		})
	}
	return out
}

// Small are the loads of an emulated machine: ksmd takes some 100 µs for a
// page there.
var Small = Loads(16)

// Load is guests, and when they start.
type Load struct {
	Name  string
	N     int
	Each  mergeable.Guest
	Every time.Duration // between two starts; 0: all are there at the beginning
}

func (l Load) fileName() string { return strings.NewReplacer(" ", "-", "%", "percent").Replace(l.Name) }

// Loads are those that a pace must do well with, in guests of so many MiB.
func Loads(mib int) []Load {
	return []Load{
		{Name: "half equal", N: 4, Each: mergeable.Guest{MiB: mib, Equal: 0.5}},
		{Name: "10 % equal", N: 4, Each: mergeable.Guest{MiB: mib, Equal: 0.1}},
		{Name: "90 % equal", N: 4, Each: mergeable.Guest{MiB: mib, Equal: 0.9}},
		{Name: "churning", N: 4, Each: mergeable.Guest{MiB: mib, Equal: 0.5, Churn: float64(mib) / 800}},
		{Name: "growing", N: 8, Each: mergeable.Guest{MiB: mib / 2, Equal: 0.5}, Every: 5 * time.Second},
		{Name: "many small", N: 100, Each: mergeable.Guest{MiB: max(mib/16, 1), Equal: 0.8}},
	}
}

// Paces are what is compared.
var Paces = []string{Fastest, "default", "advisor", Ksmtuned, Tuned}

// Paces that are not settings of fettle measure ksm, or that promises are about.
const (
	Ksmtuned = "ksmtuned"
	Tuned    = "tune:20%"
	Fastest  = "1e9"
)

func tabled(ctx context.Context, b *lab.Bench, l Load, length time.Duration) error {
	if err := os.Symlink("/init", "/usr/bin/qemu-system-x86_64"); err != nil && !os.IsExist(err) {
		return err
	}
	p := Place{Paces: Paces, Exec: b.Exec, Spawn: b.Spawn, StandIn: []string{"qemu-system-x86_64", lab.MergeableVerb}, Dir: "/run"}
	b.Columns(Columns...)
	r, err := p.Compare(ctx, l, length, func(cells ...string) { b.Row(cells...) })
	if err != nil {
		return fmt.Errorf("%s: %w", l.Name, err)
	}
	b.Plot(r.Plot("saved"))
	b.Plot(r.Plot("cpu"))
	if _, err := lab.FindTool(Ksmtuned); err != nil {
		b.Note("ksmtuned is not installed here: its pace is missing.")
	}
	b.Note(
		"An emulated CPU takes several times a real one's time. ksmtuned runs " +
			"with KSM_THRES_COEF=100, so that it starts whatever memory is free.",
	)
	return errors.Join(r.Promises(0.2)...)
}
