package api

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"fettle/engine/trap"
	"fettle/fleet/hub/store"
)

// TestFleet: the sums of those that whoever asks sees; what silent hosts said counts as old; what
// happened since yesterday, and in seven days.
func TestFleet(t *testing.T) {
	h := smallFleet(t)
	h.join("s1", "web", nil)
	h.reports("s1", "stale", 144*time.Hour, nil, found("disk-full", "/x", trap.Warning), unknown("late-clock"))
	h.join("s2", "web", nil)
	h.reports("s2", "older", 170*time.Hour, nil, found("disk-full", "/x", trap.Warning))
	for _, c := range []struct {
		as   Who
		q    FleetQuery
		want string
	}{
		{ann, FleetQuery{},
			"8 hosts 1 6 1; 3 silent 0 3 1; 5 1 3 1 3 1 report; 7 new in a day, 11 in a week; older stale lone; web5 1 db2"},
		{wes, FleetQuery{}, "5 hosts 1 5 0; 2 silent 0 2 1; 3 1 3 0 0 1 report; 5 new in a day, 8 in a week; older stale; web5"},
		{ann, FleetQuery{Group: "web"},
			"5 hosts 1 5 0; 2 silent 0 2 1; 3 1 3 0 0 1 report; 5 new in a day, 8 in a week; older stale; web5"},
		{ann, FleetQuery{Label: "env=prod"},
			"2 hosts 1 1 1; 0 silent 0 0 0; 2 1 1 1 1 1 report; 2 new in a day, 5 in a week; ; web1 db1"},
		{wes, FleetQuery{Group: "db"}, "0 hosts 0 0 0; 0 silent 0 0 0; 0 0 0 0 0 0 report; 0 new in a day, 0 in a week; ; "},
		{nobody, FleetQuery{}, "0 hosts 0 0 0; 0 silent 0 0 0; 0 0 0 0 0 0 report; 0 new in a day, 0 in a week; ; "},
	} {
		f, err := h.Fleet(As(t.Context(), c.as), c.q)
		h.must(err)
		var quiet, groups []string
		for _, x := range f.Quiet {
			quiet = append(quiet, x.Name)
		}
		for _, g := range f.Groups {
			groups = append(groups, fmt.Sprint(g.Name, g.Hosts))
		}
		now := f.Reporting()
		got := fmt.Sprintf("%d hosts %d %d %d; %d silent %d %d %d; %d %d %d %d %d %d report; %d new in a day, %d in a week; %s; %s", f.Hosts,
			f.Critical, f.Warning, f.Notice, f.Silent, f.Old.Critical, f.Old.Warning, f.Old.Unknown, now.Hosts, now.Critical, now.Warning,
			now.Notice, now.Unknown, now.Accepted, f.Day.New, f.Week.New, strings.Join(quiet, " "), strings.Join(groups, " "))
		if got != c.want {
			t.Errorf("%s %+v: %s\nwant %s", c.as.Name, c.q, got, c.want)
		}
	}
}

// TestWhichHost: a host is known by its id, or by its name where whoever asks sees one of that name.
func TestWhichHost(t *testing.T) {
	h := smallFleet(t)
	for _, c := range []struct {
		as          Who
		id, want    string
		twins       int
		silent, bad bool
	}{
		{ann, "w1", "w1", 0, false, false}, {ann, "web1", "w1", 0, false, false}, {ann, "lone", "o1", 0, true, false},
		{ann, "same", "", 0, false, true}, {wes, "same", "t1", 0, false, false}, {ann, "t1", "t1", 1, false, false},
		{wes, "db1", "", 0, false, false}, {wes, "d1", "", 0, false, false}, {ann, "x", "", 0, false, false},
	} {
		x, err := h.API.Host(As(t.Context(), c.as), HostQuery{ID: c.id})
		switch {
		case c.want == "" && c.bad != isBad(err), c.want == "" && !c.bad && !errors.Is(err, store.ErrNone):
			t.Errorf("%s by %s: %v", c.id, c.as.Name, err)
		case c.want != "" && (err != nil || x.Host.Agent != c.want || len(x.Twins) != c.twins || x.Silent != c.silent):
			t.Errorf("%s by %s: %+v, %v", c.id, c.as.Name, x.Host, err)
		}
	}
	_, err := h.API.Host(As(t.Context(), ann), HostQuery{ID: "same"})
	if want := "2 hosts call themselves same: give one's id: t1, t2"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	h.now = h.now.Add(-2 * time.Hour) // lone was seen three hours before that
	if x, err := h.API.Host(As(t.Context(), ann), HostQuery{ID: "o1"}); err != nil || x.Silent {
		t.Errorf("silent at the very limit: %v", err)
	}
}

