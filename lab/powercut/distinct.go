package powercut

import (
	"fmt"
	"hash/maphash"
	"math"
)

// Distinct drops cuts that leave the disk the same as a later one does, byte
// for byte, when the same had been said by then: the later one has more that
// must be there. The cuts are in the order of the log, as Cuts lists them.
func Distinct(l *Log, cuts []Cut) ([]Cut, error) {
	f := &fingerprint{l: l, seed: maphash.MakeSeed(), now: map[uint64]uint64{}, buf: make([]byte, l.SectorSize)}
	type state struct {
		print uint64
		said  int // marks
	}
	last := map[state]int{} // the last cut that leaves it
	states := make([]state, len(cuts))
	done, marks := 0, 0
	for i, c := range cuts {
		for ; done < c.Prefix; done++ {
			if said(l.Entries[done]) {
				marks++
			}
			if err := f.apply(Piece{done, math.MaxUint64}); err != nil {
				return nil, err
			}
		}
		sum := f.sum
		f.over = map[uint64]uint64{}
		for _, p := range c.Some {
			if err := f.apply(p); err != nil {
				return nil, err
			}
		}
		states[i] = state{f.sum, marks}
		f.sum, f.over = sum, nil
		last[states[i]] = i
	}
	var out []Cut
	for i, c := range cuts {
		if last[states[i]] == i || c.Class == classSaid {
			out = append(out, c)
		}
	}
	return out, nil
}

// fingerprint is the sum of the hashes of all sectors that were written to: it
// is carried forward by what changes.
type fingerprint struct {
	l    *Log
	seed maphash.Seed
	now  map[uint64]uint64 // hash by sector
	over map[uint64]uint64 // of a cut's parts, on top of now; nil: now is carried forward
	sum  uint64
	buf  []byte
}

func (f *fingerprint) apply(p Piece) error {
	e := f.l.Entries[p.Entry]
	if e.Flags&Mark != 0 {
		return nil
	}
	for k := range min(e.Sectors, p.Sectors) {
		if e.Flags&Discard != 0 {
			clear(f.buf)
		} else if _, err := f.l.r.ReadAt(f.buf, e.at+int64(k)*int64(f.l.SectorSize)); err != nil {
			return fmt.Errorf("reading the data of entry %d: %w", p.Entry, err)
		}
		var h maphash.Hash
		h.SetSeed(f.seed)
		maphash.WriteComparable(&h, e.Sector+k)
		h.Write(f.buf)
		was, ok := f.over[e.Sector+k]
		if !ok {
			was = f.now[e.Sector+k]
		}
		f.sum += h.Sum64() - was
		if f.over != nil {
			f.over[e.Sector+k] = h.Sum64()
		} else {
			f.now[e.Sector+k] = h.Sum64()
		}
	}
	return nil
}
