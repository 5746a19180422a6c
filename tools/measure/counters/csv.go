package counters

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"fettle/host"
)

// What columns are called, in lower case.
var (
	timeNames  = []string{"time", "timestamp", "t", "ts", "date", "datetime", "epoch"}
	ifaceNames = []string{"iface", "interface", "ifname", "name", "device"}
	indexNames = []string{"ifindex", "index"}
	upNames    = []string{"uptime", "sysuptime"}                         // seconds
	discNames  = []string{"discontinuity", "ifcounterdiscontinuitytime"} // any number that changes
)

// table is the columns of a CSV file.
type table struct {
	time, iface, index, up, disc int // -1: none
	values                       []int
	names                        []string
}

// readCSV reads a table whose first column, or the one called time, is the
// time of the reading; each other column is a counter, save those that tell
// the interface, its ifindex, the agent's uptime in seconds and its
// ifCounterDiscontinuityTime. Lines that begin with "#" are comments.
func readCSV(name string, b []byte) ([]Series, error) {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))))
	r.Comment, r.ReuseRecord, r.TrimLeadingSpace, r.FieldsPerRecord = '#', true, true, 0
	first, _, _ := bytes.Cut(b, []byte("\n"))
	for _, sep := range ";\t" {
		if !bytes.ContainsRune(first, ',') && bytes.ContainsRune(first, sep) {
			r.Comma = sep
		}
	}
	var tab *table
	found := map[string]*track{}
	var order []string
	total := 0
	for {
		rec, err := r.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, csvError(name, err)
		}
		line, _ := r.FieldPos(0)
		bad := func(err error) error { return &host.SyntaxError{Path: name, Line: line, Msg: err.Error()} }
		if tab == nil {
			header := false
			if tab, header, err = columns(rec); err != nil {
				return nil, bad(err)
			}
			if header {
				continue
			}
		}
		t, err := moment(rec[tab.time])
		if err != nil {
			return nil, bad(err)
		}
		for k, c := range tab.values {
			id := tab.names[k]
			if tab.iface >= 0 {
				id = strings.TrimSpace(strings.TrimSpace(rec[tab.iface]) + " " + id)
			}
			s := found[id]
			if s == nil {
				if len(order) >= maxSeries {
					return nil, bad(fmt.Errorf("more than %d counters", maxSeries))
				}
				s = &track{Series: Series{Name: strings.Clone(id), Facts: Facts{Told: tab.up >= 0 && tab.disc >= 0}}}
				found[s.Name] = s
				order = append(order, s.Name)
			}
			if err := s.add(tab, rec, t, rec[c]); err != nil {
				return nil, bad(err)
			}
			if total++; total > maxSamples {
				return nil, bad(fmt.Errorf("more than %d readings", maxSamples))
			}
		}
	}
	var all []Series
	for _, id := range order {
		all = append(all, found[id].Series)
	}
	return all, nil
}

// columns finds out what the columns of a table are, from its first record.
func columns(rec []string) (*table, bool, error) {
	t := &table{time: 0, iface: -1, index: -1, up: -1, disc: -1}
	_, err := moment(rec[0])
	header := err != nil
	if len(rec) < 2 {
		return nil, false, fmt.Errorf("expected a time and a counter, and there is one column: %s", strconv.Quote(shorten(rec[0])))
	}
	if !header {
		for i := range rec[1:] {
			t.values = append(t.values, i+1)
			t.names = append(t.names, fmt.Sprintf("column %d", i+2))
		}
		return t, false, nil
	}
	t.time = -1
	for i, h := range rec {
		h = strings.TrimSpace(h)
		switch low := strings.ToLower(h); {
		case t.time < 0 && slices.Contains(timeNames, low):
			t.time = i
		case slices.Contains(ifaceNames, low):
			t.iface = i
		case slices.Contains(indexNames, low):
			t.index = i
		case slices.Contains(upNames, low):
			t.up = i
		case slices.Contains(discNames, low):
			t.disc = i
		default:
			t.values = append(t.values, i)
			t.names = append(t.names, strings.Clone(h))
		}
	}
	switch {
	case t.time < 0:
		return nil, false, fmt.Errorf(
			"no column of times: %s is neither a time nor the name of such a column (time, timestamp, ...)",
			strconv.Quote(shorten(rec[0])),
		)
	case len(t.values) == 0:
		return nil, false, errors.New("no column of counters")
	}
	return t, true, nil
}

// track is a series being read.
type track struct {
	Series
	disc  string
	last  float64
	epoch uint64
}

func (s *track) add(tab *table, rec []string, t time.Time, value string) error {
	if n := len(s.Samples); n > 0 {
		if err := after(t, s.Samples[n-1].T); err != nil {
			return err
		}
	}
	v, gone, err := octets(value)
	if err != nil {
		return err
	}
	x := Sample{T: t, V: v, Gone: gone}
	if tab.index >= 0 {
		if x.Index, err = strconv.Atoi(strings.TrimSpace(rec[tab.index])); err != nil || x.Index < 0 {
			return fmt.Errorf("%s is not an ifindex", strconv.Quote(shorten(rec[tab.index])))
		}
	}
	if tab.up >= 0 {
		up, err := strconv.ParseFloat(strings.TrimSpace(rec[tab.up]), 64)
		if err != nil || !(up >= 0) {
			return fmt.Errorf("%s is not an uptime in seconds", strconv.Quote(shorten(rec[tab.up])))
		}
		if up < s.last {
			s.epoch++ // the agent started again
		}
		s.last = up
	}
	if tab.disc >= 0 {
		if d := strings.TrimSpace(rec[tab.disc]); d != s.disc {
			if len(s.Samples) > 0 {
				s.epoch++
			}
			s.disc = strings.Clone(d)
		}
	}
	x.Epoch = s.epoch
	s.Samples = append(s.Samples, x)
	return nil
}

func csvError(name string, err error) error {
	var pe *csv.ParseError
	switch {
	case errors.As(err, &pe) && errors.Is(err, csv.ErrFieldCount):
		return &host.SyntaxError{Path: name, Line: pe.Line, Msg: "not as many columns as the first line has (cut off?)"}
	case errors.As(err, &pe):
		return &host.SyntaxError{Path: name, Line: pe.StartLine, Msg: pe.Err.Error()}
	}
	return fmt.Errorf("reading %s: %w", name, err)
}
