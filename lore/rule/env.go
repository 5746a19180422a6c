package rule

import (
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
)

// Bounds of one evaluation. The cost is CEL's own measure, about one for each
// operation and each ten bytes looked at or made, so it bounds memory, too; the
// interrupt lets the time limit in.
const (
	costLimit      = 2_000_000
	interruptEvery = 200
)

// base is the one CEL environment that all rules share: functions, types, and
// the names that every expression knows.
var base = sync.OnceValues(func() (*cel.Env, error) {
	reg, err := types.NewRegistry()
	if err != nil {
		return nil, err
	}
	opts := []cel.EnvOption{
		cel.CustomTypeProvider(provider{reg}),
		cel.CustomTypeAdapter(adapter{}),
		cel.StdLib(),
		cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true),
		cel.ParserExpressionSizeLimit(exprLimit),
		cel.ParserRecursionLimit(100),
		cel.ExpressionNodeLimit(2000),
		cel.RegexProgramSizeLimit(2000),
		cel.Variable("now", cel.TimestampType),
		cel.Variable("host", objectOf("host").cel),
		cel.Variable("os", objectOf("os").cel),
	}
	return cel.NewCustomEnv(append(opts, functions()...)...)
})

// builtins are the names that no fact may take.
var builtins = map[string]bool{"now": true, "host": true, "os": true, "true": true, "false": true, "null": true, "in": true,
	"int": true, "string": true, "size": true, "duration": true, "timestamp": true, "has": true, "dyn": true, "list": true, "map": true,
	"type": true, "bool": true, "double": true, "uint": true, "bytes": true, "as": true, "break": true, "const": true, "continue": true,
	"else": true, "for": true, "function": true, "if": true, "import": true, "let": true, "loop": true, "package": true,
	"namespace": true, "return": true, "var": true, "void": true, "while": true}

var programOptions = []cel.ProgramOption{
	cel.CostLimit(costLimit),
	cel.InterruptCheckFrequency(interruptEvery),
}
