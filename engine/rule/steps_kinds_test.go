package rule

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/hosttest"
)

// written is what a step does, and what it would write.
func written(s step.Step) string {
	switch s := s.(type) {
	case step.File:
		was := "new"
		if s.Was != nil {
			was = fmt.Sprintf("was %q", s.Was)
		}
		return fmt.Sprintf("file %s %v %s: %q", s.Path, s.Mode, was, s.Content)
	case step.Remove:
		return fmt.Sprintf("remove %s: %q", s.Path, s.Was)
	case step.Perm:
		return fmt.Sprintf("perm %s %o %d:%d", s.Path, s.Mode, s.UID, s.GID)
	case step.Sysfs:
		return "sysfs " + s.Path + " " + s.Value
	case step.Unit:
		return "unit " + s.Act + " " + s.Name
	case step.Command:
		return fmt.Sprint("command ", s.Do, s.Undo, s.Probe, s.Require, s.UndoRequire, s.Differs, s.Again, s.Limit)
	case step.Check:
		return fmt.Sprint("check ", s.Run, s.Limit)
	}
	return s.Describe()
}

// TestStepsWrite: what each kind of step comes to, on a host where /etc/a.conf is what the rule speaks of.
func TestStepsWrite(t *testing.T) {
	const conf = "-- root/etc/a.conf --\nLimit = 1\nOld yes\n"
	for steps, want := range map[string]string{
		"    - file: {path: /etc/a.conf, content: x}\n":                                      `file /etc/a.conf ---------- was "Limit = 1\nOld yes\n": "x"`,
		"    - file: {path: /etc/n, content: \"a\\n{{limit}}\\n\\n\", mode: \"0640\"}\n":     `file /etc/n -rw-r----- new: "a\n1\n\n"`,
		"    - file:\n        path: /etc/n\n        content: |\n          a\n          b\n":  `file /etc/n ---------- new: "a\nb\n"`,
		"    - file: {path: /etc/empty, content: x}\n":                                       `file /etc/empty ---------- was "": "x"`,
		"    - remove: {path: /etc/a.conf}\n":                                                `remove /etc/a.conf: "Limit = 1\nOld yes\n"`,
		"    - perm: {path: /etc/a.conf, mode: \"0640\", uid: \"7\"}\n":                      "perm /etc/a.conf 640 7:-1",
		"    - perm: {path: /etc/a.conf, gid: \"10\"}\n":                                     "perm /etc/a.conf -1 -1:10",
		"    - unit: {name: ' a.service', act: restart}\n    - unit: {act: daemon-reload}\n": "unit restart a.service\nunit daemon-reload ",
		"    - sysfs: {path: /sys/a, value: ' b '}\n":                                        "sysfs /sys/a b",
		"    - sysctl: {key: vm.swappiness, value: '1'}\n":                                   `set the running value of vm/swappiness to "1"`,
		"    - edit: {path: /etc/a.conf, set: {key: Limit, value: '8', separator: '='}}\n":   `file /etc/a.conf ---------- was "Limit = 1\nOld yes\n": "Limit=8\nOld yes\n"`,
		"    - edit: {path: /etc/a.conf, set: {key: A, value: '8', section: S}}\n":           `file /etc/a.conf ---------- was "Limit = 1\nOld yes\n": "Limit = 1\nOld yes\n[S]\nA = 8\n"`,
		"    - edit: {path: /etc/n, set: {key: A, value: '8'}}\n":                            `file /etc/n ---------- new: "A = 8\n"`,
		"    - edit: {path: /etc/n, append: x}\n":                                            `file /etc/n ---------- new: "x\n"`,
		"    - edit: {path: /etc/open, append: \"y\\n\"}\n":                                  `file /etc/open ---------- was "x": "x\ny\n"`,
		"    - edit: {path: /etc/open, append: x}\n    - edit: {path: /etc/open, drop: z}\n": `file /etc/open ---------- was "x": "x"`,
		"    - edit: {path: /etc/open, replace: {match: x, with: y}}\n":                      `file /etc/open ---------- was "x": "y"`,
		"    - edit: {path: /etc/a.conf, drop: '^(Old|Limit)'}\n":                            `file /etc/a.conf ---------- was "Limit = 1\nOld yes\n": ""`,
		"    - unit: {name: b.service, act: stop}\n      when: limit > 1\n    - unit: {name: a.service, act: stop}\n      when: limit " +
			"== 1\n": "unit stop a.service",
	} {
		p, err := planned(t, steps, conf+"-- root/etc/empty --\n-- raw/etc/open --\n\"x\"\n")
		if err != nil {
			t.Errorf("%s: %v", steps, err)
			continue
		}
		var got []string
		for _, s := range p.Steps {
			got = append(got, written(s))
		}
		if s := strings.Join(got, "\n"); s != want {
			t.Errorf("%s\n got %s\nwant %s", steps, s, want)
		}
	}
}

