package message

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"

	"fettle/internal/jsondoc"
)

// Bounds of a message: packed, as NATS carries it, and unpacked.
const (
	MaxPacked = 512 << 10
	MaxPlain  = 4 << 20
)

// plainBelow is the size under which packing is not worth its time.
const plainBelow = 400

var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

var (
	packer = sync.OnceValue(func() *zstd.Encoder {
		e, err := zstd.NewWriter(
			nil,
			zstd.WithEncoderConcurrency(1),
			zstd.WithEncoderLevel(zstd.SpeedDefault),
			zstd.WithWindowSize(128<<10),
			zstd.WithLowerEncoderMem(true),
		)
		if err != nil {
			panic(err) // the options are constants
		}
		return e
	})
	unpacker = sync.OnceValue(func() *zstd.Decoder {
		d, err := zstd.NewReader(
			nil,
			zstd.WithDecoderConcurrency(2),
			zstd.WithDecoderMaxMemory(MaxPlain),
			zstd.WithDecoderMaxWindow(MaxPlain),
			zstd.WithDecoderLowmem(true),
		)
		if err != nil {
			panic(err)
		}
		return d
	})
)

// ErrTooLarge: a message is larger than the hub takes.
var ErrTooLarge = errors.New("larger than the hub takes")

// Pack makes the bytes that travel.
func (m *Message) Pack() ([]byte, error) {
	b, err := json.Marshal(m)
	switch {
	case err != nil:
		return nil, err
	case len(b) > MaxPlain:
		return nil, fmt.Errorf("a message of %d bytes: %w", len(b), ErrTooLarge)
	case len(b) >= plainBelow:
		b = Squeeze(b)
	}
	if len(b) > MaxPacked {
		return nil, fmt.Errorf("a message of %d bytes, packed: %w", len(b), ErrTooLarge)
	}
	return b, nil
}

// Squeeze packs bytes by zstd.
func Squeeze(b []byte) []byte { return packer().EncodeAll(b, make([]byte, 0, len(b)/3)) }

// Swell unpacks what Squeeze packed, within bounds.
func Swell(b []byte) ([]byte, error) {
	out, err := unpacker().DecodeAll(b, nil)
	if err != nil {
		return nil, fmt.Errorf("unpacking: %w", err)
	}
	if len(out) > MaxPlain { // several frames, each within the bound
		return nil, ErrTooLarge
	}
	return out, nil
}

// plain is the JSON of a message as it came.
func plain(b []byte) ([]byte, error) {
	if len(b) > MaxPacked {
		return nil, fmt.Errorf("%d bytes: %w", len(b), ErrTooLarge)
	}
	if bytes.HasPrefix(b, zstdMagic) {
		var err error
		if b, err = Swell(b); err != nil {
			return nil, err
		}
	}
	if !utf8.Valid(b) {
		return nil, errors.New("not UTF-8")
	}
	return b, nil
}

// ErrNewer: the sender speaks a later version.
var ErrNewer = errors.New("of a later version than this program supports")

// Unpack reads an agent's message, and refuses one that no agent would send.
func Unpack(b []byte) (*Message, error) {
	b, err := plain(b)
	if err != nil {
		return nil, err
	}
	m := &Message{}
	if err := json.Unmarshal(b, m); err != nil {
		return later(b, err)
	}
	if err := known(m.Format, Format, m.Schema); err != nil {
		return m, err
	}
	if err := m.valid(); err != nil {
		return nil, err
	}
	return m, nil
}

// later is a message that cannot be read with err: if it is of a later version, whose
// fields may be other ones, then whose it is.
func later(b []byte, err error) (*Message, error) {
	var head struct {
		jsondoc.Envelope
		Agent    string `json:"agent"`
		Instance string `json:"instance"`
		Seq      int64  `json:"seq"`
	}
	if json.Unmarshal(b, &head) != nil || head.Schema <= Version {
		return nil, err
	}
	m := &Message{Envelope: head.Envelope, Agent: head.Agent, Instance: head.Instance, Seq: head.Seq}
	return m, known(head.Format, Format, head.Schema)
}

// Pack makes the bytes of a question.
func (a *Ask) Pack() ([]byte, error) { return json.Marshal(a) }

// UnpackAsk reads a question.
func UnpackAsk(b []byte) (*Ask, error) {
	if len(b) > maxAsk {
		return nil, fmt.Errorf("%d bytes: %w", len(b), ErrTooLarge)
	}
	a := &Ask{}
	if err := json.Unmarshal(b, a); err != nil {
		return nil, err
	}
	if err := known(a.Format, AskFormat, a.Schema); err != nil {
		return nil, err
	}
	if !IsID(a.ID) || a.Within < 0 {
		return nil, errors.New("its id or time is not one that a hub gives")
	}
	return a, nil
}

const (
	maxAsk     = 4 << 10
	maxAck     = 64 << 10
	maxAccepts = 300 // of a list
)

func known(format, want string, schema int) error {
	switch {
	case format != want:
		return fmt.Errorf("its format is %.40q, not %q", format, want)
	case schema > Version:
		return fmt.Errorf("version %d: %w (%d)", schema, ErrNewer, Version)
	case schema < 1:
		return fmt.Errorf("version %d is invalid", schema)
	}
	return nil
}

// Pack makes the bytes of an answer.
func (a *Ack) Pack() ([]byte, error) { return json.Marshal(a) }

// UnpackAck reads an answer.
func UnpackAck(b []byte) (*Ack, error) {
	if len(b) > maxAck {
		return nil, fmt.Errorf("%d bytes: %w", len(b), ErrTooLarge)
	}
	a := &Ack{}
	if err := json.Unmarshal(b, a); err != nil {
		return nil, err
	}
	if !IsID(a.Instance) || a.Seq < 0 || len(a.Refused) > maxText {
		return nil, errors.New("its instance or number is not from an agent")
	}
	if err := validAccepts(a.Accepts); err != nil {
		return nil, err
	}
	return a, nil
}
