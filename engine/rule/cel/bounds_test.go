package cel_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"fettle/engine/rule/cel"
	"fettle/internal/means"
)

// limits are expressions at the ends of what numbers, times, texts and lists can be.
var limits = []string{
	"\"a\nb\"", "\"a\rb\"", "'a\nb'", "\"\"\"a\nb\"\"\"", "'''a\r\nb'''", `"\u00"`, `"\ud800"`, `"\U0001F600\x41"`, `"\400"`, `"\12"`, `"\128"`, `"\`, `"\a\b\f\v\?\'"`,
	`0x`, `0xg`, `0x7fffffffffffffff`, `1e`, `1e+`, `1e-2`, `1E2`, `1e400`, `010`, `1.`, `1.5.a`, `a_1`, `_`, "1 // a\n+ 2",
	`timestamp("9999-12-31T23:59:59Z") - timestamp("0001-01-01T00:00:00Z")`, `timestamp("0001-01-01T00:00:00Z") - timestamp("9999-12-31T23:59:59Z")`,
	`timestamp("9999-12-31T23:59:59Z") + hour`, `timestamp("0001-01-01T00:00:00Z") - hour`, `timestamp("9999-12-31T23:59:59.999999999Z")`,
	`timestamp(253402300799)`, `timestamp(253402300800)`, `timestamp(-62135596800)`, `timestamp(-62135596801)`,
	`duration("2562047h") + duration("1h")`, `duration("-2562047h") - duration("1h")`, `duration("2562047h") - duration("-1h")`,
	`0.0 / 0.0 < 1.0`, `1.0 > 0.0 / 0.0`, `0.0 / 0.0 == 0.0 / 0.0`, `0.0 / 0.0 != 1.0`, `1 < 0.0 / 0.0`, `0.0 / 0.0 >= 2`, `0.0 / 0.0 in [1.0]`,
	`1 == 0.0 / 0.0`, `[0.0 / 0.0] == [0.0 / 0.0]`, `9223372036854775807 < 1e19`, `-9223372036854775807 > -1e19`, `9223372036854775807 == 9.3e18`,
	`9223372036854775807 - -1`, `-9223372036854775808 - 1`, `-9223372036854775807 - 1`, `9223372036854775806 + 1`, `0 - -9223372036854775808`,
	`-1 - -9223372036854775808`, `3037000500 * 3037000500`, `3037000499 * 3037000499`, `-9223372036854775808 * -1`, `-9223372036854775808 * 1`,
	`4611686018427387904 * -2`, `-9223372036854775808 / -1`, `-9223372036854775808 % -1`, `int(9.3e18)`, `int(-9.3e18)`, `int(9.2e18)`, `int(0.0 / 0.0)`,
	`9223372036854775807 < 9.223372036854775808e18`, `9223372036854775807 == 9.223372036854775808e18`, `-9223372036854775808 > -9.223372036854775808e18`,
	`-9223372036854775808 == -9.223372036854775808e18`, `9.223372036854775808e18 >= 9223372036854775807`, `0xaf + 0xAF + 0xf0 + 0xF9`, `az_AZ`, `l.exists(z, z == "a")`,
	`l.exists(a, a == "a")`, `l.exists(Z, Z == "a")`, `l.exists(A, A == "a")`, `1 in dyn(1)`, `1 in dyn(l)`, `"a" in dyn(m)`, `dyn(disk).nope`, `dyn(disk).name`,
	`dyn(1).a`, `dyn(m).a`, `dyn(m).zz`, `times("ab", 3)`, `times("ab", dyn(2))`, `times("ab", dyn("2"))`, `dyn(l)[0]`, `dyn(l)["a"]`, `dyn(1)[0]`,
	`has(dyn(1).a)`, `has(dyn("a").b)`, `has(dyn(l).a)`, `has(dyn(now).a)`, `has(dyn(disk).nope)`, `has(dyn(disk).name)`, `has(dyn(true).a)`, `has(dyn(null).a)`, `has(dyn(1).a.b)`, `has(dyn(m).a.b)`, `has(any.a)`, `dyn(9223372036854775807) == 9.223372036854775808e18`, `dyn(-9223372036854775808) == -9.223372036854775808e18`, `9.223372036854775808e18 > 9223372036854775807`, `1e19 > 9223372036854775807`, `-1e19 < -9223372036854775808`, `has(dyn(m).a)`, `dyn(1).exists(x, x == 1)`, `dyn(1) ? 1 : 2`, `dyn(1) && yes`, `-dyn("a")`, `!dyn(1)`, `dyn("a") < dyn(1)`,
	`n[1.0]`, `n[0.5]`, `{1: "a"}[1.0]`, `{1: "a"}[1.5]`, `1.5 in {1: "a"}`, `1.0 in {1: "a"}`, `{true: 1}[true]`, `{null: 1}`, `dyn(0.0 / 0.0) < dyn("a")`, `dyn("a") >= 0.0 / 0.0`, "\"\"\"a\r\rb\"\"\"", "r'''a\r\nb'''",
	`{"a": 1} == {"a": 1.0}`, `{"a": 1} == {"b": 1}`, `{"a": 1} == {"a": 1, "b": 2}`, `m == {"a": "x", "b": "z"}`, `[1] == [1, 2]`,
	`no < yes`, `yes <= yes`, `"a" < "B"`, `hour <= duration("3600s")`, `now <= now`, `timestamp(0) < now`,
	`size("w\u00f6")`, `l.exists_one(x, x != "a")`, `l.all(x, x == "a")`, `[].all(x, x)`, `[].exists(x, x)`, `l.map(x, bad, x)`, `l.map(x, x == "b" || bad, x)`,
	`m.exists_one(k, k == "a")`, `m.filter(k, k > "a")`, `"a" == "a" ? "a" in l ? 1 : 2 : 3`, `(1 ? 2 : 3)`, `yes ? no ? 1 : 2 : 3`,
	`has(disk.labels.a)`, `has(disk.labels.b)`, `disk.labels["a"]`, `disk.labels.b`, `has(m["a"])`, `has()`, `has(m.a, m.b)`,
	`1 + 2 - 3 * 4 / 2 % 3`, `2 - 1 - 1`, `8 / 4 / 2`, `!yes == no`, `-1 * -1`, `- -1`, `-i - -i`, `!(yes && no) || no`,
	`duration("-90m").getMinutes()`, `string(duration("1.5s"))`, `string(timestamp(0))`, `bool("FALSE")`, `bool("1")`, `bool("0")`,
}

// TestEveryTextEnds: also one that has no end, or an escape that is none. Here before any other test would wait for it.
func TestEveryTextEnds(t *testing.T) {
	means.Ends(t)
	for _, src := range []string{`"\q"`, `'\`, `"""a`, `"\x4"`, `r"\"`, "// a", "/", "0x", "1e"} {
		if tree, err := cel.Parse(src); err == nil && src != `r"\"` {
			t.Errorf("%s is read as %s", src, tree)
		}
	}
}

