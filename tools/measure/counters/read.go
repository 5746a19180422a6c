package counters

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"fettle/host"
)

// Bounds of a recorded series, so that no file can use up the machine.
const (
	maxSeries  = 4000 // 2,000 interfaces, in and out
	maxSamples = 2_000_000
)

// maxText bounds what is unpacked, in bytes; tests lower it.
var maxText int64 = 64 << 20

// ReadFile reads recorded series: CSV, the XML of `rrdtool dump`, or the JSON
// of a Prometheus range query, plain or packed by gzip. "-" is stdin.
func ReadFile(name string, stdin io.Reader) ([]Series, error) {
	in := stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if st, err := f.Stat(); err == nil && st.IsDir() {
			return nil, fmt.Errorf("%s is a folder, not a recorded series", name)
		}
		in = f
	} else {
		name = "standard input"
	}
	return Read(name, in)
}

// Read is ReadFile of what in holds; name is for messages.
func Read(name string, in io.Reader) ([]Series, error) {
	b, err := unpacked(name, in)
	if err != nil {
		return nil, err
	}
	var all []Series
	switch begin := bytes.TrimLeft(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")), " \t\r\n"); {
	case len(begin) == 0:
		return nil, &host.SyntaxError{Path: name, Msg: "is empty: no readings"}
	case begin[0] == '<':
		all, err = readRRD(name, b)
	case begin[0] == '{':
		all, err = readProm(name, b)
	case bytes.HasPrefix(b, []byte("RRD\x00")):
		return nil, &host.SyntaxError{Path: name, Msg: "is a binary RRD file: give what `rrdtool dump` makes of it"}
	default:
		all, err = readCSV(name, b)
	}
	if err != nil {
		return nil, err
	}
	return all, enough(name, all)
}

// unpacked reads everything, up to the bound, and unpacks gzip.
func unpacked(name string, in io.Reader) ([]byte, error) {
	r := bufio.NewReader(in)
	var src io.Reader = r
	if magic, _ := r.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(r)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, fmt.Errorf("unpacking %s: it is cut off", name)
		}
		if err != nil {
			return nil, fmt.Errorf("unpacking %s: %w", name, err)
		}
		src = z
	}
	b, err := io.ReadAll(io.LimitReader(src, maxText+1))
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("unpacking %s: it is cut off", name)
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", name, err)
	case int64(len(b)) > maxText:
		return nil, fmt.Errorf("%s: %w (%d MiB unpacked)", name, host.ErrTooBig, maxText>>20)
	}
	return b, nil
}

// enough refuses series of which no rate can be made.
func enough(name string, all []Series) error {
	most := 0
	for _, s := range all {
		n := 0
		for _, x := range s.Samples {
			if !x.Gone {
				n++
			}
		}
		if s.Rates && n > 0 {
			n++ // each rate stands for two readings
		}
		most = max(most, n)
	}
	switch most {
	case 0:
		return &host.SyntaxError{Path: name, Msg: "holds no reading of a counter"}
	case 1:
		return &host.SyntaxError{Path: name, Msg: "holds one reading: a rate needs two"}
	}
	return nil
}

// octets reads a counter's value. gone: there was no reading.
func octets(text string) (v uint64, gone bool, err error) {
	text = strings.TrimSpace(text)
	switch strings.ToLower(text) {
	case "", "nan", "-nan", "u", "-", "null":
		return 0, true, nil
	}
	if v, err := strconv.ParseUint(text, 10, 64); err == nil {
		return v, false, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || math.IsInf(f, 0):
		return 0, false, fmt.Errorf("%s is not a number of octets", strconv.Quote(shorten(text)))
	case math.IsNaN(f):
		return 0, true, nil
	case f < 0:
		return 0, false, fmt.Errorf("%s: a counter is never negative", shorten(text))
	case f != math.Trunc(f):
		return 0, false, fmt.Errorf("%s is not a whole number of octets: give the counter itself, not its rate", shorten(text))
	case f >= math.MaxUint64:
		return 0, false, fmt.Errorf("%s does not fit into 64 bits", shorten(text))
	}
	return uint64(f), false, nil
}

// moment reads a time: seconds since 1970, or RFC 3339, or "2006-01-02 15:04:05" in UTC.
func moment(text string) (time.Time, error) {
	text = strings.TrimSpace(text)
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		if !(f >= 0 && f < 4e9) {
			return time.Time{}, fmt.Errorf("%s is not a time in seconds since 1970", shorten(text))
		}
		whole, part := math.Modf(f)
		return time.Unix(int64(whole), int64(math.Round(part*1e6))*1000).UTC(), nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%s is not a time: expected seconds since 1970 or RFC 3339", strconv.Quote(shorten(text)))
}

// after refuses a clock that stands still or goes backwards.
func after(t, last time.Time) error {
	switch {
	case last.IsZero() || t.After(last):
		return nil
	case t.Equal(last):
		return fmt.Errorf("a second reading at %s", t.UTC().Format(time.RFC3339))
	}
	return fmt.Errorf("%s is before the reading above it (%s): the clock went back, or the readings are not sorted",
		t.UTC().Format(time.RFC3339), last.UTC().Format(time.RFC3339))
}

func shorten(s string) string {
	if len(s) > 40 {
		return strings.ToValidUTF8(s[:40], "") + "..."
	}
	return s
}

// lineAt is the line of an offset.
func lineAt(b []byte, offset int64) int {
	return 1 + bytes.Count(b[:max(0, min(int(offset), len(b)))], []byte("\n"))
}
