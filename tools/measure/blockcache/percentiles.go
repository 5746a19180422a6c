package blockcache

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"
)

// Totals are what fio counted itself over a whole run (--output-format=json).
type Totals struct {
	Requests int64   `json:"requests"`
	IOPS     float64 `json:"iops"` // mean over the run
	// Percentiles of how long requests took to be complete (clat), by percent.
	Percentiles []Percentile `json:"percentiles"`
}

// Percentile is the time within which this share of the requests was done.
type Percentile struct {
	Percent float64       `json:"percent"`
	Took    time.Duration `json:"took_ns"`
}

// At is the percentile, or 0 where fio did not say.
func (t Totals) At(percent float64) time.Duration {
	for _, p := range t.Percentiles {
		if p.Percent == percent {
			return p.Took
		}
	}
	return 0
}

// ReadTotals reads what fio printed, of jobs reported as one group: the
// percentiles of several groups cannot be joined. Where there are reads and
// writes, the percentiles are those of the reads.
func ReadTotals(name string, b []byte) (Totals, error) {
	// fio prints notes before the JSON.
	if !bytes.HasPrefix(b, []byte("{")) {
		if i := bytes.Index(b, []byte("\n{")); i >= 0 {
			b = b[i+1:]
		}
	}
	type direction struct {
		Requests int64   `json:"total_ios"`
		IOPS     float64 `json:"iops"`
		Clat     struct {
			N          int64            `json:"N"`
			Percentile map[string]int64 `json:"percentile"`
		} `json:"clat_ns"`
	}
	var said struct {
		Jobs []struct {
			Name        string `json:"jobname"`
			Error       int    `json:"error"`
			Read, Write direction
		} `json:"jobs"`
	}
	err := json.NewDecoder(bytes.NewReader(b)).Decode(&said)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return Totals{}, fmt.Errorf("%s is cut off: fio was killed, or the disk with the runs' folder is full", name)
	}
	if err != nil {
		return Totals{}, fmt.Errorf("reading %s as fio's JSON: %w", name, err)
	}
	if n := len(said.Jobs); n != 1 {
		return Totals{}, fmt.Errorf("%s: fio reports %d groups of jobs; expected one (group_reporting)", name, n)
	}
	j := said.Jobs[0]
	if j.Error != 0 {
		return Totals{}, fmt.Errorf("%s: fio's job %q ended with error %d", name, j.Name, j.Error)
	}
	t := Totals{Requests: j.Read.Requests + j.Write.Requests, IOPS: j.Read.IOPS + j.Write.IOPS}
	if t.Requests <= 0 {
		return Totals{}, fmt.Errorf("%s: fio's job %q did no request", name, j.Name)
	}
	from := j.Read.Clat
	if j.Read.Requests == 0 {
		from = j.Write.Clat
	}
	for k, ns := range from.Percentile {
		p, err := strconv.ParseFloat(k, 64)
		if err != nil || !(p >= 0 && p <= 100) || ns < 0 {
			return Totals{}, fmt.Errorf("%s: %q: %d is no percentile", name, k, ns)
		}
		t.Percentiles = append(t.Percentiles, Percentile{p, time.Duration(ns)})
	}
	slices.SortFunc(t.Percentiles, func(a, b Percentile) int {
		switch {
		case a.Percent < b.Percent:
			return -1
		case a.Percent > b.Percent:
			return 1
		}
		return 0
	})
	return t, nil
}
