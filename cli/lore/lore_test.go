package lore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle/cli/app"
	"fettle/cli/app/apptest"
	"fettle/engine/trap"
)

// lore calls the verb, of a fettle with one trap of its own.
func lore(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	own := &trap.Trap{Lore: "---\nid: own-trap\ntitle: A trap of fettle's own\n---\n"}
	return apptest.Run(t.Context(), app.App{Traps: []*trap.Trap{own}}, Cmd, append([]string{"lore"}, args...)...)
}

// started is a folder, the current one, with a rule that was begun.
func started(t *testing.T, id string) {
	t.Helper()
	t.Chdir(t.TempDir())
	if code, out, errs := lore(t, "new", id); code != 0 || errs != "" ||
		out != id+"/rule.yaml\n"+id+"/healthy.txtar\n"+id+"/trapped.txtar\n"+id+"/absent.txtar\n" {
		t.Fatalf("status %d, said %q and %q", code, out, errs)
	}
}

func edit(t *testing.T, file, from, to string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(b), from) {
		t.Fatalf("there is no %q in %s", from, file)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(b), from, to, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestNewRulePasses(t *testing.T) {
	started(t, "low-limit")
	if code, out, errs := lore(t, "check", "low-limit"); code != 0 || out != "low-limit/rule.yaml: no mistakes\n" || errs != "" {
		t.Errorf("check: %d, %q, %q", code, out, errs)
	}
	const passed = "ok      low-limit/absent.txtar\nok      low-limit/healthy.txtar\nok      low-limit/trapped.txtar\n"
	for _, name := range []string{"low-limit", "low-limit/", "low-limit/rule.yaml"} {
		if code, out, errs := lore(t, "test", name); code != 0 || !strings.HasPrefix(out, passed) || strings.Contains(out, "FAILED") ||
			errs != "" {
			t.Errorf("test %s: %d, %q, %q", name, code, out, errs)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	started(t, "low-limit")
	for args, want := range map[string]string{
		"new low-limit": "making a folder for the rule: mkdir low-limit: file exists", "new Low_Limit": "lower-case words joined by dashes",
		"new": "usage: ", "new a b": "usage: ", "": "check, test or new?", "neW": "", "check": "usage: ", "test": "usage: ",
	} {
		if code, out, errs := lore(t, strings.Fields(args)...); code != 2 || !strings.Contains(errs, want) || out != "" {
			t.Errorf("%s: %d, %q, %q", args, code, out, errs)
		}
	}
}

// TestCheckTellsOfEachFile what is wrong with it, and ends with status 2 if one has a mistake.
func TestCheckTellsOfEachFile(t *testing.T) {
	started(t, "low-limit")
	copyTo := func(dir string) string {
		if err := errors.Join(os.Mkdir(dir, 0o755), os.CopyFS(dir, os.DirFS("low-limit"))); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, "rule.yaml")
	}
	edit(t, copyTo("wrong"), "severity: ", "severity: very-")
	edit(t, copyTo("own"), "id: low-limit", "id: own-trap")
	edit(t, copyTo("unused"), "facts:\n", "facts:\n  unused: {file: /etc/x}\n")
	edit(t, copyTo("odd\x1b"), "low-limit", "odd-limit")
	for _, c := range []struct {
		args string
		code int
		want []string // of what the lines begin with
	}{
		{"low-limit", 0, []string{"low-limit/rule.yaml: no mistakes"}},
		{"low-limit/rule.yaml", 0, []string{"low-limit/rule.yaml: no mistakes"}},
		{"wrong", 2, []string{"wrong/rule.yaml:"}},
		{"wrong low-limit wrong", 2, []string{"wrong/rule.yaml:", "low-limit/rule.yaml: no mistakes", "wrong/rule.yaml:"}},
		{"none low-limit", 2, []string{"none does not exist: expected a rule: rule.yaml, or its folder", "low-limit/rule.yaml: no mistakes"}},
		{"own", 0, []string{"own/rule.yaml: no mistakes",
			"own/rule.yaml: own-trap is one of fettle's own traps: the rule is refused until it has another id"}},
		{"unused", 0, []string{"unused/rule.yaml:", "unused/rule.yaml: can be used, with warnings"}},
		{"odd\x1b", 0, []string{`odd\x1b/rule.yaml: no mistakes`}},
	} {
		code, out, errs := lore(t, append([]string{"check"}, strings.Fields(c.args)...)...)
		lines := strings.SplitAfter(out, "\n")
		ok := code == c.code && errs == "" && len(lines) == len(c.want)+1
		for i, want := range c.want {
			ok = ok && strings.HasPrefix(lines[i], want)
		}
		if !ok {
			t.Errorf("%s: %d, %q, %q", c.args, code, out, errs)
		}
	}
}

// TestCheckAsksWhatNobodyConfirmed for a year, of a rule that may be used.
func TestCheckAsksWhatNobodyConfirmed(t *testing.T) {
	started(t, "low-limit")
	edit(t, "low-limit/rule.yaml", "let:\n", `tables:
  ends:
    - {key: one, value: "1", source: "a\u202eb", confirmed: 2020-01-02}
    - {key: two, value: "2", source: example.org, confirmed: `+time.Now().Format(time.DateOnly)+`}
let:
`)
	edit(t, "low-limit/rule.yaml", "limit < 4", `limit < int(ends.get("one", "4"))`)
	code, out, errs := lore(t, "check", "low-limit")
	if want := `low-limit/rule.yaml: ends, one: last confirmed on 2020-01-02 (a\u202eb): is it still so?` + "\n"; code != 0 || errs != "" ||
		!strings.HasSuffix(out, "low-limit/rule.yaml: no mistakes\n"+want) {
		t.Errorf("status %d, said %q and %q", code, out, errs)
	}
}

func TestTestShowsWhatDiffers(t *testing.T) {
	started(t, "low-limit")
	edit(t, "low-limit/healthy.txtar", "clear: the limit is high enough\n", "clear: another\n")
	edit(t, "low-limit/trapped.txtar", "Limit = 1\n", "Limit = 9\n")
	edit(t, "low-limit/absent.txtar", "not-applicable: the example is not installed\n", "")
	code, out, errs := lore(t, "test", "low-limit")
	for _, want := range []string{
		"FAILED  low-limit/healthy.txtar\n    the check says:\n        clear: the limit is high enough\n    wanted:\n        clear: another\n",
		"FAILED  low-limit/trapped.txtar\n        a trapped host has a finding\n    the check says:\n" +
			"        clear: the limit is high enough\n    wanted:\n" +
			"        found warning: the limit of /etc/example.conf is too low\n",
		"FAILED  low-limit/absent.txtar\n        the section want is missing, or empty: what the check must say\n" +
			"    the check says:\n        not-applicable: the example is not installed\n    wanted:\n        (nothing)\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("not told: %q", want)
		}
	}
	if code != 3 || !strings.HasPrefix(errs, "fettle: low-limit: 3 of ") || t.Failed() {
		t.Errorf("status %d, %s%s", code, out, errs)
	}
}

func TestTestRefuses(t *testing.T) {
	started(t, "low-limit")
	if err := errors.Join(os.Mkdir("empty", 0o755), os.Mkdir("alone", 0o755), os.Mkdir("wrong", 0o755),
		os.CopyFS("wrong", os.DirFS("low-limit"))); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile("low-limit/rule.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("alone/rule.yaml", b, 0o644); err != nil {
		t.Fatal(err)
	}
	edit(t, "wrong/rule.yaml", "severity: ", "severity: very-")
	for args, want := range map[string]string{
		"none":  "none does not exist: expected a rule's folder, with rule.yaml and its samples",
		"empty": "rule.yaml does not exist: expected a rule beside its samples",
		"alone": "fettle: alone: ", "wrong": "wrong/rule.yaml:", "low-limit none": "none does not exist",
	} {
		if code, _, errs := lore(t, append([]string{"test"}, strings.Fields(args)...)...); code != 2 || !strings.Contains(errs, want) {
			t.Errorf("%s: %d, %q", args, code, errs)
		}
	}
}
