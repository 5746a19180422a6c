package belief

import "math"

// addLogs is log(exp(a) + exp(b)).
func addLogs(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if math.IsInf(b, -1) {
		return a
	}
	return a + math.Log1p(math.Exp(b-a))
}

// subLogs is log(exp(a) - exp(b)), for a at least b.
func subLogs(a, b float64) float64 {
	if b >= a {
		return math.Inf(-1)
	}
	return a + math.Log1p(-math.Exp(b-a))
}

// sumLogs is the log of the sum of exp(at(i)) for i from 0 to n-1.
func sumLogs(n int, at func(int) float64) float64 {
	top := math.Inf(-1)
	logs := make([]float64, n)
	for i := range logs {
		logs[i] = at(i)
		top = max(top, logs[i])
	}
	if math.IsInf(top, -1) {
		return top
	}
	sum := 0.0
	for _, l := range logs {
		sum += math.Exp(l - top)
	}
	return top + math.Log(sum)
}
