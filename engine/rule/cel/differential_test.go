package cel_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"fettle/engine/rule/cel"
	"fettle/engine/rule/cel/oracle"
	"fettle/internal/means"
)

// disk is an object as a program brings it.
type disk struct {
	Name    string                   `cel:"name"`
	Size    int64                    `cel:"size,volatile"`
	Used    float64                  `cel:"used"`
	Flags   []string                 `cel:"flags"`
	Labels  map[string]string        `cel:"labels"`
	Parent  func() (*vendor, error)  `cel:"parent"`
	Lines   func() ([]string, error) `cel:"lines"`
	Numbers func() (int64, error)    `cel:"number"`
}

type vendor struct {
	Name string `cel:"name"`
}

func (d *disk) has(flag string) bool { return strings.Contains(strings.Join(d.Flags, ","), flag) }

func standard() cel.Functions { return cel.Standard(regexp.Compile) }

func functions() cel.Functions {
	f := standard()
	f.Member("has_flag", (*disk).has)
	f.Member("join", strings.Join)
	f.Member("lower", strings.ToLower)
	f.Member("fields", strings.Fields)
	f.Global("times", strings.Repeat)
	f.Global("two", func(a, b int64) (int64, error) {
		if a == b {
			return 0, fmt.Errorf("the same")
		}
		return a + b, nil
	})
	return f
}

// vars are the names that test expressions use.
type vars map[string]any

func (v vars) Value(name string) (any, bool, error) {
	x, ok := v[name]
	if err, bad := x.(error); bad {
		return nil, true, err
	}
	return x, ok, nil
}

func sda() *disk {
	return &disk{Name: "sda", Size: 1 << 40, Used: 0.5, Flags: []string{"ro", "ssd"}, Labels: map[string]string{"a": "b"},
		Lines:   func() ([]string, error) { return []string{"x y", "z"}, nil },
		Numbers: func() (int64, error) { return 0, fmt.Errorf("no number") }}
}

func world() (vars, map[string]cel.Type) {
	d := sda()
	v := vars{
		"i":   int64(7),
		"j":   int64(-3),
		"d":   2.5,
		"s":   "Hello wörld",
		"t":   "a,b",
		"yes": true,
		"no":  false,
		"bad": fmt.Errorf("could not read"),
		"l": []string{
			"a",
			"b",
			"c",
		},
		"n":     []any{int64(1), int64(2)},
		"m":     map[string]string{"a": "x", "b": "y"},
		"disk":  d,
		"disks": []*disk{d, {Name: "sdb"}},
		"now":   time.Date(2026, 3, 4, 5, 6, 7, 8e6, time.UTC),
		"hour":  time.Hour,
		"any":   int64(3),
	}
	b, i, s := cel.Simple(cel.Bool), cel.Simple(cel.Int), cel.Simple(cel.String)
	disks := cel.TypeFor[*disk]()
	return v, map[string]cel.Type{
		"i":   i,
		"j":   i,
		"d":   cel.Simple(cel.Double),
		"s":   s,
		"t":   s,
		"yes": b,
		"no":  b,
		"bad": b,
		"l":   cel.ListOf(s),
		"n":   cel.ListOf(i),
		"m": cel.MapOf(
			s,
			s,
		),
		"disk":  disks,
		"disks": cel.ListOf(disks),
		"now":   cel.Simple(cel.Timestamp),
		"hour":  cel.Simple(cel.Duration),
		"any":   {},
	}
}

// judge compares package cel with cel-go on one expression: whether it is
// accepted, its type, and what it comes to.
type judge struct {
	env    *cel.Env
	oracle *oracle.Oracle
	vars   vars
}

func newJudge(t testing.TB) *judge {
	t.Helper()
	v, names := world()
	o, err := oracle.New(functions(), standard(), names)
	if err != nil {
		t.Fatal(err)
	}
	env := &cel.Env{Functions: functions()}
	for name, typ := range names {
		env = env.With(name, typ)
	}
	return &judge{env, o, v}
}

