package cel

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"time"
)

var (
	errOverflow = errors.New("integer overflow")
	errTime     = errors.New("timestamp overflow")
)

func negate(v any) (any, error) {
	switch n := v.(type) {
	case int64:
		if n == math.MinInt64 {
			return nil, errOverflow
		}
		return -n, nil
	case float64:
		return -n, nil
	}
	return nil, fmt.Errorf("no such overload: -%s", kindNames[kindOf(v)])
}

func (r *run) arithmetic(op string, a, b any) (any, error) {
	switch x := a.(type) {
	case int64:
		if y, ok := b.(int64); ok {
			return ints(op, x, y)
		}
	case float64:
		if y, ok := b.(float64); ok {
			return doubles(op, x, y)
		}
	case string:
		if y, ok := b.(string); ok && op == "+" {
			r.spend((len(x) + len(y)) / 10)
			if r.over != nil {
				return nil, r.over
			}
			return x + y, nil
		}
	case time.Duration:
		switch y := b.(type) {
		case time.Duration:
			return durations(op, x, y)
		case time.Time:
			if op == "+" {
				return inRange(y.Add(x))
			}
		}
	case time.Time:
		switch y := b.(type) {
		case time.Duration:
			if op == "-" && y != math.MinInt64 {
				return inRange(x.Add(-y))
			} else if op == "+" {
				return inRange(x.Add(y))
			}
		case time.Time:
			if op == "-" {
				return difference(x, y)
			}
		}
	default:
		if x, ok := Elements(a); ok && op == "+" {
			if y, ok := Elements(b); ok {
				if r.spend(len(x) + len(y)); r.over != nil {
					return nil, r.over
				}
				return slices.Concat(x, y), nil
			}
		}
	}
	return nil, fmt.Errorf("no such overload: %s %s %s", kindNames[kindOf(a)], op, kindNames[kindOf(b)])
}

func ints(op string, a, b int64) (any, error) {
	switch op {
	case "+":
		if b > 0 && a > math.MaxInt64-b || b < 0 && a < math.MinInt64-b {
			return nil, errOverflow
		}
		return a + b, nil
	case "-":
		if b < 0 && a > math.MaxInt64+b || b > 0 && a < math.MinInt64+b {
			return nil, errOverflow
		}
		return a - b, nil
	case "*":
		if p, ok := multiply(a, b); ok {
			return p, nil
		}
		return nil, errOverflow
	}
	if b == 0 {
		if op == "/" {
			return nil, errors.New("division by zero")
		}
		return nil, errors.New("modulus by zero")
	}
	if a == math.MinInt64 && b == -1 {
		return nil, errOverflow
	}
	if op == "/" {
		return a / b, nil
	}
	return a % b, nil
}

func multiply(a, b int64) (int64, bool) {
	abs := func(n int64) uint64 {
		if n < 0 {
			return -uint64(n)
		}
		return uint64(n)
	}
	hi, lo := bits.Mul64(abs(a), abs(b))
	if negative := (a < 0) != (b < 0); negative {
		return -int64(lo), hi == 0 && lo <= 1<<63
	}
	return int64(lo), hi == 0 && lo <= math.MaxInt64
}

func doubles(op string, a, b float64) (any, error) {
	switch op {
	case "+":
		return a + b, nil
	case "-":
		return a - b, nil
	case "*":
		return a * b, nil
	case "/":
		return a / b, nil
	}
	return nil, errors.New("no such overload: double % double")
}

func durations(op string, a, b time.Duration) (any, error) {
	if op != "+" && op != "-" {
		return nil, fmt.Errorf("no such overload: duration %s duration", op)
	}
	v, err := ints(op, int64(a), int64(b))
	if err != nil {
		return nil, errors.New("duration overflow")
	}
	return time.Duration(v.(int64)), nil
}

// The years that a timestamp may have.
var (
	minTime = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	maxTime = time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC)
)

func inRange(t time.Time) (any, error) {
	if t.Before(minTime) || t.After(maxTime) {
		return nil, errTime
	}
	return t, nil
}

func difference(a, b time.Time) (any, error) {
	if d := a.Sub(b); d != math.MaxInt64 && d != math.MinInt64 {
		return d, nil
	}
	return nil, errors.New("duration overflow")
}
