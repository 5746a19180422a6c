package rule

import (
	"fmt"
	"strings"
	"testing"
)

// sound is a rule without mistakes; the cases below spoil a line of it.
const sound = `id: a-rule
title: A rule
severity: warning
symptoms: [one thing, another thing, a third thing]
since: always
references: [man test(1)]
about: |
  # What happens

  This.

  # What to do

  That.
facts:
  conf: {keyvalue: /etc/a.conf}
  name:
    file: /etc/hostname
let:
  limit: int(conf.get("Limit", "4"))
applies:
  - when: conf.exists
    otherwise: not installed
findings:
  - when: limit < 4 && name.exists
    summary: the limit of {{name.value}} is low
    detail: |
      The limit
      is {{limit}}.
clear: all is well
remedy:
  title: raise it
  steps:
    - edit: {path: /etc/a.conf, set: {key: Limit, value: "8"}}
`

func TestSound(t *testing.T) {
	if _, ms := Parse("r.yaml", []byte(sound), false); len(ms) > 0 {
		t.Fatal(ms)
	}
}

func TestMistakes(t *testing.T) {
	// A line that begins like the first text is replaced by the second; nothing
	// takes it away. The mistake is told with its line and column.
	for _, c := range []struct{ line, instead, want string }{
		{"id:", "id: A_Rule", `1:5: id "A_Rule": it is lower-case words`},
		{"id:", "", "1:1: id is missing"},
		{"id:", "idd: a-rule", "1:1: no key is called \"idd\"; did you mean id?"},
		{"title:", "title: [a, b]", "2:8: title must be text, not a list"},
		{"title:", "title: " + strings.Repeat("x", 101), "2:8: title: one line of at most 100 characters"},
		{"title:", "", "1:1: title is missing"},
		{"severity:", "severity: fatal", "3:11: severity: it is notice, warning or critical"},
		{"severity:", "", "24:5: severity is missing, here and at the top"},
		{"symptoms:", "symptoms: [one, two]", "4:11: symptoms: at least one, and three with the messages"},
		{"symptoms:", "symptoms: [one, two, one]", "4:22: symptoms: this one is there twice"},
		{"symptoms:", "symptoms: [one, two, {a: b}]", "4:22: symptoms must be a list of texts; this is a map"},
		{"since:", "", "1:1: since is missing"},
		{"references:", "references: []", "6:13: references: at least one"},
		{"  # What to do", "  What to do", "7:8: about: at least two sections"},
		{"  conf:", "  conf: {keyvalue: etc/a.conf}", `16:20: keyvalue: "etc/a.conf" is not an absolute path`},
		{"  conf:", "  conf: {keyvalue: /etc/../etc/a.conf}", "16:20: keyvalue: \"/etc/../etc/a.conf\" is not a clean path; that is /etc/a.conf"},
		{"  conf:", "  conf: {keyvalues: /etc/a.conf}", "16:10: the fact conf: no kind of fact is called \"keyvalues\"; did you mean keyvalue?"},
		{"  conf:", "  conf: {keyvalue: /etc/a.conf, dropin: a.d}", "16:33: keyvalue has no option \"dropin\"; did you mean dropins?"},
		{"  conf:", "  conf: {keyvalue: /etc/a.conf, fold: maybe}", "16:39: fold must be true or false, not text"},
		{"  conf:", "  conf: {keyvalue: /etc/a.conf, separator: '|'}", "16:44: separator: it is =, : or space"},
		{"  conf:", "  conf: /etc/a.conf", "16:9: the fact conf must be a map of its kind and options, not text"},
		{"  conf:", "  conf: {}", "16:9: the fact conf is empty: it needs a kind"},
		{"  conf:", "  con-f: {keyvalue: /etc/a.conf}", `16:3: "con-f": a name is letters, digits and underscores`},
		{"  conf:", "  size: {keyvalue: /etc/a.conf}", "16:3: size: the name means something else in expressions"},
		{"  conf:", "  conf: {file: /etc/a.conf, link: /etc/b}", "16:29: the fact conf has two kinds, file and link"},
		{"    file:", "    file: /etc/shadow", "18:11: file: /etc/shadow may hold secrets"},
		{"    file:", "    file: /etc/host*", "18:11: file: \"/etc/host*\" has wildcards"},
		{"    file:", "    command: [systemctl, list-units]", "18:14: command: a rule of yours may not run commands"},
		{"    file:", "    regex: '(unclosed'", "18:12: regex: error parsing regexp: missing closing )"},
		{"    file:", "    regex: x", "18:12: regex: in is missing"},
		{"    file:", "    sysctl: ip_forward", `18:13: sysctl: "ip_forward" is not a key`},
		{"    file:", "    unit: ssh", `18:11: unit: "ssh" has no type`},
		{"    file:", "    fixed-version: {package: rsync}", "18:20: fixed-version: upstream is missing"},
		{"    file:", "    fixed-version: {kernel: running, upstream: new}", `18:20: upstream: "new" is not a version of Linux`},
		{"  limit:", "  limit: int(conf.get(\"Limit\", \"4\")", "20:"},
		{"  limit:", "  limit: int(cnf.get(\"Limit\", \"4\"))", "20:14: nothing is called cnf; did you mean conf?"},
		{"  limit:", "  conf: \"1\"", "20:3: conf: the name is taken"},
		{"  limit:", "  limit: int(name.valu)", "20:18: no such field: valu"},
		{"  limit:", "  limit: 'int(name.valu)'", "20:19: no such field: valu"},
		{"  - when: conf", "  - when: name.value", "22:11: the expression must be true or false, but is text"},
		{"  - when: conf", "  - wehn: conf.exists", "22:5: applies: no key is called \"wehn\""},
		{"    otherwise:", "", "22:5: applies: otherwise is missing"},
		{"  - when: limit", "  - when: limit < 4 && name.exists && name.value.matches('[')", "25:58: error parsing regexp: missing closing ]"},
		{"  - when: limit", "  - when: limit.exists", "25:16: type 'int' does not support field selection"},
		{"  - when: limit", "  - when: [limit]", "25:11: an expression must be text, not a list"},
		{"  - when: limit", "  - when: !name.exists && limit < 4", "put quotes around an expression that begins with !"},
		{"    summary:", "    summary: the limit of {{nam.value}} is low", "26:29: nothing is called nam; did you mean name?"},
		{"    summary:", "    summary: the limit of {{name.value is low", "26:27: {{ without }}"},
		{"    summary:", "    summary: the limit of {{ }} is low", "26:27: {{}} without an expression"},
		{"    summary:", "    summary: {{name.value}}", "26:15: not YAML: could not find flow map " +
			"content; put quotes around text that begins with {{"},
		{"    summary:", "", "25:5: a finding: summary is missing"},
		{"    summary:", "    sumary: x", "26:5: a finding has no key \"sumary\"; did you mean summary?"},
		{"      is {{limit}}", "      is {{limt}}.", "29:12: nothing is called limt; did you mean limit?"},
		{"clear:", "", "1:1: clear is missing"},
		{"clear:", "clear: &a all is well", "30:8: an anchor (&): rules have none"},
		{"clear:", "clear: !!str all is well", "30:8: a tag (!): rules have none"},
		{"clear:", "clear: all is well\nclear: twice", "31:1: not YAML: mapping key \"clear\" already defined"},
		{"clear:", "clear: all is well\nsubject: x", "31:10: subject: goes with each, which is missing"},
		{"clear:", "clear: all is well\neach: name.lines", "31:7: each: subject is missing"},
		{"clear:", "clear: all is well\neach: limit\nsubject: x", "31:7: each must be a list, not a number"},
		{"clear:", "clear: all is well\n---\nid: b", "second document"},
		{"  title:", "", "32:3: remedy: title is missing"},
		{"    - edit:", "    - edt: {path: /etc/a.conf}", "34:7: no kind of step is called \"edt\"; did you mean edit?"},
		{"    - edit:", "    - edit: {path: /etc/a.conf}", "34:13: step edit: takes one of set, replace, append and drop"},
		{"    - edit:", "    - edit: {path: a.conf, drop: x}", "34:20: path: \"a.conf\" is not an absolute path"},
		{"    - edit:", "    - edit: {path: /etc/shadow, drop: x}", "34:20: path: /etc/shadow may hold secrets"},
		{"    - edit:", "    - command: {do: [/bin/true]}", "34:7: a rule of yours may not run commands"},
		{"    - edit:", "    - unit: {name: a.service, act: kick}", "34:13: step unit: act is one of"},
		{"    - edit:", "    - sysctl: {key: a.b}", "34:15: step sysctl: value is missing"},
		{"    - edit:", "    - perm: {path: /etc/a.conf, mode: \"999\"}", "34:39: mode: \"999\" is not like 0644"},
		{"    - edit:", "    - file: {path: /etc/a.conf, content: x, when: limit}", "34:45: step file: no key is called \"when\""},
	} {
		t.Run(c.line+" "+c.instead, func(t *testing.T) {
			var b strings.Builder
			hit := false
			for l := range strings.Lines(sound) {
				if !hit && strings.HasPrefix(l, c.line) {
					hit = true
					if l = c.instead; l != "" {
						l += "\n"
					}
				}
				b.WriteString(l)
			}
			if !hit {
				t.Fatalf("no line %q", c.line)
			}
			r, ms := Parse("r.yaml", []byte(b.String()), false)
			if r != nil || len(ms.Fatal()) == 0 {
				t.Fatalf("not noticed: %v", ms)
			}
			if !strings.Contains(ms.Error(), strings.TrimPrefix("r.yaml:"+c.want, map[bool]string{true: "r.yaml:"}[c.want[0] > '9'])) {
				t.Errorf("got:\n%v\nwant:\nr.yaml:%s", ms, c.want)
			}
		})
	}
}

