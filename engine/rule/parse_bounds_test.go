package rule

import (
	"fmt"
	"strings"
	"testing"
)

// spoilt is the sound rule with its first line that begins so replaced.
func spoilt(t *testing.T, line, instead string) string {
	t.Helper()
	i := strings.Index("\n"+sound, "\n"+line)
	if i < 0 {
		t.Fatalf("no line %q", line)
	}
	_, rest, _ := strings.Cut(sound[i:], "\n")
	return sound[:i] + instead + "\n" + rest
}

// parsed checks that a rule is taken (want is empty), or refused with that among its mistakes.
func parsed(t *testing.T, name, text, want string, shipped bool) {
	t.Helper()
	r, ms := Parse("r.yaml", []byte(text), shipped)
	switch {
	case want == "" && r == nil:
		t.Errorf("%.150s:\nrefused: %.300v", name, ms)
	case want != "" && (r != nil || len(ms.Fatal()) == 0):
		t.Errorf("%.150s: taken, want %q", name, want)
	case want != "" && !strings.Contains("\n"+ms.Error()+"\n", "\nr.yaml:"+want) && !strings.Contains(ms.Error(), ": "+want):
		t.Errorf("%.150s:\n got %.500v\nwant %s", name, ms, want)
	}
}

// TestBounds: just within each bound of a rule's file, and just beyond it.
func TestBounds(t *testing.T) {
	many := func(n int, form string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(strings.ReplaceAll(form, "#", fmt.Sprint(i)))
		}
		return b.String()
	}
	facts := func(n int) string { return "facts:\n" + many(n-2, "  f#: {file: /f#}\n") + "  #" }
	lets := func(n int) string { return "let:\n" + many(n-1, "  l#: size(\"a\")\n") + "  #" }
	findings := func(n int) string { return "findings:\n" + many(n-1, "  - {when: limit < #, summary: x}\n") + "  #" }
	rows := func(n int) string {
		return "tables: {t: [" + many(n, "{key: a#,value: b,source: c,confirmed: 2026-01-01}, ") + "]}\nlet:"
	}
	expr := func(n int) string {
		const a, b = "  - when: conf.exists ", "&& name.exists"
		return a + strings.Repeat(" ", n-len(a)-len(b)+len("  - when: ")) + b
	}
	nested := func(n int) string {
		return "tags: " + strings.Repeat("[", n) + "x" + strings.Repeat("]", n) + "\nsince: x"
	}
	settle := func(s string) string { return "remedy:\n  settle: " + s }
	skip := func(n string) string { return "  conf: {keyvalue: /etc/a.conf}\n  t: {table: /etc/t, skip: " + n + "}" }
	fill := func(n int) string { return "# " + strings.Repeat("x", n-len(sound)-3) + "\nid: a-rule" }
	for _, c := range []struct{ line, instead, want string }{
		{"title:", "title: " + strings.Repeat("x", 100), ""},
		{"title:", "title: " + strings.Repeat("x", 101), "2:8: title: one line of at most 100 characters"},
		{"title:", `title: a "b"`, "2:8: title: one line"},
		{"title:", `title: a \ b`, "2:8: title: one line"},
		{"title:", "title: |\n  a\n  b", "2:8: title: one line"},
		{"facts:", facts(64), ""},
		{"facts:", facts(65), "more than 64 facts"},
		{"let:", lets(64), ""},
		{"let:", lets(65), "more than 64 names"},
		{"findings:", findings(64), ""},
		{"findings:", findings(65), "90:5: more than 64 findings"},
		{"let:", rows(1000), ""},
		{"let:", rows(1001), "19:13: t: expected 1 to 1000 rows"},
		{"  - when: conf", expr(4096), ""},
		{"  - when: conf", expr(4097), "22:11: an expression of 4097 bytes: 4096 at most"},
		{"    file:", "    file: /etc/hostname\n  r: {regex: " + strings.Repeat("x", 2000) + ", in: /etc/x}", ""},
		{"    file:", "    file: /etc/hostname\n  r: {regex: " + strings.Repeat("x", 2001) + ", in: /etc/x}",
			"19:14: regex: a regex of 2001 bytes, 2000 at most"},
		{"since:", nested(11), "5:8: tags must be a list of texts; this is a list"},
		{"since:", nested(12), "nested more than 12 deep"},
		{"since:", nested(48), "5:19: nested more than 12 deep"},
		{"since:", nested(49), "5:55: nested more than 12 deep"},
		{"since:", "tags:\n" + strings.Repeat("- ", 12) + "x\nsince: x", "nested more than 12 deep"},
		{"since:", strings.Repeat(" ", 1000) + "# x\nsince: x", ""},
		{"since:", strings.Repeat(" ", 1001) + "# x\nsince: x", "5:1: nested more than 12 deep"},
		{"id:", fill(FileLimit), ""},
		{"id:", fill(FileLimit + 1), "1:1: larger than a rule may be (64 KiB)"},
		{"remedy:", settle("0s"), ""},
		{"remedy:", settle("10m"), ""},
		{"remedy:", settle("601s"), "32:11: settle: a time like 5s, at most 10m"},
		{"remedy:", settle("-1s"), "32:11: settle: a time"},
		{"remedy:", settle("soon"), "32:11: settle: a time"},
		{"  conf:", skip("0"), ""},
		{"  conf:", skip("10000"), ""},
		{"  conf:", skip("10001"), "17:28: skip must be a number from 0 to 10000"},
		{"  conf:", skip("-1"), "17:28: skip must be a number from 0 to 10000"},
		{"  conf:", skip("x"), "17:28: skip must be a number"},
		{"symptoms:", "symptoms: [a, b, c]", ""},
		{"symptoms:", "symptoms: [a, b]\nmessages: [{text: the disk is full, says: any program, since: x}]", ""},
		{"symptoms:", "symptoms: [a]\nmessages: [{text: the disk is full, says: any program, since: x}]",
			"4:11: symptoms: at least one, and three"},
		{"symptoms:", "symptoms: []\nmessages:" + many(4, "\n  - {text: the # disk is full, says: any program, since: x}"),
			"4:11: symptoms: at least one"},
		{"symptoms:", "symptoms: [a]\nmessages:" + many(4, "\n  - {text: the # disk is full, says: any program, since: x}"), ""},
		{"references:", "references: [a]", ""},
	} {
		parsed(t, c.instead, spoilt(t, c.line, c.instead), c.want, false)
	}
}

