// Package pack is knowledge that travels without a new binary: rules with their
// samples in one signed file. docs/packs.md is for who writes and who installs them.
//
// A pack is one line, an SSH signature, and the text that it signs: one signature over
// all of it, so that nothing of another version can be mixed in. Nothing of a pack is
// read before a key that root pinned on this host has signed it.
package pack

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"fettle/engine/rule"
	"fettle/internal/lazy"
	"fettle/internal/sorted"
)

// Language is the version of the language of rules that this fettle knows: it grows when
// a kind of fact, a step or a function is added. A pack needs that of the fettle that
// built it.
const Language = 1

// Limit bounds a pack, in bytes, and fileLimit the number of its files.
const (
	Limit     = 8 << 20
	fileLimit = 4000
)

const (
	magic    = "fettle-pack 1\n"
	ruleFile = "rule.yaml"
)

// Manifest is what a pack says of itself.
type Manifest struct {
	Name    string `json:"name" yaml:"name"`
	Version int    `json:"version" yaml:"version"` // 1 and up
	About   string `json:"about,omitempty" yaml:"about"`
	// Expires is the day from which on the pack is not installed any more, and reported
	// as old: whoever keeps newer ones from a host cannot do so unnoticed.
	Expires string `json:"expires" yaml:"expires"`
}

// Pack is a pack that was read: its text is what a key signed.
type Pack struct {
	Manifest
	Language int    `json:"language"`
	Files    []File `json:"files"` // by path: ID/rule.yaml and ID/NAME.txtar

	Signer string `json:"-"` // whose key it is
}

// File is one file of a pack.
type File struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

// ErrOld is in errors about packs that this fettle is too old for.
var ErrOld = errors.New("this fettle is too old for the pack: upgrade fettle")

var (
	nameForm = lazy.Regexp(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	fileForm = lazy.Regexp(`^[a-z][a-z0-9-]*/([A-Za-z0-9][A-Za-z0-9._-]*\.txtar|rule\.yaml)$`)
)

// Open verifies a pack with the keys and reads it.
func Open(b []byte, keys []Key) (*Pack, error) {
	if len(b) > Limit {
		return nil, fmt.Errorf("larger than a pack may be (%d MiB)", Limit>>20)
	}
	rest, ok := bytes.CutPrefix(b, []byte(magic))
	if !ok {
		return nil, errors.New("not a pack")
	}
	sig, text, ok := bytes.Cut(rest, []byte(endSignature+"\n"))
	if !ok {
		return nil, errors.New("not a pack: it has no signature")
	}
	signer, err := verify(append(sig, endSignature...), text, keys)
	if err != nil {
		return nil, err
	}
	p := &Pack{Signer: signer}
	var lang struct{ Language int }
	if json.Unmarshal(text, &lang) == nil && lang.Language > Language {
		return nil, fmt.Errorf("%w (it needs version %d of the language of rules, and has %d)", ErrOld, lang.Language, Language)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(p); err != nil {
		return nil, fmt.Errorf("reading the pack: %w", err)
	}
	return p, p.valid()
}

// NameOf is the name that a pack gives itself, before anything of it is verified; empty where it cannot be read.
func NameOf(b []byte) string {
	_, text, _ := bytes.Cut(b, []byte(endSignature+"\n"))
	var m Manifest
	if json.Unmarshal(text, &m) != nil {
		return ""
	}
	return m.Name
}

func (m *Manifest) valid() error {
	if err := ValidName(m.Name); err != nil {
		return err
	}
	switch _, err := time.Parse(time.DateOnly, m.Expires); {
	case m.Version < 1 || m.Version > 1<<30:
		return fmt.Errorf("version %d: expected a number from 1 on", m.Version)
	case err != nil:
		return fmt.Errorf("expires %q: expected a day such as 2027-06-30", m.Expires)
	}
	return nil
}

// ValidName is an error where no pack can have the name.
func ValidName(name string) error {
	if len(name) > 60 || !nameForm().MatchString(name) {
		return fmt.Errorf("name %q: expected at most 60 lower-case letters and digits, in words joined by dashes, as in acme-mail", name)
	}
	return nil
}

func (p *Pack) valid() error {
	if err := p.Manifest.valid(); err != nil {
		return err
	}
	if len(p.Files) > fileLimit {
		return fmt.Errorf("%d files; a pack has %d at most", len(p.Files), fileLimit)
	}
	for i, f := range p.Files {
		if !fileForm().MatchString(f.Path) {
			return fmt.Errorf("file %q: expected ID/rule.yaml or ID/NAME.txtar", f.Path)
		}
		if i > 0 && p.Files[i-1].Path >= f.Path {
			return fmt.Errorf("file %q: files come once each, by name", f.Path)
		}
	}
	return nil
}

// Expired tells whether nobody has renewed the pack in time.
func (m *Manifest) Expired(now time.Time) bool {
	day, err := time.Parse(time.DateOnly, m.Expires)
	return err != nil || !now.Before(day)
}

// Title is the pack in one line.
func (p *Pack) Title() string {
	return fmt.Sprintf("pack %s %d, signed by %s", p.Name, p.Version, p.Signer)
}

// IDs are the pack's traps.
func (p *Pack) IDs() (out []string) {
	for _, f := range p.Files {
		if id, ok := strings.CutSuffix(f.Path, "/"+ruleFile); ok {
			out = append(out, id)
		}
	}
	return out
}

// Rules reads the pack's rules. They may do what an admin's own may, and no more.
func (p *Pack) Rules() ([]*rule.Rule, error) {
	var out []*rule.Rule
	for _, f := range p.Files {
		if path.Base(f.Path) != ruleFile {
			continue
		}
		r, ms := rule.Parse(f.Path, []byte(f.Text), false)
		if r == nil {
			return nil, ms
		}
		if id := path.Dir(f.Path); r.ID != id {
			return nil, fmt.Errorf("%s: the id %s is not the folder's name", f.Path, r.ID)
		}
		r.From = p.Title()
		out = append(out, r)
	}
	if len(out) == 0 {
		return nil, errors.New("a pack without rules")
	}
	return out, nil
}

// Changes are what another version of the pack has added (+), removed (-) and changed (~).
func (p *Pack) Changes(newer *Pack) []string {
	old := map[string]string{}
	for _, f := range p.Files {
		old[f.Path] = f.Text
	}
	var out []string
	for _, f := range newer.Files {
		switch was, there := old[f.Path]; {
		case !there:
			out = append(out, "+ "+f.Path)
		case was != f.Text:
			out = append(out, "~ "+f.Path)
		}
		delete(old, f.Path)
	}
	for name := range old {
		out = append(out, "- "+name)
	}
	sorted.By(out, func(a, b string) int { return strings.Compare(a[2:], b[2:]) })
	return out
}
