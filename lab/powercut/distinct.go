package powercut

import (
	"fmt"
	"hash/maphash"
	"math"
)

// Distinct drops cuts that leave the disk the same as a later one does, byte
// for byte: the later one has more that must be there. The cuts are in the
// order of the log, as Cuts lists them.
func Distinct(l *Log, cuts []Cut) ([]Cut, error) {
	f := &fingerprint{l: l, seed: maphash.MakeSeed(), now: map[uint64]uint64{}, buf: make([]byte, l.SectorSize)}
	last := map[uint64]int{} // by fingerprint: the last cut that has it
	prints := make([]uint64, len(cuts))
	done := 0
	for i, c := range cuts {
		for ; done < c.Prefix; done++ {
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
		prints[i], f.sum, f.over = f.sum, sum, nil
		last[prints[i]] = i
	}
	var out []Cut
	for i, c := range cuts {
		if last[prints[i]] == i {
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
