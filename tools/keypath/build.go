package keypath

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"fettle/host/format/openpgp"
)

// Bounds of what the index keeps of one key: who reads its user ids reads them
// in the keyring.
const (
	maxNames    = 32
	maxNameText = 256
)

// forever is the end of what does not expire.
const forever = math.MaxUint32

// claim is what one key says in one keyring to be signed by another: the latest
// end of signatures that use a strong hash, and of those that don't.
type claim struct {
	issuer       uint64
	signee       uint32
	strong, weak uint32
	revoked      bool
}

// keyFacts is a key while the index is built.
type keyFacts struct {
	key     openpgp.Key
	until   uint32 // the latest end that any self-signature gives it; 0: none
	revoked bool   // claims to be
	names   []string
	blocks  []block
}

// block is where a key's packets are.
type block struct {
	source        int
	start, length int64
}

// Tally counts what was read, and what could not be.
type Tally struct {
	Keys       int   `json:"keys"`
	Signatures int64 `json:"signatures"`
	// Malformed counts packets that make no sense, Skipped bytes between packets.
	Malformed int64 `json:"malformed_packets"`
	Skipped   int64 `json:"skipped_bytes"`
	// Old counts version 3 keys, which nothing verifies any more.
	Old int64 `json:"old_keys"`
}

type builder struct {
	keys   []keyFacts
	byFpr  map[openpgp.Fingerprint]uint32
	claims []claim
	tally  Tally
	// Of the key being read.
	current int // -1: none
	source  int
	part    part
	pending map[uint64]*claim
}

// part is where in a key a signature stands.
type part int

const (
	onKey part = iota
	onName
	onSubkey
)

// Progress is told how many bytes of how many are read.
type Progress func(done, total int64)

// Build reads the sources and makes their index. A key that is malformed, or a
// file that ends early, does not stop it.
func Build(ctx context.Context, sources []Source, progress Progress) (*Index, error) {
	b := &builder{byFpr: map[openpgp.Fingerprint]uint32{}, pending: map[uint64]*claim{}}
	var total, done int64
	for _, s := range sources {
		total += s.Size
	}
	for i, s := range sources {
		if err := b.read(ctx, i, s, func(n int64) { progress(done+n, total) }); err != nil {
			return nil, err
		}
		done += s.Size
	}
	b.tally.Keys = len(b.keys)
	return encode(sources, b)
}

func (b *builder) read(ctx context.Context, n int, s Source, progress func(int64)) error {
	o, err := s.open()
	if err != nil {
		return err
	}
	defer o.close()
	b.source = n
	for _, span := range o.spans {
		r := openpgp.NewReader(io.NewSectionReader(o, span.Start, span.Length), span.Start)
		b.current = -1
		for i := 0; ; i++ {
			if i%4096 == 0 {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				progress(span.Start)
			}
			p, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			b.packet(p)
		}
		b.endKey()
		b.tally.Skipped += r.Skipped
	}
	return nil
}

func (b *builder) packet(p openpgp.Packet) {
	if p.Tag == openpgp.TagPublicKey {
		b.endKey()
		b.beginKey(p)
		return
	}
	if b.current < 0 {
		return
	}
	k := &b.keys[b.current]
	last := &k.blocks[len(k.blocks)-1]
	last.length = p.End - last.start
	switch p.Tag {
	case openpgp.TagUserID, openpgp.TagAttribute:
		b.part = onName
		if p.Tag == openpgp.TagUserID && len(k.names) < maxNames {
			k.addName(p.Body)
		}
	case openpgp.TagPublicSubkey:
		b.part = onSubkey
	case openpgp.TagSignature:
		b.tally.Signatures++
		if b.part != onSubkey {
			b.signature(p.Body)
		}
	}
}

func (b *builder) beginKey(p openpgp.Packet) {
	key, err := openpgp.ParseKey(p.Body)
	if err != nil {
		if len(p.Body) > 0 && p.Body[0] < 4 {
			b.tally.Old++
		} else {
			b.tally.Malformed++
		}
		return
	}
	i, ok := b.byFpr[key.Fingerprint]
	if !ok {
		i = uint32(len(b.keys))
		b.byFpr[key.Fingerprint] = i
		b.keys = append(b.keys, keyFacts{key: key})
	}
	b.current, b.part = int(i), onKey
	b.keys[i].blocks = append(b.keys[i].blocks, block{b.source, p.Start, p.End - p.Start})
}

// endKey hands over what was collected of who signed the key.
func (b *builder) endKey() {
	for _, c := range b.pending {
		b.claims = append(b.claims, *c)
	}
	clear(b.pending)
	b.current = -1
}

func (k *keyFacts) addName(body []byte) {
	name := oneLine(string(body[:min(len(body), maxNameText)]))
	if !slices.Contains(k.names, name) {
		k.names = append(k.names, name)
	}
}

// oneLine makes valid text without control characters of what may be anything.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}

func (b *builder) signature(body []byte) {
	s, err := openpgp.ParseSignature(body)
	if err != nil {
		b.tally.Malformed++
		return
	}
	k := &b.keys[b.current]
	self := s.Issuer == k.key.Fingerprint.ID()
	switch {
	case s.Type == openpgp.KeyRevocation:
		k.revoked = true // by itself or by a key that may: judged when it matters
	case self && (s.Type == openpgp.DirectKey || s.Type.Certifies()):
		k.until = max(k.until, end(k.key.Created, s.KeyLifetime))
	case self || b.part != onName || s.Issuer == 0:
	case s.Type.Certifies():
		c := b.claimBy(s.Issuer)
		until := end(s.Created, s.Lifetime)
		switch {
		case s.Version < 4 || s.Hash == openpgp.MD5:
		case s.Hash.Weak():
			c.weak = max(c.weak, until)
		default:
			c.strong = max(c.strong, until)
		}
	case s.Type == openpgp.CertRevocation:
		b.claimBy(s.Issuer).revoked = true
	}
}

func (b *builder) claimBy(issuer uint64) *claim {
	c := b.pending[issuer]
	if c == nil {
		c = &claim{issuer: issuer, signee: uint32(b.current)}
		b.pending[issuer] = c
	}
	return c
}

// end is when something does that began then and lasts so long.
func end(from time.Time, lasts time.Duration) uint32 {
	if lasts == 0 {
		return forever
	}
	return uint32(min(from.Add(lasts).Unix(), forever-1))
}
