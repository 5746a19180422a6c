package keypath

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fettle/host/format/openpgp"
)

// Find finds the keys that text may mean: a fingerprint, a key id (with or
// without 0x), or part of a user id. One whose address or whole user id is the
// text goes before those that merely contain it.
func (w *Web) Find(text string) []Key {
	if hits, ok := w.byHex(text); ok {
		return hits
	}
	want := strings.ToLower(strings.TrimSpace(text))
	var exact, part []Key
	for k := range Key(w.Keys) {
		if !bytes.Contains(bytes.ToLower(w.nameText(k)), []byte(want)) {
			continue
		}
		switch closest(w.Names(k), want) {
		case 2:
			exact = append(exact, k)
		case 1:
			part = append(part, k)
		}
	}
	if len(exact) > 0 {
		return w.preferred(exact)
	}
	return w.preferred(part)
}

// preferred leaves out keys that are dead, if any is not.
func (w *Web) preferred(keys []Key) []Key {
	if live := slices.DeleteFunc(slices.Clone(keys), func(k Key) bool { return !w.State(k).Live() }); len(keys) <= maxListed && len(live) > 0 {
		return live
	}
	return keys
}

// maxListed is how many keys of one name are looked at, and shown.
const maxListed = 20

// closest: 2 a name is want or has it for an address, 1 one contains it, 0 none.
func closest(names []string, want string) int {
	best := 0
	for _, n := range names {
		n = strings.ToLower(n)
		if n == want || strings.HasSuffix(n, "<"+want+">") {
			return 2
		}
		if strings.Contains(n, want) {
			best = 1
		}
	}
	return best
}

// byHex finds keys by fingerprint or id; false: the text is neither.
func (w *Web) byHex(text string) ([]Key, bool) {
	h := strings.ToLower(strings.Join(strings.Fields(text), ""))
	h = strings.TrimPrefix(h, "0x")
	switch len(h) {
	case 8, 16:
		id, err := strconv.ParseUint(h, 16, 64)
		if err != nil {
			return nil, false
		}
		mask := ^uint64(0)
		if len(h) == 8 {
			mask = 1<<32 - 1
		}
		return w.where(func(f openpgp.Fingerprint) bool { return f.ID()&mask == id }), true
	case 40, 64:
		b, err := hex.DecodeString(h)
		if err != nil {
			return nil, false
		}
		return w.where(func(f openpgp.Fingerprint) bool { return string(f) == string(b) }), true
	}
	return nil, false
}

func (w *Web) where(match func(openpgp.Fingerprint) bool) (out []Key) {
	for k := range Key(w.Keys) {
		if match(w.Fingerprint(k)) {
			out = append(out, k)
		}
	}
	return out
}

// Title is a key's id and first user id.
func (w *Web) Title(k Key) string {
	return fmt.Sprintf("%016X %s", w.Fingerprint(k).ID(), w.FirstName(k))
}

// FirstName is a key's first user id.
func (x *Index) FirstName(k Key) string {
	if n := x.Names(k); len(n) > 0 {
		return n[0]
	}
	return "(no user id)"
}

// In are the keys of one keyring.
func (x *Index) In(path string) (out []Key) {
	for k := range Key(x.Keys) {
		for _, b := range x.blocksOf(k) {
			if x.Sources[b.source].Path == path {
				out = append(out, k)
				break
			}
		}
	}
	return out
}