// TestStepsRefused: a step that cannot be is no plan, and the message says which step, and why.
func TestStepsRefused(t *testing.T) {
	const conf = "-- root/etc/a.conf --\nLimit = 1\n"
	for steps, want := range map[string]string{
		"    - file: {path: '{{name.value}}', content: x}\n":               `r.yaml:34: step file: "web1" is not an absolute path`,
		"    - file: {path: /etc/n, content: x, mode: '{{name.value}}'}\n": `r.yaml:34: step file: mode "web1" is not like 0644`,
		"    - file: {path: /etc/n, content: x, mode: \"{{'10000'}}\"}\n":  `mode "10000" is not like 0644`,
		"    - file: {path: /etc/n, content: '{{int(name.value)}}'}\n": "r.yaml:34: step file: " +
			"/etc/fettle/traps.d/r.yaml:34: ",
		"    - file: {path: '/etc/{{int(name.value)}}', content: x}\n": "r.yaml:34: step file: " +
			"/etc/fettle/traps.d/r.yaml:34: ",
		"    - file: {path: /etc/denied, content: x}\n": "reading /etc/denied: permission denied",
		"    - remove: {path: '/etc/{{int(name.value)}}'}\n": "step remove: " +
			"/etc/fettle/traps.d/r.yaml:34: ",
		"    - remove: {path: '{{name.value}}'}\n":      `step remove: "web1" is not an absolute path`,
		"    - remove: {path: /etc/none}\n":             "reading /etc/none: file does not exist",
		"    - rename: {path: /etc/none, to: /etc/n}\n": "reading /etc/none: file does not exist",
		"    - rename: {path: /etc/a.conf, to: /etc/hostname}\n": "/etc/hostname is there already: " +
			"rename /etc/a.conf by hand",
		"    - rename: {path: /etc/a.conf, to: /etc/denied}\n": "lstat of /etc/denied: permission denied",
		"    - rename: {path: /etc/a.conf, to: '/etc/{{int(name.value)}}'}\n": "step rename: " +
			"/etc/fettle/traps.d/r.yaml:34: ",
		"    - perm: {path: /etc/a.conf, mode: '{{name.value}}'}\n": `step perm: strconv.ParseUint: parsing "web1"`,
		"    - perm: {path: /etc/a.conf, uid: '{{name.value}}'}\n":  `step perm: strconv.ParseUint: parsing "web1"`,
		"    - perm: {path: '/etc/{{int(name.value)}}', mode: '0644'}\n": "step perm: " +
			"/etc/fettle/traps.d/r.yaml:34: ",
		"    - sysctl: {key: '{{name.value}}', value: x}\n": `step sysctl: "web1" is not a key like net.ipv4.ip_forward`,
		"    - sysctl: {key: a.b, value: '{{int(name.value)}}'}\n": "step sysctl: " +
			"/etc/fettle/traps.d/r.yaml:34: ",
		"    - unit: {name: a.service, act: '{{int(name.value)}}'}\n": "step unit: " +
			"/etc/fettle/traps.d/r.yaml:34: ",
		"    - edit: {path: /etc/a.conf, drop: \"{{'('}}\"}\n":          "step edit: error parsing regexp",
		"    - edit: {path: /etc/none, replace: {match: a, with: b}}\n": "step edit: /etc/none is not there",
		"    - edit: {path: /etc/a.conf, set: {key: a, value: '{{int(name.value)}}'}}\n": "step edit: " +
			"/etc/fettle/traps.d/r.yaml:34: ",
		"    - edit: {path: /etc/a.conf, append: '{{int(name.value)}}'}\n": "step edit: " +
			"/etc/fettle/traps.d/r.yaml:34: ",
		"    - edit: {path: /etc/a.conf, replace: {match: Limit, with: '{{int(name.value)}}'}}\n": "step edit: " +
			"/etc/fettle/traps.d/r.yaml:34: ",
		"    - unit: {act: daemon-reload}\n      when: int(name.value) > 1\n":                        "r.yaml:35: ",
		"    - unit: {act: daemon-reload}\n  notes: ['{{int(name.value)}}']\n":                       "r.yaml:35: ",
		"    - unit: {act: daemon-reload}\n  refuse: [{when: int(name.value) > 1, why: x}]\n":        "r.yaml:35: ",
		"    - unit: {act: daemon-reload}\n  refuse: [{when: 'true', why: '{{int(name.value)}}'}]\n": "r.yaml:35: ",
	} {
		p, err := planned(t, steps, conf+"-- root/etc/denied --\n-- denied/etc/denied --\n")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v %v, want %s", steps, p.Steps, err, want)
		}
	}
}

