package startup

import (
	"testing"

	"fettle/host/format/ini"
	"fettle/host/hosttest"
)

func TestLimit(t *testing.T) {
	for text, want := range map[string]Limit{"0": 0, "65536": 65536, "infinity": Unlimited, "unlimited": Unlimited, "64M": 64 << 20,
		"8K": 8192, "1G": 1 << 30, "2B": 2,
		"17179869183G": 17179869183 << 30} {
		if got, ok := limit(text); !ok || got != want {
			t.Errorf("%s: %d, %t", text, got, ok)
		}
	}
	for _, text := range []string{"", "x", "-1", "1.5", "64MB", "M", "17179869184G", "99999999999999999999"} {
		if got, ok := limit(text); ok {
			t.Errorf("%q is taken for %d", text, got)
		}
	}
}

// TestLimitsOf: the hard limit is the second number.
func TestLimitsOf(t *testing.T) {
	h := hosttest.New(t, `
-- root/proc/7/limits --
Limit                     Soft Limit           Hard Limit           Units     
Max open files            1024                 524288               files     
Max locked memory         8388608              unlimited            bytes     
Max cpu time              unlimited            unlimited            seconds   
`)
	got, err := LimitsOf(t.Context(), h, 7)
	if err != nil || len(got) != 2 || got["LimitNOFILE"] != 524288 || got["LimitMEMLOCK"] != Unlimited {
		t.Errorf("%v, %v", got, err)
	}
}

// TestLimits: the hard limit is the second one; what nobody can read is above everything.
func TestLimits(t *testing.T) {
	const file = "[Service]\nLimitNOFILE=9\nLimitNOFILE=1024:4096\nLimitCORE=\nLimitNPROC=word7\n"
	got := (&Text{Entries: ini.Parse(ini.Systemd, "x.service", []byte(file)).Entries}).Limits()
	if len(got) != 2 || got["LimitNOFILE"] != 4096 || got["LimitNPROC"] != Unlimited {
		t.Errorf("%v", got)
	}
}

// TestDefaultLimits: what the manager's configuration gives services, a drop-in's last.
func TestDefaultLimits(t *testing.T) {
	h := hosttest.New(t, "-- root/etc/systemd/system.conf --\n[Manager]\nDefaultLimitNOFILE=1024:4096\nLimitNPROC=1\n"+
		"-- root/etc/systemd/system.conf.d/a.conf --\n[Manager]\nDefaultLimitCORE=infinity\n")
	got, err := DefaultLimits(t.Context(), h)
	if err != nil || len(got) != 2 || got["LimitNOFILE"].String() != "4096" || got["LimitCORE"].String() != "infinity" {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := DefaultLimits(t.Context(), hosttest.New(t, "-- denied/etc/systemd/system.conf --\n")); err == nil {
		t.Errorf("refused: %v", got)
	}
}

// TestLimitsOfOdd: a limit without its hard half is none.
func TestLimitsOfOdd(t *testing.T) {
	h := hosttest.New(t, "-- root/proc/7/limits --\nMax processes 5\nMax open files 5 6\n")
	if got, err := LimitsOf(t.Context(), h, 7); err != nil || len(got) != 1 || got["LimitNOFILE"] != 6 {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := LimitsOf(t.Context(), h, 8); err == nil {
		t.Errorf("no such process: %v", got)
	}
}
