package keypath

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"math"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"fettle/host/format/openpgp"
	"fettle/internal/files"
)

// The index is one run of bytes, searched where it lies: a line of magic, the
// length of a header in JSON, the header, then tables of records of one length,
// little-endian, and a checksum. Table entry n+1 says where entry n's things end.
const (
	magic      = "fettle keypath index 1\n"
	keyRecord  = 32 + 8 + 5*4
	edgeRecord = 4 * 4
	blockRec   = 4 + 8 + 8
)

type header struct {
	Sources []Source `json:"sources"`
	Tally   Tally    `json:"tally"`
	Keys    int      `json:"keys"`
	Edges   int      `json:"edges"`
	Blocks  int      `json:"blocks"`
	Text    int      `json:"text"`
}

// Index is who claims to have signed whom.
type Index struct {
	header
	raw                       []byte
	keys, edges, blocks, text []byte
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode makes the index of what a builder has read.
func encode(sources []Source, b *builder) (*Index, error) {
	edges := b.edges()
	var text []byte
	var blocks, keys []byte
	le := binary.LittleEndian
	nBlocks, at := 0, 0
	for i := 0; i <= len(b.keys); i++ {
		var k keyFacts // the last record is empty: it only says where things end
		if i < len(b.keys) {
			k = b.keys[i]
		}
		for at < len(edges) && int(edges[at].signee) < i {
			at++
		}
		rec := make([]byte, 32, keyRecord)
		copy(rec, k.key.Fingerprint)
		rec = append(rec, byte(len(k.key.Fingerprint)), byte(k.key.Algorithm), k.flags(), byte(k.key.Version))
		rec = le.AppendUint32(rec, uint32(k.key.Bits))
		rec = le.AppendUint32(rec, uint32(k.key.Created.Unix()))
		for _, n := range []int{int(k.until), nBlocks, at, len(text)} {
			rec = le.AppendUint32(rec, uint32(n))
		}
		keys = append(keys, rec...)
		for _, bl := range k.blocks {
			blocks = le.AppendUint32(blocks, uint32(bl.source))
			blocks = le.AppendUint64(blocks, uint64(bl.start))
			blocks = le.AppendUint64(blocks, uint64(bl.length))
			nBlocks++
		}
		if len(text) < math.MaxInt32 {
			text = append(text, strings.Join(k.names, "\n")...)
		}
	}
	h, err := json.Marshal(header{sources, b.tally, len(b.keys), len(edges), nBlocks, len(text)})
	if err != nil {
		return nil, fmt.Errorf("encoding the index: %w", err)
	}
	raw := make([]byte, 0, len(magic)+4+len(h)+len(keys)+edgeRecord*len(edges)+len(blocks)+len(text)+4)
	raw = append(raw, magic...)
	raw = le.AppendUint32(raw, uint32(len(h)))
	raw = append(append(raw, h...), keys...)
	for _, e := range edges {
		var flags uint32
		if e.revoked {
			flags = 1
		}
		for _, n := range []uint32{e.signer, e.strong, e.weak, flags} {
			raw = le.AppendUint32(raw, n)
		}
	}
	raw = append(append(raw, blocks...), text...)
	return decode(le.AppendUint32(raw, crc32.Checksum(raw, castagnoli)))
}

const flagRevoked = 1

func (k keyFacts) flags() byte {
	if k.revoked {
		return flagRevoked
	}
	return 0
}

// edge is a claim whose signer is known.
type edge struct {
	signer, signee, strong, weak uint32
	revoked                      bool
}

// edges joins the claims with the keys that they name, sorted by signee. Keys
// that share a 64-bit id share its claims, until one of them verifies.
func (b *builder) edges() []edge {
	type named struct {
		id  uint64
		key uint32
	}
	ids := make([]named, len(b.keys))
	for i := range b.keys {
		ids[i] = named{b.keys[i].key.Fingerprint.ID(), uint32(i)}
	}
	slices.SortFunc(ids, func(x, y named) int { return cmp.Compare(x.id, y.id) })
	out := make([]edge, 0, len(b.claims))
	for _, c := range b.claims {
		at, _ := slices.BinarySearchFunc(ids, c.issuer, func(n named, id uint64) int { return cmp.Compare(n.id, id) })
		for ; at < len(ids) && ids[at].id == c.issuer; at++ {
			if signer := ids[at].key; signer != c.signee {
				out = append(out, edge{signer, c.signee, c.strong, c.weak, c.revoked})
			}
		}
	}
	b.claims = nil
	slices.SortFunc(out, func(x, y edge) int {
		return cmp.Or(cmp.Compare(x.signee, y.signee), cmp.Compare(x.signer, y.signer))
	})
	return merge(out)
}

// merge joins what several keyrings say of one pair.
func merge(in []edge) []edge {
	out := in[:0]
	for _, e := range in {
		if n := len(out); n > 0 && out[n-1].signee == e.signee && out[n-1].signer == e.signer {
			last := &out[n-1]
			last.strong, last.weak, last.revoked = max(last.strong, e.strong), max(last.weak, e.weak), last.revoked || e.revoked
			continue
		}
		out = append(out, e)
	}
	return out
}

// decode reads an index. It is refused unless it is whole.
func decode(raw []byte) (*Index, error) {
	n := len(raw)
	if n < len(magic)+8 || string(raw[:len(magic)]) != magic {
		return nil, errors.New("not an index of this version")
	}
	if crc32.Checksum(raw[:n-4], castagnoli) != binary.LittleEndian.Uint32(raw[n-4:]) {
		return nil, errors.New("the index is damaged")
	}
	rest := raw[len(magic)+4 : n-4]
	size := int(binary.LittleEndian.Uint32(raw[len(magic):]))
	x := &Index{raw: raw}
	if size > len(rest) {
		return nil, errors.New("the index is damaged")
	}
	if err := json.NewDecoder(bytes.NewReader(rest[:size])).Decode(&x.header); err != nil {
		return nil, fmt.Errorf("the index's header: %w", err)
	}
	rest = rest[size:]
	for _, t := range []struct {
		table *[]byte
		size  int
	}{{&x.keys, (x.Keys + 1) * keyRecord}, {&x.edges, x.Edges * edgeRecord}, {&x.blocks, x.Blocks * blockRec}, {&x.text, x.Text}} {
		if t.size < 0 || t.size > len(rest) {
			return nil, errors.New("the index is damaged")
		}
		*t.table, rest = rest[:t.size], rest[t.size:]
	}
	if !x.sound() {
		return nil, errors.New("the index is damaged")
	}
	return x, nil
}

// sound tells whether all that the tables point at is there. A checksum says
// nothing of who wrote them.
func (x *Index) sound() bool {
	ends := [3]int{x.Blocks, x.Edges, x.Text}
	var at [3]uint32
	for k := range Key(x.Keys + 1) {
		for i, end := range ends {
			n := x.word(k, 3+i)
			if n < at[i] || int(n) > end {
				return false
			}
			at[i] = n
		}
		if n := x.record(k)[32]; n > 32 {
			return false
		}
	}
	for e := range Edge(x.Edges) {
		if int(x.signer(e)) >= x.Keys {
			return false
		}
	}
	for b := range x.Blocks {
		if int(binary.LittleEndian.Uint32(x.blocks[b*blockRec:])) >= len(x.Sources) {
			return false
		}
	}
	return true
}

// Load reads an index that was kept, if its sources are still as they were.
func Load(file string, sources []Source) (*Index, error) {
	raw, err := mapped(file)
	if err != nil {
		return nil, fmt.Errorf("reading the index: %w", err)
	}
	x, err := decode(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if !slices.Equal(x.Sources, sources) {
		return nil, fmt.Errorf("%s: the keyrings have changed", file)
	}
	return x, nil
}

// mapped is a file as memory, until the process ends. Save replaces the file as
// a whole, so that what is mapped stays as it is.
func mapped(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if st.Size() == 0 || !st.Mode().IsRegular() {
		return nil, errors.New("not an index")
	}
	return unix.Mmap(int(f.Fd()), 0, int(st.Size()), unix.PROT_READ, unix.MAP_PRIVATE)
}

// Save keeps the index, for its owner alone.
func (x *Index) Save(file string) error {
	if err := files.WriteFile(file, x.raw, 0o600); err != nil {
		return fmt.Errorf("keeping the index: %w", err)
	}
	return nil
}

// Key is a key's number in the index.
type Key uint32

func (x *Index) record(k Key) []byte { return x.keys[int(k)*keyRecord:][:keyRecord] }

func (x *Index) word(k Key, n int) uint32 {
	return binary.LittleEndian.Uint32(x.keys[int(k)*keyRecord+36+4*n:])
}

// Fingerprint is the key's.
func (x *Index) Fingerprint(k Key) openpgp.Fingerprint {
	r := x.record(k)
	return openpgp.Fingerprint(r[:r[32]])
}

// short tells whether the key is, by its packet.
func (x *Index) short(k Key) bool {
	return openpgp.Key{Algorithm: openpgp.Algorithm(x.record(k)[33]), Bits: int(x.word(k, 0))}.Short()
}

// until is the latest end that any self-signature gives the key; 0: it has none.
func (x *Index) until(k Key) uint32 { return x.word(k, 2) }

func (x *Index) claimsRevoked(k Key) bool { return x.record(k)[34]&flagRevoked != 0 }

// Names are the key's user ids, cut short.
func (x *Index) Names(k Key) []string {
	t := x.nameText(k)
	if len(t) == 0 {
		return nil
	}
	return strings.Split(string(t), "\n")
}

// nameText is the names, each but the last with a new line.
func (x *Index) nameText(k Key) []byte { return x.text[x.word(k, 5):x.word(k+1, 5)] }

func (x *Index) blocksOf(k Key) (out []block) {
	for i := x.word(k, 3); i < x.word(k+1, 3); i++ {
		r := x.blocks[int(i)*blockRec:]
		out = append(
			out,
			block{int(binary.LittleEndian.Uint32(r)), int64(binary.LittleEndian.Uint64(r[4:])), int64(binary.LittleEndian.Uint64(r[12:]))},
		)
	}
	return out
}

// Edge is the number of a claim that one key signed another.
type Edge uint32

// signers are who claims to have signed the key.
func (x *Index) signers(k Key) iter.Seq2[Edge, Key] {
	return func(yield func(Edge, Key) bool) {
		for e, last := x.word(k, 4), x.word(k+1, 4); e < last; e++ {
			if !yield(Edge(e), x.signer(Edge(e))) {
				return
			}
		}
	}
}

func (x *Index) edgeWord(e Edge, n int) uint32 {
	return binary.LittleEndian.Uint32(x.edges[int(e)*edgeRecord+4*n:])
}

func (x *Index) signer(e Edge) Key { return Key(x.edgeWord(e, 0)) }
