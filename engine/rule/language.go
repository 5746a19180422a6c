package rule

import (
	"errors"
	"math"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"fettle/engine/rule/cel"
	"fettle/host/fact/kernelversion"
	"fettle/internal/units"
)

// functions are those that expressions can call: CEL's own, and what rules
// need beyond. What they take and give, the Go functions say.
var functions = sync.OnceValue(func() cel.Functions {
	f := cel.Standard(compiled)
	// On text.
	f.Member("lines", lines)
	f.Member("fields", strings.Fields)
	f.Member("trim", strings.TrimSpace)
	f.Member("lower", strings.ToLower)
	f.Member("upper", strings.ToUpper)
	f.Member("replace", strings.ReplaceAll)
	f.Member("indexOf", strings.Index)
	f.Member("substring", substring)
	f.Member("split", strings.Split)
	f.Member("capture", capture)
	f.Global("base", path.Base)
	f.Global("dir", path.Dir)
	// On lists.
	f.Member("join", strings.Join)
	f.Member("sorted", func(l []string) []string { return slices.Sorted(slices.Values(l)) })
	f.Member("distinct", distinct)
	f.Member("sum", sum)
	// On figures.
	f.Global("parseSize", parseSize)
	f.Global("asSize", func(n int64) string { return units.Size(n) })
	f.Global("parseTime", units.Span)
	f.Global("asTime", asTime)
	f.Global("percent", func(part, whole int64) float64 { return percent(float64(part), float64(whole)) })
	// On versions.
	f.Global("debCompare", debCompare)
	f.Global("rpmCompare", rpmCompare)
	f.Global("kernelCompare", kernelversion.Compare)
	// On facts.
	f.Member("before", (*packageFact).before, (*kernelFact).before)
	f.Member("since", (*packageFact).since, (*kernelFact).since)
	f.Member("crosses", (*upgradeFact).crosses)
	f.Member("is", (*osFact).is)
	f.Member("get", (*kvFact).get, (*kvFact).getOr, (*iniFact).get, (*iniFact).getOr, (*cmdlineFact).getOr, (*jsonFact).getOr)
	f.Member("sets", (*kvFact).sets, (*iniFact).sets, (*cmdlineFact).sets, (*jsonFact).sets)
	f.Member("getAll", (*kvFact).getAll, (*iniFact).getAll, (*cmdlineFact).getAll)
	f.Member("where", (*kvFact).where, (*iniFact).where)
	costs(f)
	return f
})

func (f *kvFact) get(key string) string              { return f.settings.get("", key, "") }
func (f *kvFact) getOr(key, otherwise string) string { return f.settings.get("", key, otherwise) }
func (f *kvFact) sets(key string) bool               { return f.settings.sets("", key) }
func (f *kvFact) getAll(key string) []string         { return f.settings.all("", key) }
func (f *kvFact) where(key string) string            { return f.settings.where("", key) }
func (f *iniFact) get(section, key string) string    { return f.settings.get(section, key, "") }
func (f *iniFact) getOr(section, key, or string) string {
	return f.settings.get(section, key, or)
}
func (f *iniFact) sets(section, key string) bool          { return f.settings.sets(section, key) }
func (f *iniFact) getAll(section, key string) []string    { return f.settings.all(section, key) }
func (f *iniFact) where(section, key string) string       { return f.settings.where(section, key) }
func (f *cmdlineFact) getOr(key, otherwise string) string { return f.settings.get("", key, otherwise) }
func (f *cmdlineFact) sets(key string) bool               { return f.settings.sets("", key) }
func (f *cmdlineFact) getAll(key string) []string         { return f.settings.all("", key) }

// environment is what every expression may use.
var environment = sync.OnceValue(func() *cel.Env {
	env := (&cel.Env{Functions: functions()}).With("now", cel.TypeFor[time.Time]())
	return env.With("host", cel.TypeFor[*hostFact]()).With("os", cel.TypeOf(reflect.TypeFor[*osFact]()))
})

// builtins are the names that no fact may take: those that mean something in
// this language, or in CEL's whole.
var builtins = map[string]bool{"now": true, "host": true, "os": true, "true": true, "false": true, "null": true, "in": true,
	"int": true, "string": true, "size": true, "duration": true, "timestamp": true, "has": true, "dyn": true, "list": true, "map": true,
	"type": true, "bool": true, "double": true, "uint": true, "bytes": true, "as": true, "break": true, "const": true, "continue": true,
	"else": true, "for": true, "function": true, "if": true, "import": true, "let": true, "loop": true, "package": true,
	"namespace": true, "return": true, "var": true, "void": true, "while": true}

// sum adds numbers.
func sum(numbers []int64) (int64, error) {
	total := int64(0)
	for _, n := range numbers {
		if n > 0 && total > math.MaxInt64-n || n < 0 && total < math.MinInt64-n {
			return 0, errors.New("a sum that is too large")
		}
		total += n
	}
	return total, nil
}