// TestFindingsOfHost: with title, the command that fixes it, and what accepts it here.
func TestFindingsOfHost(t *testing.T) {
	h := manyRows(t)
	show := func(id string) string {
		x, err := h.API.Host(As(t.Context(), ann), HostQuery{ID: id})
		h.must(err)
		var out []string
		for _, list := range [][]Finding{x.Findings, x.Unknown} {
			for _, f := range list {
				s := fmt.Sprintf("%s %s %q %q", f.Severity, f.Trap+":"+f.Subject, f.Title, f.Fix)
				if f.Accepted != nil {
					s += " accepted by " + f.Accepted.Who
				}
				if f.Rule != nil {
					s += " rule " + f.Rule.Reason
				}
				out = append(out, s)
			}
		}
		for _, m := range x.Mended {
			out = append(out, "mended "+m.Trap+":"+m.Subject)
		}
		return fmt.Sprintf("%d: %s; %d fixes, %d changes", x.Count, strings.Join(out, ", "), len(x.Fixes), len(x.Changes))
	}
	for id, want := range map[string]string{
		"w1": `3: critical disk-full:/a "The disk is full" "fettle fix disk-full --on /a", warning late-clock: "The clock is late" "", ` +
			`notice late-clock:own "The clock is late" "", mended disk-full:/old; 3 fixes, 5 changes`,
		"w2": `3: critical web-own: "" "", warning disk-full:/c "The disk is full" "fettle fix disk-full --on /c", ` +
			`warning disk-full:/b "The disk is full" "fettle fix disk-full --on /b" accepted by ann; 0 fixes, 3 changes`,
		"d1": `3: warning db-own: "" "", notice late-clock: "The clock is late" "" accepted by ann, ` +
			`unknown disk-full: "The disk is full" ""; 1 fixes, 2 changes`,
		"o1": `1: warning late-clock: "The clock is late" "" rule far away; 0 fixes, 1 changes`,
	} {
		if got := show(id); got != want {
			t.Errorf("%s: %s\nwant %s", id, got, want)
		}
	}
}

// TestTrap: its article, where it is among the hosts that whoever asks sees, and what happened.
func TestTrap(t *testing.T) {
	h := smallFleet(t)
	for _, c := range []struct {
		as       Who
		id, want string
	}{
		{ann, "disk-full", `The disk is full, known true, ["nothing can be saved" "no space left on device"], ` +
			`fix "fettle fix disk-full", first "", 1 1 2, ["web2" "db0"], year 4, 1 mended, 5 changes`},
		{wes, "disk-full", `The disk is full, known true, ["nothing can be saved" "no space left on device"], ` +
			`fix "fettle fix disk-full", first "4 days ago", 1 1 0, ["web2"], year 4, 1 mended, 5 changes`},
		{nobody, "disk-full", `The disk is full, known true, ["nothing can be saved" "no space left on device"], ` +
			`fix "fettle fix disk-full", first "", 0 0 0, [], year 0, 0 mended, 0 changes`},
		{ann, "late-clock", `The clock is late, known true, ["certificates are not valid yet" "clock is {number} s late"], ` +
			`fix "", first "", 0 2 1, ["1" "web1" "db1"], year 4, 0 mended, 4 changes`},
		{ann, "web-own", `, known false, [], fix "", first "", 0 0 0, [], year 0, 0 mended, 1 changes`},
		{wes, "db-own", "none"},
		{ann, "nowhere", "none"},
	} {
		x, err := h.Trap(As(t.Context(), c.as), TrapQuery{ID: c.id})
		var groups []string
		for _, g := range x.Groups {
			groups = append(groups, fmt.Sprint(g.Group, g.Found()))
		}
		first := ""
		if c.as.Name == wes.Name && x.First != "" {
			day, err := time.Parse(time.DateOnly, x.First)
			h.must(err)
			first = fmt.Sprint(int(h.now.Sub(day).Hours()/24), " days ago")
		}
		got := fmt.Sprintf("%s, known %v, %q, fix %q, first %q, %d %d %d, %q, year %d, %d mended, %d changes", x.Title, x.Known, x.Symptoms,
			x.Fix, first, x.Sums.Critical, x.Sums.Warning, x.Sums.Unknown, groups, x.Year.New, len(x.Mended), len(x.Changes))
		if errors.Is(err, store.ErrNone) {
			got, err = "none", nil
		}
		if err != nil || got != c.want {
			t.Errorf("%s by %s: %s, %v\nwant %s", c.id, c.as.Name, got, err, c.want)
		}
	}
}

