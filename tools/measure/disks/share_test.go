package disks

import (
	"math"
	"testing"

	"fettle/host/hosttest"
)

func vdev(name string, alloc, free, wrote float64) *Vdev {
	return &Vdev{Name: name, Alloc: alloc * 1e6, Free: free * 1e6, Load: Load{WriteBytes: wrote * 1e6}}
}

var (
	old   = Rule{Policy: ByFree, Slow: PassedOver, Aliquot: 1 << 20}
	new24 = Rule{Policy: ByFree, Slow: Outrun, Aliquot: 2 << 20, Averaged: true}
)

func with(r Rule, p Policy) Rule { r.Policy = p; return r }

func TestShares(t *testing.T) {
	raidz := vdev("raidz1-0", 0, 768, 0)
	raidz.Children = []*Vdev{vdev("a", 0, 0, 0), vdev("b", 0, 0, 0), vdev("c", 0, 0, 0)}
	for _, c := range []struct {
		name                 string
		rule                 Rule
		vdevs                []*Vdev
		predicted, low, high float64 // of the first
	}{
		// The field's own: 118 of 524 MB. Turns of 0.4 and 1.6 MiB are 4 and 13
		// blocks of 128 KiB, 1 and 2 of 1 MiB.
		{"512M and 2G", old, []*Vdev{vdev("a", 0, 512, 0), vdev("b", 0, 2048, 0)}, 4.0 / 17, 0.2, 1.0 / 3},
		{"bias off", with(old, Evenly), []*Vdev{vdev("a", 0, 512, 0), vdev("b", 0, 2048, 0)}, 0.5, 0.5, 0.5},
		{"bias off, 2.4", with(new24, ByCapacity), []*Vdev{vdev("a", 400, 112, 0), vdev("b", 0, 2048, 0)}, 6.0 / (6 + 26), 1.0 / 9, 1.0 / 3},
		{"full and added", old, []*Vdev{vdev("a", 480, 20, 0), vdev("b", 0, 480, 0)}, 1.0 / 17, 0.04, 1.0 / 3},
		// A raidz of three has two data disks, so its turns are twice as long.
		{"raidz and a disk", old, []*Vdev{raidz, vdev("d", 0, 768, 0)}, 0.66, 0.66, 0.665},
		// Since 2.4 turns are alike, but the raidz writes half as much again in parity.
		{"raidz and a disk, 2.4", new24, []*Vdev{raidz, vdev("d", 0, 768, 0)}, 0.6, 1.5 / 4, 3.75 / 4.75},
		{"one is full", old, []*Vdev{vdev("a", 500, 0, 0), vdev("b", 0, 480, 0)}, 1.0 / 17, 0, 1.0 / 3},
		{"of no size, 2.4", new24, []*Vdev{vdev("a", 0, 0, 0), vdev("b", 0, 0, 0)}, 0.5, 0, 0.5},
		{"nothing free", old, []*Vdev{vdev("a", 5, 0, 0), vdev("b", 5, 0, 0)}, 0.5, 0.5, 0.5},
	} {
		s := c.rule.Shares(c.vdevs)[0]
		if !(math.Abs(s.Predicted-c.predicted) <= 0.005 && math.Abs(s.Low-c.low) <= 0.005 && math.Abs(s.High-c.high) <= 0.01) {
			t.Errorf("%s: %.3f (%.3f to %.3f), want %.3f (%.3f to %.3f)", c.name, s.Predicted, s.Low, s.High, c.predicted, c.low, c.high)
		}
	}
}