// TestMistakesInFacts: what each kind of fact takes.
func TestMistakesInFacts(t *testing.T) {
	for fact, want := range map[string]string{
		"{file: [/a, /b]}":                         "16:13: file takes one path",
		"{file: []}":                               "16:13: file takes one path",
		"{package: []}":                            "16:16: package needs an argument",
		"{package: ['']}":                          "16:17: package: this one is empty",
		"{package: [a, {b: c}]}":                   "16:20: package must be a list of texts; this is a map",
		"{sysctl: [a.b, c.d]}":                     "16:15: sysctl takes one name",
		"{sysctl: a.b}":                            "",
		"{sysctl-conf: ab}":                        `16:20: sysctl-conf: "ab" is not a key`,
		"{regex: [a, b], in: /x}":                  "16:14: regex takes one regex",
		"{log: '('}":                               "16:12: log: error parsing regexp",
		"{kernel: x}":                              "16:15: kernel takes running",
		"{kernel: running}":                        "",
		"{cmdline: [running, running]}":            "16:16: cmdline takes running",
		"{fstab: x}":                               "16:14: fstab takes all\n",
		"{fstab: [all, all]}":                      "16:14: fstab takes all\n",
		"{links: x}":                               "16:14: links takes all, or a map of options",
		"{links: all, name: 'e*'}":                 "",
		"{links: {name: '['}}":                     `16:21: name: "[" is not a pattern`,
		"{filesystems: {type: ext4}, type: xfs}":   "16:34: filesystems: type is there twice",
		"{filesystems: {typ: ext4}}":               `16:21: filesystems has no option "typ"; did you mean type?`,
		"{fstab: {x: y}}":                          `16:15: fstab has no option "x"`,
		"{module: 'a b'}":                          `16:15: module: "a b" is not the name of a module`,
		"{module: a-b_1}":                          "",
		"{unit: 'a b.service'}":                    `16:13: unit: "a b.service" is not the name of a unit`,
		"{unit: [a.service, b]}":                   `16:25: unit: "b" has no type, as in b.service`,
		"{unit: a@b.service}":                      "",
		"{upgrade: nonesuch}":                      "16:16: upgrade: fettle has no table of nonesuch's versions",
		"{upgrade: bind9}":                         "",
		"{glob: '/etc/['}":                         `16:13: glob: "/etc/[" is not a pattern of file names`,
		"{glob: '/etc/**'}":                        `16:13: glob: "/etc/**" is not a pattern of file names`,
		"{glob: 'etc/*'}":                          `16:13: glob: "etc/*" is not an absolute path`,
		"{glob: [/etc/*, /etc/ssl/private/*]}":     "16:22: glob: /etc/ssl/private/* may hold secrets",
		"{regex: x, in: [/etc/a, /etc/shadow]}":    "16:30: in: /etc/shadow may hold secrets",
		"{regex: x, in: [/etc/a, etc/b]}":          `16:30: in: "etc/b" is not an absolute path`,
		"{regex: x, in: /etc/a*, ignore: '('}":     "16:38: ignore: error parsing regexp",
		"{regex: x, in: {a: b}}":                   "16:21: in must be a list of texts; this is a map",
		"{table: /etc/a, header: 1}":               "16:30: header must be true or false, not a number",
		"{table: /etc/a, header: [true]}":          "16:30: header must be true or false, not a list",
		"{table: /etc/a, separator: '('}":          "16:33: separator: error parsing regexp",
		"{table: /etc/a, columns: [name, type]}":   "",
		"{keyvalue: /etc/a, separator: ':'}":       "",
		"{keyvalue: /etc/a, separator: space}":     "",
		"{keyvalue: /etc/a, separator: spaces}":    "16:36: separator: it is =, : or space",
		"{keyvalue: /etc/a, dropins: a.d/}":        `16:34: dropins: "a.d/" is not a folder's clean path`,
		"{keyvalue: /etc/a, dropins: /etc/a.d}":    "",
		"{keyvalue: /etc/a, dropins: [a.d, ../b]}": `16:40: dropins: "../b" is not a folder's clean path`,
		"{keyvalue: /etc/a, dropins: a.d/b.d}":     "",
		"{statements: /etc/a, form: named}":        "",
		"{statements: /etc/a, form: apache}":       "16:19: statements: form is nginx or named",
		"{statements: /etc/a}":                     "16:19: statements: form is nginx or named",
		"{os: running}":                            `16:7: the fact x: no kind of fact is called "os"`,
		"{fold: true}":                             `16:7: the fact x: no kind of fact is called "fold"`,
		"{fixed-version: rsync}":                   "16:22: fixed-version must be a map of options, not text",
		"{fixed-version: {}}":                      "16:22: fixed-version: takes package, or kernel: running",
		"{fixed-version: {kernel: running, package: a, upstream: '1'}}": "16:22: fixed-version: takes " +
			"package, or kernel: running",
		"{fixed-version: {kernel: next, upstream: '1.2'}}":                      "16:22: kernel: takes running",
		"{fixed-version: {package: a, upstream: x}}":                            `16:22: upstream: "x" is not a version of a Debian package`,
		"{fixed-version: {package: a, upstream: '1', introduced: x}}":           `16:22: introduced: "x" is not a version of a Debian package`,
		"{fixed-version: {package: a, upstream: '1', introduced: '0'}}":         "",
		"{fixed-version: {kernel: running, upstream: '6.1', introduced: v5}}":   `16:22: introduced: "v5" is not a version of Linux`,
		"{fixed-version: {kernel: running, upstream: 6.1-rc1}}":                 "",
		"{fixed-version: {package: a, upstream: '1', fixed: [{os: debian}]}}":   "16:58: fixed: version is missing",
		"{fixed-version: {package: a, upstream: '1', fixed: [{version: '1'}]}}": "16:58: fixed: os is missing",
		"{fixed-version: {package: a, upstream: '1', fixed: [{os: debian, version: x}]}}": "16:58: fixed: \"x\" is not a " +
			"version of a Debian package",
		"{fixed-version: {package: a, upstream: '1', fixed: [{os: ubuntu, version: x}]}}": "16:58: fixed: \"x\" is not a " +
			"version of a Debian package",
		"{fixed-version: {package: a, upstream: '1', fixed: [{os: rhel, version: x}]}}":                "",
		"{fixed-version: {package: a, upstream: '1', fixed: [{os: debian, version: never}]}}":          "",
		"{fixed-version: {package: a, upstream: '1', fixed: [{os: a, version: b, for: c}]}}":           `16:78: fixed: no key is called "for"`,
		"{fixed-version: {package: a, upstream: '1', fixed: [x, {os: debian, version: y}]}}":           "16:61: fixed: \"y\" is not a version",
		"{fixed-version: {package: a, upstream: '1', fixed: {os: a, version: b, confirmed: someday}}}": `16:88: confirmed: "someday" is not a day`,
	} {
		text := strings.Replace(sound, "  conf:", "  x: "+fact+"\n  conf:", 1)
		// A message that must end here ends with its line.
		want := strings.TrimSuffix(want, "\n")
		parsed(t, fact, text, want, false)
		if _, ms := Parse("r.yaml", []byte(text), false); want != "" && strings.HasSuffix(fact, "all\n") && strings.Contains(ms.Error(),
			want+",") {
			t.Errorf("%s: %v", fact, ms)
		}
	}
	text := strings.Replace(sound, "  conf:", "  x: {os: running}\n  conf:", 1)
	if _, ms := Parse("r.yaml", []byte(text), false); strings.Contains(ms.Error(), "mean os?") {
		t.Errorf("what cannot be written is suggested: %v", ms)
	}
	// A rule of fettle's own may read and run more, but nothing that changes the host.
	for fact, want := range map[string]string{
		"{command: [dmesg]}": "", "{file: /etc/shadow}": "", "{command: [rm, -r, /]}": "command: ", "{command: []}": "command needs an argument",
	} {
		parsed(t, fact, strings.Replace(sound, "  conf:", "  x: "+fact+"\n  conf:", 1), want, true)
	}
}

