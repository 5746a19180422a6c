package trace

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Options bound what is read.
type Options struct {
	// BlockSize is that of the cache, in bytes.
	BlockSize int64
	// Device is the one whose requests count, where the trace has several: 8,16
	// of blktrace, a file's name of fio.
	Device string
	// Action is the event of blktrace that counts: Q (queued; the default), D
	// (issued) or C (completed).
	Action string
	// Columns name those of a CSV without a header.
	Columns []string
	// MaxRequests bounds the memory: reading more is an error. 0 is 1<<28.
	MaxRequests int
	// Addresses refuses a trace of objects at its first request: ErrObjects.
	Addresses bool
}

// ErrObjects says that a trace has no addresses.
var ErrObjects = errors.New("this trace has objects, not bytes")

// maxLength bounds one request: larger ones are damaged records.
const maxLength = 1 << 30

// builder collects requests.
type builder struct {
	opt     Options
	t       Trace
	objects int      // requests for objects: their ids are in wide if that is not nil, else in t.Blocks
	wide    []uint64 // all ids, once there was one of more than 32 bits
	start   int64    // the time of all requests, while t.Times is nil
	bytes   int64    // of the file that is read, if it is not packed; else 0
	clock   csvClock
	devices map[string]int
	first   string // the device whose requests are kept when none was asked for
}

func newBuilder(opt Options) (*builder, error) {
	if opt.BlockSize < 512 || opt.BlockSize > maxLength {
		return nil, fmt.Errorf("a cache block of %d bytes: it is 512 bytes to 1 GiB", opt.BlockSize)
	}
	if opt.MaxRequests <= 0 {
		opt.MaxRequests = 1 << 28
	}
	return &builder{opt: opt, devices: map[string]int{}}, nil
}

// wants tells whether requests of a device are kept. It counts what it sees, so
// that the error about several devices can name them.
func (b *builder) wants(device string) bool {
	if len(b.devices) < 64 || b.devices[device] > 0 {
		b.devices[device]++
	}
	if b.opt.Device != "" {
		return device == b.opt.Device
	}
	if b.first == "" {
		b.first = device
	}
	return device == b.first
}

// add appends a request of an address and length in bytes.
func (b *builder) add(offset, length int64, write bool, ns int64) error {
	switch {
	case offset < 0:
		return fmt.Errorf("offset %d is negative", offset)
	case length <= 0:
		return nil // a flush
	case length > maxLength:
		return fmt.Errorf("a request of %d bytes: more than 1 GiB is no request", length)
	case offset > math.MaxInt64-length:
		return fmt.Errorf("offset %d and length %d go past the end of any disk", offset, length)
	}
	for n := offset / b.opt.BlockSize; n <= (offset+length-1)/b.opt.BlockSize; n++ {
		if n >= math.MaxUint32 {
			return fmt.Errorf(
				"offset %d is block %d: with blocks of %d bytes that is more than can be counted; give a larger --block-size",
				offset,
				n,
				b.opt.BlockSize,
			)
		}
		if err := b.push(uint32(n), write, ns); err != nil {
			return err
		}
	}
	return nil
}

// addID appends a request for an object.
func (b *builder) addID(id uint64, write bool, ns int64) error {
	if b.opt.Addresses {
		return ErrObjects
	}
	if id >= Never && b.wide == nil {
		b.wide = make([]uint64, len(b.t.Blocks), cap(b.t.Blocks))
		for i, n := range b.t.Blocks {
			b.wide[i] = uint64(n)
		}
	}
	if err := b.push(uint32(id), write, ns); err != nil {
		return err
	}
	b.objects++
	if b.wide != nil {
		b.wide = append(b.wide, id)
	}
	return nil
}

// expect makes room for so many requests more, if that many may come.
func (b *builder) expect(n int64) {
	b.t.Blocks = slices.Grow(b.t.Blocks, int(min(n, int64(b.opt.MaxRequests-len(b.t.Blocks)))))
}

