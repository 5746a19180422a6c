package rule

import (
	"fmt"
	"strings"
	"testing"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/hosttest"
)

// read is a fact, what is asked of it on a host, and the answer: what the expression says, and the fact's evidence
// behind a bar. What nobody can know is "unknown: " and the reason.
type read struct{ host, fact, ask, want string }

func (c read) check(t *testing.T, shipped bool) {
	t.Helper()
	text := "id: x\ntitle: x\nseverity: notice\nsymptoms: [a, b, c]\nsince: x\nreferences: [x]\nabout: |\n  # A\n\n  # B\nfacts:\n  f: " +
		c.fact +
		"\nfindings:\n  - when: \"true\"\n    summary: x\n    detail: |\n      {{" + c.ask + "}}\n    evidence: [f]\nclear: x\n"
	r, ms := Parse("x.yaml", []byte(text), shipped)
	if r == nil {
		t.Errorf("%s: %v", c.fact, ms)
		return
	}
	src, _, err := hosttest.Parse([]byte(c.host))
	if err != nil {
		t.Fatal(err)
	}
	o := outcome(t, r, host.New(src))
	got := "unknown: " + o.Reason
	if o.Status == trap.Found {
		got = string(o.Detail)
		for _, e := range o.Evidence {
			got += " | " + e.Source + ": " + e.Value
		}
	}
	if got != c.want {
		t.Errorf("%s, %s:\n got %s\nwant %s", c.fact, c.ask, got, c.want)
	}
}

func checkReads(t *testing.T, all []read) {
	t.Helper()
	for _, c := range all {
		c.check(t, false)
	}
}

const deniedA = "-- denied/etc/a --\n"

// TestReadsKeyValue: comments and empty lines anywhere, blanks or = between, quotes off, the last line counts.
func TestReadsKeyValue(t *testing.T) {
	const conf = "-- root/etc/b --\n# c\n\n  ; x\nA = 1\nexport B=2\nC three\nD\t4\nE='q # r' # s\n F=5\nG = \"a\nH=''\nI  a  b \nJ " +
		"k=v\nalone\nA=9\n"
	two := conf + "-- root/etc/c --\nA: 7=8\nA 3\n"
	const drop = "-- root/etc/b --\nA=1\n-- link/etc/b.d/10.conf --\n/dev/null\n-- root/etc/b.d/20.conf --\nA=2\n-- " +
		"root/usr/lib/b.d/20.conf --\nA=3\n" +
		"-- root/usr/lib/b.d/30.conf --\nB=4\n-- root/etc/b.d/40.txt --\nA=5\n"
	const b = " | /etc/b: 12 settings"
	checkReads(t, []read{
		{conf, "{keyvalue: /etc/b}", `f.values.map(k, k + "=" + f.values[k]).sorted()`,
			`A=9, B=2, C=three, D=4, E=q # r, F=5, G="a, H=, I=a  b, J=k=v, alone=` + b},
		{conf, "{keyvalue: /etc/b}", `f.getAll("A") + [f.where("A"), f.where("F"), f.get("none", "no"), f.get("A", "no"), f.get("A")]`,
			"1, 9, /etc/b:15, /etc/b:9, no, 9, 9" + b},
		{conf, "{keyvalue: /etc/b}", `[f.sets("A"), f.sets("a"), f.sets("alone"), f.exists]`, "true, false, true, true" + b},
		{conf, "{keyvalue: /etc/b, fold: true}", `[f.sets("a"), f.sets("A"), f.sets("AL"), f.values["alone"] == ""]`,
			"true, true, false, true" + b},
		{two, "{keyvalue: /etc/c, separator: ':'}", `f.get("A", "") + f.get("A 3", "no")`, "7=8 | /etc/c: 2 settings"},
		{two, "{keyvalue: /etc/c, separator: space}", `f.get("A:", "") + " " + f.get("A", "")`, "7=8 3 | /etc/c: 2 settings"},
		{two, "{keyvalue: /etc/c, separator: '='}", `f.get("A: 7", "")`, "8 | /etc/c: 2 settings"},
		{two, "{keyvalue: /etc/c, comment: A}", `size(f.values)`, "0 | /etc/c: 0 settings"},
		{two, "{keyvalue: [/etc/a, /etc/b, /etc/c]}", `f.files`, "/etc/b, /etc/c | /etc/b, /etc/c: 14 settings"},
		{"", "{keyvalue: [/etc/a, /etc/b]}", `[f.exists, f.where("A") == "", f.sets("A")]`, "false, true, false | /etc/a, /etc/b: absent"},
		{two + deniedA, "{keyvalue: [/etc/b, /etc/a, /etc/c]}", "f.exists", "unknown: needs root: reading /etc/a: permission denied"},
		{drop, "{keyvalue: /etc/b, dropins: b.d}", `[f.get("A"), f.get("B")] + f.files`,
			"2, 4, /etc/b, /etc/b.d/20.conf, /usr/lib/b.d/30.conf | /etc/b, /etc/b.d/20.conf, /usr/lib/b.d/30.conf: 3 settings"},
		{drop, "{keyvalue: /etc/b, dropins: [/usr/lib/b.d, /etc/b.d]}", `f.getAll("A")`,
			"1, 3, 2 | /etc/b, /usr/lib/b.d/20.conf, /usr/lib/b.d/30.conf, /etc/b.d/20.conf: 4 settings"},
		{drop + "-- root/etc/b.d/25.conf --\n-- denied/etc/b.d/25.conf --\n", "{keyvalue: /etc/b, dropins: b.d}", "f.exists",
			"unknown: needs root: lstat of /etc/b.d/25.conf: permission denied"},
		{drop + "-- denied/run/b.d --\n", "{keyvalue: /etc/b, dropins: b.d}", "f.exists",
			"unknown: needs root: listing /run/b.d: permission denied"},
		{"kind: root\n" + drop, "{keyvalue: /etc/b, dropins: b.d}", `f.get("B")`,
			"4 | /etc/b, /etc/b.d/20.conf, /usr/lib/b.d/30.conf: 3 settings"},
	})
}

