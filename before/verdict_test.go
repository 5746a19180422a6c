package before

import (
	"slices"
	"testing"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/report"
)

func named(id, covers string) *trap.Trap {
	return &trap.Trap{Lore: trap.Lore("---\nid: " + id + "\ntitle: t\nhorizon: [next-start]\ncovers: [" + covers + "]\n---\n# x\n")}
}

func result(id string, outcomes ...trap.Outcome) trap.Result {
	for i := range outcomes {
		outcomes[i].Trap = id
	}
	return trap.Result{Trap: id, Outcomes: outcomes}
}

func TestJudge(t *testing.T) {
	traps := []*trap.Trap{named("chain", "boot, initramfs, fstab"), named("units", "units"), named("valid", "configuration")}
	live := report.Meta{Kind: host.KindLive}
	clear := trap.Outcome{Status: trap.Clear}
	found := func(sev trap.Severity, start trap.Start, subject, lost string) trap.Outcome {
		return trap.Outcome{Status: trap.Found, Severity: sev, Start: start, Subject: subject, Lost: lost, Summary: "s of " + subject}
	}
	unknown := trap.Outcome{Status: trap.Unknown, Reason: "permission denied"}
	accepted := found(trap.Critical, trap.StartFails, "a", "")
	accepted.Accepted = &trap.Acceptance{}
	for _, c := range []struct {
		name    string
		meta    report.Meta
		results []trap.Result
		want    Verdict
		says    string
	}{
		{"all clear", live, []trap.Result{result("chain", clear), result("units", clear)}, ComesBack,
			"h comes back from a restart; nothing that fettle looks at is lost"},
		{"a notice loses nothing", live, []trap.Result{result("chain", clear), result("units", found(trap.Notice, "", "x", ""))}, ComesBack, ""},
		{"without", live, []trap.Result{result("chain", clear), result("units", found(trap.Warning, "", "a.service", ""),
			found(trap.Warning, "", "eth1 10.0.0.9", "the address 10.0.0.9"))}, Without,
			"h comes back from a restart without a.service, the address 10.0.0.9"},
		{"fails before without", live, []trap.Result{result("units", found(trap.Warning, "", "a.service", "")),
			result("chain", found(trap.Critical, trap.StartFails, "/", ""))}, DoesNotCome, "h does not come back from a restart"},
		{"an accepted finding", live, []trap.Result{result("chain", accepted), result("units", clear)}, ComesBack, ""},
		{"an area that could not be read", live, []trap.Result{result("chain", clear, unknown), result("units", clear)}, CannotSay,
			"cannot say whether h comes back: found nothing that stops it, but could not look at all of its boot, initramfs, fstab"},
		{"no check of an area", live, []trap.Result{result("chain", clear)}, CannotSay, ""},
		{"no outcome", live, []trap.Result{result("chain", clear), result("units")}, CannotSay, ""},
		{"without root", report.Meta{Kind: host.KindLive, Identity: host.Identity{EUID: 1000}},
			[]trap.Result{result("chain", clear), result("units", clear)}, CannotSay, ""},
		{"who looked is not known", report.Meta{Kind: host.KindSosreport, Identity: host.Identity{EUID: -1}},
			[]trap.Result{result("chain", clear), result("units", clear)}, CannotSay, ""},
		{"a root folder", report.Meta{Kind: host.KindRoot}, []trap.Result{result("chain", clear), result("units", clear)}, CannotSay, ""},
		{"an unknown of no needed area", live,
			[]trap.Result{result("chain", clear), result("units", clear), result("valid", unknown)}, ComesBack, ""},
	} {
		r := Judge(&c.meta, traps, c.results)
		if r.Verdict != c.want {
			t.Errorf("%s: %s, want %s (%+v)", c.name, r.Verdict, c.want, r)
		}
		if c.says != "" && r.Says("h") != c.says {
			t.Errorf("%s: says %q", c.name, r.Says("h"))
		}
	}
	root := Judge(&report.Meta{Kind: host.KindRoot}, traps, []trap.Result{result("chain", clear), result("units", clear)})
	if want := []Gap{{trap.StartUnits, host.ErrNotRunning.Error()}}; !slices.Equal(root.NotLooked, want) {
		t.Errorf("a root folder: not looked at %+v, want %+v", root.NotLooked, want)
	}
	for n, want := range map[int]string{4: "a, b, c, d", 5: "a, b, c, d and 1 more"} {
		r := Restart{Verdict: Without, Without: []string{"a", "b", "c", "d", "e"}[:n]}
		if got := r.Says("h"); got != "h comes back from a restart without "+want {
			t.Errorf("%d: %q", n, got)
		}
	}
	r := Judge(&live, traps, []trap.Result{result("valid", trap.Outcome{Status: trap.NotApplicable, Subject: "redis.service"},
		trap.Outcome{Status: trap.NotApplicable}), result("chain", trap.Outcome{Status: trap.NotApplicable, Subject: "/"})})
	if !slices.Equal(r.NotValidated, []string{"redis.service"}) {
		t.Errorf("not validated: %q", r.NotValidated)
	}
}
