package rule

import (
	"strings"
	"testing"
	"testing/fstest"

	"fettle/engine/trap"
	"fettle/host/hosttest"
)

// ruled is the outcomes of a rule made of these facts and what follows them, and their evidence, line by line.
func ruled(t *testing.T, rest, host string) string {
	t.Helper()
	text := "id: x\ntitle: x\nseverity: warning\nsymptoms: [a, b, c]\nsince: x\nreferences: [x]\nabout: |\n  # A\n\n  # B\n" + rest
	r, ms := Parse("x.yaml", []byte(text), false)
	if r == nil {
		t.Fatalf("%v\n%s", ms, text)
	}
	var lines []string
	for _, o := range r.outcomes(t.Context(), hosttest.New(t, host)) {
		line := Lines([]trap.Outcome{o})
		if o.Detail != "" {
			line += " (" + string(o.Detail) + ")"
		}
		for _, e := range o.Evidence {
			line += " | " + e.Source + ": " + e.Value
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// TestOutcomes: which finding counts, what stays unknown, and what the evidence is.
func TestOutcomes(t *testing.T) {
	const facts = "facts:\n  a: {file: /a}\n  b: {file: /b}\n  l: {glob: /l/*}\nlet:\n  n: a.int + 1\n"
	const two = facts +
		"findings:\n  - {when: n > 2, severity: critical, summary: high}\n  - {when: b.exists, summary: b is there}\nclear: well\n"
	const subjects = facts +
		"findings:\n  - {when: a.exists, subject: one, summary: first}\n  - {when: b.exists, subject: one, summary: second}\n" +
		"  - {when: b.exists, subject: two, summary: third}\nclear: well\n"
	const each = facts + "each: l\nas: f\nsubject: \"{{base(f)}}\"\nfindings:\n  - {when: f.endsWith(\"x\"), summary: ends so}\n" +
		"  - {when: a.int > 1, summary: \"over {{a.value}}\"}\nclear: well\n"
	const elements = "facts:\n  a: {file: /a}\n  s: {stats: /l/*}\neach: s\nsubject: \"{{base(it.path)}}\"\nfindings:\n" +
		"  - {when: it.size > 3, summary: large}\n  - {when: a.exists, summary: a is there}\nclear: well\n"
	const applies = facts + "applies:\n  - {when: a.exists, otherwise: no a}\n  - {when: b.exists, otherwise: \"no b beside {{a.value}}\"}\n" +
		"findings:\n  - {when: n > 2, summary: x}\nclear: well\n"
	const some = "-- root/a --\n1\n"
	for _, c := range []struct{ rule, host, want string }{
		{two, "-- root/a --\n2\n-- root/b --\n", "found critical: high | /a: 2"},
		{two, some + "-- root/b --\n", "found warning: b is there | /b: empty"},
		{two, some, "clear: well | /a: 1 | /b: absent"},
		{two, "-- root/b --\n", "found warning: b is there (not all could be looked at: /a is absent) | /b: empty | /a: absent"},
		{two, "-- denied/a --\n", "unknown: needs root: reading /a: permission denied"},
		{subjects, some + "-- root/b --\n", "found warning one: first | /a: 1\nfound warning two: third | /b: empty"},
		{subjects, "-- root/b --\n", "found warning one: second | /b: empty\nfound warning two: third | /b: empty"},
		{subjects, some + "-- denied/b --\n", "found warning one: first | /a: 1\nunknown two: needs root: reading /b: permission denied"},
		{subjects, some, "found warning one: first | /a: 1"},
		{subjects, "", "clear: well | /a: absent | /b: absent"},
		{each, some + "-- root/l/1 --\n-- root/l/x --\n", "clear 1: well | /a: 1\nfound warning x: ends so"},
		{each, "-- root/a --\n5\n-- root/l/1 --\n", "found warning 1: over 5 | /a: 5"},
		{each, "-- root/l/1 --\n-- root/l/x --\n", "unknown 1: /a is absent | /a: absent\nfound warning x: ends so"},
		{elements, "-- root/l/x --\n1234\n-- root/l/y --\n", "found warning x: large | stat /l/x: mode 0644, owner root:root\n" +
			"clear y: well | stat /l/y: mode 0644, owner root:root | /a: absent"},
		{elements, some + "-- root/l/y --\n", "found warning y: a is there | /a: 1 | stat /l/y: mode 0644, owner root:root"},
		{each, some, "clear: well"},
		{each + "none: nothing in l\n", some, "not-applicable: nothing in l"},
		{each + "none: \"{{a.int}}\"\n", "", "unknown: /a is absent"},
		{each, "-- denied/l --\n", "unknown: needs root: listing /l: permission denied"},
		{applies, "", "not-applicable: no a | /a: absent"},
		{applies, some, "not-applicable: no b beside 1 | /b: absent"},
		{applies, some + "-- root/b --\n", "clear: well | /a: 1"},
		{applies, "-- denied/a --\n", "unknown: needs root: reading /a: permission denied"},
		{strings.Replace(applies, "a.exists, otherwise: no a", "a.exists, otherwise: \"{{b.int}}\"", 1), "", "unknown: /b is absent"},
		{strings.Replace(two, "clear: well", "clear: \"b is {{b.int}}\"", 1), some, "unknown: /b is absent"},
		{strings.Replace(each, "{{base(f)}}", "{{base(f)}}{{b.int}}", 1), some + "-- root/l/1 --\n", "unknown: /b is absent"},
		{strings.Replace(each, "clear: well", "clear: \"{{b.int}}\"", 1), some, "unknown: /b is absent"},
	} {
		if got := ruled(t, c.rule, c.host); got != c.want {
			t.Errorf("%s\non %q:\n got %s\nwant %s", strings.TrimPrefix(c.rule, facts), c.host, got, c.want)
		}
	}
}

// TestFindingsSay: every part of a finding is filled in, or the finding is unknown; and evidence is what the author says.
func TestFindingsSay(t *testing.T) {
	const facts = "facts:\n  a: {file: /a}\n  b: {file: /b}\n  l: {glob: /l/*}\n"
	finding := func(more string) string {
		return facts + "findings:\n  - when: a.exists\n    summary: x\n" + more + "clear: well\n"
	}
	const some = "-- root/a --\n1\n-- root/l/1 --\n"
	for _, c := range []struct{ more, want string }{
		{"    detail: |\n      one {{a.value}}\n      two\n", "found warning: x (one 1\ntwo) | /a: 1"},
		{"    detail: \"{{b.int}}\"\n", "unknown: /b is absent | /a: 1"},
		{"    by_hand: \"{{b.int}}\"\n", "unknown: /b is absent | /a: 1"},
		{"    lost: \"{{b.int}}\"\n", "unknown: /b is absent | /a: 1"},
		{"    subject: \"{{b.int}}\"\n", "unknown: /b is absent | /a: 1"},
		{"    evidence: [b, l, {source: \"s {{a.value}}\", value: v}, {source: \"\", value: v}]\n",
			"found warning: x | /b: absent | /l/*: /l/1 | s 1: v"},
		{"    evidence: [{source: \"{{b.int}}\", value: v}]\n", "unknown: /b is absent | /a: 1"},
		{"    evidence: [{source: s, value: \"{{b.int}}\"}]\n", "unknown: /b is absent | /a: 1"},
	} {
		if got := ruled(t, finding(c.more), some); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.more, got, c.want)
		}
	}
	hand := finding("    by_hand: do {{a.value}}\n    lost: the {{a.value}}\n    start: fails\n    severity: critical\n")
	r, ms := Parse("x.yaml", []byte("id: x\ntitle: x\nsymptoms: [a, b, c]\nsince: x\nreferences: [x]\nabout: |\n  # A\n\n  # B\n"+hand), false)
	if r == nil {
		t.Fatal(ms)
	}
	if o := outcome(t, r, hosttest.New(t,
		some)); o.ByHand != "do 1" || o.Lost != "the 1" || o.Start != trap.StartFails || o.Severity.String() != "critical" {
		t.Errorf("%+v", o)
	}
}

// TestElementsBound: as many elements as a rule looks at, and one more.
func TestElementsBound(t *testing.T) {
	const rest = "facts:\n  a: {file: /a}\neach: a.lines\nsubject: s{{it}}\nfindings:\n  - {when: it == \"y\", summary: x}\nclear: well\n"
	if got := ruled(t, rest, "-- root/a --\n"+strings.Repeat("x\n", eachLimit-1)+"y\n"); !strings.Contains(got, "found warning sy: x") {
		t.Errorf("%d elements: %.100s", eachLimit, got)
	}
	want := "unknown: x.yaml:13: each has more than 5000 elements"
	if got := ruled(t, rest, "-- root/a --\n"+strings.Repeat("x\n", eachLimit)+"y\n"); got != want {
		t.Errorf("one more: %.100s", got)
	}
}

// TestTextBound: as much text as a value may come to, and one byte more.
func TestTextBound(t *testing.T) {
	for _, key := range []string{"summary: \"{{a.value}}\"", "summary: x\n    detail: \"{{a.value}}\""} {
		for more, refused := range map[int]bool{0: false, 1: true} {
			got := ruled(t, "facts:\n  a: {file: /a}\nfindings:\n  - when: a.exists\n    "+key+"\nclear: x\n",
				"-- root/a --\n"+strings.Repeat("x", textLimit+more)+"\n")
			want := "found warning: x"
			if refused {
				want = ": a text of more than 65536 bytes"
			}
			if !strings.Contains(got, want) {
				t.Errorf("%s, %d more: %.120s", key, more, got)
			}
		}
	}
}

// TestSays: how values are written for people.
func TestSays(t *testing.T) {
	for ask, want := range map[string]string{
		"1.0": "1", "1.25": "1.2", "2.0 * 50.0": "100", "duration('26h')": "1 day 2 hours", "duration('-61s')": "-1 minute 1 second",
		"duration('0s')":    "0s",
		"duration('48h1s')": "2 days 1 second", "duration('1ms')": "1ms", "timestamp('2026-01-02T03:04:05Z')": "2026-01-02 03:04 UTC",
		"[1, 2]": "1, 2", "true": "true", "[duration('1h'), duration('2h')]": "1 hour, 2 hours",
		"parseSize('64K')": "65536", "parseSize('1.5 GiB')": "1610612736", "parseSize('10 b')": "10", "parseSize('7MB')": "7340032",
		"parseSize('0')":            "0",
		"parseSize('infinity') > 0": "true", "parseSize('x')": `unknown: x.yaml:17: "x" is not a size like 64K or 1.5G`,
		"parseSize('1 KiBs')": `unknown: x.yaml:17: "1 KiBs" is not a size like 64K or 1.5G`,
		"parseSize('8E')":     `unknown: x.yaml:17: "8E" is not a size like 64K or 1.5G`,
		"parseSize('7E')":     "8070450532247928832", "parseSize('1Z')": `unknown: x.yaml:17: "1Z" is not a size like 64K or 1.5G`,
		"parseSize('-5')": `unknown: x.yaml:17: "-5" is not a size like 64K or 1.5G`,
		"percent(1, 4)":   "25", "percent(1, 0)": "0", "percent(3, -1)": "0",
		"'abc'.substring(1, 2)": "b", "'abc'.substring(-1, 9)": "abc", "'abc'.substring(2, 1)": "", "'a\\nb\\n'.lines()": "a, b",
		"''.lines().size()":          "0",
		"['b', 'a', 'b'].distinct()": "b, a", "['b', 'a', 'b'].sorted()": "a, b, b", "[1, 2, 3].sum()": "6",
		"[9223372036854775807, 0].sum()": "9223372036854775807", "[9223372036854775807, 1].sum()": "unknown: x.yaml:17: a sum that is too large",
		"[-9223372036854775807, -1].sum()":        "-9223372036854775808",
		"[-9223372036854775807, -2].sum()":        "unknown: x.yaml:17: a sum that is too large",
		"'k=v'.capture('(?P<k>.)=(?P<v>.)')['v']": "v", "'x'.capture('(?P<k>.)=').size()": "0", "'x'.capture('(.)').size()": "0",
		"debCompare('1', '2')": "-1",
		"debCompare('a', '2')": `unknown: x.yaml:17: "a" is not a version of a Debian package: upstream_version must start with digit`,
		"debCompare('2', 'b')": `unknown: x.yaml:17: "b" is not a version of a Debian package: upstream_version must start with digit`,
	} {
		read{"", "{file: /x}", ask, want + strings.Repeat(" | /x: absent", map[bool]int{true: 0, false: 1}[strings.HasPrefix(want,
			"unknown")])}.check(t, false)
	}
	const thousand = "-- root/x --\n"
	for n, want := range map[int]int{1000: 1000, 1001: 1000} { // more is not said
		r := with(t, "  f: {file: /x}\n", "f.exists", "{{f.lines}}")
		if o := outcome(t, r, hosttest.New(t, thousand+strings.Repeat("l\n", n))); strings.Count(string(o.Detail), "l") != want {
			t.Errorf("%d lines: %d said", n, strings.Count(string(o.Detail), "l"))
		}
	}
}

// TestSamplesTold: what is wrong with a rule's samples.
func TestSamplesTold(t *testing.T) {
	const well, bad = "-- root/etc/a.conf --\nLimit = 8\n-- root/etc/hostname --\nweb1\n",
		"-- root/etc/a.conf --\nLimit = 1\n-- root/etc/hostname --\nweb1\n"
	const isWell, isBad = "-- want --\nclear: all is well\n", "-- want --\nfound warning: the limit of web1 is low\n"
	r, ms := Parse("r.yaml", []byte(sound), false)
	if r == nil {
		t.Fatal(ms)
	}
	for _, c := range []struct{ name, text, want string }{
		{"healthy.txtar", well + isWell, ""},
		{"healthy-2.txtar", well + isWell, ""},
		{"trapped.txtar", bad + isBad, ""},
		{"trapped.txtar", bad + isBad + "-- plan --\nchange /etc/a.conf\n", ""},
		{"trapped.txtar", bad + isBad + "-- plan --\nchange /etc/b.conf\n", "differs"},
		{"healthy.txtar", well + "-- want --\nclear: all is good\n", "differs"},
		{"healthy.txtar", well, "the section want is missing, or empty"},
		{"healthy.txtar", well + "-- wnat --\n", `no section is called "wnat"`},
		{"healthy.txtar", "-- stat/x --\nmode\n" + isWell, "stat/x"},
		{"healthy-2.txtar", bad + isBad, "a healthy host has no finding"},
		{"trapped-2.txtar", well + isWell, "a trapped host has a finding"},
		{"absent.txtar", "-- want --\nnot-applicable: not installed\n", ""},
		{"other.txtar", bad + isBad, ""},
	} {
		dir := fstest.MapFS{"healthy-1.txtar": {Data: []byte(well + isWell)}, "trapped-1.txtar": {Data: []byte(bad + isBad)},
			c.name: {Data: []byte(c.text)}}
		results, err := r.Test(t.Context(), dir)
		if err != nil || len(results) != len(dir)+1 {
			t.Fatalf("%s: %d results, %v", c.name, len(results), err)
		}
		for _, res := range results {
			got := ""
			switch {
			case res.Err != nil:
				got = res.Err.Error()
			case !res.Passed():
				got = "differs"
			}
			want := ""
			if res.Name == c.name {
				want = c.want
			}
			if want == "" && got != "" || !strings.Contains(got, want) {
				t.Errorf("%s, %s: %q, want %q\n%s\n%s", c.name, res.Name, got, want, res.Got, res.Want)
			}
		}
	}
	for _, names := range [][]string{{}, {"healthy.txtar"}, {"trapped.txtar"}, {"healthy.txt", "trapped.txtar"}, {"unhealthy.txtar",
		"trapped.txtar"}, {"healthy.txtar", "untrapped.txtar"}} {
		dir := fstest.MapFS{}
		for _, n := range names {
			dir[n] = &fstest.MapFile{Data: []byte(well + isWell)}
		}
		if res, err := r.Test(t.Context(), dir); err != errNoSamples {
			t.Errorf("%v: %v, %v", names, res, err)
		}
	}
	// A rule that says clear, or found, of a host that nobody looked at.
	for when, want := range map[string]string{"'false'": "clear: not met", "'true'": "found notice: met"} {
		blind := with(t, "  f: {file: /x}\n", when, "")
		dir := fstest.MapFS{"healthy.txtar": {Data: []byte("-- want --\nclear: not met\n")},
			"trapped.txtar": {Data: []byte("-- want --\nfound notice: met\n")}}
		results, err := blind.Test(t.Context(), dir)
		if last := results[len(results)-1]; err != nil || last.Passed() || last.Got != want || last.Want != "unknown, or not-applicable" {
			t.Errorf("%s: %+v, %v", when, last, err)
		}
	}
}

// TestStartsBound: the longest id that a new rule can have.
func TestStartsBound(t *testing.T) {
	id := strings.Repeat("a", 100)
	files, err := Start(id)
	if err != nil || !strings.Contains(files[0].Content, "id: "+id+"\n") || strings.Contains(files[0].Content, "ID") {
		t.Errorf("%v, %.200v", err, files)
	}
	if _, err := Start("Bad"); err == nil || !strings.Contains(err.Error(), `"Bad": the id of a rule is lower-case words`) {
		t.Error(err)
	}
}
