package confine

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"fettle/host"
)

// Parent and child talk in frames: a length, a kind, a number, and a body.
// The parent trusts nothing that it reads: every length is checked before
// memory is taken for it.
const (
	kindJob     = 'J' // parent: what to do; the first frame
	kindAsk     = 'Q' // child: a question, JSON; the number is echoed in the answer
	kindAnswer  = 'A' // parent: 0 and the answer's bytes, or 1 and a wireError
	kindMessage = 'M' // child: a message to whoever started it
	kindBeat    = 'B' // child: still here; a live child sends one every beat
)

// Bounds of frames, in bytes.
const (
	maxAsk    = 1 << 20  // a question
	MaxSaying = 32 << 20 // a message of the child
	maxAnswer = 1 << 30  // an answer of the parent, whom the child trusts
)

const headLen = 9

type frame struct {
	kind byte
	num  uint32
	body []byte
}

// largeBody is from where on a body is written by itself: a copy of it costs more than another call.
const largeBody = 64 << 10

func writeFrame(w io.Writer, f frame) error {
	head := make([]byte, headLen)
	binary.LittleEndian.PutUint32(head, uint32(len(f.body)))
	head[4] = f.kind
	binary.LittleEndian.PutUint32(head[5:], f.num)
	if len(f.body) <= largeBody {
		_, err := w.Write(slices.Concat(head, f.body))
		return err
	}
	_, err := w.Write(head)
	if err == nil {
		_, err = w.Write(f.body)
	}
	return err
}

// readFrame reads one frame of at most limit(kind) bytes.
func readFrame(r io.Reader, limit func(kind byte) int) (frame, error) {
	var head [headLen]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return frame{}, err
	}
	f := frame{kind: head[4], num: binary.LittleEndian.Uint32(head[5:])}
	n := binary.LittleEndian.Uint32(head[:])
	if int64(n) > int64(limit(f.kind)) {
		return f, fmt.Errorf("unexpected frame %q of %d bytes", f.kind, n)
	}
	f.body = make([]byte, n)
	if _, err := io.ReadFull(r, f.body); err != nil {
		return f, fmt.Errorf("in the middle of a frame: %w", err)
	}
	return f, nil
}

// ofChild are the limits of what a child may say.
func ofChild(kind byte) int {
	switch kind {
	case kindAsk:
		return maxAsk
	case kindMessage:
		return MaxSaying
	}
	return 0 // a beat is empty, and so is anything else
}

func ofParent(byte) int { return maxAnswer }

// ask is a question of the child.
type ask struct {
	Table   host.Table    `json:"table,omitempty"`
	Command *host.Command `json:"command,omitempty"`
	// Of another process's entry in /proc: read, list or link.
	Proc string `json:"proc,omitempty"`
	Path string `json:"path,omitempty"`
}

// wireError is an error that has crossed the socket: its words, and which of
// host's errors it wraps.
type wireError struct {
	Text string `json:"text"`
	Is   int    `json:"is"` // place in wireErrors, from 1; 0 is none of them
}

var wireErrors = []error{host.ErrAbsent, host.ErrDenied, host.ErrNotCollected, host.ErrNotRunning, host.ErrNoCommand,
	host.ErrTimeout, host.ErrTooBig, host.ErrNetworkMount, host.ErrNotRegular, host.ErrUnsupported, host.ErrSecret, host.ErrNotMounted,
	host.ErrHidden}

func (e *wireError) Error() string { return e.Text }

func (e *wireError) Unwrap() error {
	if e.Is < 1 || e.Is > len(wireErrors) {
		return nil
	}
	return wireErrors[e.Is-1]
}

// pack makes the body of an answer.
func pack(b []byte, err error) []byte {
	if err == nil {
		return append([]byte{0}, b...)
	}
	w := wireError{Text: err.Error()}
	for i, e := range wireErrors {
		if errors.Is(err, e) {
			w.Is = i + 1
			break
		}
	}
	j, _ := json.Marshal(w) // a string and a number
	return append([]byte{1}, j...)
}

// unpack is the child's side of pack.
func unpack(body []byte) ([]byte, error) {
	if len(body) == 0 {
		return nil, errors.New("an empty answer")
	}
	if body[0] == 0 {
		return body[1:], nil
	}
	w := &wireError{}
	if err := json.Unmarshal(body[1:], w); err != nil {
		return nil, fmt.Errorf("reading an answer: %w", err)
	}
	return nil, w
}
