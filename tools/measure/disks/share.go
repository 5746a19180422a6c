package disks

import (
	"math"
	"slices"
	"strings"
)

// Share is what one vdev gets of the writes; shares are from 0 to 1.
type Share struct {
	Vdev string
	// Predicted is its share of the next writes, in records of 128 KiB, as long
	// as all vdevs keep up. Low and High are how far records of other sizes, up
	// to 1 MiB, and the vdevs' speeds (Outrun) move it.
	Predicted, Low, High float64
	Held                 float64 // its share of what the pool holds
	Written              float64 // its share of what was written while looked at; negative when nothing was
	WrittenBytes         float64
}

// recordsize is the default of that property, and large the largest by default
// in use (zfs_max_recordsize was 1 MiB until OpenZFS 2.2).
const (
	recordsize = 128 << 10
	large      = 1 << 20
)

// Shares predicts how writes are spread over the vdevs, and says how they were
// while they were looked at. Where something was written then, the prediction
// is for that; else for the next twentieth of what is free.
//
// ZFS gives each vdev a turn of some bytes, steered by its free space as
// compared with the others' (module/zfs/metaslab.c, metaslab_alloc_dva of
// OpenZFS 2.1, metaslab_class_balance and metaslab_class_rotate of 2.4).
func (r Rule) Shares(vdevs []*Vdev) []Share {
	out := make([]Share, len(vdevs))
	free := make([]float64, len(vdevs)) // when the look began
	var alloc, written, left float64
	for i, v := range vdevs {
		out[i] = Share{Vdev: v.Name, Low: 1, WrittenBytes: v.written()}
		alloc += v.Alloc
		written += out[i].WrittenBytes
		free[i] = v.Free + out[i].WrittenBytes
		left += free[i]
	}
	amount := written
	if amount == 0 {
		amount = left / 20
	}
	for _, block := range []float64{0, recordsize, large} {
		for i, p := range r.spread(vdevs, free, amount, block) {
			s := &out[i]
			s.Low, s.High = min(s.Low, p), max(s.High, p)
			if block == recordsize {
				s.Predicted = p
			}
		}
	}
	if r.Slow == Outrun {
		r.outrun(vdevs, r.turns(vdevs, free), out)
	}
	for i, v := range vdevs {
		out[i].Held, out[i].Written = part(v.Alloc, alloc), part(out[i].WrittenBytes, written)
	}
	return out
}

// steps is in how many parts writes are spread: what is free, and so the
// turns, is counted again after each, as ZFS does with each transaction group.
const steps = 100

// spread is each vdev's share of so many bytes in blocks of one size.
func (r Rule) spread(vdevs []*Vdev, free []float64, amount, block float64) []float64 {
	free = slices.Clone(free)
	got := make([]float64, len(vdevs))
	for range steps {
		turns := r.turns(vdevs, free)
		for i, t := range turns {
			turns[i] = r.round(t, block, vdevs[i].overhead())
		}
		for i, p := range parts(turns) {
			if p < 0 {
				p = 1 / float64(len(vdevs)) // nothing is free
			}
			got[i] += p
			free[i] = max(0, free[i]-p*amount/steps)
		}
	}
	return parts(got)
}

// turns are the bytes of each vdev's turn.
func (r Rule) turns(vdevs []*Vdev, free []float64) []float64 {
	turns := make([]float64, len(vdevs))
	for i, v := range vdevs {
		switch r.Policy {
		case ByFree:
			turns[i] = free[i]
		case ByCapacity:
			turns[i] = v.Size()
		default:
			turns[i] = 1
		}
	}
	for i, p := range parts(turns) {
		times := max(0, p) * float64(len(vdevs))
		if !r.Averaged {
			// In whole percents; what is the average comes to 99, which is a turn nevertheless.
			times = math.Floor(100*times+1e-6) / 100 * float64(vdevs[i].dataDisks())
		}
		turns[i] = times * r.Aliquot
	}
	return turns
}

// round is how many bytes on the disks a turn comes to in blocks of one size,
// each with its parity; one block at least. A turn counts bytes with their
// parity, since 2.4 without.
func (r Rule) round(turn, block, parity float64) float64 {
	switch {
	case block == 0 && r.Averaged:
		return turn * parity
	case block == 0:
		return turn
	case r.Averaged:
		return max(1, math.Round(turn/block)) * block * parity
	}
	block *= parity
	return max(1, math.Ceil(turn/block)) * block
}

// outrun widens the range of each share by what faster vdevs may take of the
// slower ones' part: up to 2.5 times theirs while a quarter is used, down to
// none at three quarters; twice where free space does not steer.
func (r Rule) outrun(vdevs []*Vdev, turns []float64, out []Share) {
	most := make([]float64, len(turns))
	for i, v := range vdevs {
		times := 2.0
		if r.Policy == ByFree && v.Size() > 0 {
			times = max(1, min(2.5, 0.25+3*v.Free/v.Size()))
		}
		turns[i] *= v.overhead()
		most[i] = turns[i] * times
	}
	for i := range out {
		slowest, fastest := turns[i], most[i] // alone in being slow, or fast
		for j := range out {
			if j != i {
				slowest += most[j]
				fastest += turns[j]
			}
		}
		out[i].Low = min(out[i].Low, max(0, part(turns[i], slowest)))
		out[i].High = max(out[i].High, part(most[i], fastest))
	}
}

// written is what was written to a vdev, once: zpool iostat adds up what the
// sides of a mirror wrote.
func (v *Vdev) written() float64 {
	if !strings.HasPrefix(v.Name, "mirror") || len(v.Children) == 0 {
		return v.Load.WriteBytes
	}
	most := 0.0
	for _, c := range v.Children {
		most = max(most, c.Load.WriteBytes)
	}
	return most
}

func parts(x []float64) []float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = part(v, sum)
	}
	return out
}

func part(x, all float64) float64 {
	if all == 0 {
		return -1
	}
	return x / all
}

const (
	// enoughWritten is how much must have been written before shares are compared.
	enoughWritten = 16 << 20
	// nearEnough is by how much the shares of some seconds differ by chance:
	// turns that are under way, metadata, what is written twice.
	nearEnough = 0.06
)

// Compared is what comparing predicted with really written shares came to.
type Compared struct {
	Enough bool   // enough was written to compare
	Lags   *Share // the vdev that took least of its part; nil: as predicted
}

// Compare compares shares with what was written.
func Compare(shares []Share) Compared {
	var c Compared
	total, worst := 0.0, nearEnough
	for i := range shares {
		s := &shares[i]
		total += s.WrittenBytes
		if s.Written >= 0 && s.Low-s.Written > worst {
			worst, c.Lags = s.Low-s.Written, s
		}
	}
	c.Enough = total >= enoughWritten
	return c
}