// TestMistakesInParts: the keys of each part of a rule, and what may stand there.
func TestMistakesInParts(t *testing.T) {
	each := func(more string) string { return "clear: x\neach: name.lines\nsubject: a {{it}}" + more }
	finding := func(more string) string { return "    summary: x\n    " + more }
	for _, c := range []struct{ line, instead, want string }{
		{"since:", "horizon: [now, next-start, upgrade, update]\ncovers: [boot, packages]\nsince: x", ""},
		{"since:", "horizon: [now, soon]\nsince: x", `5:16: horizon "soon": expected one of now`},
		{"since:", "covers: kernel\nsince: x", `5:9: covers "kernel": expected one of boot`},
		{"since:", "tags: [a, b, a]\nsince: x", "5:14: tags: this one is there twice"},
		{"since:", "tags: [a, ' ']\nsince: x", "5:11: tags: this one is empty"},
		{"since:", "since:", "1:1: since is missing"},
		{"since:", "since: 2019", ""},
		{"since:", "~: b\nsince: x", "5:1: the rule: a name must be plain text"},
		{"since:", "messages: [{text: short, says: kernel, since: x}]\nsince: x", "5:12: messages: "},
		{"since:", "messages: [{text: the disk is full, says: kernel, since: x, perhpas: true}]\nsince: x",
			`5:61: a message has no key "perhpas"; did you mean perhaps?`},
		{"since:", "messages: [x, {text: short, says: kernel, since: x}]\nsince: x", "5:15: messages: "},
		{"about:", "about: x\nabuot: |", `8:1: no key is called "abuot"; did you mean about?`},
		{"  limit:", "  limit: int(\"4\")\n  limit2: limit + 1", ""},
		{"  limit:", "  limit: int(\"4\")\n  4: limit + 1", `21:3: "4": a name is letters`},
		{"  limit:", "  limit: nonesuch\n  b: limit + 1", "20:10: nothing is called nonesuch"},
		{"    otherwise:", "    otherwise: x\n    else: y", `24:5: applies: no key is called "else"; there are when and otherwise`},
		{"    otherwise:", "    otherwise: ''", "23:16: otherwise is empty"},
		{"    otherwise:", "    otherwise: [a]", "23:16: otherwise must be text, not a list"},
		{"  - when: conf", "  - x\n  - when: conf.exists", "22:5: applies must be a map of names and values, not text"},
		{"findings:", "findings: []\nx-findings:", "1:1: findings is missing: when the trap is met"},
		{"  - when: limit", "  - x\n  - when: limit < 4 && name.exists", "25:5: a finding must be a map"},
		{"    summary:", finding("severity: critical"), ""},
		{"    summary:", finding("severity: bad"), "27:15: severity: it is notice, warning or critical"},
		{"    summary:", finding("subject: y"), ""},
		{"    summary:", finding("start: fails\n    lost: y\n    by_hand: z"), ""},
		{"    summary:", finding("start: never"), "27:12: start: it is fails, without or same"},
		{"    summary:", finding("evidence: [conf, {source: a, value: b}]"), ""},
		{"    summary:", finding("evidence: cnf"), "27:15: evidence: no fact is called \"cnf\"; did you mean conf?"},
		{"    summary:", finding("evidence: [{source: a}]"), "27:16: evidence: value is missing"},
		{"    summary:", finding("evidence: [{value: a}]"), "27:16: evidence: source is missing"},
		{"    summary:", finding("evidence: [{source: a, value: b, vlaue: c}]"), `27:38: evidence: no key is called "vlaue"`},
		{"    summary:", finding("evidence: [[a]]"), "27:16: evidence must be a map of names and values, not a list"},
		{"clear:", each(""), ""},
		{"clear:", each("\nas: line\nnone: y"), "nothing is called it"},
		{"clear:", each("\nas: conf"), "33:5: conf: the name is taken"},
		{"clear:", each("\nas: a-b"), `33:5: "a-b": a name is letters`},
		{"clear:", "clear: x\nas: line", "31:5: as: goes with each, which is missing"},
		{"clear:", "clear: x\nnone: line", "31:7: none: goes with each, which is missing"},
		{"  title:", "  title: x\n  tilte: y", `33:3: remedy: no key is called "tilte"; did you mean title?`},
		{"  title:", "  title: x\n  notes: [a, '{{nam}}']", "33:17: nothing is called nam; did you mean name?"},
		{"  title:", "  title: x\n  cuts_connection: maybe", "33:20: cuts_connection must be true or false, not text"},
		{"  title:", "  title: x\n  vanishes: [a]", "33:13: vanishes must be text, not a list"},
		{"  title:", "  title: x\n  refuse: [{when: conf.exists, why: y}]", ""},
		{"  title:", "  title: x\n  refuse: [{when: conf.exists}]", "33:12: refuse: why is missing"},
		{"  title:", "  title: x\n  refuse: [{why: y}]", "33:12: refuse: when is missing"},
		{"  title:", "  title: x\n  refuse: [{when: conf.exists, why: y, becuase: z}]", `33:40: refuse: no key is called "becuase"`},
		{"  title:", "  title: x\n  refuse: y", "33:11: refuse must be a map"},
		{"remedy:", "remedy: x\nabout2:", "31:9: remedy must be a map of names and values, not text"},
		{"  steps:", "  stpes: []\n  settle: 5s\n  steps:", `33:3: remedy: no key is called "stpes"`},
	} {
		parsed(t, c.instead, spoilt(t, c.line, c.instead), c.want, false)
	}
}

