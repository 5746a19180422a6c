package render

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"fettle/tools/measure/counters"
	"fettle/tools/measure/counters/simulate"
)

// readings are a counter's, every ten seconds; -1 is one that is missing.
func readings(name string, facts counters.Facts, values ...int) counters.Series {
	s := counters.Series{Name: name, Facts: facts}
	for i, v := range values {
		s.Samples = append(s.Samples, counters.Sample{T: time.Unix(1700000000+10*int64(i), 0), V: uint64(max(v, 0)), Gone: v < 0, Index: 2})
	}
	return s
}

func TestCounters(t *testing.T) {
	gigabit := counters.Facts{MaxRate: 1e9, Told: true}
	summed := readings("eth0 in", gigabit, 7600000000, 8100000000, 4305032704, 4805032704, -1, 5805032704)
	renamed := readings("wg0\x1b[2J out", gigabit, 5000, 6000, 100)
	renamed.Samples[2].Index = 3
	crowded := readings("tap0 in", counters.Facts{Width: 32, Queues: 1}, 1000000000, 3900000000, 2500000000, 1100000000, 4000000000)
	conflict := readings("lag0 in", gigabit, 100, 1<<40, 1<<41)
	rates := readings("traffic ds0", counters.Facts{}, 0, 125000000, 250000000)
	rates.Rates = true
	var idle []counters.Series
	for i := range 21 {
		idle = append(idle, readings(fmt.Sprintf("veth%d in", i), gigabit, 7, 7, 7))
	}
	idle = append(idle, summed)
	noisy := readings("noisy in", gigabit)
	for i := range 30 {
		noisy.Samples = append(noisy.Samples, counters.Sample{T: time.Unix(1700000000+10*int64(i), 0), V: uint64(1000 * i), Index: 2 + i/2})
	}
	recorded := func(all ...counters.Series) *counters.Result {
		return &counters.Result{Source: "rates\x1b[31m.csv", Interval: 10 * time.Second, Counters: counters.JudgeAll(all)}
	}
	live := func(asked time.Duration, rec counters.Recording) *counters.Result {
		r := recorded(summed)
		r.Source, r.Asked, r.Recording = "this host", asked, &rec
		return r
	}
	sim, at, truth := simulate.HalfDay(600e6)
	simulated := &counters.Result{
		Source:   "made-up traffic",
		Interval: time.Minute,
		Counters: counters.JudgeAll([]counters.Series{sim}),
		TruthAt:  at,
		Truth:    truth,
	}
	for _, c := range []struct {
		name string
		of   Counters
	}{
		{"recorded", Counters{Result: recorded(summed, renamed, crowded, conflict, rates)}},
		{"verbose", Counters{Result: recorded(summed, renamed), Verbose: true}},
		{"idle", Counters{Result: recorded(idle...)}},
		{"many-events", Counters{Result: recorded(noisy)}},
		{"live", Counters{Result: live(50*time.Second, counters.Recording{Rounds: 6, Took: 50 * time.Second})}},
		{"until-interrupted", Counters{Result: live(0, counters.Recording{Rounds: 6, Took: 50 * time.Second})}},
		{"interrupted", Counters{Result: live(5*time.Minute,
			counters.Recording{Rounds: 6, Lost: 2, LastErr: errors.New("no answer\x1b[2J"), Took: 50200 * time.Millisecond, Left: 3})}},
		{"full", Counters{Result: live(90*time.Hour, counters.Recording{Rounds: 6, Took: 50 * time.Second, Full: true})}},
		{"two-pollers", Counters{Result: recorded(renamed, rates), Against: 20 * time.Second}},
	} {
		golden(t, "counters/"+c.name, c.of, plain)
	}
	// 720 intervals are too many to keep: the text alone.
	text := Counters{Result: simulated, Against: 5 * time.Minute}.Text(plain)
	for _, want := range []string{"simulated, polled every 1m\n", "simulated, polled every 5m\n", "what passed\n",
		"and 278 more (--verbose shows all)"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