// TestLikeCelGoAtLimits: the ends of numbers, times and texts are where cel-go has them.
func TestLikeCelGoAtLimits(t *testing.T) {
	j := newJudge(t)
	for _, src := range limits {
		j.compare(t, src)
	}
}

// TestExactBounds: an expression as large as may be is read, and none that is larger.
func TestExactBounds(t *testing.T) {
	repeat := strings.Repeat
	for what, make := range map[string]struct {
		of   func(n int) string
		most int
	}{
		"brackets":    {func(n int) string { return repeat("(", n) + "1" + repeat(")", n) }, 99},
		"lists":       {func(n int) string { return repeat("[", n) + "1" + repeat("]", n) }, 99},
		"nots":        {func(n int) string { return repeat("!", n) + "true" }, 100},
		"signs":       {func(n int) string { return repeat("-", n) + "i" }, 100},
		"sums":        {func(n int) string { return repeat("1+", n) + "1" }, 100},
		"comparisons": {func(n int) string { return repeat("1<", n) + "1" }, 100},
		"fields":      {func(n int) string { return "i" + repeat(".a", n) }, 100},
		"choices":     {func(n int) string { return repeat("yes?1:", n) + "1" }, 99},
		"parts":       {func(n int) string { return "[" + repeat("1,", n) + "]" }, 1999},
		"ands":        {func(n int) string { return repeat("yes&&", n) + "yes" }, 1998},
	} {
		for n, ok := range map[int]bool{make.most: true, make.most + 1: false} {
			if _, err := cel.Parse(make.of(n)); (err == nil) != ok {
				t.Errorf("%d %s: %v, want them read: %v", n, what, err, ok)
			}
		}
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	j := newJudge(t)
	for src, want := range map[string]error{`l.all(a, l.exists(b, a == b))`: cel.ErrInterrupted, `1 + 1`: cel.ErrInterrupted} {
		tree, err := cel.Parse(src)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tree.Eval(over, j.env.Functions, vars{"l": make([]string, 5000)}); err != want {
			t.Errorf("%s, when its time is over: %v, want %v", src, err, want)
		}
	}
}

// TestTypesOfDyn: what the operands leave open stays open, and what they settle is known.
func TestTypesOfDyn(t *testing.T) {
	j := newJudge(t)
	for src, want := range map[string]string{
		"any": "dyn", "any + any": "dyn", "any + hour": "dyn", "any - hour": "dyn", "any - now": "duration", "any + 1": "int", `any + "a"`: "string",
		"any % 2": "int", "any * d": "double", "any - 1": "int", "now - any": "dyn", "hour - any": "duration", "hour + any": "dyn",
		"any + [1]": "dyn",
		"any.foo":   "dyn", "any[0]": "dyn", "-any": "dyn", "any in l": "bool", "yes ? any : 1": "dyn", "[any, 1]": "list(dyn)",
		"[]": "list(dyn)",
		"{}": "map(dyn, dyn)", "[][0]": "dyn", "[] + [1]": "list(int)", "[[], [1]]": "list(list(int))", "l.map(x, any)": "list(dyn)",
		`m.get("a", any)`: "dyn", "any.get(1, 2)": "dyn", "disks.map(x, x.size)": "list(int)", "{1: d}": "map(int, double)",
		"[null, disk]": "list(disk)", "null": "null", "[1, d]": "list(dyn)",
	} {
		tree, err := cel.Parse(src)
		if err != nil {
			t.Fatal(err)
		}
		if checked, mistakes := j.env.Check(tree); checked.Type.String() != want || len(mistakes) > 0 {
			t.Errorf("%s is %s, want %s (%v)", src, checked.Type, want, mistakes)
		}
	}
}

// TestWhereMistakesAre: a mistake is told where it is, and at most a handful of them.
func TestWhereMistakesAre(t *testing.T) {
	j := newJudge(t)
	for src, want := range map[string]string{
		"1 +": "3 the expression ends too early", "1 + )": `4 unexpected ")"`, `"a`: `0 text without its closing "`, `"\q"`: "1 no such escape",
		"i # 1": "2 unexpected '#'", "5u": "1 unsigned", `b"x"`: "0 text beginning with b", "for + 1": "0 for is a reserved word",
		"9223372036854775808": "0 9223372036854775808 is no number from", "1e999": "0 1e999 is too large", "has(s)": "4 has takes a field",
		"l.all(1, yes)": "6 all takes the name", "nope": "0 undeclared reference to 'nope'", "i + nope": "4 undeclared", "in": `0 unexpected "in"`,
		"nope(1)": "4 undeclared reference to 'nope'", "disk.nope": "4 undefined field 'nope'",
		"i.a":    "1 type 'int' does not support field selection",
		`l["a"]`: "1 list(string) cannot be indexed by string", "yes ? 1 : s": "4 one branch is int, the other string",
		"yes && 1": "7 bool is wanted here, not int", "!i": "1 bool is wanted here, not int", "-s": "0 - is for numbers, not string",
		"s - s": "2 - is not for string and string", "i == s": "2 == is not for int and string", "{1.5: 1}": "1 double cannot be the key",
		"i.map(x, x)": "0 map goes through a list or a map, not int", "s.two(1)": "5 string has no method two(int)",
		"two(s, 1)": "3 two is not for (string, int)", "l.filter(x, x)": "12 bool is wanted here, not string",
	} {
		tree, err := cel.Parse(src)
		got := ""
		var m cel.Mistake
		if errors.As(err, &m) {
			got = fmt.Sprintf("%d %s", m.At, m.Msg)
		} else if _, mistakes := j.env.Check(tree); len(mistakes) > 0 {
			got = fmt.Sprintf("%d %s", mistakes[0].At, mistakes[0])
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", src, got, want)
		}
	}
	tree, err := cel.Parse(`[a1, a2, a3, a4, a5, a6, a7]`)
	if err != nil {
		t.Fatal(err)
	}
	if _, mistakes := j.env.Check(tree); len(mistakes) != 5 {
		t.Errorf("%d mistakes are told", len(mistakes))
	}
	for at, want := range map[int][2]int{0: {0, 0}, 2: {0, 2}, 4: {0, 3}, 5: {1, 0}, 7: {1, 2}, 99: {1, 2}} {
		if line, col := cel.Place("abé\nxy", at); [2]int{line, col} != want {
			t.Errorf("byte %d is at %d:%d, want %v", at, line, col, want)
		}
	}
}

// TestVisit: every name and call, with the arguments that are literals, in their order.
func TestVisit(t *testing.T) {
	const src = `a.startsWith("x") && two(1, b) > size(l.map(e, e + 'y'))`
	tree, err := cel.Parse(src)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	tree.Visit(func(v cel.Visited) { got += fmt.Sprintf("%d %s%s %v %d; ", v.At, v.Name, v.Call, v.Literal, v.LastAt) })
	want := "12 startsWith [x] 13; 0 a [] 0; 24 two [1 <nil>] 28; 28 b [] 0; 37 size [<nil>] 43; 38 l [] 0; 47 e [] 0; "
	if got != want || tree.String() != src {
		t.Errorf("%s: %q, want %q", tree, got, want)
	}
}