// TestMistakesInSteps: what each kind of step takes, in a rule of a stranger and in fettle's own.
func TestMistakesInSteps(t *testing.T) {
	for step, want := range map[string]string{
		"{}":                  "a step needs a kind: file, edit",
		"{when: conf.exists}": "34:7: a step needs a kind",
		"x":                   "34:7: a step must be a map of names and values, not text",
		"unit: {name: a.service, act: start}\n      when: limit":        "35:13: the expression must be true or false, but is a number",
		"unit: {name: a.service, act: start}\n      remove: {path: /x}": "35:7: a step has one kind; this is unit already",
		"unit: {act: daemon-reload}":                                    "",
		"unit: {act: restart}":                                          "34:13: step unit: name is missing",
		"unit: {name: a.service}":                                       "34:13: step unit: act is missing",
		"unit: {name: a.service, act: '{{name.value}}'}":                "",
		"unit: x":              "34:13: step unit must be a map",
		"file: {path: /etc/x}": "34:13: step file: content is missing",
		"file: {path: /etc/x, content: y, mode: \"644\"}":   "",
		"file: {path: /etc/x, content: y, mode: \"1644\"}":  "",
		"file: {path: /etc/x, content: y, mode: \"64\"}":    `34:46: mode: "64" is not like 0644`,
		"file: {path: /etc/x, content: y, mode: \"01644\"}": `34:46: mode: "01644" is not like 0644`,
		"file: {path: '{{name.value}}', content: y}":        "",
		"remove: {path: x}": `34:22: path: "x" is not an absolute path`,
		"remove: {path: /etc/shadow}": "34:22: path: /etc/shadow may hold secrets, which " +
			"rules cannot change",
		"rename: {path: /x}":                                                    "34:15: step rename: to is missing",
		"perm: {path: /x}":                                                      "34:13: step perm: one of mode, uid and gid is needed",
		"perm: {path: /x, gid: \"0\"}":                                          "",
		"sysctl: {key: a.b, value: c, persist: true}":                           "",
		"sysctl: {key: a.b, value: c, persist: yes please}":                     "34:45: persist must be true or false, not text",
		"sysctl: {key: a.b, value: c, presist: true}":                           `34:36: step sysctl: no key is called "presist"; did you mean persist?`,
		"sysfs: {path: /sys/x, value: y}":                                       "",
		"sysfs: {path: /proc/x, value: y}":                                      `34:21: path: "/proc/x" is not below /sys`,
		"edit: {path: /x, set: {key: a, value: b, section: c, separator: '='}}": "",
		"edit: {path: /x, set: {key: a}}":                                       "34:13: step edit: set needs value",
		"edit: {path: /x, set: {value: a}}":                                     "34:13: step edit: set needs key",
		"edit: {path: /x, set: {key: a, value: b, vlaue: c}}":                   `34:48: set: no key is called "vlaue"; there are key, value, section, separator`,
		"edit: {path: /x, replace: {match: a}}":                                 "34:13: step edit: replace needs with",
		"edit: {path: /x, replace: {match: '(', with: b}}":                      "34:41: match: error parsing regexp",
		"edit: {path: /x, replace: {match: a, with: '('}}":                      "",
		"edit: {path: /x, drop: '('}":                                           "34:30: drop: error parsing regexp",
		"edit: {path: /x, append: '('}":                                         "",
		"edit: {path: /x, append: a, drop: b}":                                  "34:13: step edit: takes one of set, replace, append and drop",
		"edit: {path: /x, set: y}":                                              "34:29: set must be a map of names and values, not text",
		"edit: {path: [a], drop: b}":                                            "34:20: path must be text, not a list",
		"check: {run: [/bin/a]}":                                                "34:7: a rule of yours may not run commands",
	} {
		text := spoilt(t, "    - edit:", "    - "+step)
		if want != "" && strings.HasPrefix(want, "34:7: a rule of yours") {
			parsed(t, step, text, "", true)
		}
		parsed(t, step, text, want, false)
	}
	for step, want := range map[string]string{
		"remove: {path: /etc/shadow}":                  "",
		"command: {do: [a, b]}":                        "34:21: do: the first word must be the absolute path of a program",
		"command: {do: ['{{name.value}}', b]}":         "34:21: do: the first word must be the absolute path of a program",
		"command: {do: ['/bin/{{name.value}}', b]}":    "",
		"command: {undo: [/bin/a]}":                    "34:16: step command: do is missing",
		"command: {do: [/bin/a], run: [/bin/b]}":       `34:31: step command: no key is called "run"`,
		"check: {run: [/bin/a, [b]]}":                  "34:29: run must be text, not a list",
		"command: {do: [/bin/a], undo: [/bin/untrue]}": "",
	} {
		parsed(t, step, spoilt(t, "    - edit:", "    - "+step), want, true)
	}
}

