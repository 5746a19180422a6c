package keypath

import (
	"cmp"
	"errors"
	"io"
	"slices"

	"fettle/host/format/openpgp"
)

// Missing are the ids of keys that claim to have signed the key and are in no
// keyring, at most most of them, the newest signatures first: whoever signed
// lately is likelier to be alive.
func (w *Web) Missing(k Key, most int) ([]uint64, error) {
	known := map[uint64]bool{w.Fingerprint(k).ID(): true, 0: true}
	for _, s := range w.signers(k) {
		known[w.Fingerprint(s).ID()] = true
	}
	made := map[uint64]int64{}
	for _, b := range w.blocksOf(k) {
		o, err := w.opened(b.source)
		if err != nil {
			return nil, err
		}
		r := openpgp.NewReader(io.NewSectionReader(o, b.start, b.length), b.start)
		for {
			p, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, err
			}
			if p.Tag == openpgp.TagPublicSubkey {
				break // what follows is about subkeys
			}
			if p.Tag != openpgp.TagSignature {
				continue
			}
			if s, err := openpgp.ParseSignature(p.Body); err == nil && s.Type.Certifies() && !known[s.Issuer] && len(made) < maxMissing {
				made[s.Issuer] = max(made[s.Issuer], s.Created.Unix())
			}
		}
	}
	ids := make([]uint64, 0, len(made))
	for id := range made {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b uint64) int {
		return cmp.Or(cmp.Compare(made[b], made[a]), cmp.Compare(a, b))
	})
	return ids[:min(len(ids), most)], nil
}

// maxMissing bounds the signers of one key that are thought of.
const maxMissing = 100_000
