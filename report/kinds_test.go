package report

import "testing"

func TestCount(t *testing.T) {
	for want, names := range map[string][]string{
		"2 services":   {"a.service", "getty@tty1.service"},
		"2 units":      {"a.service", "b.timer"},
		"2 devices":    {"/dev/sda", "/dev/sdb"},
		"2 paths":      {"/var", "/srv/a.service/b"},
		"3 interfaces": {"br0", "br-lan", "enp3s0"},
		"3 subjects":   {"br0", "alice", "/var"},
		"1 subjects":   {"environment"},
	} {
		if got := count(names); got != want {
			t.Errorf("%q: %s, want %s", names, got, want)
		}
	}
}