func (b *builder) push(n uint32, write bool, ns int64) error {
	t := &b.t
	if len(t.Blocks) >= b.opt.MaxRequests {
		return fmt.Errorf("more than %d requests; raise --max-requests, or cut the trace", b.opt.MaxRequests)
	}
	if write && t.Writes == nil {
		t.Writes = make([]bool, len(t.Blocks), cap(t.Blocks))
	}
	if len(t.Blocks) == 0 {
		b.start = ns
	}
	if t.Times == nil && ns != b.start {
		t.Times = make([]int64, len(t.Blocks), cap(t.Blocks))
		for i := range t.Times {
			t.Times[i] = b.start
		}
	}
	t.Blocks = append(t.Blocks, n)
	if t.Writes != nil {
		t.Writes = append(t.Writes, write)
	}
	if t.Times != nil {
		t.Times = append(t.Times, ns)
	}
	return nil
}

// done puts the requests in the order of their times and checks that there are any.
func (b *builder) done() (*Trace, error) {
	if b.opt.Device == "" && len(b.devices) > 1 {
		return nil, fmt.Errorf("requests of several devices (%s): choose one with --device", b.names())
	}
	t := &b.t
	if len(t.Blocks) == 0 {
		if b.opt.Device != "" && len(b.devices) > 0 {
			return nil, fmt.Errorf("no request of device %s; it has: %s", b.opt.Device, b.names())
		}
		return nil, fmt.Errorf("holds no read or write request")
	}
	if b.objects == 0 {
		t.BlockSize = b.opt.BlockSize
	} else if b.objects != len(t.Blocks) {
		return nil, fmt.Errorf("mixes addresses and ids of objects")
	} else {
		b.number()
	}
	if t.Times != nil {
		b.sort()
		for i, first := 0, t.Times[0]; i < len(t.Times); i++ {
			t.Times[i] -= first
		}
	}
	for _, n := range t.Blocks {
		t.Span = max(t.Span, int64(n)+1)
	}
	return t, nil
}

func (b *builder) names() string {
	s := ""
	for i, d := range slices.Sorted(keys(b.devices)) {
		if i == 8 {
			return s + ", ..."
		}
		if i > 0 {
			s += ", "
		}
		s += fmt.Sprintf("%s: %d requests", d, b.devices[d])
	}
	return s
}

func keys(m map[string]int) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// number turns ids of objects into block numbers: ids that fit stay, if the
// memory for what is counted by block is not out of all proportion.
func (b *builder) number() {
	blocks := b.t.Blocks
	if b.wide == nil {
		if top := slices.Max(blocks); top < 1<<24 || uint64(top) < 16*uint64(len(blocks)) {
			return
		}
	}
	b.t.Renumbered = true
	seen := make(map[uint64]uint32)
	for i := range blocks {
		id := uint64(blocks[i])
		if b.wide != nil {
			id = b.wide[i]
		}
		n, ok := seen[id]
		if !ok {
			n = uint32(len(seen))
			seen[id] = n
		}
		blocks[i] = n
	}
	b.wide = nil
}

// sort orders by time what several CPUs recorded; requests of the same time
// stay in order.
func (b *builder) sort() {
	t := &b.t
	if slices.IsSorted(t.Times) {
		return
	}
	order := make([]uint32, len(t.Times))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortStableFunc(order, func(i, j uint32) int {
		switch {
		case t.Times[i] < t.Times[j]:
			return -1
		case t.Times[i] > t.Times[j]:
			return 1
		}
		return 0
	})
	t.Times = permuted(t.Times, order)
	t.Blocks = permuted(t.Blocks, order)
	if t.Writes != nil {
		t.Writes = permuted(t.Writes, order)
	}
}

func permuted[T any](s []T, order []uint32) []T {
	out := make([]T, len(s))
	for i, j := range order {
		out[i] = s[j]
	}
	return out
}