// TestMatrixColumns: the groups with the most first, as many as are asked for; in a row's cells are
// the hosts of each.
func TestMatrixColumns(t *testing.T) {
	h := smallFleet(t)
	for _, c := range []struct {
		as   Who
		q    MatrixQuery
		want string
	}{
		{ann, MatrixQuery{}, `["web" "" "db"] disk-full 2 0 0 late-clock 1 1 1; 2 foreign`},
		{ann, MatrixQuery{Groups: 1}, `["web"] disk-full 2 late-clock 1; 2 foreign`},
		{ann, MatrixQuery{Groups: 3}, `["web" "" "db"] disk-full 2 0 0 late-clock 1 1 1; 2 foreign`},
		{ann, MatrixQuery{Group: "db"}, `["db"] late-clock 1; 1 foreign`},
		{ann, MatrixQuery{Label: "env=prod"}, `["web" "db"] disk-full 1 0 late-clock 1 1; 1 foreign`},
		{wes, MatrixQuery{}, `["web"] disk-full 2 late-clock 1; 1 foreign`},
		{wes, MatrixQuery{Group: "db"}, "[]; 0 foreign"},
		{ann, MatrixQuery{Limit: 1}, `["web" "" "db"] disk-full 2 0 0; 2 foreign`},
	} {
		m, err := h.Matrix(As(t.Context(), c.as), c.q)
		h.must(err)
		got := fmt.Sprintf("%q", m.Groups)
		for _, r := range m.Rows {
			got += " " + r.Trap
			for _, x := range r.Cells {
				got += fmt.Sprint(" ", x.Found())
			}
		}
		if got += fmt.Sprintf("; %d foreign", m.Other); got != c.want {
			t.Errorf("%s %+v: %s\nwant %s", c.as.Name, c.q, got, c.want)
		}
	}
	for n := range 9 {
		id := fmt.Sprint("x", n)
		h.join(id, "group "+id, nil)
	}
	if m, err := h.Matrix(As(t.Context(), ann), MatrixQuery{}); err != nil || len(m.Groups) != 8 {
		t.Errorf("%q, %v: want eight", m.Groups, err)
	}
}