// left is what package cel leaves out: bytes, unsigned numbers, types as
// values, messages, names with dots before them, time zones, math on anything else.
var left = regexp.MustCompile(
	`(?i)\b[rb]{1,2}["']|\d[u]|\b(bytes|uint|type|int|string|bool|double|list|map|null_type|google|cel|optional|proto)\b([^(]|$)|` +
		`\b(bytes|uint|type)\(|get\w+\([^)]|` + "`" + `|\{[^}]*[A-Za-z]+\s*:|[\w)\]]\s*\{|(^|[^\w)\]"'.])\s*\.|\?\.|\[\?|[\[{],`,
)

// loose are expressions whose types cel-go knows more about: of lists that mix
// what is known with dyn or null it takes the former. What is wrong then shows
// when it runs.
var loose = regexp.MustCompile(`\b(any|dyn|null)\b|\{\}|\[\]`)

func (j *judge) compare(t *testing.T, src string) {
	t.Helper()
	want, err := j.oracle.Compile(src)
	tree, perr := cel.Parse(src)
	var checked cel.Checked
	var mistakes []cel.Mistake
	if perr == nil {
		checked, mistakes = j.env.Check(tree)
	}
	accepted := perr == nil && len(mistakes) == 0
	if accepted != (err == nil) {
		if !accepted && left.MatchString(src) || loose.MatchString(src) {
			return
		}
		t.Errorf("%s\ncel-go: %v\nours: %v %v", src, err, perr, mistakes)
		return
	}
	if !accepted {
		return
	}
	if got := checked.Type.String(); got != want.Type && !strings.Contains(want.Type, "_var") && !loose.MatchString(src) {
		t.Errorf("%s\ncel-go: %s\nours: %s", src, want.Type, got)
	}
	theirs, terr := want.Eval(j.vars)
	ours, oerr := tree.Eval(t.Context(), j.env.Functions, j.vars)
	if (terr == nil) != (oerr == nil) {
		t.Errorf("%s\ncel-go: %v %v\nours: %v %v", src, theirs, terr, ours, oerr)
	} else if terr == nil && say(theirs) != say(ours) {
		if !strings.Contains(src, "m") || !slices.Equal(sorted(say(theirs)), sorted(say(ours))) { // maps have no order there
			t.Errorf("%s\ncel-go: %s\nours: %s", src, say(theirs), say(ours))
		}
	}
}

func sorted(s string) []string { return slices.Sorted(strings.SplitSeq(strings.Trim(s, "[]"), ", ")) }

// say writes a value so that equal ones are written alike.
func say(v any) string {
	switch x := v.(type) {
	case *disk:
		return "disk " + x.Name
	case time.Time:
		return x.UTC().String()
	case float64:
		return fmt.Sprintf("double %g", x)
	case map[any]any:
		m := map[string]string{}
		for k, e := range x {
			m[say(k)] = say(e)
		}
		b, _ := json.Marshal(m)
		return string(b)
	}
	if els, ok := cel.Elements(v); ok {
		var out []string
		for _, e := range els {
			out = append(out, say(e))
		}
		return "[" + strings.Join(out, ", ") + "]"
	}
	if m, ok := v.(map[string]string); ok {
		x := map[any]any{}
		for k, e := range m {
			x[k] = e
		}
		return say(x)
	}
	return fmt.Sprintf("%T %v", v, v)
}