func TestCompare(t *testing.T) {
	mirror := vdev("mirror-0", 0, 512, 40) // twice 20
	mirror.Children = []*Vdev{vdev("a", 0, 0, 20), vdev("b", 0, 0, 20)}
	raidz := vdev("raidz1-0", 0, 256, 30)
	raidz.Children = []*Vdev{vdev("a", 0, 0, 10), vdev("b", 0, 0, 10), vdev("c", 0, 0, 10)}
	for _, c := range []struct {
		name   string
		rule   Rule
		vdevs  []*Vdev
		enough bool
		lags   string
	}{
		{"as predicted", old, []*Vdev{vdev("a", 0, 500, 50), vdev("b", 0, 500, 50)}, true, ""},
		{"one is passed over", old, []*Vdev{vdev("a", 0, 500, 80), vdev("b", 0, 500, 20)}, true, "b"},
		{"within what 2.4 gives a faster one", new24, []*Vdev{vdev("a", 0, 500, 70), vdev("b", 0, 500, 30)}, true, ""},
		{"beyond it", new24, []*Vdev{vdev("a", 0, 500, 90), vdev("b", 0, 500, 10)}, true, "b"},
		{"too little", old, []*Vdev{vdev("a", 0, 500, 3), vdev("b", 0, 500, 1)}, false, "b"},
		{"nothing", old, []*Vdev{vdev("a", 0, 500, 0), vdev("b", 0, 500, 0)}, false, ""},
		{"a raidz counts whole", old, []*Vdev{raidz, vdev("d", 0, 512, 30)}, true, ""},
		{"a mirror whose sides are not listed", old, []*Vdev{vdev("mirror-0", 0, 512, 20), vdev("c", 0, 512, 20)}, true, ""},
		{"a mirror counts once", old, []*Vdev{mirror, vdev("c", 0, 512, 20)}, true, ""},
	} {
		shares := c.rule.Shares(c.vdevs)
		got := Compare(shares)
		lags := ""
		if got.Lags != nil {
			lags = got.Lags.Vdev
		}
		if got.Enough != c.enough || lags != c.lags {
			t.Errorf("%s: %+v, %q lags; shares %+v", c.name, got, lags, shares)
		}
	}
	const half = enoughWritten / 2
	for _, c := range []struct {
		name   string
		shares []Share
		enough bool
		lags   string
	}{
		{"just enough, and just near enough", []Share{{Low: nearEnough, WrittenBytes: half}, {Written: 1, WrittenBytes: half}}, true, ""},
		{"got nothing", []Share{{Vdev: "a", Low: 0.5, WrittenBytes: half}, {Written: 1, WrittenBytes: half - 1}}, false, "a"},
		{"nothing was written", []Share{{Vdev: "a", Low: 0.5, Written: -1}}, false, ""},
		{"the second lags more", []Share{{Vdev: "a", Low: 0.5, Written: 0.3}, {Vdev: "b", Low: 0.5, Written: 0.1}}, false, "b"},
	} {
		got := Compare(c.shares)
		lags := ""
		if got.Lags != nil {
			lags = got.Lags.Vdev
		}
		if got.Enough != c.enough || lags != c.lags {
			t.Errorf("%s: enough %v, %q lags", c.name, got.Enough, lags)
		}
	}
	// The prediction is for what was written while looked at: 500 of 1500 were free
	// when that began.
	s := with(old, ByFree).Shares([]*Vdev{vdev("a", 200, 300, 200), vdev("b", 200, 800, 200)})
	if s[0].Low > 0.335 || s[0].High < 0.33 || math.Abs(s[0].Predicted-6.0/17) > 0.03 || s[0].Written != 0.5 || s[0].Held != 0.5 {
		t.Errorf("%+v", s[0])
	}
	// Two that are nearly alike take turns in being favoured.
	s = old.Shares([]*Vdev{vdev("a", 500, 1000, 0), vdev("b", 500, 1020, 0)})
	if math.Abs(s[0].Predicted-0.5) > 0.02 {
		t.Errorf("nearly alike: %+v", s[0])
	}
}

func TestRuleOf(t *testing.T) {
	const dir = "-- root" + Parameters
	for _, c := range []struct {
		name, text string
		want       Rule
		words      string
	}{
		{"2.1", dir + "metaslab_bias_enabled --\n1\n" + dir + "metaslab_aliquot --\n1048576\n" + dir + "zio_dva_throttle_enabled --\n1\n",
			Rule{Policy: ByFree, Slow: PassedOver, Aliquot: 1 << 20}, "by free space; a slow one is passed over while its queue is full"},
		{"2.1, bias and throttle off", dir + "metaslab_bias_enabled --\n0\n" + dir + "metaslab_aliquot --\n524288\n" +
			dir + "zio_dva_throttle_enabled --\n0\n",
			Rule{Policy: Evenly, Slow: Waits, Aliquot: 1 << 19}, "evenly; all wait for a slow one"},
		{"0.6: no throttle", dir + "metaslab_bias_enabled --\n1\n", Rule{Policy: ByFree, Slow: Waits, Aliquot: 1 << 20},
			"by free space; all wait for a slow one"},
		{"2.4", dir + "metaslab_bias_enabled --\n1\n" + dir + "metaslab_perf_bias --\n1\n" + dir + "metaslab_aliquot --\n2097152\n" +
			dir + "zio_dva_throttle_enabled --\n1\n",
			Rule{Policy: ByFree, Slow: Outrun, Aliquot: 2 << 20, Averaged: true}, "by free space; a faster one may take up to 2.5 times its part"},
		{"2.4, both off", dir + "metaslab_bias_enabled --\n0\n" + dir + "metaslab_perf_bias --\n0\n",
			Rule{Policy: ByCapacity, Slow: Waits, Aliquot: 1 << 20, Averaged: true}, "by capacity; all wait for a slow one"},
		{"unknown", "-- root/sys/module/zfs/version --\n2.2\n", DefaultRule,
			"by free space; a slow one is passed over while its queue is full (assumed: the module's parameters are not known)"},
	} {
		got, err := RuleOf(t.Context(), hosttest.New(t, c.text))
		read := len(got.Read)
		got.Read = nil
		if err != nil || got.String() != c.words || got.Policy != c.want.Policy || got.Slow != c.want.Slow || got.Aliquot != c.want.Aliquot ||
			got.Averaged != c.want.Averaged ||
			got.Assumed != c.want.Assumed {
			t.Errorf("%s: %+v (%s), %v; want %+v", c.name, got, got, err, c.want)
		}
		if (read == 0) != c.want.Assumed {
			t.Errorf("%s: %d parameters read", c.name, read)
		}
	}
	for aliquot, want := range map[string]string{"1": "", "1099511627776": "", "0": "no", "-1": "no", "x": "no", "1099511627777": "no"} {
		_, err := RuleOf(t.Context(), hosttest.New(t, dir+"metaslab_aliquot --\n"+aliquot+"\n"))
		if want != "" {
			want = Parameters + "metaslab_aliquot is \"" + aliquot + "\", expected a number of bytes"
		}
		if err == nil && want != "" || err != nil && err.Error() != want {
			t.Errorf("an aliquot of %s: %v, want %q", aliquot, err, want)
		}
	}
}

func TestDataDisks(t *testing.T) {
	for name, want := range map[string]int{"raidz1-0": 10, "raidz-0": 10, "raidz3-7": 8, "draid2:4d:11c:1s-0": 8,
		"draid1:8d:11c:0s-2": 10, "mirror-1": 1, "/dev/sda": 1, "raidzilla": 1} {
		v := Vdev{Name: name}
		if want > 1 || name == "mirror-1" {
			v.Children = make([]*Vdev, 11)
		}
		if got := v.dataDisks(); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
	for _, c := range []struct {
		name     string
		children int
		disks    int
		overhead float64
	}{{"raidz3-0", 3, 1, 1}, {"raidz3-0", 4, 1, 4}, {"raidzilla", 11, 1, 1},
		{"draid2:4d:11c:1s-0", 11, 8, 1.5}, {"draid1:8d:11c:0s-2", 11, 10, 1.125},

		{"draid1:0d:11c:1s", 11, 9, 10.0 / 9}, {"draid2:3c:2s-0", 3, 1, 3}, {"raidz2-1", 6, 4, 1.5}} {
		v := Vdev{Name: c.name, Children: make([]*Vdev, c.children)}
		if v.dataDisks() != c.disks || v.overhead() != c.overhead {
			t.Errorf("%s of %d: %d data disks, overhead %v; want %+v", c.name, c.children, v.dataDisks(), v.overhead(), c)
		}
	}
}
