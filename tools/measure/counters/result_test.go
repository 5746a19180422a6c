package counters

import (
	"strings"
	"testing"
	"time"
)

func TestPick(t *testing.T) {
	all := []Series{{Name: "eth0 in"}, {Name: "eth0 out"}, {Name: "eth1 in"}, {Name: "traffic"}}
	for names, want := range map[string]string{
		"":                 "eth0 in, eth0 out, eth1 in, traffic",
		"eth0":             "eth0 in, eth0 out",
		"eth1 in":          "eth1 in",
		"traffic,eth0 out": "eth0 out, traffic",
		"eth":              "contains no series of eth; it has: eth0 in, eth0 out, eth1 in, traffic",
	} {
		var asked []string
		if names != "" {
			asked = strings.Split(names, ",")
		}
		picked, err := Pick(all, asked)
		var got []string
		for _, s := range picked {
			got = append(got, s.Name)
		}
		said := strings.Join(got, ", ")
		if err != nil {
			said = err.Error()
		}
		if said != want {
			t.Errorf("%s: %s, want %s", names, said, want)
		}
	}
}

func TestInterrupted(t *testing.T) {
	for _, c := range []struct {
		name string
		r    Result
		want bool
	}{
		{"recorded before", Result{Interval: time.Second}, false},
		{"its time over", Result{Interval: time.Second, Asked: time.Minute, Recording: &Recording{Took: 59500 * time.Millisecond}}, false},
		{"before", Result{Interval: time.Second, Asked: time.Minute, Recording: &Recording{Took: 58 * time.Second}}, true},
		{"no end was asked for", Result{Interval: time.Second, Recording: &Recording{Took: time.Second}}, false},
	} {
		if got := c.r.Interrupted(); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestFormatTime(t *testing.T) {
	for d, want := range map[time.Duration]string{
		1234 * time.Microsecond: "1ms", 1260 * time.Millisecond: "1.3s", 12400 * time.Millisecond: "12s", 270 * time.Second: "4m30s",
		time.Second: "1s", 999_400 * time.Microsecond: "999ms", 9960 * time.Millisecond: "10s", 10 * time.Second: "10s",
		1040 * time.Millisecond: "1s",
		5 * time.Minute:         "5m", 2 * time.Hour: "2h", 90 * time.Minute: "1h30m",
	} {
		if got := FormatTime(d); got != want {
			t.Errorf("%d: %s, want %s", d, got, want)
		}
	}
}
