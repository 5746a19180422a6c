package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle/internal/means"
)

type kind struct {
	code, off string
	on        map[string]string
}

// kinds are the mistakes, one or two in each line of Go: what F returns, and which say spoke meanwhile, without
// and with each of them.
var kinds = []kind{
	{`func F() any { return each(func(n int) any { return say("a", n) < say("b", 2) }) }`,
		"[true false false] ababab", map[string]string{"< becomes <=": "[true true false] ababab", "< becomes >=": "[false true true] ababab"}},
	{`func F() any { return each(func(n int) any { return say("a", n) > say("b", 2) }) }`,
		"[false false true] ababab", map[string]string{"> becomes >=": "[false true true] ababab", "> becomes <=": "[true true false] ababab"}},
	{`func F() any { return each(func(n int) any { return say("a", n) <= say("b", 2) }) }`,
		"[true true false] ababab", map[string]string{"<= becomes <": "[true false false] ababab"}},
	{`func F() any { return each(func(n int) any { return say("a", n) >= say("b", 2) }) }`,
		"[false true true] ababab", map[string]string{">= becomes >": "[false false true] ababab"}},
	{`func F() any { return each(func(n int) any { return 2.5 < float64(n) }) }`,
		"[false false true] ", map[string]string{"< becomes <=": "[false false true] ", "< becomes >=": "[true true false] "}},
	{`func F() any { return each(func(n int) any { return 1<<n > 4 }) }`,
		"[false false true] ", map[string]string{"> becomes >=": "[false true true] ", "> becomes <=": "[true true false] "}},
	{`func F() any { return each(func(n int) any { return say("a", n) == say("b", 2) }) }`,
		"[false true false] ababab", map[string]string{"== becomes !=": "[true false true] ababab"}},
	{`func F() any { return each(func(n int) any { return any(n) != any(2) }) }`,
		"[true false true] ", map[string]string{"!= becomes ==": "[false true false] "}},
	{`func F() any { return both(func(a, b bool) any { return say("a", a) && say("b", b) }) }`,
		"[false false false true] aaabab", map[string]string{"&& becomes ||": "[false true true true] ababaa"}},
	{`func F() any { return both(func(a, b bool) any { return say("a", a) || say("b", b) }) }`,
		"[false true true true] ababaa", map[string]string{"|| becomes &&": "[false false false true] aaabab"}},
	{`func F() any { return both(func(a, b bool) any { return !say("a", a) }) }`,
		"[true true false false] aaaa", map[string]string{"! is left out": "[false false true true] aaaa"}},
	{`func F() any { return say("a", 5) + say("b", 3) }`, "8 ab", map[string]string{"+ becomes -": "2 ab"}},
	{`func F() any { return say("a", 5.5) - /* two */ say("b", 2.5) }`, "3 ab", map[string]string{"- becomes +": "8 ab"}},
	{`func F() any { d := say("a", time.Duration(5)); return 1 - d }`, "-4ns a", map[string]string{"- becomes +": "6ns a"}},
	{`func F() any { return int64(3) * (limit + 1) }`, "33 ", map[string]string{"+ becomes -": "27 "}},
	{`func F() any { return [limit + 1]int{}[limit - 1] }`, "0 ", map[string]string{"- becomes +": "PANIC "}},
	{`func F() any { return int8(time.Millisecond / 10e6) + 1 }`, "1 ", map[string]string{"time.Millisecond becomes Second": "101 ", "+ becomes -": "-1 "}},
	{`var wait = 2 * time.Second; func F() any { return wait }`, "2s ", map[string]string{"time.Second becomes Millisecond": "2ms "}},
	{`func F() any { return time.Minute }`, "1m0s ", map[string]string{"time.Minute becomes Second": "1s "}},
	{`func F() any { return time.Hour }`, "1h0m0s ", map[string]string{"time.Hour becomes Minute": "1m0s "}},
	{`func F() any { return min(say("a", 2), say("b", 3), 1) }`, "1 ab", map[string]string{"min becomes max": "3 ab"}},
	{`func F() any { return max(1, say("a", 2.5), say("b", 0.5)) }`, "2.5 ab", map[string]string{"max becomes min": "0.5 ab"}},
	{`func F() any { f := &file{}; f.Close(); return *f }`, "{1} ", map[string]string{"Close is left out": "{0} "}},
	{`func F() any { f := &file{}; func() { defer say("a", f).Close(); say("b", 0) }(); return *f }`,
		"{1} ab", map[string]string{"defer Close is left out": "{0} b"}},
	{`func F() any { f := &file{}; switch { case true: f.Close() }; if f.Close(); true { return *f }; return 0 }`,
		"{2} ", map[string]string{"Close is left out": "{1} "}},
	{`func F() any { return func() error { err := errors.New("no"); return err }() }`, "no ", map[string]string{"the error is dropped": "<nil> "}},
	{`func F() any { _, e := func() (int, error) { return 1, fmt.Errorf("no") }(); return e }`,
		"no ", map[string]string{"the error is dropped": "<nil> "}},
	{`func F() any { from, to := "a", "b"; return strings.Join(strings.SplitAfter(from, to), "") }`,
		"a ", map[string]string{"from and to are swapped": "b "}},
	{`func F() any { name, n := "a", 1; return fmt.Sprintf("%v is %v", name, n) }`,
		"a is 1 ", map[string]string{"name and n are swapped": "1 is a "}},
	{`func F() any { seen := ""; for _, n := range []int{1, 2, 3} { if n := fmt.Sprint(n); n == "2" { continue }; seen = fmt.Sprint(seen, n) }; return seen }`,
		"13 ", map[string]string{"continue becomes break": "1 ", "== becomes !=": "2 ", "seen and n are swapped": "31 "}},
	// None of these can be made:
	{`func F() any { s := "a"; s = s + "b"; return s }`, "ab ", nil},
	{`const most = limit - 1; func F() any { return most }`, "9 ", nil},
	{`func F() any { for n := 0; ; n++ { switch n { case 0: continue; default: return n } } }`, "1 ", map[string]string{"continue becomes break": "1 "}},
	{`func F() any { for { if say("a", true) { return 0 }; continue } }`, "0 a", nil},
	{`func F() any { name, n := "a", 1; return strings.Repeat(name, n) }`, "a ", nil},
	{`func F() any { stdout, stderr := func() (string, string) { stderr := "b"; return "a", stderr }(); return stdout + stderr }`, "ab ", nil},
	{`type yes bool; func F() any { y := yes(true); return !y && y }`, "false ", nil},
}

