package rule

import (
	"path"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"fettle/fact/kernelversion"
	"fettle/internal/units"
)

// functions are those that rules have beyond CEL's own.
func functions() []cel.EnvOption {
	str, num, dbl := cel.StringType, cel.IntType, cel.DoubleType
	strs, strMap := cel.ListType(str), cel.MapType(str, str)
	k, v := cel.TypeParamType("K"), cel.TypeParamType("V")
	obj := func(name string) *cel.Type { return objectOf(name).cel }
	args := func(t ...*cel.Type) []*cel.Type { return t }
	opts := []cel.EnvOption{
		// On text.
		member("lines", "string_lines", args(str), strs, func(a []ref.Val) any { return lines(text(a[0])) }),
		member("fields", "string_fields", args(str), strs, func(a []ref.Val) any { return strings.Fields(text(a[0])) }),
		member("trim", "string_trim", args(str), str, func(a []ref.Val) any { return strings.TrimSpace(text(a[0])) }),
		member("lower", "string_lower", args(str), str, func(a []ref.Val) any { return strings.ToLower(text(a[0])) }),
		member("upper", "string_upper", args(str), str, func(a []ref.Val) any { return strings.ToUpper(text(a[0])) }),
		member("replace", "string_replace", args(str, str, str), str, func(a []ref.Val) any { return strings.ReplaceAll(text(a[0]), text(a[1]), text(a[2])) }),
		member("indexOf", "string_index", args(str, str), num, func(a []ref.Val) any { return strings.Index(text(a[0]), text(a[1])) }),
		member("substring", "string_sub", args(str, num, num), str, func(a []ref.Val) any { return substring(text(a[0]), integer(a[1]), integer(a[2])) }),
		member("split", "string_split", args(str, str), strs, func(a []ref.Val) any { return strings.Split(text(a[0]), text(a[1])) }),
		member("join", "list_join", args(strs, str), str, func(a []ref.Val) any { return strings.Join(textsOf(a[0]), text(a[1])) }),
		member("sorted", "list_sorted", args(strs), strs, func(a []ref.Val) any { return slices.Sorted(slices.Values(textsOf(a[0]))) }),
		member("distinct", "list_distinct", args(strs), strs, func(a []ref.Val) any { return distinct(textsOf(a[0])) }),
		member("sum", "list_sum", args(cel.ListType(num)), num, func(a []ref.Val) any { return sum(a[0]) }),
		member("capture", "string_capture", args(str, str), strMap, func(a []ref.Val) any { return capture(text(a[0]), text(a[1])) }),
		global("base", "base_string", args(str), str, func(a []ref.Val) any { return path.Base(text(a[0])) }),
		global("dir", "dir_string", args(str), str, func(a []ref.Val) any { return path.Dir(text(a[0])) }),
		// On figures.
		global("parseSize", "parse_size", args(str), num, func(a []ref.Val) any { return orErr(parseSize(text(a[0]))) }),
		global("asSize", "as_size", args(num), str, func(a []ref.Val) any { return units.Size(integer(a[0])) }),
		global("parseTime", "parse_time", args(str), cel.DurationType, func(a []ref.Val) any { return orErr(parseTime(text(a[0]))) }),
		global("asTime", "as_time", args(cel.DurationType), str, func(a []ref.Val) any { return asTime(a[0]) }),
		global("percent", "percent_int", args(num, num), dbl, func(a []ref.Val) any { return percent(float64(integer(a[0])), float64(integer(a[1]))) }),
		// On versions.
		global("debCompare", "deb_compare", args(str, str), num, func(a []ref.Val) any { return orErr(debCompare(text(a[0]), text(a[1]))) }),
		global("rpmCompare", "rpm_compare", args(str, str), num, func(a []ref.Val) any { return rpmCompare(text(a[0]), text(a[1])) }),
		global("kernelCompare", "kernel_compare", args(str, str), num, func(a []ref.Val) any { return orErr(kernelversion.Compare(text(a[0]), text(a[1]))) }),
		// On facts.
		function("before", overload("package_before", args(obj("package"), str), cel.BoolType, func(a []ref.Val) any { return packageBefore(a[0].(*object), text(a[1])) }),
			overload("kernel_before", args(obj("kernel"), str), cel.BoolType, func(a []ref.Val) any { return kernelBefore(a[0].(*object), text(a[1])) })),
		function("since", overload("package_since", args(obj("package"), str), cel.BoolType, func(a []ref.Val) any { return not(packageBefore(a[0].(*object), text(a[1]))) }),
			overload("kernel_since", args(obj("kernel"), str), cel.BoolType, func(a []ref.Val) any { return not(kernelBefore(a[0].(*object), text(a[1]))) })),
		member("is", "os_is", args(obj("os"), str), cel.BoolType, func(a []ref.Val) any { return osIs(a[0].(*object), text(a[1])) }),
		function("get",
			overload("map_get", args(cel.MapType(k, v), k, v), v, mapGet),
			overload("kv_get", args(obj("kv"), str), str, func(a []ref.Val) any { return keysOf(a[0]).get("", text(a[1]), "") }),
			overload("kv_get_or", args(obj("kv"), str, str), str, func(a []ref.Val) any { return keysOf(a[0]).get("", text(a[1]), text(a[2])) }),
			overload("ini_get", args(obj("ini"), str, str), str, func(a []ref.Val) any { return keysOf(a[0]).get(text(a[1]), text(a[2]), "") }),
			overload("ini_get_or", args(obj("ini"), str, str, str), str, func(a []ref.Val) any { return keysOf(a[0]).get(text(a[1]), text(a[2]), text(a[3])) }),
			overload("cmdline_get", args(obj("cmdline"), str, str), str, func(a []ref.Val) any { return keysOf(a[0]).get("", text(a[1]), text(a[2])) })),
		function("sets",
			overload("kv_sets", args(obj("kv"), str), cel.BoolType, func(a []ref.Val) any { return keysOf(a[0]).sets("", text(a[1])) }),
			overload("cmdline_sets", args(obj("cmdline"), str), cel.BoolType, func(a []ref.Val) any { return keysOf(a[0]).sets("", text(a[1])) }),
			overload("ini_sets", args(obj("ini"), str, str), cel.BoolType, func(a []ref.Val) any { return keysOf(a[0]).sets(text(a[1]), text(a[2])) })),
		function("getAll",
			overload("kv_all", args(obj("kv"), str), strs, func(a []ref.Val) any { return keysOf(a[0]).all("", text(a[1])) }),
			overload("cmdline_all", args(obj("cmdline"), str), strs, func(a []ref.Val) any { return keysOf(a[0]).all("", text(a[1])) }),
			overload("ini_all", args(obj("ini"), str, str), strs, func(a []ref.Val) any { return keysOf(a[0]).all(text(a[1]), text(a[2])) })),
		function("where",
			overload("kv_where", args(obj("kv"), str), str, func(a []ref.Val) any { return keysOf(a[0]).where("", text(a[1])) }),
			overload("ini_where", args(obj("ini"), str, str), str, func(a []ref.Val) any { return keysOf(a[0]).where(text(a[1]), text(a[2])) })),
	}
	return opts
}

