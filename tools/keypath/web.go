package keypath

import (
	"time"

	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// Policy says which signatures count.
type Policy struct {
	Now        time.Time
	AllowSHA1  bool // never MD5; RIPEMD-160 cannot be verified
	AllowShort bool // keys under 2048 bits
}

// Web is an index with a policy. What it tells of keys and hops is verified,
// and remembered.
type Web struct {
	*Index
	Policy  Policy
	now     uint32
	files   map[int]*opened
	certs   map[Key]*certificate
	held    int
	keys    map[Key]*KeyState
	hops    map[Edge]*Hop
	signing map[Key]*packet.PublicKey
	lied    map[Key]int // how many claims proved false, by signee and by signer
	lies    int         // in all
}

// NewWeb looks at an index under a policy.
func NewWeb(x *Index, p Policy) *Web {
	return &Web{Index: x, Policy: p, now: uint32(p.Now.Unix()), files: map[int]*opened{}, certs: map[Key]*certificate{},
		keys: map[Key]*KeyState{}, hops: map[Edge]*Hop{}, signing: map[Key]*packet.PublicKey{}, lied: map[Key]int{}}
}

// Close ends the reading of keyrings.
func (w *Web) Close() {
	for _, o := range w.files {
		o.close()
	}
	clear(w.files)
}

// maxOpen bounds the keyrings that are open at a time: a folder may have one a key.
const maxOpen = 64

func (w *Web) opened(source int) (*opened, error) {
	if o, ok := w.files[source]; ok {
		return o, nil
	}
	if len(w.files) >= maxOpen {
		w.Close()
	}
	o, err := w.Sources[source].open()
	if err == nil {
		w.files[source] = o
	}
	return o, err
}

// plausible tells whether a key may be live, by what it says of itself. No
// verification can make a key live that this refuses.
func (w *Web) plausible(k Key) bool {
	return w.until(k) > w.now && (w.Policy.AllowShort || !w.short(k))
}

// live tells whether a key may be on a path. Only what speaks against a key
// that is otherwise plausible is verified here: the rest is, once a path is found.
func (w *Web) live(k Key) bool {
	if s, ok := w.keys[k]; ok {
		return s.Live()
	}
	if !w.plausible(k) {
		return false
	}
	return !w.claimsRevoked(k) || w.State(k).Live()
}

// counts tells the same of the signature of one key on another.
func (w *Web) counts(e Edge, from, to Key) bool {
	if h, ok := w.hops[e]; ok {
		return h.Valid()
	}
	until := w.edgeWord(e, 1)
	if w.Policy.AllowSHA1 {
		until = max(until, w.edgeWord(e, 2))
	}
	if until <= w.now || !w.live(from) {
		return false
	}
	if w.edgeWord(e, 3)&flagRevoked != 0 || w.forged(from, to) {
		return w.Hop(e, from, to).Valid()
	}
	return true
}
