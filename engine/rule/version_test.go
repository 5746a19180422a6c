package rule

import (
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"fettle/internal/means"
)

// TestDebCompare compares with dpkg itself, on versions made of the parts that
// deb-version(7) speaks of.
func TestDebCompare(t *testing.T) {
	dpkg := means.Tool(t, "dpkg")
	rng := rand.New(rand.NewPCG(1, 2))
	parts := []string{"1", "2", "10", "01", "0", ".", "-", "+", "~", "a", "b", "rc", "~rc", "+deb12u", "dfsg", "bpo"}
	version := func() string {
		v := ""
		if rng.IntN(4) == 0 {
			v = []string{"0:", "1:", "2:"}[rng.IntN(3)]
		}
		v += []string{"1", "0", "2"}[rng.IntN(3)]
		for range rng.IntN(6) {
			v += parts[rng.IntN(len(parts))]
		}
		return strings.TrimRight(v, "-") // an empty revision is refused
	}
	pairs := [][2]string{
		{"1.0~rc1", "1.0"},
		{"1:0.9", "2.0"},
		{"1.0-1", "1.0-1+b1"},
		{"1.0", "1.0-0"},
		{"2.4.2-6+lenny2", "2.4.2-6+lenny10"},
		{"1.0~~", "1.0~"},
	}
	for range 250 {
		pairs = append(pairs, [2]string{version(), version()})
	}
	for _, p := range pairs {
		got, err := debCompare(p[0], p[1])
		if err != nil {
			if valid(dpkg, p[0]) && valid(dpkg, p[1]) {
				t.Errorf("%v: %v, but dpkg takes both", p, err)
			}
			continue
		}
		op := map[int]string{-1: "lt", 0: "eq", 1: "gt"}[got]
		if err := exec.Command(dpkg, "--compare-versions", p[0], op, p[1]).Run(); err != nil {
			t.Errorf("%q %s %q: dpkg says otherwise", p[0], op, p[1])
		}
	}
}

func valid(dpkg, v string) bool { return exec.Command(dpkg, "--validate-version", v).Run() == nil }

// TestRPMCompare has the vectors of rpm's own tests/rpmvercmp.at (rpm 4.18),
// made into versions.
func TestRPMCompare(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"1.0", "1.0", 0}, {"1.0", "2.0", -1}, {"2.0", "1.0", 1}, {"2.0.1", "2.0.1", 0}, {"2.0", "2.0.1", -1}, {"2.0.1a", "2.0.1a", 0},
		{"2.0.1a", "2.0.1", 1},
		{"5.5p1", "5.5p2", -1}, {"5.5p10", "5.5p1", 1}, {"10xyz", "10.1xyz", -1}, {"xyz10", "xyz10.1", -1}, {"xyz.4", "8", -1}, {"8", "xyz.4", 1},
		{"5.5p2", "5.6p1", -1}, {"5.6p1", "6.5p1", -1}, {"6.0.rc1", "6.0", 1}, {"10b2", "10a1", 1}, {"1.0aa", "1.0a", 1},
		{"10.0001", "10.0039", -1},
		{"4.999.9", "5.0", -1}, {"20101121", "20101122", -1}, {"2_0", "2.0", 0}, {"a+", "a_", 0}, {"+", "_", 0},
		{"1.0~rc1", "1.0", -1}, {"1.0", "1.0~rc1", 1}, {"1.0~rc1", "1.0~rc2", -1}, {"1.0~rc1~git123", "1.0~rc1", -1},
		{"1.0^", "1.0", 1}, {"1.0^git1", "1.0", 1}, {"1.0^git1", "1.0^git2", -1}, {"1.0^git1", "1.01", -1}, {"1.0^20160101", "1.0.1", -1},
		{"1.0~rc1^git1", "1.0~rc1", 1}, {"1.0^git1~pre", "1.0^git1", -1},
		{"1:1.0-1", "2.0-1", 1}, {"0:1.0-1", "1.0-1", 0}, {"1.0-1.el8", "1.0-2.el8", -1}, {"4.18.0-553.el8_10", "4.18.0-553.1.el8_10", -1},
	} {
		if got := rpmCompare(c.a, c.b); got != c.want {
			t.Errorf("%q, %q: %d, want %d", c.a, c.b, got, c.want)
		}
		if got := rpmCompare(c.b, c.a); got != -c.want {
			t.Errorf("%q, %q: %d, want %d", c.b, c.a, got, -c.want)
		}
	}
}

func TestUpstreamOf(t *testing.T) {
	for v, want := range map[string]string{"3.0.3-2": "3.0.3", "1:2.0-1-3": "2.0-1", "4.9.30-2+deb9u5": "4.9.30", "2.4.2": "2.4.2",
		"1.2+dfsg-1":      "1.2",
		"2.0+really1.9-1": "1.9", "6.1.0~bpo": "6.1.0~bpo"} {
		if got := upstreamOf(v); got != want {
			t.Errorf("%s: %s, want %s", v, got, want)
		}
	}
}