// sources are expressions of all kinds, right and wrong ones.
var sources = []string{
	`1 + 2 * 3`, `(1 + 2) * 3`, `7 / 2`, `-7 / 2`, `7 % -3`, `1 / 0`, `1 % 0`, `1.0 / 0.0`, `9223372036854775807 + 1`,
	`-9223372036854775808`, `-(-9223372036854775808)`,
	`9223372036854775808`, `0x1F`, `1e3`, `1.5e-2`, `.5 + 1.0`, `1 + 1.0`, `1 < 1.5`, `2.0 >= 2`, `1 == 1.0`, `i == d`, `any == 3.0`,
	`any + 1`, `any < d`, `any.foo`, `any[0]`,
	`"a" + 'b'`, `"a\tb\u00e9\x41\101"`, `r"a\b"`, `"""a"b"""`, `'''x'''`, `"\q"`, `"a`, `"a" < "b"`, `"a" == 1`, `"a" in l`,
	`"x" in m`, `"a" in m`, `1 in n`, `1.0 in [1]`, `i in l`,
	`yes && no`, `yes || bad`, `bad || yes`, `bad && no`, `no && bad`, `bad || no`, `bad && yes`, `!bad`, `bad ? 1 : 2`,
	`yes ? 1 : bad`, `yes ? 1 : 2`, `yes ? "a" : 2`, `no ? any : 2`,
	`!yes`, `!!yes`, `--i`, `-i`, `-d`, `-s`, `!i`, `- 1`, `i - -1`, `i-1`,
	`l[0]`, `l[3]`, `l[-1]`, `l["a"]`, `m["a"]`, `m.a`, `m.zz`, `m["zz"]`, `m[1]`, `n[1]`, `[1,2][0]`, `{"a": 1}.a`, `{"a": 1}["b"]`,
	`{1: "a"}[1]`, `{"a": 1, "a": 2}`, `{"a": 1, "b": "c"}`,
	`{}`, `[]`, `[1, "a"]`, `[1, 2,]`, `{"a": 1,}`, `[,]`, `[1] + [2]`, `[1] + ["a"]`, `l + n`, `[] + l`, `l == ["a", "b", "c"]`,
	`n == [1.0, 2.0]`, `m == {"a": "x", "b": "y"}`, `[] == l`,
	`size(l)`, `l.size()`, `size(s)`, `s.size()`, `size(m)`, `size(1)`, `size()`, `s.startsWith("He")`, `s.endsWith("ld")`,
	`s.contains("w\u00f6")`, `s.matches("^H.*d$")`, `matches(s, "x")`, `s.matches("(")`,
	`l.exists(x, x == "b")`, `l.all(x, x < "d")`, `l.exists_one(x, x == "b")`, `l.filter(x, x != "a")`, `l.map(x, x + "!")`,
	`l.map(x, x != "a", x + "!")`, `m.exists(k, m[k] == "y")`, `m.all(k, k < "c")`,
	`m.map(k, k)`, `l.exists(x, bad)`, `l.exists(x, bad || x == "c")`, `l.all(x, bad && x == "z")`, `l.all(x, bad)`, `l.filter(x, bad)`,
	`n.exists(x, 1 / (x - 1) == 1)`, `n.all(x, 1 / (x - 1) == 0)`,
	`n.exists_one(x, 1 / (x - 1) == 1)`, `n.filter(x, 1 / (x - 1) == 1)`, `n.map(x, 1 / (x - 1))`, `l.exists(x, y)`, `l.exists(1, yes)`,
	`l.exists(x)`, `i.exists(x, yes)`, `l.map(x, l.map(y, x + y))`,
	`l.existsOne(x, x == "a")`, `l.exists(i, i == "a") && i == 7`, `l.filter(l, l == "a")`, `any.exists(x, x)`, `"abc".map(x, x)`,
	`has(disk.name)`, `has(disk.nope)`, `has(m.a)`, `has(m.zz)`, `has(s)`, `has(l[0])`, `disk.name`, `disk.nope`, `disk.size > i`,
	`disk.used * 2.0`, `disk.flags[0]`, `disk.labels.a`, `disk.parent.name`,
	`disk.number`, `disk.number > 0 || yes`, `disk.lines`, `disk.lines.exists(l, l.fields().size() == 2)`, `disk.has_flag("ssd")`,
	`disk.has_flag(1)`, `s.has_flag("x")`, `disks.map(d, d.name)`,
	`disks.filter(d, d.size > 0).map(d, d.name).join(", ")`, `disks[0] == disk`, `disk == disks[1]`, `disks.exists(d, d == disk)`,
	`disk == 1`, `disk in disks`, `disks[1].flags`, `disks[1].labels`, `disks[1].lines`,
	`two(1, 2)`, `two(1, 1)`, `two(1)`, `two("a", 1)`, `two(any, 1)`, `nope(1)`, `i.nope()`, `l.join("-")`, `n.join("-")`,
	`[].join("-")`, `["a", s].join("")`, `join(l, "-")`, `lower("A")`, `"A".lower()`,
	`now > timestamp("2026-01-01T00:00:00Z")`, `now - hour`, `now + hour`, `hour + now`, `hour - now`, `now - now`, `now + now`,
	`hour + hour`, `hour * 2`, `now - timestamp(0)`, `timestamp("x")`, `timestamp(1e3)`,
	`duration("90m") > hour`, `duration("1h30m").getMinutes()`, `duration("x")`, `hour.getHours()`, `hour.getMilliseconds()`,
	`duration("1500ms").getMilliseconds()`, `duration("1500ms").getSeconds()`,
	`now.getFullYear()`, `now.getMonth()`, `now.getDate()`, `now.getDayOfMonth()`, `now.getDayOfWeek()`, `now.getDayOfYear()`,
	`now.getHours()`, `now.getMinutes()`, `now.getSeconds()`, `now.getMilliseconds()`,
	`int("12")`, `int("x")`, `int(2.9)`, `int(-2.9)`, `int(1e30)`, `int(now)`, `int(hour)`, `int(yes)`, `double("1.5")`, `double(3)`,
	`double("x")`, `string(1)`, `string(1.5)`, `string(1e30)`, `string(yes)`,
	`string(now)`, `string(hour)`, `string(l)`, `string("a")`, `bool("true")`, `bool("t")`, `bool("yes")`, `bool(1)`, `dyn(1) == "a"`,
	`dyn(s).startsWith("H")`, `dyn(1).startsWith("H")`, `dyn(1) + "a"`, `timestamp(1e18)`,
	`m.get("a", "z")`, `m.get("q", "z")`, `m.get("a", 1)`, `m.get(1, "a")`, `l.get("a", "b")`, `{"a": 1}.get("a", 0) + 1`,
	`null`, `null == null`, `disk == null`, `now == null`, `s == null`, `[null, 1]`, `true`, `false`, `nope`, `as`, `for`, `l.for`,
	`in`, `i in`, `a.in`, `1 +`, `(1`, `1)`, `i i`, `i ? 1 : 2`, `yes ? 1`, `i = 1`, `i & 1`,
	`// nothing`, `1 // one`, "1 +\n2", ``, ` `, `"a".b`, `1.a`, `l.`, `[1`, `{1}`, `{"a" 1}`, `f(1,)`, `two(1, 2,)`, `#`, `i @ 1`,
	`yes && no || yes`, `yes || no && bad`, `yes || yes || bad`, `no && bad && no`, `no || (bad || yes)`,
	`1 < 2 == true`, `1 < 2 < 3`, `yes == no != yes`, `yes < no`, `now < hour`, `l < l`, `m < m`, `"a" * 2`, `s - s`, `d % d`,
	`d % 2.0`, `[1, 2.0]`, `[[1], ["a"]]`, `{"a": [1], "b": []}`, `[[], [1]]`, `[{}, {"a": 1}]`,
	`yes ? [] : [1]`, `yes ? {} : m`, `yes ? null : disk`, `yes ? 1 : 1.0`, `n.map(x, x * 2).filter(y, y > 2)`,
	`n.map(x, {"k": x}).exists(e, e.k == 2)`, `l.map(x, [x])[0][0]`, `"\"{{x}}\""`, `i in [1, 2, 7] ? "y" : "n"`,
}

