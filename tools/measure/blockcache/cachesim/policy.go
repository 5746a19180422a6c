// Package cachesim simulates block caches: Linux's smq and the policies that
// the literature compares against. A simulated cache holds block numbers, not
// data.
package cachesim

import (
	"fmt"
	"strings"

	"fettle/tools/measure/blockcache/trace"
)

// Policy is a cache at work. It is made for one trace and is given its
// requests in order.
type Policy interface {
	// Access handles the next request and tells whether the block was cached.
	Access(block uint32, write bool) (hit bool)
	// Bytes is the memory that the cache's state takes.
	Bytes() int64
}

// replayer is a policy that handles many requests at a time, as replay does,
// but faster.
type replayer interface {
	replay(blocks []uint32, writes []bool) (hits int)
}

// Kind is a policy by name.
type Kind struct {
	Name  string
	About string
	make  func(size int, in *input) Policy
}

// input is what policies need to know of the trace, made once for all sizes.
type input struct {
	t    *trace.Trace
	next []uint32 // of each request, for those that see the future
	smq  SMQ
}

// Kinds are all policies, in the order in which they are shown.
var Kinds = []Kind{
	{
		"smq",
		"Linux's dm-cache since 4.14: promotes in the background, demotes ahead",
		func(n int, in *input) Policy { return newSMQ(n, in, Mended) },
	},
	{"smq-4.11", "Linux's dm-cache before May 2017", func(n int, in *input) Policy { return newSMQ(n, in, Before2017) }},
	{"lru", "evicts the least recently used", func(n int, _ *input) Policy { return newLRU(n) }},
	{"lfu", "evicts the least frequently used since it was cached, the oldest of equals", func(n int, _ *input) Policy { return newLFU(n) }},
	{
		"arc",
		"balances recency against frequency by what it regrets (Megiddo, Modha 2003)",
		func(n int, _ *input) Policy { return newARC(n) },
	},
	{"2q", "first in first out until asked for again (Johnson, Shasha 1994)", func(n int, _ *input) Policy { return newTwoQ(n) }},
	{"s3fifo", "three queues (Yang et al. 2023)", func(n int, _ *input) Policy { return newS3FIFO(n) }},
	{"sieve", "one queue and a hand (Zhang et al. 2024)", func(n int, _ *input) Policy { return newSieve(n) }},
	{
		"belady",
		"offline optimum of caches that admit every requested block",
		func(n int, in *input) Policy { return newBelady(n, in.next, false) },
	},
	{
		"belady-bypass",
		"offline optimum of caches that may leave a block out, as smq does",
		func(n int, in *input) Policy { return newBelady(n, in.next, true) },
	},
}

// maxSize keeps indices in 31 bits.
const maxSize = 1 << 29

// Find returns the policy of a name. That of smq may be followed by switches:
// "smq-4.11+enter-top=on+eager=on".
func Find(name string) (Kind, error) {
	var names []string
	base, _, more := strings.Cut(name, "+")
	for _, k := range Kinds {
		switch {
		case k.Name == name:
			return k, nil
		case more && k.Name == base && base == "smq":
			return switched(k, Mended, name)
		case more && k.Name == base && base == "smq-4.11":
			return switched(k, Before2017, name)
		}
		names = append(names, k.Name)
	}
	return Kind{}, fmt.Errorf("policy %q is not known; it is one of %s", name, strings.Join(names, ", "))
}

// sees tells whether a policy needs the trace's future.
func (k Kind) sees() bool { return strings.HasPrefix(k.Name, "belady") }

// New makes a cache of size blocks for a trace. Of smq, conf says how; its zero
// value is the default.
func (k Kind) New(size int, t *trace.Trace, conf SMQ) (Policy, error) {
	in, err := newInput(t, conf, []Kind{k})
	if err != nil {
		return nil, err
	}
	if size < 1 || size > maxSize {
		return nil, fmt.Errorf("a cache of %d blocks: it has 1 to %d", size, maxSize)
	}
	return k.make(size, in), nil
}

func newInput(t *trace.Trace, conf SMQ, kinds []Kind) (*input, error) {
	conf, err := conf.defaults(t)
	if err != nil {
		return nil, err
	}
	in := &input{t: t, smq: conf}
	for _, k := range kinds {
		if k.sees() && in.next == nil {
			in.next = t.NextAccess()
		}
	}
	return in, nil
}
