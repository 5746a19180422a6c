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
	"fettle/why"
)

// examples are the whole rules in the documentation.
func examples(t *testing.T) []string {
	b, err := os.ReadFile("../../docs/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range regexp.MustCompile("(?s)```yaml\n(id:.*?)```").FindAllStringSubmatch(string(b), -1) {
		out = append(out, m[1])
	}
	if len(out) < 2 {
		t.Fatalf("%d examples", len(out))
	}
	return out
}

func TestExamples(t *testing.T) {
	for _, e := range examples(t) {
		r, ms := Parse("example.yaml", []byte(e), false)
		if len(ms) > 0 {
			t.Errorf("%v", ms)
			continue
		}
		a, err := r.Lore().Article()
		if err != nil {
			t.Fatal(err)
		}
		if err := why.Validate(a); err != nil {
			t.Error(err)
		}
		if got := r.Trap().Title(); got != r.Title {
			t.Errorf("title %q", got)
		}
	}
}

func TestRsync(t *testing.T) {
	r, ms := Parse("rsync.yaml", []byte(examples(t)[0]), false)
	if len(ms) > 0 {
		t.Fatal(ms)
	}
	for _, c := range []struct{ host, want string }{
		{"-- packages --\nrsync 3.0.3-2\n-- " +
			"root/etc/os-release --\nID=debian\nVERSION_ID=\"5\"\n", "found warning: this rsync has the token bug; fixed in 3.0.7"},
		{"-- packages --\nrsync 3.2.7-1\n-- root/etc/os-release --\nID=debian\n", "clear: this rsync does not have the token bug"},
		{"-- packages --\nbash 5.2-1\n", "not-applicable: rsync is not installed"},
		{"-- denied/var/lib/dpkg/status --\n", "unknown: needs root: reading /var/lib/dpkg/status: permission denied"},
		{"hostname: arch\n", "not-applicable: neither dpkg nor rpm manages the packages here"},
		{"incomplete: true\n", "unknown: reading /var/lib/dpkg/status: not collected in this capture"},
		{"-- packages --\nrsync 2.6.9-1\n-- denied/etc/os-release --\n", "unknown: needs root: reading /etc/os-release: permission denied"},
	} {
		for _, frozen := range []bool{false, true} {
			tr := &trap.Trap{Lore: r.Lore(), Check: r.Check}
			if frozen {
				tr = r.Trap()
			}
			src, _, err := hosttest.Parse([]byte(c.host))
			if err != nil {
				t.Fatal(err)
			}
			if got := traptest.Lines(traptest.Run(t, tr, host.New(src))); got != strings.TrimSpace(c.want) {
				t.Errorf("%s (frozen %v):\n got %s\nwant %s", c.host, frozen, got, c.want)
			}
		}
	}
}