// TestNothingToUndo: a step that only checks is a check, which is undone by nothing and says so nowhere;
// a command that does nothing is refused.
func TestNothingToUndo(t *testing.T) {
	for step, want := range map[string]string{
		"check: {run: [/usr/sbin/visudo, -c]}":                                 "",
		"check: {run: []}":                                                     "step check: run is missing",
		"command: {do: [/usr/sbin/visudo, -c], undo: [/usr/bin/true]}":         "undo runs /usr/bin/true, which does nothing",
		"command: {do: [/bin/true], undo: [/usr/sbin/service, ssh, reload]}":   "do runs /bin/true, which does nothing",
		"command: {do: [/usr/sbin/service, ssh, reload], again: \"true\"}":     "",
		"command: {do: [/usr/sbin/service, ssh, stop], undo: [/sbin/a, true]}": "",
	} {
		var b strings.Builder
		for l := range strings.Lines(sound) {
			if strings.HasPrefix(l, "    - edit:") {
				b.WriteString("    - " + step + "\n")
			}
			b.WriteString(l)
		}
		r, ms := Parse("r.yaml", []byte(b.String()), true)
		if want == "" && r == nil || want != "" && !strings.Contains(ms.Error(), want) {
			t.Errorf("%s: %v, want %q", step, ms, want)
		}
	}
}