// TestPlacesInText: a mistake in an expression is told where it stands, however YAML writes the text.
func TestPlacesInText(t *testing.T) {
	for _, c := range []struct{ line, instead, want string }{
		{"    summary:", "    summary: 'at {{nam.value}}'", "26:20: nothing is called nam"},
		{"    summary:", "    summary: \"at {{  nam.value}}\"", "26:22: nothing is called nam"},
		{"    summary:", "    summary: >\n      the\n      limit {{nam.value}}", "27:7: nothing is called nam"},
		{"    summary:", "    summary: |\n\n      limit {{nam.value}}", "28:15: nothing is called nam"},
		{"    summary:", "    summary: the\n      limit {{nam.value}}", "26:"},
		{"    summary:", `    summary: "{{'}}' + nam.value}}"`, "26:24: nothing is called nam"},
		{"    summary:", `    summary: '{{ {"a": "b"}["a"] + nam.value }}'`, "26:36: nothing is called nam"},
		{"    summary:", `    summary: '{{ "\"}}" + nam.value }}'`, "26:27: nothing is called nam"},
		{"    summary:", `    summary: '{{ {"a": "}}"} }}'`, ""},
		{"    summary:", "    summary: '{{name.value}} and {{ }'", "26:34: {{ without }}"},
		{"    summary:", "    summary: '{{name.value}} and {{ }}'", "26:34: {{}} without an expression"},
		{"    summary:", "    summary: {a: b}", "26:14: summary must be text, not a map; put quotes around text that begins with {{"},
		{"    summary:", "    summary:\n      a: b", "27:7: summary must be text, not a map\n"},
		{"    summary:", "    summary: [a]", "26:14: summary must be text, not a list\n"},
		{"  - when: conf", "  - when: |\n      conf.exists &&\n      nam.exists", "24:7: nothing is called nam"},
		{"  - when: conf", "  - when: conf.exists && name.value.matches(\"[\") && name.value.capture(\"(\") == {}",
			"error parsing regexp: missing closing )"},
		{"  - when: conf", "  - when: \"\"", "22:11: an expression must be text, not text"},
		{"  - when: conf", "  - when: limt == 0", "22:11: nothing is called limt; did you mean limit?"},
		{"  - when: conf", "  - when: hots.running", "22:11: nothing is called hots; did you mean host?"},
		{"  - when: conf", "  - when: conf", "22:11: the expression must be true or false, but is "},
		{"  - when: conf", "  - when: name.lines", "22:11: the expression must be true or false, but is a list"},
		{"  - when: conf", "  - when: conf.values", "22:11: the expression must be true or false, but is a map"},
		{"  - when: conf", "  - when: 1.5", "22:11: the expression must be true or false, but is a number"},
	} {
		text := spoilt(t, c.line, c.instead)
		parsed(t, c.instead, text, strings.TrimSuffix(c.want, "\n"), false)
		if _, ms := Parse("r.yaml", []byte(text), false); strings.HasSuffix(c.want, "\n") && strings.Contains(ms.Error(), "put quotes") {
			t.Errorf("%s: a hint at nothing: %v", c.instead, ms)
		}
	}
}

