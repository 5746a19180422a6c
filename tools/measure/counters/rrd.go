package counters

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"fettle/host"
)

// readRRD reads what `rrdtool dump` prints. An RRD holds no counters: rrdtool
// made rates of them when they came in, took each fall of a COUNTER for one
// wrap at 32 or 64 bits, and fitted the rates to its steps (rrdcreate(1)). So
// a wrap that it missed can no longer be seen, and the rates are never certain.
func readRRD(name string, b []byte) ([]Series, error) {
	d := xml.NewDecoder(bytes.NewReader(b))
	d.Strict = true
	p := &rrd{name: name, d: d}
	for {
		tok, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, p.bad("broken XML: %v", err)
		}
		if err := p.token(tok); err != nil {
			return nil, err
		}
	}
	return p.series()
}

// rrd is a dump being read.
type rrd struct {
	name string
	d    *xml.Decoder
	path []string
	text strings.Builder

	root    bool
	step    int64 // s
	updated int64 // s since 1970
	ds      []struct{ name, kind string }
	now     archive
	row     []float64
	best    archive
	values  int
}

// archive is one RRA.
type archive struct {
	cf   string
	pdp  int64 // steps a row
	rows [][]float64
}

func (p *rrd) bad(format string, args ...any) error {
	line, _ := p.d.InputPos()
	return &host.SyntaxError{Path: p.name, Line: line, Msg: fmt.Sprintf(format, args...)}
}

func (p *rrd) token(tok xml.Token) error {
	switch t := tok.(type) {
	case xml.StartElement:
		if len(p.path) == 0 && t.Name.Local != "rrd" {
			return p.bad("is XML, but not of `rrdtool dump`: it begins with <%s>", shorten(t.Name.Local))
		}
		if len(p.path) > 20 {
			return p.bad("elements nested too deep")
		}
		p.root = true
		p.path = append(p.path, t.Name.Local)
		p.text.Reset()
		switch strings.Join(p.path, "/") {
		case "rrd/ds":
			if len(p.ds) >= maxSeries {
				return p.bad("more than %d data sources", maxSeries)
			}
			p.ds = append(p.ds, struct{ name, kind string }{})
		case "rrd/rra":
			p.now = archive{}
		case "rrd/rra/database/row":
			p.row = make([]float64, 0, len(p.ds))
		}
	case xml.CharData:
		if p.text.Len() < 200 {
			p.text.Write(t)
		}
	case xml.EndElement:
		at, text := strings.Join(p.path, "/"), strings.TrimSpace(p.text.String())
		p.path = p.path[:len(p.path)-1]
		p.text.Reset()
		return p.end(at, text)
	}
	return nil
}

func (p *rrd) number(what, text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 || n > 1<<40 {
		return 0, p.bad("%s is %s, which is no such number", what, strconv.Quote(shorten(text)))
	}
	return n, nil
}

func (p *rrd) end(at, text string) (err error) {
	switch at {
	case "rrd/step":
		p.step, err = p.number("the step", text)
	case "rrd/lastupdate":
		p.updated, err = p.number("lastupdate", text)
	case "rrd/ds/name":
		p.ds[len(p.ds)-1].name = text
	case "rrd/ds/type":
		p.ds[len(p.ds)-1].kind = text
	case "rrd/rra/cf":
		p.now.cf = text
	case "rrd/rra/pdp_per_row":
		p.now.pdp, err = p.number("pdp_per_row", text)
	case "rrd/rra/database/row/v":
		f, perr := strconv.ParseFloat(text, 64)
		if perr != nil || math.IsInf(f, 0) || f < 0 {
			return p.bad("%s is not a rate", strconv.Quote(shorten(text)))
		}
		if p.values++; p.values > maxSamples {
			return p.bad("more than %d values", maxSamples)
		}
		p.row = append(p.row, f)
	case "rrd/rra/database/row":
		if len(p.row) != len(p.ds) {
			return p.bad("a row of %d values for %d data sources", len(p.row), len(p.ds))
		}
		p.now.rows = append(p.now.rows, p.row)
	case "rrd/rra":
		if p.now.pdp == 0 {
			return p.bad("an archive without pdp_per_row")
		}
		// The finest averages are the nearest to what was measured.
		if p.now.cf == "AVERAGE" && (p.best.pdp == 0 || p.now.pdp < p.best.pdp) {
			p.best = p.now
		}
	}
	return err
}

func (p *rrd) series() ([]Series, error) {
	switch {
	case !p.root || p.step == 0 || p.updated == 0:
		return nil, &host.SyntaxError{Path: p.name, Msg: "no step or no lastupdate: is this all of what `rrdtool dump` printed?"}
	case p.best.pdp == 0:
		return nil, &host.SyntaxError{Path: p.name, Msg: "no archive of averages"}
	case p.best.pdp > 1<<31/p.step:
		return nil, &host.SyntaxError{Path: p.name, Msg: "rows of more than 68 years"}
	}
	width := p.step * p.best.pdp
	last := p.updated - p.updated%width
	var all []Series
	for k, ds := range p.ds {
		if ds.kind != "COUNTER" && ds.kind != "DERIVE" && ds.kind != "DCOUNTER" && ds.kind != "DDERIVE" {
			continue
		}
		s := Series{Name: ds.name, Rates: true, Facts: Facts{Lag: time.Duration(p.step) * time.Second}}
		n := int64(len(p.best.rows))
		// The first row needs a reading before it to begin at.
		s.Samples = append(s.Samples, Sample{T: time.Unix(last-n*width, 0).UTC(), Gone: true})
		for i, row := range p.best.rows {
			x := Sample{T: time.Unix(last-(n-1-int64(i))*width, 0).UTC()}
			octets := row[k] * float64(width)
			switch {
			case math.IsNaN(octets):
				x.Gone = true
			case octets >= math.MaxUint64:
				return nil, &host.SyntaxError{Path: p.name, Msg: fmt.Sprintf("%s: a rate of %g octets a second", ds.name, row[k])}
			default:
				x.V = uint64(octets)
			}
			s.Samples = append(s.Samples, x)
		}
		all = append(all, s)
	}
	if len(all) == 0 {
		return nil, &host.SyntaxError{Path: p.name, Msg: "no data source of type COUNTER or DERIVE"}
	}
	return all, nil
}