// TestOptional: what may look like nothing found decides nothing.
func TestOptional(t *testing.T) {
	text := strings.Replace(sound, "facts:\n", "facts:\n  signs: {log: x, optional: true}\n", 1)
	text = strings.Replace(text, "limit < 4 &&", "signs.found &&", 1)
	if r, ms := Parse("r.yaml", []byte(text), false); r != nil || !strings.Contains(ms.Error(), "r.yaml:26:11: signs is optional") {
		t.Error(ms)
	}
}

func TestWarnings(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"the limit of {{name.value}}", "at {{now}} the limit of {{name.value}}", "now changes by itself"},
		{"conf.exists\n", "conf.exists && host.running\n", ""},
		{"name:\n    file: /etc/hostname", "unused: {file: /etc/x}\n  " +
			"name:\n    file: /etc/hostname", "17:3: warning: no expression uses the fact unused"},
		{"file: /etc/hostname", "file: /proc/uptime", "value changes by itself"},
	} {
		r, ms := Parse("r.yaml", []byte(strings.Replace(sound, c.old, c.new, 1)), false)
		if r == nil {
			t.Errorf("%s: %v", c.new, ms)
		} else if !strings.Contains(ms.Error(), c.want) || c.want == "" && len(ms) > 0 {
			t.Errorf("%s:\n got %v\nwant %s", c.new, ms, c.want)
		}
	}
}

// TestBombs reads files that are made to exhaust whoever reads them.
func TestBombs(t *testing.T) {
	lol := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for i := 'b'; i < 'j'; i++ {
		lol += fmt.Sprintf("%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", i, i, i-1, i-1, i-1, i-1, i-1, i-1, i-1, i-1)
	}
	for name, text := range map[string]string{
		"aliases":  lol,
		"brackets": strings.Repeat("[", 60000),
		"braces":   strings.Repeat("{a: ", 15000),
		"dashes":   strings.Repeat("- ", 30000),
		"deep":     deep(300),
		"long":     strings.Repeat("# x\n", 20000),
		"binary":   "id: \xff\xfe",
		"nul":      "id: a\x00b\n",
		"empty":    "",
		"comment":  "# nothing\n",
		"list":     "- id\n",
		"expr":     strings.Replace(sound, "limit < 4", strings.Repeat("(", 3000)+"true"+strings.Repeat(")", 3000), 1),
		"exprs":    strings.Replace(sound, "limit < 4", strings.Repeat("!", 4000)+"true", 1),
		"sum":      strings.Replace(sound, "limit < 4", strings.Repeat("1+", 1900)+"1 < 4", 1),
	} {
		r, ms := Parse("r.yaml", []byte(text), false)
		if r != nil || len(ms.Fatal()) == 0 {
			t.Errorf("%s: not refused", name)
		} else {
			t.Logf("%s: %.150v", name, ms)
		}
	}
}

func deep(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}
