package counters_test

import (
	"math"
	"testing"
	"time"

	"fettle/tools/measure/counters"
)

func TestRates(t *testing.T) {
	for text, want := range map[string]float64{"1e9": 1e9, "114.5Mbit/s": 114.5e6, "10G": 10e9, "100 kbps": 1e5, "2Tbit": 2e12} {
		if got, err := counters.ParseRate(text); err != nil || math.Abs(got-want) > 1 {
			t.Errorf("%s: %v %v", text, got, err)
		}
	}
	for _, text := range []string{"", "fast", "-1M", "NaN", "0", "3T", "1P", "1e400"} {
		if got, err := counters.ParseRate(text); err == nil {
			t.Errorf("%q: %v, want an error", text, got)
		}
	}
	for rate, want := range map[float64]string{0: "0 bit/s", 950: "950 bit/s", 1e3: "1.00 kbit/s", 114.53e6: "114.5 Mbit/s",
		99.999e6: "100.0 Mbit/s", 2.5e9: "2.50 Gbit/s", 12.34e9: "12.3 Gbit/s"} {
		if got := counters.FormatRate(rate); got != want {
			t.Errorf("%g: %s, want %s", rate, got, want)
		}
	}
}

// TestPoller: one wrap is corrected, two are not: what the field calls a dip.
func TestPoller(t *testing.T) {
	every := poll(time.Minute, counters.Facts{}, 0, 1<<31, 1<<32-1, 1<<30, 3<<30, 1<<28)
	_, rates := counters.Poller(every.Samples)
	for i, want := range []float64{1 << 31, 1<<31 - 1, 1<<30 + 1, 1 << 31, 5 << 28} {
		if math.Abs(rates[i]-want*8/60) > 1 {
			t.Errorf("interval %d: %f, want %f", i, rates[i], want*8/60)
		}
	}
	thin := counters.Thin(every.Samples, 5*time.Minute)
	if len(thin) != 2 || thin[1].V != 1<<28 {
		t.Fatalf("thinned to 5 minutes: %+v", thin)
	}
	_, rates = counters.Poller(thin)
	if want := float64(1<<28) * 8 / 300; math.Abs(rates[0]-want) > 1 {
		t.Errorf("two wraps unseen: %f, want %f", rates[0], want)
	}
}
