package counters

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"fettle/host"
)

// promLookback is Prometheus' default --query.lookback-delta: a range query
// answers with the last scrape up to so long before each step, so a reading
// may be that old at its time stamp.
const promLookback = 5 * time.Minute

// promAnswer is the answer of /api/v1/query_range (Prometheus HTTP API).
type promAnswer struct {
	Status string `json:"status"`
	Error  string `json:"error"`
	Data   struct {
		ResultType string `json:"resultType"`
		Result     []struct {
			Metric map[string]string `json:"metric"`
			Values []json.RawMessage `json:"values"`
		} `json:"result"`
	} `json:"data"`
}

func readProm(name string, b []byte) ([]Series, error) {
	var a promAnswer
	dec := json.NewDecoder(bytes.NewReader(b))
	if err := dec.Decode(&a); err != nil {
		return nil, jsonError(name, b, err)
	}
	bad := func(format string, args ...any) error {
		return &host.SyntaxError{Path: name, Msg: fmt.Sprintf(format, args...)}
	}
	switch {
	case a.Status == "error":
		return nil, bad("Prometheus answered with an error: %s", shorten(a.Error))
	case a.Data.ResultType == "":
		return nil, bad("is JSON, but not an answer of Prometheus' query_range (no data.resultType)")
	case a.Data.ResultType != "matrix":
		return nil, bad("holds a %s: only the answer of a range query holds a series (resultType matrix)", shorten(a.Data.ResultType))
	case len(a.Data.Result) > maxSeries:
		return nil, bad("more than %d series", maxSeries)
	}
	var all []Series
	total := 0
	for _, r := range a.Data.Result {
		s := Series{Name: promName(r.Metric), Facts: Facts{Lag: promLookback}}
		var last time.Time
		if total += len(r.Values); total > maxSamples {
			return nil, bad("more than %d readings", maxSamples)
		}
		for k, raw := range r.Values {
			var at json.Number
			var text string
			var pair []json.RawMessage
			if json.Unmarshal(raw, &pair) != nil || len(pair) != 2 || json.Unmarshal(pair[0], &at) != nil ||
				json.Unmarshal(pair[1], &text) != nil {
				return nil, bad("%s, value %d: %s is not a pair of time and value", s.Name, k+1, shorten(string(raw)))
			}
			t, err := moment(at.String())
			if err == nil {
				err = after(t, last)
			}
			var v uint64
			var gone bool
			if err == nil {
				v, gone, err = octets(text)
			}
			if err != nil {
				return nil, bad("%s, value %d: %v", s.Name, k+1, err)
			}
			last = t
			s.Samples = append(s.Samples, Sample{T: t, V: v, Gone: gone})
		}
		all = append(all, s)
	}
	return all, nil
}

// promName is the labels that tell interfaces apart.
func promName(m map[string]string) string {
	var parts []string
	for _, l := range []string{"instance", "device", "ifName", "ifDescr", "interface", "ifIndex", "__name__"} {
		if v := m[l]; v != "" && !slices.Contains(parts, v) {
			parts = append(parts, v)
		}
	}
	if len(parts) == 0 {
		return "series"
	}
	return strings.Join(parts, " ")
}

func jsonError(name string, b []byte, err error) error {
	var se *json.SyntaxError
	var te *json.UnmarshalTypeError
	switch {
	case errors.As(err, &se):
		return &host.SyntaxError{Path: name, Line: lineAt(b, se.Offset), Msg: "broken JSON: " + se.Error()}
	case errors.As(err, &te):
		return &host.SyntaxError{
			Path: name,
			Line: lineAt(b, te.Offset),
			Msg:  fmt.Sprintf("%s where Prometheus has something else (%s)", te.Value, te.Field),
		}
	}
	return &host.SyntaxError{Path: name, Line: lineAt(b, math.MaxInt32), Msg: "broken JSON: " + err.Error()}
}
