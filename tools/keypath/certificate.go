package keypath

import (
	"errors"
	"fmt"
	"io"

	"fettle/host/format/openpgp"
)

// Bounds of what is looked at of one key. A key that somebody has buried under
// a million signatures has at most this many by any one known key; what exceeds
// it does not count.
const (
	maxBySelf   = 4096
	maxByOther  = 256
	maxUnowned  = 4096 // user ids that the key has not signed: none of them counts
	maxRetained = 256 << 20
)

// signature is one packet with what it says.
type signature struct {
	openpgp.Signature
	body []byte
}

// name is a user id or attribute with the signatures over it.
type name struct {
	tag  byte
	body []byte
	self []signature
	by   map[uint64][]signature // by others whose keys are known
}

func (n *name) text() string {
	if n.tag == openpgp.TagAttribute {
		return "(photo)"
	}
	return oneLine(string(n.body[:min(len(n.body), maxNameText)]))
}

// certificate is a key with what is needed to judge it and who signed it.
type certificate struct {
	openpgp.Key
	body  []byte
	onKey []signature // direct and revoking ones
	names []*name
	size  int
	// dropped tells how many signatures exceeded the bounds.
	dropped int
}

// certReader collects a certificate from packets.
type certReader struct {
	*certificate
	id     uint64
	known  func(id uint64) bool // whose signatures are kept
	byWhom map[uint64]int
	part   part
	at     *name
	byName map[string]*name
}

// certificate reads a key from its keyrings.
func (w *Web) certificate(k Key) (*certificate, error) {
	if c, ok := w.certs[k]; ok {
		return c, nil
	}
	known := map[uint64]bool{}
	for _, s := range w.signers(k) {
		known[w.Fingerprint(s).ID()] = true
	}
	r := &certReader{certificate: &certificate{}, id: w.Fingerprint(k).ID(), byWhom: map[uint64]int{}, byName: map[string]*name{}}
	r.known = func(id uint64) bool { return known[id] }
	for _, b := range w.blocksOf(k) {
		if err := r.read(w, b); err != nil {
			return nil, err
		}
	}
	if r.Fingerprint != w.Fingerprint(k) {
		return nil, fmt.Errorf("key %s is no longer where its keyring had it: the keyring changed while it was read", w.Fingerprint(k))
	}
	w.remember(k, r.certificate)
	return r.certificate, nil
}

// remember keeps certificates up to a size, then starts afresh.
func (w *Web) remember(k Key, c *certificate) {
	if w.held += c.size; w.held > maxRetained {
		clear(w.certs)
		w.held = c.size
	}
	w.certs[k] = c
}

func (r *certReader) read(w *Web, b block) error {
	o, err := w.opened(b.source)
	if err != nil {
		return err
	}
	r.part, r.at = onKey, nil
	packets := openpgp.NewReader(io.NewSectionReader(o, b.start, b.length), b.start)
	for {
		p, err := packets.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := r.packet(p); err != nil {
			return err
		}
	}
}

func (r *certReader) packet(p openpgp.Packet) error {
	switch p.Tag {
	case openpgp.TagPublicKey:
		if r.body != nil {
			return nil // the same key in another keyring
		}
		key, err := openpgp.ParseKey(p.Body)
		if err != nil {
			return fmt.Errorf("reading a key in the index: %w", err)
		}
		r.Key, r.body = key, r.keep(p.Body)
	case openpgp.TagUserID, openpgp.TagAttribute:
		r.part = onName
		r.name(p)
	case openpgp.TagPublicSubkey:
		r.part = onSubkey
	case openpgp.TagSignature:
		if r.part != onSubkey {
			r.signature(p.Body)
		}
	}
	return nil
}

func (r *certReader) name(p openpgp.Packet) {
	r.dropUnowned()
	id := nameID(p.Tag, p.Body)
	if r.at = r.byName[id]; r.at != nil {
		return
	}
	if p.TooLong || r.size >= maxRetained {
		r.dropped++
		return
	}
	r.at = &name{tag: p.Tag, body: r.keep(p.Body), by: map[uint64][]signature{}}
	r.byName[id] = r.at
	r.names = append(r.names, r.at)
}

// dropUnowned forgets the name that was read last if the key has not signed it
// and there are many: anybody can add some to a key.
func (r *certReader) dropUnowned() {
	last := len(r.names) - 1
	if last < maxUnowned || r.names[last] != r.at || len(r.at.self) > 0 {
		return
	}
	delete(r.byName, nameID(r.at.tag, r.at.body))
	r.names = r.names[:last]
	r.size -= cost(r.at.body)
	r.dropped++
}

func nameID(tag byte, body []byte) string { return string(tag) + string(body) }

func (r *certReader) signature(body []byte) {
	s, err := openpgp.ParseSignature(body)
	if err != nil {
		return
	}
	self := s.Issuer == r.id || s.Issuer == 0
	switch {
	case r.part == onKey && (s.Type == openpgp.KeyRevocation || self && s.Type == openpgp.DirectKey):
		if r.room(r.id, maxBySelf) {
			r.onKey = append(r.onKey, signature{s, r.keep(body)})
		}
	case r.at == nil || !s.Type.Certifies() && s.Type != openpgp.CertRevocation:
	case self:
		if r.room(r.id, maxBySelf) {
			r.at.self = append(r.at.self, signature{s, r.keep(body)})
		}
	case r.known(s.Issuer):
		if r.room(s.Issuer, maxByOther) {
			r.at.by[s.Issuer] = append(r.at.by[s.Issuer], signature{s, r.keep(body)})
		}
	}
}

func (r *certReader) room(issuer uint64, most int) bool {
	if r.byWhom[issuer] >= most || r.size >= maxRetained {
		r.dropped++
		return false
	}
	r.byWhom[issuer]++
	return true
}

func (r *certReader) keep(b []byte) []byte {
	r.size += cost(b)
	return append([]byte(nil), b...)
}

// cost is about what a body and its place take in memory.
func cost(b []byte) int { return len(b) + 128 }
