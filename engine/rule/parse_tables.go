package rule

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"fettle/engine/rule/cel"
)

// Row is one of a table: a value under a key, who says so, and the day on which somebody saw
// that they do.
type Row struct {
	Key, Value, Source, Confirmed string
}

// Table is what a rule knows that ages: ends of life, versions. Expressions see a map.
type Table struct {
	Name string
	Rows []Row
}

// rowLimit bounds the rows of one table.
const rowLimit = 1000

// tables reads them; to expressions, each is a map.
func (p *parsing) tables(n ast.Node) {
	if n == nil {
		return
	}
	p.entries(n, "tables", func(name string, k, v ast.Node) {
		if !p.newName(name, k) {
			return
		}
		t := Table{Name: name}
		var pairs []string
		for _, i := range items(v) {
			row, ok := p.row(i)
			switch {
			case !ok:
				continue
			case slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Key == row.Key }):
				p.errorf(i, "%s: the key %q is there twice", name, row.Key)
			}
			t.Rows = append(t.Rows, row)
			pairs = append(pairs, strconv.Quote(row.Key)+": "+strconv.Quote(row.Value))
		}
		if len(t.Rows) == 0 || len(t.Rows) > rowLimit {
			p.errorf(v, "%s: expected 1 to %d rows, each with key, value, source and confirmed", name, rowLimit)
			return
		}
		p.r.Tables = append(p.r.Tables, t)
		p.r.Lets = append(p.r.Lets, Let{name, &Expr{Source: "{" + strings.Join(pairs, ", ") + "}", Line: at(k).line}})
		p.declare(name, cel.TypeFor[map[string]string]())
	})
}

func (p *parsing) row(n ast.Node) (Row, bool) {
	var r Row
	ok := p.entries(n, "a row", func(key string, k, v ast.Node) {
		switch key {
		case "key":
			r.Key = p.str(v, key)
		case "value":
			r.Value = p.str(v, key)
		case "source":
			r.Source = p.str(v, key)
		case "confirmed":
			r.Confirmed = p.day(v)
		default:
			p.errorf(k, "a row: no key is called %q; there are key, value, source and confirmed", key)
		}
	})
	if !ok {
		return r, false
	}
	p.need(n, "a row", map[string]bool{"key": r.Key != "", "value": r.Value != "", "source": r.Source != "", "confirmed": r.Confirmed != ""},
		"key", "value", "source", "confirmed")
	return r, true
}

// day is the day on which something was confirmed.
func (p *parsing) day(n ast.Node) string {
	s := p.str(n, "confirmed")
	if _, err := time.Parse(time.DateOnly, s); err != nil {
		p.errorf(n, "confirmed: %q is not a day such as 2026-11-28", s)
	}
	return s
}

// confirmedFor is how long a confirmation of something that ages is good for.
const confirmedFor = 365 * 24 * time.Hour

// Unconfirmed are the rows of its tables, and the versions with a fix, that nobody has
// confirmed for a year.
func (r *Rule) Unconfirmed(now time.Time) (out []string) {
	add := func(what, source, confirmed string) {
		if day, err := time.Parse(time.DateOnly, confirmed); err == nil && now.Sub(day) > confirmedFor {
			out = append(out, fmt.Sprintf("%s: last confirmed on %s (%s)", what, confirmed, source))
		}
	}
	for _, t := range r.Tables {
		for _, row := range t.Rows {
			add(t.Name+", "+row.Key, row.Source, row.Confirmed)
		}
	}
	for _, f := range r.Facts {
		for _, d := range f.Fixed {
			add(strings.TrimSpace(f.Name+", "+d.OS+" "+d.Release), d.Source, d.Confirmed)
		}
	}
	return out
}