// TestNotPlain: what YAML has and rules do not.
func TestNotPlain(t *testing.T) {
	for text, want := range map[string]string{
		"a: &x b\nc: *x\n":         "1:4: an anchor (&): rules have none",
		"a: [b, *x]\n":             "an alias (*): rules have none",
		"a: {<<: {b: c}}\n":        "a merge key (<<): rules have none",
		"a: !!int 3\n":             "1:4: a tag (!): rules have none",
		"- a\n- b\n":               "1:1: a rule is a map, beginning with id:",
		"x\n":                      "1:1: a rule is a map, beginning with id:",
		"\n":                       "1:1: the file is empty; fettle lore new ID writes a start",
		"id: x\n---\nid: y\n":      "3:1: a second document: a file holds one rule",
		"id: \xff\n":               "1:1: is not UTF-8 text",
		"id: x\n":                  "1:1: title is missing",
		"~: b\n":                   "1:1: the rule: a name must be plain text",
		"id: x\r\nid2: [\r\n":      "not YAML",
		"a:\n  - b\n c: d\n":       "not YAML",
		"id: [a\ntitle: - {{x}}\n": "not YAML",
	} {
		parsed(t, text, text, want, false)
	}
	parsed(t, "CRLF", strings.ReplaceAll(sound, "\n", "\r\n"), "", false)
}