// TestStepsOfFettlesOwn: commands and checks, with all that they say.
func TestStepsOfFettlesOwn(t *testing.T) {
	const steps = "    - command: {do: [/bin/a, '{{name.value}}'], undo: [/bin/b], probe: [/bin/c], require: [/bin/d], " +
		"undo_require: [/bin/e], differs: x}\n" +
		"    - command: {do: [/bin/a], again: \"true\"}\n    - command: {do: [/bin/a], again: \"false\"}\n    - check: {run: [/bin/f, " +
		"'{{limit}}']}"
	plan := func(steps string) (remedy.Plan, error) {
		r, ms := Parse("r.yaml", []byte(spoilt(t, "    - edit:", steps)), true)
		if r == nil {
			t.Fatal(ms)
		}
		h := hosttest.New(t, "-- root/etc/a.conf --\nLimit = 1\n-- root/etc/hostname --\nweb1\n")
		return r.Plan(t.Context(), h, trap.Finding{})
	}
	p, err := plan(steps)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range p.Steps {
		got = append(got, written(s))
	}
	want := "command [/bin/a web1] [/bin/b] [/bin/c] [/bin/d] [/bin/e]xfalse 15m0s\ncommand [/bin/a] [] [] [] []true 15m0s\n" +
		"command [/bin/a] [] [] [] []false 15m0s\ncheck [/bin/f 1] 15m0s"
	if s := strings.Join(got, "\n"); s != want {
		t.Errorf("got:\n%s\nwant:\n%s", s, want)
	}
	if len(p.Notes) != 0 {
		t.Errorf("a plan of fettle's own names a file: %v", p.Notes)
	}
	for _, steps := range []string{"    - command: {do: [/bin/a, '{{int(name.value)}}']}",
		"    - command: {do: [/bin/a], undo: [/bin/a, '{{int(name.value)}}']}",
		"    - command: {do: [/bin/a], differs: '{{int(name.value)}}'}", "    - check: {run: [/bin/a, '{{int(name.value)}}']}"} {
		if p, err := plan(steps); err == nil || !strings.Contains(err.Error(), "r.yaml:34: ") {
			t.Errorf("%s: %v %v", steps, p.Steps, err)
		}
	}
}