// pairs of every type, combined with every operator by TestOperatorsLikeCelGo.
var pairs = []string{
	"0",
	"1",
	"-1",
	"7",
	"9223372036854775807",
	"-9223372036854775808",
	"0.0",
	"1.0",
	"2.5",
	"-1.5",
	"1e300",
	`""`,
	`"a"`,
	`"b"`,
	"true",
	"false",
	"[]",
	"[1]",
	`["a"]`,
	"l",
	"n",
	"m",
	"{}",
	`{"a": "x"}`,
	"now",
	"hour",
	`duration("0s")`,
	`duration("1h")`,
	`timestamp("2026-03-04T05:06:07.008Z")`,
	"timestamp(0)",
	"disk",
	"bad",
}

// TestOperatorsLikeCelGo: each operator between any two values.
func TestOperatorsLikeCelGo(t *testing.T) {
	j := newJudge(t)
	for _, op := range []string{"+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "in", "&&", "||"} {
		for _, a := range pairs {
			for _, b := range pairs {
				j.compare(t, a+" "+op+" "+b)
			}
		}
	}
}

// TestLikeCelGo: what cel-go accepts means the same here.
func TestLikeCelGo(t *testing.T) {
	j := newJudge(t)
	for _, src := range sources {
		j.compare(t, src)
	}
}

