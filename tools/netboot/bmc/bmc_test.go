package bmc

import (
	"strings"
	"testing"

	"fettle/internal/means"
)

const info = `Info: SOL parameter 'Authentication (2)' not supported
Set in progress                 : set-complete
Enabled                         : true
Volatile Bit Rate (kbps)        : 115.2
Non-Volatile Bit Rate (kbps)    : 9.6
`

func TestParseSOL(t *testing.T) {
	if got := ParseSOL(info); got != (SOL{true, true, 115200}) {
		t.Errorf("%+v", got)
	}
	if got := ParseSOL("Enabled : false\nVolatile Bit Rate (kbps) : IPMI-Over-Serial-Setting\n"); got != (SOL{Known: true}) {
		t.Errorf("%+v", got)
	}
}

func TestSilent(t *testing.T) {
	for want, got := range map[string][]string{
		"switched off":              Silent(SOL{}, "Chassis Power is off\n", 0),
		"disabled in the BMC":       Silent(SOL{Known: true}, "Chassis Power is on\n", 0),
		"runs at 9600 bits":         Silent(SOL{true, true, 9600}, "", 115200),
		"volatile-bit-rate 115.2 1": Silent(SOL{true, true, 9600}, "", 115200),
		"press Enter":               Silent(SOL{true, true, 115200}, "Chassis Power is on", 115200),
		"writes to another port":    Silent(SOL{}, "", 0),
	} {
		if !strings.Contains(strings.Join(got, "; "), want) {
			t.Errorf("%v; want %q", got, want)
		}
	}
}

func TestDefaults(t *testing.T) {
	if DefaultOf("ADMIN", "ADMIN") != "Supermicro" || DefaultOf("ADMIN", "other") != "" || DefaultOf("", "") != "" {
		t.Error("defaults")
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzSOL(f *testing.F) {
	f.Add(info)
	f.Fuzz(func(t *testing.T, text string) {
		if s := ParseSOL(text); s.Speed < 0 || s.Enabled && !s.Known {
			t.Errorf("%+v", s)
		}
	})
}
