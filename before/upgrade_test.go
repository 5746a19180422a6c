package before

import (
	"strings"
	"testing"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/report"
)

func TestJudgeUpgrade(t *testing.T) {
	a := &trap.Trap{Lore: "---\nid: a\ntitle: t\nhorizon: [upgrade]\n---\n# x\n"}
	p := &trap.Trap{Lore: "---\nid: p\ntitle: t\nhorizon: [upgrade]\ncovers: [packages]\n---\n# x\n"}
	found := func(sev trap.Severity) trap.Outcome { return trap.Outcome{Status: trap.Found, Severity: sev} }
	unknown := trap.Outcome{Status: trap.Unknown, Reason: "permission denied"}
	for _, c := range []struct {
		euid    int
		results []trap.Result
		verdict UpgradeVerdict
		says    string
	}{
		{0, []trap.Result{result("a", trap.Outcome{Status: trap.Clear}), result("p", found(trap.Notice))}, NothingBreaks, "nothing breaks"},
		{0, []trap.Result{result("a", found(trap.Notice))}, NothingBreaks, "nothing breaks"},
		{0, []trap.Result{result("a", unknown)}, MayBreak, "could not look at all of: a"},
		{7, []trap.Result{result("a", trap.Outcome{Status: trap.Clear})}, MayBreak, "what only root may read"},
		{7, []trap.Result{result("a", found(trap.Warning)), result("p", unknown)}, Different, "silently changes one thing"},
		{0, []trap.Result{result("a", found(trap.Warning)), result("p", found(trap.Critical))}, Broken, "breaks one thing, and silently"},
	} {
		m := report.Meta{Kind: host.KindLive}
		m.Identity.EUID = c.euid
		u := JudgeUpgrade("Debian 12", "Debian 13", &m, []*trap.Trap{a, p}, c.results)
		if u.Verdict != c.verdict || !strings.Contains(u.Says("web1"), c.says) {
			t.Errorf("%+v: %s", u, u.Says("web1"))
		}
	}
	both := JudgeUpgrade("", "", &report.Meta{}, []*trap.Trap{a, p}, []trap.Result{result("a", unknown, unknown), result("p", unknown)})
	if said := both.Says("web1"); !strings.HasSuffix(said, "could not look at all of: a, p") {
		t.Errorf("each trap once: %s", said)
	}
	u := JudgeUpgrade("", "", &report.Meta{}, []*trap.Trap{a, p},
		[]trap.Result{result("a", found(trap.Notice)), result("p", found(trap.Notice))})
	if len(u.Asks) != 1 || u.Asks[0] != "a" || len(u.Prepares) != 1 {
		t.Errorf("%+v", u)
	}
}
