package dmcachesmq

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// status is what is known of a cache: a line of `dmsetup status`
// (Documentation/admin-guide/device-mapper/cache.rst, Linux 6.1), or what lvs
// shows of it.
type status struct {
	name                    string
	from                    string  // "dmsetup status" or "lvs"
	counts, moves           bool    // the blocks and requests are known; the promotions and demotions
	fill                    float64 // percent, where the blocks are not known
	blockSectors            uint64
	threshold               uint64 // migration_threshold in sectors; 0 where it is not known
	used, total             uint64 // blocks of the cache
	readHits, readMisses    uint64
	writeHits, writeMisses  uint64
	demotions, promotions   uint64
	dirty                   uint64
	mode                    string  // writeback, writethrough, passthrough
	policy                  string  // "" where it is not known
	failed, readOnly, check bool    // fail-io; metadata mode ro; needs_check
	over                    *change // what it did between two looks; nil without a second
}

// full tells whether the cache has next to no free block.
func (s *status) full() bool {
	if s.counts {
		return s.total > 0 && s.used*100 >= s.total*95
	}
	return s.fill >= 95
}

func (s *status) accesses() uint64 {
	return s.readHits + s.readMisses + s.writeHits + s.writeMisses
}

// hitRatio is 0 to 1.
func (s *status) hitRatio() float64 {
	if n := s.accesses(); n > 0 {
		return float64(s.readHits+s.writeHits) / float64(n)
	}
	return 0
}

// parseStatus reads the caches in the output of dmsetup status.
func parseStatus(b []byte) ([]*status, error) {
	var out []*status
	n := 0
	for line := range bytes.Lines(b) {
		n++
		name, rest, ok := strings.Cut(strings.TrimSpace(string(line)), ": ")
		f := strings.Fields(rest)
		if !ok || len(f) < 3 || f[2] != "cache" {
			continue
		}
		s, err := parseCache(name, f[3:])
		if err != nil {
			return nil, fmt.Errorf("dmsetup status, line %d: cache %s: %w", n, name, err)
		}
		out = append(out, s)
	}
	return out, nil
}

// words takes the fields of a line one after the other.
type words struct {
	f   []string
	err error
}

func (w *words) next() string {
	if len(w.f) == 0 {
		if w.err == nil {
			w.err = fmt.Errorf("the line is too short")
		}
		return ""
	}
	s := w.f[0]
	w.f = w.f[1:]
	return s
}

func (w *words) number() uint64 {
	s := w.next()
	v, err := strconv.ParseUint(s, 10, 64)
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("%q where a number is expected", s)
	}
	return v
}

// list takes a count and so many words.
func (w *words) list() []string {
	n := w.number()
	if n > uint64(len(w.f)) {
		n = uint64(len(w.f))
		if w.err == nil {
			w.err = fmt.Errorf("the line is too short")
		}
	}
	l := w.f[:n]
	w.f = w.f[n:]
	return l
}

func (w *words) pair() (a, b uint64) {
	l, r, _ := strings.Cut(w.next(), "/")
	a, err := strconv.ParseUint(l, 10, 64)
	b, err2 := strconv.ParseUint(r, 10, 64)
	if (err != nil || err2 != nil) && w.err == nil {
		w.err = fmt.Errorf("%q where USED/TOTAL is expected", l+"/"+r)
	}
	return a, b
}

func parseCache(name string, f []string) (*status, error) {
	s := &status{name: name, from: "dmsetup status"}
	if len(f) > 0 && (f[0] == "Fail" || f[0] == "Error") {
		s.failed = true
		return s, nil
	}
	w := &words{f: f}
	w.number() // metadata block size
	w.pair()   // metadata blocks
	s.blockSectors = w.number()
	s.used, s.total = w.pair()
	s.readHits, s.readMisses, s.writeHits, s.writeMisses = w.number(), w.number(), w.number(), w.number()
	s.demotions, s.promotions, s.dirty = w.number(), w.number(), w.number()
	for _, f := range w.list() {
		switch f {
		case "writeback", "writethrough", "passthrough":
			s.mode = f
		}
	}
	core := w.list()
	for i := 0; i+1 < len(core); i += 2 {
		if core[i] == "migration_threshold" {
			s.threshold, _ = strconv.ParseUint(core[i+1], 10, 64)
		}
	}
	s.policy = w.next()
	w.list() // the policy's arguments
	if len(w.f) > 0 {
		s.readOnly = w.next() == "ro"
	}
	if len(w.f) > 0 {
		s.check = w.next() == "needs_check"
	}
	s.counts, s.moves = true, true
	return s, w.err
}