func TestReadsINI(t *testing.T) {
	const conf = "-- root/etc/b --\n# c\n[S]\nA=1\nA=\"2\"\n\n[T]\nA=3\nB=\n"
	const b = " | /etc/b: 4 settings"
	checkReads(t, []read{
		{conf, "{ini: /etc/b}", `f.getAll("S", "A") + [f.get("S", "A"), f.get("T", "A", "no"), f.get("S", "B", "no"), f.where("T", "A")]`,
			"1, 2, 2, 3, no, /etc/b:7" + b},
		{conf, "{ini: /etc/b}",
			`[f.exists, f.sets("T", "B"), f.sets("S", "B"), f.sets("t", "B"), f.sections["S"]["A"] == "2", size(f.sections) == 2]`,
			"true, true, false, false, true, true" + b},
		{conf, "{ini: [/etc/a, /etc/b]}", "f.files", "/etc/b" + b},
		{"", "{ini: /etc/b}", "f.exists", "false | /etc/b: absent"},
		{conf + deniedA, "{ini: [/etc/b, /etc/a]}", "f.exists", "unknown: needs root: reading /etc/a: permission denied"},
	})
}

func TestReadsRegex(t *testing.T) {
	const two = "-- root/etc/b --\nport 1\n#port 2\n  port   3\n-- root/etc/c --\nport 4\n-- root/etc/d/e --\nport 5\n"
	many := "-- root/etc/b --\n" + strings.Repeat("x\n", matchLimit)
	checkReads(t, []read{
		{two, "{regex: 'port\\s+(?P<n>\\d)', in: [/etc/a, /etc/b, /etc/c], ignore: '^#'}",
			`f.matches.map(m, m.path + ":" + string(m.line) + " " + m.groups["n"])`,
			"/etc/b:1 1, /etc/b:3 3, /etc/c:1 4 | /etc/b:1: port 1"},
		{two, "{regex: '^ +port', in: /etc/b}", "f.first.text + string(f.count)", "  port   31 | /etc/b:3: port 3"},
		{two, "{regex: port, in: /etc/*}", "[f.count, size(f.matches)]", "4, 4 | /etc/b:1: port 1"}, // a folder among files is none of them
		{two, "{regex: none, in: [/etc/b, /etc/a]}", "[f.exists, f.found]", "true, false | /etc/b, /etc/a: no line matches none"},
		{two, "{regex: port, in: /etc/a}", "[f.exists, f.found]", "false, false | /etc/a: absent"},
		{two, "{regex: none, in: /etc/b}", "f.first.text", "unknown: no line of /etc/b matches none"},
		{two, "{regex: port, in: /etc/d}", "f.found", "unknown: reading /etc/d: not a regular file"},
		{two + deniedA, "{regex: port, in: [/etc/b, /etc/a]}", "f.found", "unknown: needs root: reading /etc/a: permission denied"},
		{two + "-- denied/etc --\n", "{regex: port, in: /etc/*}", "f.found", "unknown: needs root: listing /etc: permission denied"},
		{many, "{regex: x, in: /etc/b}", "[f.count, size(f.matches)]", "1000, 1000 | /etc/b:1: x"},
		{many + "x\n", "{regex: x, in: /etc/b}", "[f.count, size(f.matches)]", "1001, 1000 | /etc/b:1: x"},
	})
}