type impl = func([]ref.Val) any

type over struct {
	id     string
	args   []*cel.Type
	result *cel.Type
	do     impl
}

func overload(id string, args []*cel.Type, result *cel.Type, do impl) over {
	return over{id, args, result, do}
}

// function is a method with several receivers.
func function(name string, overs ...over) cel.EnvOption {
	var opts []cel.FunctionOpt
	for _, o := range overs {
		opts = append(opts, cel.MemberOverload(o.id, o.args, o.result, cel.FunctionBinding(bind(o.do))))
	}
	return cel.Function(name, opts...)
}

func member(name, id string, args []*cel.Type, result *cel.Type, do impl) cel.EnvOption {
	return function(name, overload(id, args, result, do))
}

func global(name, id string, args []*cel.Type, result *cel.Type, do impl) cel.EnvOption {
	return cel.Function(name, cel.Overload(id, args, result, cel.FunctionBinding(bind(do))))
}

// bind makes Go's answers CEL's; an error is CEL's error.
func bind(do impl) func(...ref.Val) ref.Val {
	return func(args ...ref.Val) ref.Val {
		switch v := do(args).(type) {
		case error:
			return types.WrapErr(v)
		default:
			return toVal(v)
		}
	}
}

func text(v ref.Val) string   { s, _ := v.Value().(string); return s }
func integer(v ref.Val) int64 { n, _ := v.Value().(int64); return n }

func orErr[T any](v T, err error) any {
	if err != nil {
		return err
	}
	return v
}

// not turns a bool round and leaves an error.
func not(v any) any {
	if b, ok := v.(bool); ok {
		return !b
	}
	return v
}
