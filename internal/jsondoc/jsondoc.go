// Package jsondoc is what every JSON document that fettle prints has in common:
// how it begins, and how it is written.
package jsondoc

import (
	"bytes"
	"encoding/json"
	"io"

	"fettle/internal/build"
	"fettle/internal/ui"
)

// Envelope begins every JSON document that fettle prints: which it is, and the
// version of its schema, docs/schema/NAME-VERSION.schema.json. A version grows
// when a field is removed or changes its meaning; new fields may appear at any
// time.
type Envelope struct {
	Format string `json:"format"` // "fettle-" and the document's name
	Schema int    `json:"schema"`
	Fettle string `json:"fettle"` // the version of fettle that wrote it
}

// New is the envelope of a document by its name.
func New(name string) Envelope {
	return Envelope{"fettle-" + name, Version, build.Version()}
}

// Version is the version of the JSON schemas. It grows when a field is removed
// or changes its meaning; new fields may appear at any time.
const Version = 1

// Encode writes v with < and > as they are, and a new line; for people to read
// with an indent of two blanks.
func Encode(w io.Writer, v any, indent string) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(ui.JSON(b.Bytes()))
	return err
}