const around = `
var spoken string

func say[T any](name string, v T) T { spoken += name; return v }

func each(f func(int) any) []any { return []any{f(1), f(2), f(3)} }

func both(f func(a, b bool) any) []any { return []any{f(false, false), f(false, true), f(true, false), f(true, true)} }

type file struct{ closed int }

func (f *file) Close() { f.closed++ }

func patient(n int) bool { return n < 1 }

func Further(n int) bool { return n < 1 }

func Parted(n int) bool { return n < 1 }

func mistakePick() {}
`

// The tests of that package print what each F returns, in a process that they start without any environment, and as
// another user. With one mistake the other process never ends.
const itsTest = `package p

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

func result(f func() any) (out string) {
	spoken = ""
	defer func() { if recover() != nil { out = "PANIC " } }()
	return fmt.Sprint(f(), " ", spoken)
}

func TestAll(t *testing.T) {
	if len(os.Getenv("PATH")) > 0 {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = []string{"NO=1"}
		cmd.Stdout = os.Stdout
		if os.Getuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		return
	}
	for i, f := range all {
		fmt.Printf("\nF%d: %s|", i, result(f))
	}
	if !patient(0) {
		fmt.Print("\nPID ", os.Getpid())
		time.Sleep(time.Hour)
	}
}
`

