// Package capture records what checks ask of a host and what they are
// answered, keeps it in one file, and answers from that file later, on any
// machine.
//
// A capture is replayed by question: exactly what was asked is known, with
// its answer, be it content, absence, or the reason why nobody could look.
// What was never asked answers host.ErrNotCollected. Symlinks need no
// resolving, since each question keeps its own answer.
//
// The file is a tar compressed with zstd. Its first member, manifest.json,
// lists the questions; contents lie beside it under readable names:
// root/etc/hosts, tables/links.json, commands/systemctl show ssh.service.
// See docs/captures.md.
package capture

import (
	"context"
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"fettle/host"
)

// Format and Version are how a manifest names itself. A reader refuses a
// version above its own.
const (
	Format  = "fettle-capture"
	Version = 1
)

// Manifest is manifest.json.
type Manifest struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Fettle  string `json:"fettle,omitempty"` // the version of fettle that wrote it
	// Kind is what the recorded host was.
	Kind     host.Kind     `json:"kind"`
	Name     text          `json:"name"`
	Identity host.Identity `json:"identity"`
	// Redacted tells that names, addresses and secrets were replaced.
	Redacted bool     `json:"redacted,omitempty"`
	Answers  []Answer `json:"answers"`
}

// Op is a kind of question: one method of host.Source.
type Op string

const (
	OpRead    Op = "read"
	OpDir     Op = "dir"
	OpStat    Op = "stat"
	OpLstat   Op = "lstat"
	OpLink    Op = "link"
	OpXattr   Op = "xattr"
	OpCommand Op = "command"
	OpTable   Op = "table"
)

// Question is one thing that was asked.
type Question struct {
	Op   Op     `json:"op"`
	Path text   `json:"path"`           // of a command its name, of a table its name
	Attr text   `json:"attr,omitempty"` // of an xattr
	Args []text `json:"args,omitempty"` // of a command
	// As is the user with whose rights it was asked; 0: with fettle's own.
	As uint32 `json:"as,omitempty"`
}

// of is a question about a path, as ctx has it asked.
func of(ctx context.Context, op Op, path string) Question {
	uid, _ := host.ReadsAs(ctx)
	return Question{Op: op, Path: text(path), As: uid}
}

// key tells questions apart.
func (q Question) key() string {
	k := string(q.Op) + "\x00" + string(q.Path) + "\x00" + string(q.Attr)
	for _, a := range q.Args {
		k += "\x00" + string(a)
	}
	if q.As != 0 {
		k += "\x00\x00as " + strconv.FormatUint(uint64(q.As), 10)
	}
	return k
}

// Answer is a question with what was answered. Which fields count depends on
// the question; Failure is set when there was no answer.
type Answer struct {
	Question
	Member  string     `json:"member,omitempty"` // where in the capture the content is
	Stderr  text       `json:"stderr,omitempty"`
	Exit    int        `json:"exit,omitempty"`
	Entries []entry    `json:"entries,omitempty"`
	Info    *host.Info `json:"info,omitempty"`
	Target  *text      `json:"target,omitempty"`
	Value   []byte     `json:"value,omitempty"` // of an xattr
	Failure *Failure   `json:"failure,omitempty"`

	content []byte // of Member
}

type entry struct {
	Name text   `json:"name"`
	Type uint32 `json:"type,omitempty"` // fs.FileMode, type bits
}

// text is a string that need not be UTF-8: file names are bytes. JSON has the
// odd one as {"base64": "…"}.
type text string

func (t text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal(map[string][]byte{"base64": []byte(t)})
}

func (t *text) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		var v struct{ Base64 []byte }
		err := json.Unmarshal(b, &v)
		*t = text(v.Base64)
		return err
	}
	return json.Unmarshal(b, (*string)(t))
}

func texts(s []string) []text {
	if s == nil {
		return nil
	}
	out := make([]text, len(s))
	for i, v := range s {
		out[i] = text(v)
	}
	return out
}
