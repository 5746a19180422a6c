package blockcache

import (
	"math"
	"strings"
	"testing"
	"time"
)

func readLog(t *testing.T, name, text string) Log {
	t.Helper()
	l, err := ReadLog(name, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestReadLogRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "x.log:1: no sample",
		"500, 31712, 0, 0, 0\n1000, 29":         "x.log:2: cut off",
		"500, 31712, 0, 0, 0\n1000, 29\n":       "x.log:2: 2 fields",
		"500, abc, 0, 0\n":                      `x.log:1: expected a value, not "abc"`,
		"-5, 1, 0, 0\n":                         `x.log:1: expected a time in ms, not "-5"`,
		"500, 1, 7, 0\n":                        "x.log:1: direction 7",
		"500, 1, 0, 0\n400, 1, 0, 0\n":          "x.log:2: the time goes back",
		"9999999999999999, 1, 0, 0\n":           "x.log:1: a time of",
		strings.Repeat("1", 5000) + ", 1, 0, 0": "x.log:1: longer than a line",
	} {
		if _, err := ReadLog("x.log", strings.NewReader(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
}

func TestSum(t *testing.T) {
	for _, c := range []struct {
		name string
		logs []string
		want []float64
	}{
		{"one job", []string{"500, 100, 0, 0, 0\n1000, 200, 0, 0, 0\n"}, []float64{100, 200}},
		{"two jobs, other times", []string{"500, 100, 0, 0\n1000, " +
			"100, 0, 0\n1500, 100, 0, 0\n", "504, 300, 0, 0\n1001, 300, 0, 0\n1500, 300, 0, 0\n"}, []float64{400, 400, 400}},
		{"a late line is spread over its time", []string{"500, 100, 0, 0\n1250, 200, 0, 0\n1500, 100, 0, 0\n"}, []float64{100, 200, 150}},
		{"a duplicate counts once", []string{"500, 100, 0, 0\n500, 9000, 0, 0\n1000, 100, 0, 0\n1000, 70, 0, 0\n"}, []float64{100, 100}},
		{"a short last interval, beyond the whole ones", []string{"500, 100, 0, 0\n1000, 100, 0, 0\n1004, 9000, 0, 0\n"}, []float64{100, 100}},
		{"the last whole interval ends early", []string{"500, 100, 0, 0\n1000, 100, 0, 0\n1497, 100, 0, 0\n"}, []float64{100, 100, 100}},
		{"reads and writes", []string{"500, 100, 0, 4096\n500, 10, 1, 4096\n1000, 100, 0, 4096\n1000, 10, 1, 4096\n"}, []float64{110, 110}},
		{"a stall writes no lines", []string{"500, 100, 0, 0\n2500, 100, 0, 0\n"}, []float64{100, 0, 0, 0, 100}},
		{"one job stalls at the end", []string{"500, 100, 0, 0\n1000, 100, 0, " +
			"0\n1500, 100, 0, 0\n2000, 100, 0, 0\n", "500, 50, 0, 0\n"}, []float64{150, 100, 100, 100}},
	} {
		var logs []Log
		for _, text := range c.logs {
			logs = append(logs, readLog(t, "iops.log", text))
		}
		got, err := Sum(logs, 500*time.Millisecond)
		if err != nil || len(got.IOPS) != len(c.want) {
			t.Errorf("%s: %v, %v; want %v", c.name, got.IOPS, err, c.want)
			continue
		}
		for i := range c.want {
			// 4 ms of 500 are within a percent.
			if math.Abs(got.IOPS[i]-c.want[i]) > 0.011*max(c.want[i], 1) {
				t.Errorf("%s: %v; want %v", c.name, got.IOPS, c.want)
				break
			}
		}
	}
}

func TestSumRefuses(t *testing.T) {
	unaveraged := readLog(t, "a.log", strings.Repeat("1, 1, 0, 4096\n", 5)+strings.Repeat("2, 1, 0, 4096\n", 5)+"900, 1, 0, 4096\n")
	short := readLog(t, "b.log", "30, 1, 0, 4096\n")
	far := readLog(t, "c.log", "1, 5, 0, 0\n1000000000000, 5, 0, 0\n")
	for want, logs := range map[string][]Log{"a.log:1: each line is one request": {unaveraged},
		"b.log:1: the run ended after 30 ms": {short}, "no log": nil, "c.log:2: 2000000000 intervals": {far}} {
		if _, err := Sum(logs, 500*time.Millisecond); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	// A disk of one request a second is no such log.
	slow := readLog(
		t,
		"d.log",
		"500, 1, 0, 0\n1000, 1, 0, 0\n1500, 1, 0, 0\n2000, 1, 0, 0\n2500, 1, 0, 0\n3000, 1, 0, 0\n3500, 1, 0, 0\n4000, 1, 0, 0\n",
	)
	if s, err := Sum([]Log{slow}, 500*time.Millisecond); err != nil || s.IOPS[3] != 1 {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestMeanLatency(t *testing.T) {
	iops := []Log{readLog(t, "i1", "500, 300, 0, 0\n1000, 300, 0, 0\n"), readLog(t, "i2", "500, 100, 0, 0\n1000, 300, 0, 0\n")}
	lat := []Log{
		readLog(t, "l1", "500, 1000000, 0, 0\n1000, 1000000, 0, 0\n"),
		readLog(t, "l2", "500, 5000000, 0, 0\n1000, 3000000, 0, 0\n"),
	}
	got, err := Mean(lat, iops, 500*time.Millisecond)
	if err != nil || len(got.Y) != 2 || got.Y[0] != 2 || got.Y[1] != 2 || got.X[1] != 0.75 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestReadTotals(t *testing.T) {
	const good = `fio: a note of fio's
{"fio version":"fio-3.33","jobs":[{"jobname":"j","error":0,"read":{"total_ios":1000,"iops":99.5,"clat_ns":{"N":1000,"percentile":{"99.900000":900,"50.000000":200,"99.000000":300}}},"write":{"total_ios":0,"iops":0,"clat_ns":{"N":0}}}]}`
	got, err := ReadTotals("out", []byte(good))
	if err != nil || got.Requests != 1000 || got.IOPS != 99.5 || got.At(99) != 300 || got.At(95) != 0 || got.Percentiles[2].Percent != 99.9 {
		t.Errorf("%+v, %v", got, err)
	}
	for text, want := range map[string]string{
		"":                                     "out is cut off",
		good[:90]:                              "out is cut off",
		`{"jobs":[]}`:                          "0 groups",
		`{"jobs":[{"jobname":"j","error":5}]}`: "error 5",
		`{"jobs":[{"jobname":"j","read":{"total_ios":0}}]}`:                                    "no request",
		`{"jobs":[{"jobname":"j","read":{"total_ios":5,"clat_ns":{"percentile":{"900":5}}}}]}`: "no percentile",
		`{"jobs":[{"jobname":"j","read":{"total_ios":5,"clat_ns":{"percentile":{"x":5}}}}]}`:   "no percentile",
	} {
		if _, err := ReadTotals("out", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func FuzzReadLog(f *testing.F) {
	f.Add("500, 31712, 0, 0, 0\n1004, 29963, 0, 0, 0\n1004, 3, 0, 0\n2001, 24512, 1, 4096, 0, 0\n")
	f.Add("500, 1, 0, 0\n9000, 1, 0, 0\n")
	f.Add("0, 0, 0, 0\n")
	f.Fuzz(func(t *testing.T, text string) {
		l, err := ReadLog("f", strings.NewReader(text))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f:") {
				t.Errorf("%v tells no line", err)
			}
			return
		}
		if len(l.Samples) > 0 && l.Samples[len(l.Samples)-1].Ms > 1e6 {
			return
		}
		s, err := Sum([]Log{l, l}, 500*time.Millisecond)
		if err != nil {
			return
		}
		most := 0.0
		for _, x := range l.Samples {
			most = max(most, x.Value)
		}
		for _, v := range s.IOPS {
			if !(v >= 0) || v > 6.6*most+1 { // two logs of three directions; the last interval may be a tenth over
				t.Errorf("%v requests a second, of lines up to %v", v, most)
			}
		}
	})
}

func FuzzReadTotals(f *testing.F) {
	f.Add([]byte(`{"jobs":[{"jobname":"j","read":{"total_ios":5,"iops":2.5,"clat_ns":{"percentile":{"99.0":5}}}}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, err := ReadTotals("f", b); err == nil && got.Requests <= 0 {
			t.Error(got)
		}
	})
}
