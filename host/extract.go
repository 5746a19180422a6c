package host

import (
	"context"
	"encoding/json"
	"io"
	"path"
)

// Extractor is a Source that has whole files at hand. Others answer what was
// made of a file when they were recorded, as a Table.
type Extractor interface {
	// Extract hands the file called name to of, as a stream, and returns what
	// that makes of it. kind names what is made.
	Extract(ctx context.Context, kind, name string, of func(io.Reader) ([]byte, error)) ([]byte, error)
}

// ExtractTable is where a capture keeps what was made of a file.
func ExtractTable(kind, name string) Table { return Table(kind + " " + name) }

// Extract is what of makes of a file that is too large to be read whole or to
// be kept in a capture: a kernel, an initrd. A capture keeps the extract alone,
// under its kind, so that one kind must always be made the same way.
func Extract[T any](ctx context.Context, h *Host, kind, name string, of func(io.Reader) (T, error)) (T, error) {
	name = path.Clean(name)
	made := func(r io.Reader) ([]byte, error) {
		v, err := of(r)
		if err != nil {
			return nil, err
		}
		return json.Marshal(v)
	}
	b, err := remember(ctx, &h.cache, asked(ctx, "extract:"+string(ExtractTable(kind, name))), func() ([]byte, error) {
		if secret(name) {
			return nil, wrap("reading", name, ErrSecret)
		}
		b, err := ExtractOf(ctx, h.src, kind, name, made)
		return b, wrap("reading", name, err)
	})
	var v T
	if err == nil {
		err = json.Unmarshal(b, &v)
	}
	return v, err
}

// ExtractOf asks whoever can tell: the file, or what was made of it before.
// Sources that wrap another call it.
func ExtractOf(ctx context.Context, s Source, kind, name string, of func(io.Reader) ([]byte, error)) ([]byte, error) {
	if d, ok := s.(Extractor); ok {
		return d.Extract(ctx, kind, name, of)
	}
	return s.Table(ctx, ExtractTable(kind, name))
}
