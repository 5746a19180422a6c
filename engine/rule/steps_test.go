package rule

import (
	"errors"
	"strings"
	"testing"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/hosttest"
)

func TestSetLine(t *testing.T) {
	for _, c := range []struct{ was, section, key, sep, want string }{
		{"", "", "A", " = ", "A = 1\n"},
		{"A = 0\n", "", "A", " = ", "A = 1\n"},
		{"A=0\nB=2\nA=5\n", "", "A", "=", "A=0\nB=2\nA=1\n"}, // the last counts
		{"  A 0", "", "A", " ", "  A 1\n"},
		{"# A = 0\nB = 2\n", "", "A", " = ", "# A = 0\nA = 1\nB = 2\n"},
		{"AB = 0\n", "", "A", " = ", "AB = 0\nA = 1\n"},
		{"[S]\nB=1\n\n[T]\nA=7\n", "S", "A", "=", "[S]\nB=1\nA=1\n\n[T]\nA=7\n"},
		{"[S]\nA=0\n[T]\nA=7\n", "T", "A", "=", "[S]\nA=0\n[T]\nA=1\n"},
		{"[S]\n#A=0\n", "S", "A", "=", "[S]\n#A=0\nA=1\n"},
		{"[T]\nA=7\n", "S", "A", "=", "[T]\nA=7\n[S]\nA=1\n"},
		{"a.b = 3\naxb = 4\n", "", "a.b", " = ", "a.b = 1\naxb = 4\n"},
	} {
		if got := string(setLine([]byte(c.was), c.section, c.key, "1", c.sep)); got != c.want {
			t.Errorf("%q [%s] %s:\n got %q\nwant %q", c.was, c.section, c.key, got, c.want)
		}
	}
}

func planned(t *testing.T, steps, hostText string) (remedy.Plan, error) {
	t.Helper()
	text := strings.Replace(sound, "    - edit: {path: /etc/a.conf, set: {key: Limit, value: \"8\"}}\n", steps, 1)
	r, ms := Parse("/etc/fettle/traps.d/r.yaml", []byte(text), false)
	if r == nil {
		t.Fatal(ms)
	}
	h := hosttest.New(t, hostText+"-- root/etc/hostname --\nweb1\n")
	os := r.outcomes(t.Context(), h)
	if len(os) != 1 || os[0].Status != trap.Found {
		t.Fatalf("%v", os)
	}
	return r.Plan(t.Context(), host.New(h.Source()), os[0])
}

func TestPlan(t *testing.T) {
	const conf = "-- root/etc/a.conf --\nLimit = 1\nOld yes\nPath /a/b\n"
	p, err := planned(t, `    - edit: {path: /etc/a.conf, set: {key: Limit, value: "{{limit + 7}}"}}
    - edit: {path: /etc/a.conf, drop: ^Old}
    - edit: {path: /etc/a.conf, replace: {match: "^Path (/a)/b$", with: "Path $1/c"}}
    - edit: {path: /etc/a.conf, append: "# by fettle, on {{name.value}}"}
    - file: {path: /etc/new.conf, content: "x\n", mode: "0600"}
    - sysctl: {key: net.ipv4.ip_forward, value: "1", persist: true}
    - sysctl: {key: net.ipv4.conf.all.rp_filter, value: "2", persist: true}
    - unit: {name: a.service, act: restart}
    - unit: {act: daemon-reload}
      when: limit > 100
`, conf)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Notes) == 0 || !strings.Contains(p.Notes[0], "/etc/fettle/traps.d/r.yaml") {
		t.Errorf("the rule's file is not named: %v", p.Notes)
	}
	var got []string
	for _, s := range p.Steps {
		line := s.Kind()
		switch s := s.(type) {
		case step.File:
			line += " " + s.Path + " " + strings.ReplaceAll(string(s.Content), "\n", "|")
			if s.Was == nil {
				line += " new"
			}
			if s.Mode != 0 {
				line += " " + s.Mode.String()
			}
		case step.Sysctl:
			line += " " + s.Key + " " + s.Value
		}
		got = append(got, line)
	}
	want := `file /etc/a.conf Limit = 8|Path /a/c|# by fettle, on web1|
file /etc/new.conf x| new -rw-------
file /etc/sysctl.d/90-fettle-a-rule.conf net.ipv4.ip_forward = 1|net.ipv4.conf.all.rp_filter = 2| new
sysctl net/ipv4/ip_forward 1
sysctl net/ipv4/conf/all/rp_filter 2
unit`
	if s := strings.Join(got, "\n"); s != want {
		t.Errorf("got:\n%s\nwant:\n%s", s, want)
	}
	if _, err := p.MarshalJSON(); err != nil {
		t.Error(err)
	}
}

