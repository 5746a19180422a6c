package disks

// Policy is how ZFS spreads writes over the top-level vdevs of a pool.
type Policy string

const (
	ByFree     Policy = "by free space"             // metaslab_bias_enabled=1, the default
	ByCapacity Policy = "by capacity"               // bias off, since OpenZFS pull request 17020
	Evenly     Policy = "evenly"                    // bias off, before that
	BySpeed    Policy = "by free space and by load" // metaslab_perf_bias
)

// Share is what one vdev gets of the writes.
type Share struct {
	Vdev      string
	Predicted float64 // 0 to 1, of what is written next
	Held      float64 // its share of what the pool holds
	Written   float64 // its share of what was written while looked at; negative when nothing was
}

// Shares predicts how writes are spread. ZFS gives each vdev its turn in
// proportion to its free space as compared with the others'
// (module/zfs/metaslab.c, metaslab_group_alloc and vdev bias, OpenZFS 2.1).
// It steers: the real share lags behind, the more so the fuller the pool.
func Shares(vdevs []*Vdev, p Policy) []Share {
	var out []Share
	var weights, alloc, written float64
	weigh := func(v *Vdev) float64 {
		switch p {
		case ByCapacity:
			return v.Size()
		case Evenly:
			return 1
		}
		return v.Free
	}
	for _, v := range vdevs {
		weights += weigh(v)
		alloc += v.Alloc
		written += v.Load.WriteBytes
	}
	part := func(x, all float64) float64 {
		if all == 0 {
			return -1
		}
		return x / all
	}
	for _, v := range vdevs {
		out = append(out, Share{v.Name, part(weigh(v), weights), part(v.Alloc, alloc), part(v.Load.WriteBytes, written)})
	}
	return out
}

// Pace is how many times as fast a pool would take writes if each vdev got
// the share that fits its speed, by the vdevs' speeds (any unit) and shares:
// the pool is done when its last vdev is.
func Pace(speeds, shares []float64) float64 {
	var sum, slowest float64
	for i, s := range speeds {
		sum += s
		if s > 0 {
			slowest = max(slowest, shares[i]/s)
		}
	}
	if sum == 0 || slowest == 0 {
		return 1
	}
	return slowest * sum
}
