package message

import (
	"encoding/json"
	"errors"
	"fmt"

	"fettle/internal/build"
	"fettle/internal/jsondoc"
)

// CarryFormat is the format of a Pack.
const CarryFormat = "fettle-agent-pack"

// Pack is a signed pack of rules that the hub hands on to an agent. The hub only carries
// it: the keys that root pinned on the host decide whether it is installed.
type Pack struct {
	jsondoc.Envelope
	Name    string `json:"name"`
	Version int    `json:"version"`
	File    []byte `json:"file"` // as it was signed
	// Asked is the instance of the want that this answers: the agent that runs leaves it alone.
	Asked string `json:"asked,omitempty"`
	// Why there is no file: of an answer.
	Why string `json:"why,omitempty"`
}

// HasPack is what a host's agent says of a pack: the highest version that was installed
// there, or why one that the hub handed on was refused.
type HasPack struct {
	Name    string `json:"name"`
	Version int    `json:"version"`
	Refused string `json:"refused,omitempty"`
}

const maxPacks = 200 // of one host

// NewPack is a pack to hand on.
func NewPack(name string, version int, file []byte) *Pack {
	e := jsondoc.Envelope{Format: CarryFormat, Schema: Version, Fettle: build.Version()}
	return &Pack{Envelope: e, Name: name, Version: version, File: file}
}

// Pack makes the bytes that travel.
func (p *Pack) Pack() ([]byte, error) {
	b, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	if packed := Squeeze(b); len(b) <= MaxPlain && len(packed) <= MaxPacked {
		return packed, nil
	}
	return nil, fmt.Errorf("a pack of %d bytes: %w; hosts can install it from a file or a URL", len(p.File), ErrTooLarge)
}

// UnpackPack reads a pack that a hub hands on.
func UnpackPack(b []byte) (*Pack, error) {
	b, err := plain(b)
	if err != nil {
		return nil, err
	}
	p := &Pack{}
	if err := json.Unmarshal(b, p); err != nil {
		return nil, err
	}
	if err := known(p.Format, CarryFormat, p.Schema); err != nil {
		return nil, err
	}
	return p, (HasPack{Name: p.Name, Version: p.Version, Refused: p.Why}).valid()
}

// FitPacks takes the packs of a host that fit into a message.
func FitPacks(list []HasPack) []HasPack {
	var out []HasPack
	for _, p := range list {
		p.Refused = cut(p.Refused, maxText)
		if p.valid() == nil && len(out) < maxPacks {
			out = append(out, p)
		}
	}
	return out
}

func (p HasPack) valid() error {
	if !IsTrap(p.Name) || p.Version < 1 || len(p.Refused) > maxText || nul(p.Refused) {
		return errors.New("its name or version is not that of a pack")
	}
	return nil
}