// TestRename: the new file is a copy of the old one, and what others may not read is
// in no diff.
func TestRename(t *testing.T) {
	for mode, secret := range map[string]bool{"0600": true, "0440": true, "0644": false} {
		p, err := planned(t, `    - rename: {path: /etc/a.conf, to: /etc/b.conf}
`, "-- root/etc/a.conf --\nLimit = 1\n-- stat/etc/a.conf --\nmode "+mode+" uid 7 gid 8\n")
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Steps) != 2 {
			t.Fatalf("%d steps", len(p.Steps))
		}
		f, isFile := p.Steps[0].(step.File)
		r, isRemove := p.Steps[1].(step.Remove)
		if !isFile || !isRemove || f.Path != "/etc/b.conf" || f.Like != "/etc/a.conf" || r.Path != "/etc/a.conf" {
			t.Errorf("steps %+v", p.Steps)
		}
		if shown := remedy.Text(p, remedy.TextOptions{}); strings.Contains(shown, "Limit") == secret {
			t.Errorf("mode %s:\n%s", mode, shown)
		}
	}
}

func TestPlanRefused(t *testing.T) {
	const conf = "-- root/etc/a.conf --\nLimit = 1\n"
	for steps, want := range map[string]string{
		"    - unit: {act: daemon-reload}\n      when: limit > 100\n":                    "has no step for this finding",
		"    - edit: {path: /etc/none.conf, drop: x}\n":                                  "/etc/none.conf is not there",
		"    - file: {path: \"{{name.value}}\", content: x}\n":                           "\"web1\" is not an absolute path",
		"    - file: {path: \"/etc/{{'sha' + 'dow'}}\", content: x}\n":                   "may hold secrets",
		"    - unit: {act: daemon-reload}\n  refuse: [{when: \"true\", why: ask Ann}]\n": "ask Ann",
	} {
		if _, err := planned(t, steps, conf); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", steps, err, want)
		}
	}
}

// TestStart: what fettle lore new writes has no mistakes, and passes its samples.
// TestPlanInContainer: what is the whole kernel's is not changed in a container,
// what the container has for itself is.
func TestPlanInContainer(t *testing.T) {
	const in = "-- root/etc/a.conf --\nLimit = 1\n-- root/run/systemd/container --\nlxc\n"
	for step, refused := range map[string]bool{
		"    - sysctl: {key: vm.swappiness, value: '1'}\n":                                       true,
		"    - sysctl: {key: net.ipv4.ip_forward, value: '1'}\n":                                 false,
		"    - sysfs: {path: /sys/kernel/mm/transparent_hugepage/enabled, value: madvise}\n":     true,
		"    - edit: {path: /etc/a.conf, set: {key: Limit, value: '8'}}\n":                       false,
		"    - sysctl: {key: fs.inotify.max_user_instances, value: '1024', persist: true}\n":     true,
		"    - sysctl: {key: net.ipv4.neigh.default.gc_thresh3, value: '8192', persist: true}\n": true,
	} {
		p, err := planned(t, step, in)
		var no *remedy.Refusal
		if errors.As(err, &no) != refused || !refused && (err != nil || len(p.Steps) != 1) {
			t.Errorf("%s: %v %v", step, p.Steps, err)
		}
		if p, err := planned(t, step, strings.ReplaceAll(in, "/run/systemd/container", "/run/x")); err != nil || len(p.Steps) == 0 {
			t.Errorf("%s on a host: %v %v", step, p, err)
		}
	}
}

func TestStart(t *testing.T) {
	files, err := Start("stale-pidfile")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range files {
		write(t, dir+"/"+f.Name, f.Content)
	}
	r, ms := Parse("rule.yaml", []byte(files[0].Content), false)
	if len(ms) > 0 {
		t.Fatal(ms)
	}
	results, err := r.Test(t.Context(), dirFS(dir))
	if err != nil || len(results) != 4 {
		t.Fatalf("%d results, %v", len(results), err)
	}
	for _, res := range results {
		if !res.Passed() {
			t.Errorf("%+v", res)
		}
	}
	for _, bad := range []string{"", "Stale", "a b", "-a", "../a", strings.Repeat("a", 101)} {
		if _, err := Start(bad); err == nil {
			t.Errorf("%q is an id", bad)
		}
	}
}
