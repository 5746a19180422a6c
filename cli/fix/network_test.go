package fix

import (
	"slices"
	"testing"
	"time"
)

// The limit of the check goes to other hosts too, where it was given: a fettle there may
// be older than the option.
func TestLimitElsewhere(t *testing.T) {
	for limit, want := range map[time.Duration]bool{0: false, time.Minute: true} {
		f := fleetFix{opt: Options{Limit: limit}}
		if got := slices.Contains(f.arguments(), "--limit=1m0s"); got != want {
			t.Errorf("limit %s: %q", limit, f.arguments())
		}
	}
}

// A plan that is only shown asks no other host unless told to; what is applied next, here
// or on other hosts, is planned from all that the check can see.
func TestPlanAsksNobody(t *testing.T) {
	for _, c := range []struct {
		o         Options
		asks      bool
		elsewhere []string
	}{
		{Options{Plan: true}, false, []string{"--plan"}},
		{Options{Plan: true, Network: true}, true, []string{"--plan", "--network"}},
		{Options{Yes: true}, true, []string{"--plan", "--network"}},
	} {
		if got := planArguments(c.o); c.o.asks() != c.asks || !slices.Equal(got, c.elsewhere) {
			t.Errorf("%+v: %v, %q", c.o, c.o.asks(), got)
		}
	}
}