// TestHowToFix: the command names the hosts that have the trap, and none that ssh would take for
// something else.
func TestHowToFix(t *testing.T) {
	h := smallFleet(t)
	h.join("evil", "web", nil)
	h.reports("evil", "-oProxyCommand=x", time.Hour, nil, found("disk-full", "/", trap.Critical))
	for _, c := range []struct {
		as   Who
		q    FixQuery
		want string
	}{
		{ann, FixQuery{ID: "disk-full"}, `["web1" "web2"], 1 left out, more false: fettle fix disk-full --host web1,web2 --batch 5`},
		{wes, FixQuery{ID: "disk-full", Severity: "warning"},
			`["web2"], 0 left out, more false: fettle fix disk-full --host web2 --batch 5`},
		{ann, FixQuery{ID: "disk-full", Group: "db"}, "[], 0 left out, more false: "},
		{ann, FixQuery{ID: "late-clock"}, `["lone" "web1" "db1"], 0 left out, more false: `},
	} {
		p, err := h.Fix(As(t.Context(), c.as), c.q)
		h.must(err)
		if got := fmt.Sprintf("%q, %d left out, more %v: %s", p.Hosts, p.LeftOut, p.More, p.Command); got != c.want {
			t.Errorf("%s %+v: %s\nwant %s", c.as.Name, c.q, got, c.want)
		}
	}
	ctx := As(t.Context(), ann)
	if _, err := h.Fix(ctx, FixQuery{ID: "web-own"}); !errors.Is(err, store.ErrNone) {
		t.Errorf("a trap that the hub does not know: %v", err)
	}
	f, err := h.Inventory(ctx, FixQuery{ID: "disk-full"})
	want := "# Hosts on which disk-full is found.\n[fettle]\nweb1\nweb2\n"
	if err != nil || string(f.Content) != want || f.Name != "disk-full.ini" {
		t.Errorf("%s %q, %v", f.Name, f.Content, err)
	}
	f, err = h.Playbook(ctx, FixQuery{ID: "disk-full"})
	if err != nil || f.Name != "disk-full.yml" || !strings.Contains(string(f.Content), "trap: disk-full\n") {
		t.Errorf("%s %q, %v", f.Name, f.Content, err)
	}
	if _, err := h.Playbook(ctx, FixQuery{ID: "late-clock"}); !isBad(err) {
		t.Errorf("a playbook of what is fixed by hand: %v", err)
	}
}

// TestWords: words lead to hosts by name, and to traps by id, title and symptom; what is found in
// the fleet comes first.
func TestWords(t *testing.T) {
	h := smallFleet(t)
	for q, want := range map[string]string{
		"same": "t1, t2, more 0", "web": "w1, w2, more 0",
		"DISK is":                        "disk-full (The disk is full) on 2, more 0",
		"late-clock":                     "late-clock (The clock is late) on 3, more 0",
		"certificates are not valid yet": "late-clock (The clock is late) on 3, more 0",
	} {
		s, err := h.Search(As(t.Context(), ann), SearchQuery{Q: q})
		h.must(err)
		var out []string
		for _, x := range s.Hosts {
			out = append(out, x.Agent)
		}
		for _, x := range s.Traps {
			out = append(out, fmt.Sprintf("%s (%s) on %d", x.Trap, x.Title, x.Sums.Found()))
		}
		if got := fmt.Sprint(strings.Join(out, ", "), ", more ", s.More); got != want {
			t.Errorf("%q: %s, want %s", q, got, want)
		}
	}
	for n := range 21 {
		h.join(fmt.Sprintf("many%02d", n), "web", nil)
	}
	if s, err := h.Search(As(t.Context(), ann), SearchQuery{Q: "many"}); err != nil || len(s.Hosts) != 20 || s.More != 1 {
		t.Errorf("%d, %d more, %v", len(s.Hosts), s.More, err)
	}
	text := ""
	for n := range 7 {
		text += fmt.Sprintf("write %d: no space left on device\n", n)
	}
	for _, c := range []struct {
		as   Who
		want string
	}{
		{ann, "disk-full on 2 by 4 lines, near false; "},
		{Who{Sees: store.OnlyGroups("")}, "disk-full on 0 by 4 lines, near false; "},
		{nobody, "disk-full on 0 by 4 lines, near false; "},
	} {
		v, err := h.Why(As(t.Context(), c.as), WhyQuery{Text: text})
		h.must(err)
		got := ""
		for _, x := range v.Traps {
			got += fmt.Sprintf("%s on %d by %d lines, near %v; ", x.Trap, x.Sums.Found(), len(x.Lines), x.Near)
		}
		if got != c.want {
			t.Errorf("%q: %s, want %s", c.as.Name, got, c.want)
		}
	}
}
