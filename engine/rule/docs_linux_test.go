package rule

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"fettle/engine/trap"
	"fettle/engine/trap/traptest"
	"fettle/host"
	"fettle/host/hosttest"
)

const (
	docHead = "id: x-doc\ntitle: x\nseverity: notice\nsymptoms: [a, b, c]\nsince: x\nreferences: [x]\nabout: |\n  # A\n\n  # B\n"
	docLate = "findings:\n  - when: %s\n    summary: met\nclear: not met\n"
)

// around makes whole rules of the parts that docs/rules.md shows, by how each
// part begins.
var around = []struct{ begins, before, after string }{
	{"id:", "", ""},
	{"messages:", docHead + "facts:\n  limit: {sysctl: vm.swappiness}\n" + strings.Replace(docLate, "%s", "limit.int < 0", 1), ""},
	{"facts:\n  disks:", docHead, ""},
	{"facts:\n  conf:", docHead, strings.Replace(docLate, "%s", "conf.exists && conf.sets('Journal', 'Storage')", 1)},
	{"  netback:", docHead + "facts:\n", strings.Replace(docLate, "%s", "netback.bad", 1)},
	{
		"remedy:",
		docHead + "facts:\n  limit: {sysctl: vm.swappiness}\nlet:\n  x: \"'text'\"\n" + strings.Replace(docLate, "%s", "limit.int > 0", 1),
		"",
	},
	{
		"tables:\n  ends",
		docHead + "facts:\n  f: {file: /etc/hostname}\n",
		strings.Replace(docLate, "%s", `'ends.get(f.value, "") != ""'`, 1),
	},
}

func fences(t *testing.T, lang string) []string {
	b, err := os.ReadFile("../../docs/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$").FindAllStringSubmatch(string(b), -1) {
		if m[1] == lang {
			out = append(out, m[2])
		}
	}
	return out
}

// Every YAML in docs/rules.md is a rule, or part of one, which this host can run.
func TestDocumentedRulesRunHere(t *testing.T) {
	parts := fences(t, "yaml")
	if len(parts) < 6 {
		t.Fatalf("docs/rules.md has %d parts in YAML", len(parts))
	}
	live, err := host.NewLive()
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	for _, part := range parts {
		first, _, _ := strings.Cut(strings.TrimSpace(part), "\n")
		t.Run(first, func(t *testing.T) { runsHere(t, live, whole(t, part)) })
	}
}

func whole(t *testing.T, part string) *Rule {
	t.Helper()
	for _, a := range around {
		if strings.HasPrefix(part, a.begins) {
			r, ms := Parse("rule.yaml", []byte(a.before+part+a.after), false)
			if len(ms) > 0 {
				t.Fatalf("%v\n%s", ms, a.before+part+a.after)
			}
			return r
		}
	}
	t.Fatalf("no rule is made around this part of docs/rules.md:\n%s", part)
	return nil
}

// runsHere: what cannot be known here is for want of rights or of the thing
// itself, never for a refusal.
func runsHere(t *testing.T, live host.Source, r *Rule) {
	t.Helper()
	for _, o := range r.outcomes(t.Context(), host.New(live)) {
		if o.Status == trap.Unknown && !strings.Contains(o.Reason, "needs root") {
			t.Errorf("unknown: %s", o.Reason)
		}
	}
}

// The documented remedies come to plans.
func TestDocumentedRemedies(t *testing.T) {
	n := 0
	for _, part := range fences(t, "yaml") {
		r := whole(t, part)
		if r.Remedy == nil {
			continue
		}
		n++
		h := hosttest.New(
			t,
			"-- root/proc/sys/vm/swappiness --\n60\n-- root/proc/sys/net/ipv4/neigh/default/gc_thresh3 --\n1024\n-- root/etc/example.conf "+
				"--\nLimit=4\n-- units --\nexample.service loaded active running enabled\n",
		)
		plan, err := r.Trap().Plan(t.Context(), h, trap.Finding{})
		if err != nil || len(plan.Steps) == 0 {
			t.Errorf("%d steps, %v\n%s", len(plan.Steps), err, part)
		}
	}
	if n < 2 {
		t.Errorf("%d remedies", n)
	}
}

// The sample that docs/rules.md shows is one of the rule shown before it, and
// holds as well where /proc has the kernel's own links.
func TestDocumentedSample(t *testing.T) {
	var sample string
	for _, s := range fences(t, "") {
		if strings.Contains(s, "-- want --") {
			sample = s
		}
	}
	r := whole(t, fences(t, "yaml")[1])
	linked := strings.Replace(
		sample,
		"-- root/proc/net/arp --",
		"-- link/proc/net --\nself/net\n-- link/proc/self --\n4242\n-- root/proc/4242/net/arp --",
		1,
	)
	for _, s := range []string{sample, linked} {
		src, extra, err := hosttest.Parse([]byte(s))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := traptest.Lines(traptest.Run(t, r.Trap(), host.New(src))), strings.TrimSpace(extra["want"]); got != want {
			t.Errorf("got %s, want %s\n%s", got, want, s)
		}
	}
}
