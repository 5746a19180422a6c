package traps

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fettle/engine/trap"
	"fettle/engine/trap/traptest"
	"fettle/host"
	"fettle/host/hosttest"
	"fettle/internal/means"
	"fettle/traps/rules"
)

// goldenHosts calls do for each trap with its own golden hosts and, if it is no rule, with those of all others that are none.
func goldenHosts(t *testing.T, do func(t *testing.T, tr *trap.Trap, file string, own bool, src host.Source)) {
	files, err := filepath.Glob("*/testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden hosts: %v", err)
	}
	samples, err := filepath.Glob("rules/*/*.txtar")
	if err != nil || len(samples) == 0 {
		t.Fatalf("no samples of rules: %v", err)
	}
	sources := map[string]host.Source{}
	for _, f := range append(files, samples...) {
		sources[f], _ = hosttest.Load(t, f)
	}
	ofRules := map[string]bool{}
	for _, tr := range rules.All() {
		ofRules[tr.ID()] = true
	}
	for _, tr := range All() {
		at, folder := files, strings.ReplaceAll(tr.ID(), "-", "")+"/testdata"
		if ofRules[tr.ID()] {
			at, folder = samples, "rules/"+tr.ID()
		}
		t.Run(tr.ID(), func(t *testing.T) {
			for _, f := range at {
				own := strings.HasSuffix(folder, filepath.Dir(f)) // raforwarding is ipv6-ra-forwarding's
				if own || !ofRules[tr.ID()] {
					do(t, tr, f, own, sources[f])
				}
			}
		})
	}
}

// withheld are the ways in which an answer can be missing: nobody may ask, or nobody has asked.
var withheld = []error{host.ErrDenied, host.ErrNotCollected}

// despite are questions without whose answer a trap may be found where it is not, and why that is right.
var despite = []struct{ traps, questions, why string }{
	{"*", "read /run/systemd/container|link /proc/self/ns/pid", "everybody may read both, and the second decides without the first; " +
		"a report has other signs of a container, and one that has none is of a host"},
	{"ssh-slow-login|ssh-totp", "stat *libnss_*|stat */security|stat */security/*", "no report holds libraries and modules: those that " +
		"the configuration names are taken as installed"},
	{"slow-disk", "read /proc/spl/kstat/zfs/*/txgs", "after ten seconds its rates are of more requests than are assumed"},
	{"sysctl-overridden", "read /var/lib/dpkg/status", "a report has none, nor has a host with rpm: the names of packages' files are known"},
	{"ksm-scan-rate", "table processes|command ps *", "for who pastes the settings alone: with fettle tune ksm the pace is hardly so slow"},
	{"dm-cache-smq", "command dmsetup targets", "a report has none: uname -r decides, but for kernels with a later dm-cache"},
}

// reason is the place in despite of a trap's question; -1: there is none.
func reason(id, question string) int {
	fits := func(pattern, s string) bool {
		expr := strings.NewReplacer(`\*`, ".*", `\|`, "|").Replace(regexp.QuoteMeta(pattern))
		return regexp.MustCompile("^(" + expr + ")$").MatchString(s)
	}
	for i, d := range despite {
		if fits(d.traps, id) && fits(d.questions, question) {
			return i
		}
	}
	return -1
}

// TestWithheldAnswers takes one answer after the other away from every golden host. What was found must then still
// be found, or be unknown: clear, or silence, would be a lie. And what is found then was found before: what could not
// be read accuses nobody. On other traps' hosts where nothing is found, a question is tried once for each list of outcomes.
func TestWithheldAnswers(t *testing.T) {
	means.Short(t, "takes seconds")
	type trial struct{ trap, question, before string }
	found, tried, needed := map[string]bool{}, map[trial]bool{}, map[int]bool{}
	goldenHosts(t, func(t *testing.T, tr *trap.Trap, file string, own bool, src host.Source) {
		whole := &traptest.Blind{Source: src}
		before := traptest.Run(t, tr, host.New(whole))
		is := slices.ContainsFunc(before, traptest.IsFound)
		found[tr.ID()] = found[tr.ID()] || is
		for _, q := range whole.Answered() {
			try := trial{tr.ID(), q, traptest.Lines(before)}
			if !own && !is && tried[try] {
				continue
			}
			tried[try] = true
			for _, err := range withheld {
				after := traptest.Run(t, tr, host.New(&traptest.Blind{Source: src, Hide: q, Err: err}))
				wrong, gained := traptest.Lost(before, after), traptest.Gained(before, after)
				if gained != "" {
					i := reason(tr.ID(), q)
					if needed[i] = true; i < 0 {
						wrong += gained
					}
				}
				if wrong != "" {
					t.Errorf("%s without %q (%v):\n%s\nwas:\n%s\nis:\n%s", file, q, err, wrong, traptest.Lines(before), traptest.Lines(after))
				}
			}
		}
	})
	for _, tr := range All() {
		if !found[tr.ID()] {
			t.Errorf("no golden host shows %s", tr.ID())
		}
	}
	for i, d := range despite {
		if !needed[i] {
			t.Errorf("%s is found nowhere without %q: it is no exception", d.traps, d.questions)
		}
	}
}
