package api

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"reflect"
	"strings"

	"fettle/fleet/hub/store"
	"fettle/internal/ui"
)

// op is one operation of the API.
type op struct {
	method, path, id, summary string
	operator                  bool
	params                    []param
	answer                    reflect.Type
	rows                      bool
	takes                     string // the type of the body, where it is a file
	gives                     string // the type of the answer, where it is one
	run                       func(ctx context.Context, a *API, given url.Values, body []byte) (any, error)
}

// File is an answer that is one.
type File struct {
	Name, Type string
	Content    []byte
}

const zstdType = "application/zstd" // RFC 8878, section 7.1

// operation makes an op of one of API's methods: its question and its answer
// tell the parameters and the schema.
func operation[Q, R any](method, path, id, summary string, f func(*API, context.Context, Q) (R, error)) op {
	answer := reflect.TypeFor[R]()
	return op{
		method: method, path: path, id: id, summary: summary, params: params(reflect.TypeFor[Q]()), operator: method != http.MethodGet,
		answer: answer, rows: answer.Implements(reflect.TypeFor[rows]()),
		run: func(ctx context.Context, a *API, given url.Values, _ []byte) (any, error) {
			q, err := Read[Q](given)
			if err != nil {
				return nil, err
			}
			return f(a, ctx, q)
		},
	}
}

// uploading makes an op of a method that takes a file.
func uploading[Q, R any](path, id, summary, kind string, f func(*API, context.Context, Q, []byte) (R, error)) op {
	o := operation(http.MethodPost, path, id, summary, func(a *API, ctx context.Context, q Q) (R, error) { return f(a, ctx, q, nil) })
	o.takes = kind
	o.run = func(ctx context.Context, a *API, given url.Values, body []byte) (any, error) {
		q, err := Read[Q](given)
		if err != nil {
			return nil, err
		}
		return f(a, ctx, q, body)
	}
	return o
}

// file says of which type a file is.
func (o op) file(kind string) op {
	o.gives = kind
	return o
}

// forReaders is an operation that changes nothing, although it is no GET.
func (o op) forReaders() op {
	o.operator = false
	return o
}

// forOperators is an operation that readers may not use.
func (o op) forOperators() op {
	o.operator = true
	return o
}

// rows is an answer that can be had as CSV.
type rows interface {
	CSV() (header []string, lines [][]string)
}

// Handler serves the operations. may reports whether whoever asks is an operator.
func (a *API) Handler(may func(ctx context.Context) bool) http.Handler {
	mux := http.NewServeMux()
	for _, o := range operations {
		mux.HandleFunc(o.method+" "+o.path, func(w http.ResponseWriter, r *http.Request) {
			if o.operator && !may(r.Context()) {
				writeError(w, http.StatusForbidden, "this needs the role operator")
				return
			}
			a.serve(w, r, o)
		})
	}
	mux.HandleFunc("GET /api/openapi.json", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, OpenAPI()) })
	mux.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, http.StatusNotFound, "no such operation: /api/openapi.json lists all")
	})
	return mux
}

func (a *API) serve(w http.ResponseWriter, r *http.Request, o op) {
	given, body, err := questionOf(r, o)
	format := given.Get("format")
	if o.rows {
		given.Del("format")
	}
	if err == nil && o.rows && format != "" && format != "json" && format != "csv" {
		err = bad("format %q: expected json or csv", clip(format))
	}
	if err == nil {
		var answer any
		if answer, err = o.run(r.Context(), a, given, body); err == nil {
			file, isFile := answer.(File)
			switch {
			case isFile:
				writeFile(w, file)
			case format == "csv" && o.rows:
				writeCSV(w, o.id, answer.(rows))
			default:
				writeJSON(w, http.StatusOK, answer)
			}
			return
		}
	}
	status, said := Problem(err)
	if status == http.StatusInternalServerError {
		slog.Error("API", "operation", o.id, "err", err)
	}
	writeError(w, status, said)
}

// Problem is an error as the client sees it.
func Problem(err error) (status int, said string) {
	var wrong *BadRequest
	var not *Forbidden
	switch {
	case errors.As(err, &not):
		return http.StatusForbidden, not.Said
	case errors.As(err, &wrong):
		return http.StatusBadRequest, wrong.Said
	case errors.Is(err, store.ErrNone):
		return http.StatusNotFound, "no such object in this hub"
	case errors.Is(err, context.Canceled):
		return 499, "cancelled"
	}
	return http.StatusInternalServerError, "the hub could not answer; see its log"
}

func questionOf(r *http.Request, o op) (given url.Values, body []byte, err error) {
	given = url.Values{}
	if o.method == http.MethodGet || o.takes != "" {
		if given, err = url.ParseQuery(r.URL.RawQuery); err != nil {
			return url.Values{}, nil, bad("the query cannot be read: %v", err)
		}
	}
	if o.method != http.MethodGet {
		most := int64(1 << 20)
		if o.takes != "" {
			most = MaxCapture
		}
		body, err = io.ReadAll(http.MaxBytesReader(nil, r.Body, most))
		if err != nil {
			return given, nil, bad("the body is larger than %d MiB, or broke off", most>>20)
		}
		if o.takes == "" && len(body) > 0 {
			if given, err = fromJSON(body); err != nil {
				return url.Values{}, nil, err
			}
		}
	}
	for _, p := range o.params {
		if strings.Contains(o.path, "{"+p.name+"}") {
			given.Set(p.name, r.PathValue(p.name))
		}
	}
	return given, body, nil
}

// writeFile hands a file out, to be saved and never shown.
func writeFile(w http.ResponseWriter, f File) {
	w.Header().Set("Content-Type", f.Type)
	w.Header().Set("Content-Disposition", `attachment; filename="`+f.Name+`"`)
	w.Write(f.Content) // whoever went away misses nothing
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	b, err := json.Marshal(v)
	if err != nil {
		slog.Error("API", "err", err)
		status, b = http.StatusInternalServerError, []byte(`{"error":"the hub could not write its answer"}`)
	}
	w.WriteHeader(status)
	w.Write(append(ui.JSON(b), '\n')) // whoever went away misses nothing
}

func writeError(w http.ResponseWriter, status int, said string) {
	writeJSON(w, status, map[string]string{"error": said})
}

// writeCSV writes rows for spreadsheets, which take a cell that begins with one
// of =+-@ for a formula: a host may not compute in an admin's sheet.
func writeCSV(w http.ResponseWriter, name string, r rows) {
	w.Header().Set("Content-Type", "text/csv; charset=utf-8; header=present")
	w.Header().Set("Content-Disposition", `attachment; filename="fettle-`+name+`.csv"`)
	out := csv.NewWriter(w)
	header, lines := r.CSV()
	out.Write(header)
	for _, line := range lines {
		for i, cell := range line {
			cell = ui.Visible(cell)
			if cell != "" && strings.ContainsRune("=+-@", rune(cell[0])) {
				cell = "'" + cell
			}
			line[i] = cell
		}
		out.Write(line)
	}
	out.Flush()
}

// Operation is what a page says of an operation.
type Operation struct {
	Method, Path, Summary string
	Operator, Rows        bool
}

// Operations lists the operations.
func Operations() []Operation {
	var out []Operation
	for _, o := range operations {
		out = append(out, Operation{o.method, o.path, o.summary, o.operator, o.rows})
	}
	return out
}
