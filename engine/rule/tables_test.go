package rule

import (
	"strings"
	"testing"
	"time"

	"fettle/engine/trap"
	"fettle/host/hosttest"
)

const tables = `tables:
  ends:
    - {key: a 1, value: "2020-01-01", source: a.org, confirmed: 2026-01-01}
    - {key: a 2, value: 'say "2030"', source: a.org, confirmed: 2025-01-01}
`

// TestTables: expressions see a map; what nobody has confirmed for a year is told.
func TestTables(t *testing.T) {
	facts := "  f: {file: /etc/f}\n  v:\n    fixed-version: {package: p, upstream: '2', fixed: [{os: debian, release: '5', version: '1', " +
		"source: log, confirmed: 2020-02-02}]}\n" + tables
	r := with(t, facts, `'ends.get(f.value, "") == "2020-01-01" || v.bad'`, "{{ends.get(\"a 2\", \"\")}}")
	if o := outcome(t, r, hosttest.New(t, "-- root/etc/f --\na 1\n")); o.Status != trap.Found || o.Detail != `say "2030"` {
		t.Errorf("%+v", o)
	}
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	want := "ends, a 2: last confirmed on 2025-01-01 (a.org)\nv, debian 5: last confirmed on 2020-02-02 (log)"
	if got := strings.Join(r.Unconfirmed(now), "\n"); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	day := time.Date(2020, 2, 2, 0, 0, 0, 0, time.UTC).Add(confirmedFor)
	if got := r.Unconfirmed(day); len(got) != 0 {
		t.Errorf("on the last day: %q", got)
	}
	if got := r.Unconfirmed(day.Add(time.Second)); len(got) != 1 {
		t.Errorf("a second later: %q", got)
	}
	if got := r.Unconfirmed(now.AddDate(10, 0, 0)); len(got) != 3 {
		t.Error(got)
	}
}

func TestTableMistakes(t *testing.T) {
	for from, to := range map[string][2]string{
		"confirmed: 2026-01-01": {"confirmed: lately", `"lately" is not a day`},
		", source: a.org":       {"", "a row: source is missing"},
		"key: a 2":              {"key: a 1", `ends: the key "a 1" is there twice`},
		"value: \"2020-01-01\"": {"valeu: x", `no key is called "valeu"`},
		"  ends:":               {"  now:", "the name means something else"},
	} {
		text := strings.Replace(sound, "let:\n", strings.Replace(tables, from, to[0], 1)+"let:\n", 1)
		if _, ms := Parse("r.yaml", []byte(text), false); len(ms.Fatal()) == 0 || !strings.Contains(ms.Error(), to[1]) {
			t.Errorf("%s: %v", to[0], ms)
		}
	}
	if _, ms := Parse("r.yaml", []byte(strings.Replace(sound, "let:\n", "tables: {ends: []}\nlet:\n", 1)), false); len(ms.Fatal()) == 0 {
		t.Error("an empty table")
	}
}