func TestReadsTable(t *testing.T) {
	const text = "-- root/etc/b --\nA  B\n1 2 3\n\n4\n"
	const b = " | /etc/b: 3 rows"
	checkReads(t, []read{
		{text, "{table: /etc/b, header: true}", `f.rows.map(r, r.get("A", "") + r.get("B", "-") + r.get("2", "-"))`, "123, 4-- | /etc/b: 2 rows"},
		{text, "{table: /etc/b, columns: [x]}", `f.rows.map(r, r["x"] + r.get("1", "-"))`, "AB, 12, 4-" + b},
		{text, "{table: /etc/b, skip: 1}", `f.rows.map(r, r["0"])`, "1, 4 | /etc/b: 2 rows"},
		{text, "{table: /etc/b, skip: 4, header: true}", "size(f.rows)", "0 | /etc/b: 0 rows"},
		{text, "{table: /etc/b, skip: 9}", "[size(f.rows) == 0, f.exists]", "true, true | /etc/b: 0 rows"},
		{text, "{table: /etc/b, separator: ' 2 '}", `f.rows.map(r, r["0"] + "/" + r.get("1", "-"))`, "A  B/-, 1/3, 4/-" + b},
		{"", "{table: /etc/b}", "f.exists", "false | /etc/b: absent"},
		{deniedA, "{table: /etc/a}", "f.exists", "unknown: needs root: reading /etc/a: permission denied"},
	})
}

// TestReadsFilesAndFolders: a file's text and number, a folder's names, the paths of a pattern.
func TestReadsFilesAndFolders(t *testing.T) {
	const house = "-- root/etc/b --\n 0x10 \n-- root/etc/c --\none\ntwo\n-- root/etc/empty --\n-- root/etc/.h/x --\n-- root/etc/d/x " +
		"--\n-- root/etc/e/x --\n" +
		"-- root/etc/e/.y --\n-- root/etc/e/y/z --\n"
	long := "-- root/etc/b --\n" + strings.Repeat("x", 41) + "\n-- root/etc/c --\n" + strings.Repeat("x", 40) + "\n"
	const loops = "-- link/etc/l --\n/root/.gnupg\n-- root/root/.gnupg/a --\n"
	checkReads(t, []read{
		{house, "{file: /etc/b}", `[f.exists, f.path == "/etc/b", f.value == "0x10", f.text == " 0x10 \n", f.int == 16]`,
			"true, true, true, true, true | /etc/b: 0x10"},
		{house, "{file: /etc/c}", "f.lines", "one, two | /etc/c: 2 lines"},
		{house, "{file: /etc/empty}", "[size(f.lines) == 0, f.exists]", "true, true | /etc/empty: empty"},
		{house, "{file: /etc/c}", "f.int", `unknown: /etc/c says "one\ntwo", which is not a number`},
		{long, "{file: /etc/b}", "f.int", `unknown: /etc/b says "` + strings.Repeat("x", 40) + `...", which is not a number`},
		{long, "{file: /etc/c}", "f.int", `unknown: /etc/c says "` + strings.Repeat("x", 40) + `", which is not a number`},
		{"", "{file: /etc/b}", "[f.exists, f.text == ''] + [f.path == '/etc/b']", "false, true, true | /etc/b: absent"},
		{"", "{file: /etc/b}", "f.int", "unknown: /etc/b is absent"},
		{deniedA, "{file: /etc/a}", "f.exists", "unknown: needs root: reading /etc/a: permission denied"},
		{house, "{dir: /etc/e}", `f.names + [string(f.count)]`, ".y, x, y, 3 | /etc/e: 3 entries"},
		{"", "{dir: /etc/e}", "[f.exists, f.count > 0]", "false, false | /etc/e: absent"},
		{house + "-- denied/etc/e --\n", "{dir: /etc/e}", "f.exists", "unknown: needs root: listing /etc/e: permission denied"},
		{loops, "{dir: /etc/l}", "f.exists", "unknown: /etc/l: may hold secrets, which rules cannot read"},
		{house, "{glob: [/etc/*/x, /etc/none/*, /etc/e/*]}", "f",
			"/etc/d/x, /etc/e/x, /etc/e/x, /etc/e/y | /etc/*/x, /etc/none/*, /etc/e/*: /etc/d/x, /etc/e/x, /etc/e/x, /etc/e/y"},
		{house, "{glob: /etc/.*/x}", "f", "/etc/.h/x | /etc/.*/x: /etc/.h/x"},
		{house, "{glob: /*/*/*/z}", "f", "/etc/e/y/z | /*/*/*/z: /etc/e/y/z"},
		{house, "{glob: '/etc/[de]/x*'}", "f", "/etc/d/x, /etc/e/x | /etc/[de]/x*: /etc/d/x, /etc/e/x"},
		{house + "-- denied/etc/d --\n", "{glob: /etc/*/*}", "f", "unknown: needs root: listing /etc/d: permission denied"},
		{loops, "{glob: /etc/*/*}", "f", "unknown: /etc/l: may hold secrets, which rules cannot read"},
	})
}

// TestGlobBound: as many paths as a pattern may come to, and one more.
func TestGlobBound(t *testing.T) {
	var full strings.Builder
	for i := range 100 {
		fmt.Fprintf(&full, "-- root/b/%03d --\n-- link/a/%03d --\n/b\n", i, i)
	}
	checkReads(t, []read{
		{full.String(), "{glob: /a/*/*}", "size(f)", "10000 | /a/*/*: /a/000/000, /a/000/001, /a/000/002 and 9997 more"},
		{full.String() + "-- root/a/z/1 --\n", "{glob: /a/*/*}", "size(f)", "unknown: /a/*/* fits more than 10000 paths"},
	})
}
