// Package schematest checks what fettle writes against the published JSON schemas.
package schematest

import (
	"bytes"
	"encoding"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

var update = flag.Bool("update-schemas", false, "rewrite docs/schema")

// Published fails where docs/schema/NAME-1.schema.json is not the schema of v's
// type; go test -update-schemas rewrites it.
func Published(t *testing.T, name, description string, v any) {
	t.Helper()
	file := file(t, name)
	s := of(reflect.TypeOf(v))
	s.Properties["format"] = &schema{Const: "fettle-" + name}
	s.Properties["schema"] = &schema{Const: 1}
	s.Schema, s.ID = "https://json-schema.org/draft/2020-12/schema", "urn:fettle:schema:"+name+":1"
	s.Description = description + " Within a version fields are only added: readers must ignore fields that they do not know."
	var want bytes.Buffer
	e := json.NewEncoder(&want)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(s); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf(
			"%s is not the schema of %T (%v): rewrite it with go test -update-schemas, and read the diff: what went away or changed its meaning "+
				"needs a new version",
			file,
			v,
			err,
		)
	}
}

// Compiled compiles a schema, or the part of it that at points to.
func Compiled(t *testing.T, file, at string) *jsonschema.Schema {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("file:///schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("file:///schema.json" + at)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Validate tells what is wrong with a document by a schema.
func Validate(t *testing.T, s *jsonschema.Schema, b []byte) error {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(v)
}

// Valid tells what is wrong with a document by its own format's schema.
func Valid(doc []byte) error {
	var head struct {
		Format string `json:"format"`
	}
	if err := json.Unmarshal(doc, &head); err != nil {
		return err
	}
	root, err := root()
	if err != nil {
		return err
	}
	s, err := jsonschema.NewCompiler().
		Compile(filepath.Join(root, "docs", "schema", strings.TrimPrefix(head.Format, "fettle-")+"-1.schema.json"))
	if err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		return err
	}
	return s.Validate(v)
}

func file(t *testing.T, name string) string {
	t.Helper()
	r, err := root()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(r, "docs", "schema", name+"-1.schema.json")
}

// root is the folder of the repository, above the test's own.
func root() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, serr := os.Stat(filepath.Join(dir, "go.mod")); serr == nil {
			return dir, nil
		}
		if dir == "/" {
			return "", os.ErrNotExist
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}

// schema is the part of JSON Schema that a Go type comes to.
type schema struct {
	Schema      string             `json:"$schema,omitempty"`
	ID          string             `json:"$id,omitempty"`
	Description string             `json:"description,omitempty"`
	Const       any                `json:"const,omitempty"`
	Type        any                `json:"type,omitempty"`
	Format      string             `json:"format,omitempty"`
	Required    []string           `json:"required,omitempty"`
	Properties  map[string]*schema `json:"properties,omitempty"`
	Items       *schema            `json:"items,omitempty"`
	Values      *schema            `json:"additionalProperties,omitempty"`
}

var (
	raw    = reflect.TypeFor[json.RawMessage]()
	moment = reflect.TypeFor[time.Time]()
	text   = reflect.TypeFor[encoding.TextMarshaler]()
)

func of(t reflect.Type) *schema {
	switch {
	case t == raw: // of the field's own making
		return &schema{}
	case t == moment:
		return &schema{Type: "string", Format: "date-time"}
	case t.Implements(text) || reflect.PointerTo(t).Implements(text):
		return &schema{Type: "string"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return of(t.Elem())
	case reflect.Struct:
		s := &schema{Type: "object", Properties: map[string]*schema{}}
		s.fields(t)
		return s
	case reflect.Slice, reflect.Array:
		return &schema{Type: []string{"array", "null"}, Items: of(t.Elem())}
	case reflect.Map:
		return &schema{Type: []string{"object", "null"}, Values: of(t.Elem())}
	case reflect.String:
		return &schema{Type: "string"}
	case reflect.Bool:
		return &schema{Type: "boolean"}
	case reflect.Float32, reflect.Float64:
		return &schema{Type: "number"}
	case reflect.Interface:
		return &schema{}
	}
	return &schema{Type: "integer"}
}

// fields adds those of a struct, and of the structs embedded in it.
func (s *schema) fields(t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case name == "-" || !f.IsExported() && !f.Anonymous:
		case f.Anonymous && name == "" && inner.Kind() == reflect.Struct:
			s.fields(inner)
		default:
			if name == "" {
				name = f.Name
			}
			s.Properties[name] = of(f.Type)
			switch said, ok := s.Properties[name].Type.(string); {
			case strings.Contains(options, "omit"):
			case f.Type.Kind() != reflect.Pointer:
				s.Required = append(s.Required, name)
			case ok: // a nil pointer is written
				s.Properties[name].Type = []string{said, "null"}
			}
		}
	}
}
