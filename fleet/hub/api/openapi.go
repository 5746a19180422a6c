package api

import (
	"cmp"
	"encoding"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"fettle/engine/trap"
)

type object = map[string]any

// OpenAPI describes the operations, made of the very table that serves them.
func OpenAPI() object {
	s := schemas{named: object{}}
	paths := object{}
	for _, o := range operations {
		at, _ := paths[o.path].(object)
		if at == nil {
			at = object{}
			paths[o.path] = at
		}
		at[strings.ToLower(o.method)] = s.operation(o)
	}
	s.named["Error"] = object{
		"type":                 "object",
		"required":             []string{"error"},
		"properties":           object{"error": object{"type": "string"}},
		"additionalProperties": false,
	}
	return object{
		"openapi": "3.1.0",
		"info": object{"title": "fettle hub", "version": "1", "summary": "What the hosts of a fleet report, kept and compared.",
			"description": "Everything that the hub's web page shows and does. Fields may be added at any time; one that is removed or changes " +
				"its meaning comes with a new /api/v2.",
			"license": object{"name": "MIT", "identifier": "MIT"}},
		"servers":  []object{{"url": "/"}},
		"security": []object{{"token": []string{}}, {"basic": []string{}}, {"session": []string{}}},
		"paths":    paths,
		"components": object{"schemas": s.named, "securitySchemes": object{
			"token": object{"type": "http", "scheme": "bearer", "description": "A token of fettle-hub users token."},
			"basic": object{"type": "http", "scheme": "basic", "description": "The token as the password, with any name: for feed readers."},
			"session": object{
				"type":        "apiKey",
				"in":          "cookie",
				"name":        "fettle_session",
				"description": "The page's own; changes need the form token as X-Fettle-Form, too.",
			},
		}},
	}
}

func (s *schemas) operation(o op) object {
	ok := object{}
	if o.answer == fileType {
		kind := cmp.Or(o.gives, zstdType)
		ok[kind] = object{"schema": object{"type": "string", "contentMediaType": kind}}
	} else {
		ok["application/json"] = object{"schema": s.of(o.answer)}
	}
	if o.rows {
		ok["text/csv"] = object{"schema": object{"type": "string"}}
	}
	out := object{
		"operationId": o.id, "summary": o.summary,
		"responses": object{
			"200": object{"description": "Done.", "content": ok},
			"400": s.problem("The request is wrong."),
			"401": object{"description": "Not logged in."},
			"404": s.problem("Not found."),
		},
	}
	var query []object
	fields, required := object{}, []string{}
	for _, p := range o.params {
		inPath := strings.Contains(o.path, "{"+p.name+"}")
		switch {
		case inPath:
			query = append(query, object{"name": p.name, "in": "path", "required": true, "description": p.about, "schema": p.schema()})
		case o.method == http.MethodGet:
			query = append(query, object{"name": p.name, "in": "query", "required": p.required, "description": p.about, "schema": p.schema()})
		default:
			field := p.schema()
			field["description"] = p.about
			fields[p.name] = field
			if p.required {
				required = append(required, p.name)
			}
		}
	}
	if o.rows {
		query = append(
			query,
			object{
				"name":        "format",
				"in":          "query",
				"description": "csv: the rows as comma-separated values",
				"schema":      object{"type": "string", "enum": []string{"json", "csv"}},
			},
		)
	}
	if len(query) > 0 {
		out["parameters"] = query
	}
	switch {
	case o.method == http.MethodGet:
	case o.takes != "":
		out["requestBody"] = object{
			"required": true,
			"content":  object{o.takes: object{"schema": object{"type": "string", "contentMediaType": o.takes}}},
		}
	default:
		body := object{"type": "object", "properties": fields, "additionalProperties": false}
		if len(required) > 0 {
			body["required"] = required
		}
		out["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": body}}}
	}
	if o.operator {
		out["responses"].(object)["403"] = s.problem("Needs the role operator.")
	}
	return out
}

func (s *schemas) problem(about string) object {
	return object{
		"description": about,
		"content":     object{"application/json": object{"schema": object{"$ref": "#/components/schemas/Error"}}},
	}
}

func (p *param) schema() object {
	switch p.kind {
	case reflect.Int, reflect.Int64:
		return object{"type": "integer", "minimum": p.least}
	case reflect.Bool:
		return object{"type": "boolean"}
	}
	out := object{"type": "string", "maxLength": p.long}
	if len(p.one) > 0 {
		out["enum"] = append(slices.Clone(p.one), "")
	}
	return out
}

// schemas are the JSON schemas of Go types, structs by name.
type schemas struct{ named object }

var (
	timeType    = reflect.TypeFor[time.Time]()
	rawType     = reflect.TypeFor[json.RawMessage]()
	marshalType = reflect.TypeFor[encoding.TextMarshaler]()
	sevType     = reflect.TypeFor[trap.Severity]()
	fileType    = reflect.TypeFor[File]()
)

func (s *schemas) of(t reflect.Type) object {
	switch {
	case t == timeType:
		return object{"type": "string", "format": "date-time"}
	case t == rawType:
		return object{}
	case t == sevType:
		return object{"type": "string", "enum": []string{"notice", "warning", "critical"}}
	case t.Kind() != reflect.Pointer && t.Implements(marshalType):
		return object{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Slice:
		return object{"type": []string{"array", "null"}, "items": s.of(t.Elem())}
	case reflect.Map:
		return object{"type": []string{"object", "null"}, "additionalProperties": s.of(t.Elem())}
	case reflect.Struct:
		return s.structure(t)
	}
	return object{"type": "integer"}
}

func (s *schemas) structure(t reflect.Type) object {
	name := t.Name()
	if i := strings.IndexByte(name, '['); i >= 0 {
		name = name[:i]
	}
	if t.PkgPath() != "" {
		name = strings.TrimPrefix(t.PkgPath()[strings.LastIndex(t.PkgPath(), "/")+1:], "api") + name
		name = strings.ToUpper(name[:1]) + name[1:]
	}
	ref := object{"$ref": "#/components/schemas/" + name}
	if _, done := s.named[name]; done {
		return ref
	}
	s.named[name] = nil // types may hold themselves
	fields, required := object{}, []string{}
	s.fields(t, fields, &required)
	s.named[name] = object{"type": "object", "properties": fields, "required": required, "additionalProperties": false}
	return ref
}

func (s *schemas) fields(t reflect.Type, fields object, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			s.fields(f.Type, fields, required)
			continue
		case !f.IsExported() || name == "-":
			continue
		case name == "":
			name = f.Name
		}
		fields[name] = s.of(f.Type)
		if !strings.Contains(opts, "omit") {
			*required = append(*required, name)
		}
	}
}