// made is the package with all kinds of mistakes, built.
func made(t *testing.T) *program {
	t.Helper()
	src, all := "package p\n\nimport (\n\t\"errors\"\n\t\"fmt\"\n\t\"strings\"\n\t\"time\"\n)\n", "var all = []func() any{"
	for i, k := range kinds {
		src += strings.Replace(k.code, "func F()", fmt.Sprintf("func F%d()", i), 1) + "\n"
		all += fmt.Sprintf("F%d, ", i)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module p\n\ngo 1.26\n", "p.go": src + around + all + "}\n", "p_test.go": itsTest,
		"mistake.go": "package p\n\nconst limit = 10\n",
		"q/q_test.go": "package q\n\nimport (\n\t\"p\"\n\t\"testing\"\n)\n\n" +
			"func TestQ(t *testing.T) { if !p.Further(0) { t.Fail() } }\n\nfunc TestR(t *testing.T) { t.Fail() }\n\n" +
			"func TestParts(t *testing.T) {\n\tt.Run(\"low\", func(t *testing.T) { if !p.Parted(0) { t.Fail() } })\n" +
			"\tt.Run(\"lowest\", func(t *testing.T) { t.Fail() })\n}\n",
		"q/parts/low.txt": "",
		"other_plan9.go":  "package p\n\nfunc F0() any { return 1 + nothing }\n"} {
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	p, err := build(t.Context(), ".", suite{folder: "q", names: "^TestQ$"}, suite{folder: "q", names: "^TestParts$", parts: "parts/*.txt"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.remove)
	if err := p.asItIs(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	return p
}

// Switched off, a program with its mistakes does what it did without them. Switched on, it makes one. This is so in a
// process with nothing of its parent's environment, too, and of another user.
func TestKinds(t *testing.T) {
	p := made(t)
	results := func(n int) []string {
		_, said := p.with(t.Context(), p.suites[0], n, time.Minute, p.suites[0].tests...)
		var out []string
		for i := range kinds {
			_, result, _ := strings.Cut(said, fmt.Sprintf("\nF%d: ", i))
			result, _, _ = strings.Cut(result, "|")
			out = append(out, result)
		}
		return out
	}
	want := make([]string, len(kinds))
	for i, k := range kinds {
		want[i] = k.off
	}
	if got := results(0); !slices.Equal(got, want) {
		t.Fatalf("without a mistake\n%q, want\n%q", got, want)
	}
	made := map[string]int{}
	for _, m := range p.mutants {
		at := m.line - firstKind
		if at >= len(kinds) {
			continue // of what is around them
		}
		on, ok := kinds[at].on[m.what]
		if !ok {
			t.Errorf("%s: %s was made", kinds[at].code, m.what)
		}
		with := slices.Clone(want)
		with[at] = on
		if got := results(m.n); !slices.Equal(got, with) {
			t.Errorf("%s: %s:\n%q, want\n%q", kinds[at].code, m.what, got, with)
		}
		made[kinds[at].code]++
	}
	for _, k := range kinds {
		if made[k.code] != len(k.on) {
			t.Errorf("%s: %d mistakes were made, want %d", k.code, made[k.code], len(k.on))
		}
	}
}

// The line of the first of the kinds.
const firstKind = 9

// What the tests of a package do not notice, further ones may, and parts of them.
func TestTry(t *testing.T) {
	p := made(t)
	for _, m := range p.mutants {
		want := map[string]string{
			"func patient(n int) bool { return n < 1 }: < becomes <=": missed,
			"func Further(n int) bool { return n < 1 }: < becomes <=": missed,
			"func Further(n int) bool { return n < 1 }: < becomes >=": noticed,
			"func Parted(n int) bool { return n < 1 }: < becomes <=":  missed,
			"func Parted(n int) bool { return n < 1 }: < becomes >=":  noticed,
		}[m.text+": "+m.what]
		if want == "" {
			continue
		}
		if how := p.try(t.Context(), m, time.Minute); how != want {
			t.Errorf("%s: %s, want %s", m.id(), how, want)
		}
	}
}

// All that tests started ends when they hang.
func TestHangs(t *testing.T) {
	p := made(t)
	i := slices.IndexFunc(p.mutants, func(m *mutant) bool { return strings.HasPrefix(m.text, "func patient") && m.what == "< becomes >=" })
	how, said := p.with(t.Context(), p.suites[0], p.mutants[i].n, 3*time.Second, p.suites[0].tests...)
	_, pid, _ := strings.Cut(said, "PID ")
	if how != hung || pid == "" {
		t.Fatal(how, said)
	}
	means.Until(t, "the process of the tests has ended", func() bool {
		stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
		return err != nil || strings.Contains(string(stat), ") Z ") // until init has seen that it has
	})
}

// Tests that do not compile are an error that says so, and nothing of theirs stays behind.
func TestDoesNotCompile(t *testing.T) {
	dir, tmp := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"go.mod": "module p\n\ngo 1.26\n", "p.go": "package p\n\nfunc F(n int) bool { return n < 1 }\n",
		"p_test.go": "package p\n\nvar _ = F(nothing)\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	t.Setenv("TMPDIR", tmp)
	if _, err := build(t.Context(), "."); err == nil || !strings.Contains(err.Error(), "undefined: nothing") {
		t.Error(err)
	}
	if left, err := filepath.Glob(filepath.Join(tmp, "fettle-mutants-*")); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}