// TestPlanOfElements: the plan is made for the element that the finding names, while that is there.
func TestPlanOfElements(t *testing.T) {
	text := spoilt(t, "    - edit:", "    - edit: {path: /etc/hostname, drop: '^{{it}}$'}")
	text = strings.Replace(text, "clear: all is well",
		"clear: all is well\neach: name.lines.filter(x, x.startsWith(\"b\"))\nsubject: line {{it}}", 1)
	text = strings.Replace(text, "  title: raise it",
		"  title: drop {{it}}\n  notes: [a, '{{it}} goes']\n  settle: 3s\n  vanishes: it is gone\n  cuts_connection: true", 1)
	text = strings.Replace(text, "limit of {{name.value}}", "limit", 1)
	r, ms := Parse("/r.yaml", []byte(text), false)
	if r == nil {
		t.Fatal(ms)
	}
	const lines = "-- root/etc/a.conf --\nLimit = 1\n-- root/etc/hostname --\na\nb1\nb2\n"
	h := hosttest.New(t, lines)
	if got := Lines(r.outcomes(t.Context(), h)); got != "found warning line b1: the limit is low\nfound warning line b2: the limit is low" {
		t.Errorf("found:\n%s", got)
	}
	p, err := r.Plan(t.Context(), host.New(h.Source()), trap.Finding{Subject: "line b2"})
	if err != nil {
		t.Fatal(err)
	}
	if p.Title != "drop b2" || strings.Join(p.Notes, "|") != "this plan is that of the rule /r.yaml|a|b2 goes" || p.Settle.String() != "3s" ||
		p.Vanishes != "it is gone" || !p.CutsConnection || len(p.Steps) != 1 || string(p.Steps[0].(step.File).Content) != "a\nb1\n" {
		t.Errorf("%+v", p)
	}
	if _, err := r.Plan(t.Context(), host.New(h.Source()), trap.Finding{Subject: "line b3"}); err == nil ||
		!strings.Contains(err.Error(), "line b3 is no longer there") {
		t.Errorf("an element that is gone: %v", err)
	}
	r.From = "pack p of Ann"
	if p, _ := r.Plan(t.Context(), host.New(h.Source()), trap.Finding{Subject: "line b2"}); len(p.Notes) == 0 ||
		p.Notes[0] != "this plan is that of the rule a-rule of pack p of Ann" {
		t.Errorf("notes of a pack's rule: %v", p.Notes)
	}
	blind := hosttest.New(t, lines+"-- denied/etc/hostname --\n")
	if _, err := r.Plan(t.Context(), blind, trap.Finding{Subject: "line b2"}); err == nil || !strings.Contains(err.Error(),
		"permission denied") {
		t.Errorf("elements that nobody can see: %v", err)
	}
}

// TestSetLineInSections: what stands in another section, or behind a comment that says something else, is left alone.
func TestSetLineInSections(t *testing.T) {
	for _, c := range []struct{ was, section, key, want string }{
		{"[S]\n\n[T]\nB=1\n", "S", "A", "[S]\nA=1\n\n[T]\nB=1\n"},
		{"[S]\nB=1\n\n\n", "S", "A", "[S]\nB=1\nA=1\n\n\n"},
		{"A=0\n[S]\n", "S", "A", "A=0\n[S]\nA=1\n"},
		{"[S]\nA=0\n", "", "A", "[S]\nA=1\n"},
		{"[S]\n[S2]\nA=0\n", "S", "A", "[S]\nA=1\n[S2]\nA=0\n"},
		{"[S]\n# A=0\n[T]\n# A=0\n", "T", "A", "[S]\n# A=0\n[T]\n# A=0\nA=1\n"},
		{"# A is good\n", "", "A", "# A is good\nA=1\n"},
		{"# AB=0\nB=1\n", "", "A", "# AB=0\nB=1\nA=1\n"},
		{"\tA\nB\n", "", "A", "\tA=1\nB\n"},
		{"A: 0\n;A=3\n", "", "A", "A=1\n;A=3\n"},
		{"[S\nA=0\n", "S", "A", "[S\nA=0\n[S]\nA=1\n"},
	} {
		if got := string(setLine([]byte(c.was), c.section, c.key, "1", "=")); got != c.want {
			t.Errorf("%q [%s] %s:\n got %q\nwant %q", c.was, c.section, c.key, got, c.want)
		}
	}
}

// TestRenameKeepsMode: the copy has the mode of the file.
func TestRenameKeepsMode(t *testing.T) {
	p, err := planned(t, "    - rename: {path: /etc/a.conf, to: /etc/b.conf}\n",
		"-- root/etc/a.conf --\nLimit = 1\n-- stat/etc/a.conf --\nmode 0754\n")
	if err != nil {
		t.Fatal(err)
	}
	if f := p.Steps[0].(step.File); f.Mode != fs.FileMode(0o754) || string(f.Content) != "Limit = 1\n" || f.Secret {
		t.Errorf("%+v", f)
	}
	if _, err := planned(t, "    - rename: {path: /etc/a.conf, to: /etc/b.conf}\n",
		"-- root/etc/a.conf --\nLimit = 1\n-- root/etc/b.conf --\n"); err == nil ||
		!strings.Contains(err.Error(), "is there already") {
		t.Errorf("over another file: %v", err)
	}
}