// TestOptionalByItsName: only the optional fact itself may be in no condition, not a field or a part of a word like it.
func TestOptionalByItsName(t *testing.T) {
	for when, refused := range map[string]bool{"limit < 4 && value.found": true, "value.found || limit < 4": true,
		"limit < 4 && name.value != \"\"": false,
		"limit < 4 && values < 3":         false, "limit < 4 && (value.looked)": true} {
		text := strings.Replace(sound, "facts:\n", "facts:\n  value: {log: x, optional: true}\n", 1)
		text = strings.Replace(text, "let:\n", "let:\n  values: size(\"a\")\n", 1)
		text = strings.Replace(text, "limit < 4 && name.exists", when, 1)
		want := ""
		if refused {
			want = "value is optional: if it cannot be read"
		}
		parsed(t, when, text, want, false)
	}
}

// TestWarnedOnce: what changes by itself is told once in a text, where it first stands, and not in a detail.
func TestWarnedOnce(t *testing.T) {
	text := spoilt(t, "    file:", "    dir: /etc/x")
	text = strings.NewReplacer("{{name.value}} is low", "{{name.count}} of {{name.count + name.count}}, {{now}}", "is {{limit}}",
		"is {{name.count}} {{now}}").Replace(text)
	_, ms := Parse("r.yaml", []byte(text), false)
	want := "r.yaml:26:33: warning: count changes by itself: it belongs in detail, not in what identifies a finding\n" +
		"r.yaml:26:51: warning: count changes by itself: it belongs in detail, not in what identifies a finding\n" +
		"r.yaml:26:76: warning: now changes by itself: it belongs in detail, not in what identifies a finding"
	if ms.Error() != want {
		t.Errorf("got:\n%v\nwant:\n%s", ms, want)
	}
}