// TestLikeCelGoAtRandom puts pieces of expressions together at random. The seed
// is told, so that a failure can be repeated; a long run takes another each time.
func TestLikeCelGoAtRandom(t *testing.T) {
	j := newJudge(t)
	seed := uint64(1)
	if os.Getenv("FETTLE_LONG") != "" {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 1000 {
		j.compare(t, compose(r, 3))
		if t.Failed() {
			return
		}
	}
}

// compose makes an expression; many have mistakes in their types.
func compose(r *rand.Rand, depth int) string {
	if depth == 0 {
		leaf := []string{
			"i",
			"j",
			"d",
			"s",
			"t",
			"yes",
			"no",
			"bad",
			"l",
			"n",
			"m",
			"disk",
			"disks",
			"now",
			"hour",
			"any",
			"1",
			"0",
			"2.5",
			`"a"`,
			"[]",
			"{}",
			"x",
			"true",
			"null",
			"-1",
		}
		return leaf[r.IntN(len(leaf))]
	}
	sub := func() string { return compose(r, r.IntN(depth)) }
	switch r.IntN(12) {
	case 0, 1, 2, 3:
		ops := []string{"+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "in", "&&", "||"}
		return "(" + sub() + " " + ops[r.IntN(len(ops))] + " " + sub() + ")"
	case 4:
		return "(" + sub() + " ? " + sub() + " : " + sub() + ")"
	case 5:
		return "!" + "(" + sub() + ")"
	case 6:
		macros := []string{"exists", "all", "filter", "map", "exists_one"}
		return "(" + sub() + ")." + macros[r.IntN(len(macros))] + "(x, " + sub() + ")"
	case 7:
		fields := []string{"name", "size", "used", "flags", "labels", "lines", "number", "a", "has_flag", "parent"}
		return "(" + sub() + ")." + fields[r.IntN(len(fields))]
	case 8:
		calls := []string{
			"size",
			"int",
			"string",
			"double",
			"lower",
			"join",
			"two",
			"has_flag",
			"startsWith",
			"contains",
			"getHours",
			"matches",
			"dyn",
			"duration",
			"timestamp",
		}
		if r.IntN(2) == 0 {
			return calls[r.IntN(len(calls))] + "(" + sub() + ")"
		}
		return "(" + sub() + ")." + calls[r.IntN(len(calls))] + "(" + []string{"", sub()}[r.IntN(2)] + ")"
	case 9:
		return "(" + sub() + ")[" + sub() + "]"
	case 10:
		return "[" + sub() + ", " + sub() + "]"
	}
	return `{"a": ` + sub() + `, "b": ` + sub() + "}"
}

// FuzzLikeCelGo: whatever the text, both take it or neither.
func FuzzLikeCelGo(f *testing.F) {
	for _, s := range slices.Concat(sources, limits) {
		f.Add(s)
	}
	j := newJudge(f)
	f.Fuzz(func(t *testing.T, src string) {
		if len(src) > 200 || !utf8.ValidString(src) {
			return
		}
		j.compare(t, src)
	})
}

// TestBounds: an expression that would take for ever is ended.
func TestBounds(t *testing.T) {
	j := newJudge(t)
	long := vars{"l": make([]string, 5000), "s": strings.Repeat("a", 1<<16)}
	for _, src := range []string{`l.all(a, l.all(b, l.all(c, a == b)))`, `l.map(a, l.map(b, l.map(c, a + b)))`, `l.map(a, s + s)`,
		`l.exists(a, s.matches("(a*)*(b*)*c$"))`, `l.map(a, l + l)`} {
		tree, err := cel.Parse(src)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tree.Eval(t.Context(), j.env.Functions, long); err != cel.ErrCost {
			t.Errorf("%s: %v", src, err)
		}
	}
	for _, src := range []string{strings.Repeat("(", 300) + "1" + strings.Repeat(")", 300), strings.Repeat("!", 4000) + "true",
		strings.Repeat("1+", 1900) + "1", strings.Repeat("[", 300),
		"i" + strings.Repeat(".a", 3000), strings.Repeat("yes?1:", 300) + "1", "[" + strings.Repeat("1,", 3000) + "]"} {
		if _, err := cel.Parse(src); err == nil {
			t.Errorf("%.20s... is not refused", src)
		}
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }
