package disks

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"fettle/host"
)

// Policy is by what ZFS spreads writes over the top-level vdevs of a pool.
type Policy string

const (
	ByFree     Policy = "by free space" // metaslab_bias_enabled=1, the default
	ByCapacity Policy = "by capacity"   // bias off, OpenZFS 2.4 and later
	Evenly     Policy = "evenly"        // bias off, before that
)

// Yield is what happens to a vdev that is slower than the others.
type Yield string

const (
	// Waits: all wait for it (zio_dva_throttle_enabled=0, and before OpenZFS 0.7).
	Waits Yield = "all wait for a slow one"
	// PassedOver: while as many writes are under way to it as its queue takes, it
	// is left out (zio_dva_throttle_enabled=1, OpenZFS 0.7 to 2.3:
	// module/zfs/metaslab.c, metaslab_group_allocatable).
	PassedOver Yield = "a slow one is passed over while its queue is full"
	// Outrun: faster ones may take up to two and a half times their part
	// (metaslab_perf_bias, OpenZFS 2.4: metaslab_class_balance).
	Outrun Yield = "a faster one may take up to 2.5 times its part"
)

// Rule is how the loaded module of ZFS spreads writes, as its parameters tell.
// Versions of distributions do not.
type Rule struct {
	Policy  Policy
	Slow    Yield
	Aliquot float64 // metaslab_aliquot: bytes that a vdev gets at a turn, before what steers it
	// Averaged: turns are of one length but for what steers them, and are rounded
	// to the nearest block (OpenZFS 2.4). Else they are longer for vdevs of more
	// data disks, and end with the block that fills them.
	Averaged bool
	// Assumed: the parameters are not known, and this is the default of 0.7 to 2.3.
	Assumed bool
	Read    []Parameter // what was read
}

// Parameter is one of the module's.
type Parameter struct{ Name, Value string }

// Parameters is where the module shows its parameters.
const Parameters = "/sys/module/zfs/parameters/"

// DefaultRule is that of OpenZFS 2.1, for output whose host is not known.
var DefaultRule = Rule{Policy: ByFree, Slow: PassedOver, Aliquot: 1 << 20, Assumed: true}

// RuleOf reads which rule the loaded module follows. A parameter that the
// module does not have tells too.
func RuleOf(ctx context.Context, h *host.Host) (Rule, error) {
	r := Rule{Policy: ByFree, Slow: Waits}
	get := map[string]string{}
	for _, name := range []string{"metaslab_bias_enabled", "metaslab_perf_bias", "metaslab_aliquot", "zio_dva_throttle_enabled"} {
		v, err := h.ReadString(ctx, Parameters+name)
		if host.IsAbsent(err) {
			continue
		}
		if err != nil {
			return r, err
		}
		get[name] = v
		r.Read = append(r.Read, Parameter{name, v})
	}
	bias, hasBias := get["metaslab_bias_enabled"]
	perf, hasPerf := get["metaslab_perf_bias"]
	r.Averaged = hasPerf
	r.Assumed = !hasBias
	switch {
	case bias != "0":
	case hasPerf:
		r.Policy = ByCapacity
	default:
		r.Policy = Evenly
	}
	throttle, hasThrottle := get["zio_dva_throttle_enabled"]
	switch {
	case hasPerf && perf != "0":
		r.Slow = Outrun
	case hasThrottle && throttle != "0" && !hasPerf, r.Assumed:
		r.Slow = PassedOver
	}
	r.Aliquot = 1 << 20 // of 2.1 to 2.3
	if s, ok := get["metaslab_aliquot"]; ok {
		n, err := strconv.ParseFloat(s, 64)
		if err != nil || !(n >= 1 && n <= 1<<40) {
			return r, fmt.Errorf("%smetaslab_aliquot is %q, expected a number of bytes", Parameters, s)
		}
		r.Aliquot = n
	}
	return r, nil
}

// String is the rule in words.
func (r Rule) String() string {
	s := string(r.Policy) + "; " + string(r.Slow)
	if r.Assumed {
		s += " (assumed: the module's parameters are not known)"
	}
	return s
}

// dataDisks is how many disks of a top-level vdev hold data, as the allocator
// counts them (vdev_get_ndisks less vdev_get_nparity, OpenZFS 2.1: of a raidz
// its disks less parity, of a dRAID its children less spares and parity, of
// anything else one).
func (v *Vdev) dataDisks() int {
	disks, parity := v.parity()
	return max(1, disks-parity)
}

// overhead is how many bytes a vdev writes for one of large blocks: parity.
func (v *Vdev) overhead() float64 {
	disks, parity := v.parity()
	if _, rest, ok := strings.Cut(v.Name, ":"); ok { // draid2:4d:11c:1s-0 writes groups of four and two
		if d, err := strconv.Atoi(rest[:max(0, strings.IndexByte(rest, 'd'))]); err == nil && d > 0 {
			return float64(d+parity) / float64(d)
		}
	}
	return float64(disks) / float64(max(1, disks-parity))
}

// parity is of how many disks a raidz or dRAID is, and how many of them are
// for parity; anything else is one disk.
func (v *Vdev) parity() (disks, parity int) {
	kind, _, _ := strings.Cut(v.Name, "-")
	kind, layout, _ := strings.Cut(kind, ":") // draid2:4d:11c:1s-0
	digits := strings.TrimPrefix(strings.TrimPrefix(kind, "raidz"), "draid")
	parity, err := strconv.Atoi(digits)
	if digits == "" {
		parity, err = 1, nil
	}
	if digits == kind || err != nil || len(v.Children) <= parity {
		return 1, 0
	}
	disks = len(v.Children)
	_, spares, _ := strings.Cut(layout, "c:")
	if s, err := strconv.Atoi(strings.TrimSuffix(spares, "s")); err == nil {
		disks -= s
	}
	return max(disks, parity+1), parity
}
