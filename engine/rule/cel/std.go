package cel

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Standard are CEL's own functions. Matches compiles the patterns of matches().
func Standard(compile func(pattern string) (*regexp.Regexp, error)) Functions {
	f := Functions{}
	matches := func(s, pattern string) (bool, error) {
		re, err := compile(pattern)
		if err != nil {
			return false, err
		}
		return re.MatchString(s), nil
	}
	for _, member := range []bool{true, false} {
		f.add("matches", member, Simple(Bool), []Kind{String, String}, func(r *run, a []any) (any, error) {
			s, pattern := a[0].(string), a[1].(string)
			if r.spend(len(s) / 10 * (len(pattern) / 4)); r.over != nil {
				return nil, r.over
			}
			return matches(s, pattern)
		})
		f.add(
			"size",
			member,
			Simple(Int),
			[]Kind{String},
			func(_ *run, a []any) (any, error) { return int64(utf8.RuneCountInString(a[0].(string))), nil },
		)
		for _, k := range []Type{ListOf(Type{}), MapOf(Type{}, Type{})} {
			f["size"] = append(f["size"], &Overload{Member: member, Args: []Type{k}, Result: Simple(Int),
				call: func(_ *run, a []any) (any, error) { return length(a[0]), nil }})
		}
	}
	text := func(name string, do func(s, t string) bool) {
		f.add(
			name,
			true,
			Simple(Bool),
			[]Kind{String, String},
			func(_ *run, a []any) (any, error) { return do(a[0].(string), a[1].(string)), nil },
		)
	}
	text("contains", strings.Contains)
	text("startsWith", strings.HasPrefix)
	text("endsWith", strings.HasSuffix)
	f["dyn"] = []*Overload{{Args: []Type{{}}, call: func(_ *run, a []any) (any, error) { return a[0], nil }}}
	f.conversions()
	f.times()
	return f
}

func (f Functions) add(name string, member bool, result Type, args []Kind, do func(*run, []any) (any, error)) {
	o := &Overload{Member: member, Result: result, call: do}
	for _, k := range args {
		o.Args = append(o.Args, Simple(k))
	}
	f[name] = append(f[name], o)
}

// conversions are int(x), double(x), string(x), bool(x), timestamp(x), duration(x).
func (f Functions) conversions() {
	to := func(result Kind, from Kind, do func(v any) (any, error)) {
		f.add(kindNames[result], false, Simple(result), []Kind{from}, func(_ *run, a []any) (any, error) { return do(a[0]) })
	}
	for _, k := range []Kind{Int, Double, String, Bool, Timestamp, Duration} {
		to(k, k, func(v any) (any, error) { return v, nil })
	}
	to(Int, String, func(v any) (any, error) { return parsed(strconv.ParseInt(v.(string), 10, 64)) })
	to(Int, Double, func(v any) (any, error) {
		d := v.(float64)
		if math.IsNaN(d) || d <= math.MinInt64 || d >= math.MaxInt64 {
			return nil, errOverflow
		}
		return int64(d), nil
	})
	to(Int, Timestamp, func(v any) (any, error) { return v.(time.Time).Unix(), nil })
	to(Int, Duration, func(v any) (any, error) { return int64(v.(time.Duration)), nil })
	to(Double, String, func(v any) (any, error) { return parsed(strconv.ParseFloat(v.(string), 64)) })
	to(Double, Int, func(v any) (any, error) { return float64(v.(int64)), nil })
	to(String, Int, func(v any) (any, error) { return strconv.FormatInt(v.(int64), 10), nil })
	to(String, Double, func(v any) (any, error) { return fmt.Sprintf("%g", v), nil })
	to(String, Bool, func(v any) (any, error) { return strconv.FormatBool(v.(bool)), nil })
	to(String, Timestamp, func(v any) (any, error) { return v.(time.Time).Format(time.RFC3339Nano), nil })
	to(String, Duration, func(v any) (any, error) {
		return strconv.FormatFloat(v.(time.Duration).Seconds(), 'f', -1, 64) + "s", nil
	})
	to(Bool, String, func(v any) (any, error) {
		switch s := v.(string); s {
		case "True", "TRUE", "true", "t", "1":
			return true, nil
		case "False", "FALSE", "false", "f", "0":
			return false, nil
		default:
			return nil, fmt.Errorf("type conversion error: %q is neither true nor false", s)
		}
	})
	to(Timestamp, Int, func(v any) (any, error) {
		n := v.(int64)
		if n < minTime.Unix() || n > maxTime.Unix() {
			return nil, errTime
		}
		return time.Unix(n, 0).UTC(), nil
	})
	to(Timestamp, String, func(v any) (any, error) {
		t, err := time.Parse(time.RFC3339, v.(string))
		if err != nil {
			return nil, err
		}
		return inRange(t)
	})
	to(Duration, String, func(v any) (any, error) { return parsed(time.ParseDuration(v.(string))) })
}

func parsed[T any](v T, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return v, nil
}

// times are the parts of timestamps, in UTC, and of durations.
func (f Functions) times() {
	part := func(name string, of Kind, do func(v any) int64) {
		f.add(name, true, Simple(Int), []Kind{of}, func(_ *run, a []any) (any, error) { return do(a[0]), nil })
	}
	date := func(name string, do func(t time.Time) int) {
		part(name, Timestamp, func(v any) int64 { return int64(do(v.(time.Time).UTC())) })
	}
	date("getFullYear", time.Time.Year)
	date("getMonth", func(t time.Time) int { return int(t.Month()) - 1 })
	date("getDayOfYear", func(t time.Time) int { return t.YearDay() - 1 })
	date("getDayOfMonth", func(t time.Time) int { return t.Day() - 1 })
	date("getDate", time.Time.Day)
	date("getDayOfWeek", func(t time.Time) int { return int(t.Weekday()) })
	date("getHours", time.Time.Hour)
	date("getMinutes", time.Time.Minute)
	date("getSeconds", time.Time.Second)
	date("getMilliseconds", func(t time.Time) int { return t.Nanosecond() / 1e6 })
	span := func(name string, unit time.Duration) {
		part(name, Duration, func(v any) int64 { return int64(v.(time.Duration) / unit) })
	}
	span("getHours", time.Hour)
	span("getMinutes", time.Minute)
	span("getSeconds", time.Second)
	part("getMilliseconds", Duration, func(v any) int64 { return v.(time.Duration).Milliseconds() })
	// m.get(key, otherwise) is this language's own: the type of the result is
	// that of the map's elements.
	f["get"] = append(f["get"], &Overload{Member: true,
		generic: func(a []Type) (Type, bool) {
			if len(a) != 3 || a[0].Kind != Map && a[0].Kind != Dyn {
				return Type{}, false
			}
			if a[0].Kind == Dyn {
				return Type{}, true
			}
			return join(*a[0].Elem, a[2]), a[1].Is(*a[0].Key) && a[2].Is(*a[0].Elem)
		},
		call: func(_ *run, a []any) (any, error) {
			if v, ok := at(a[0], a[1]); ok {
				return v, nil
			}
			return a[2], nil
		}})
}
