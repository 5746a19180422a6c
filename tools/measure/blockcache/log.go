// Package blockcache measures a block cache with fio: the slow device, the fast
// one, and the two joined by a cache that is empty, full of the same data, and
// full of other data. It tells whether the cached device becomes as fast as
// the fast one.
package blockcache

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
)

// Log is one of fio's logs of one job: IOPS or latencies, averaged over
// intervals by log_avg_msec (fio(1), LOG FILE FORMATS).
type Log struct {
	File    string
	Samples []Sample
}

// Sample is a line of a log.
type Sample struct {
	Ms    int64   // since the job's start, at the end of the interval
	Value float64 // requests a second, or ns
	Dir   int     // 0 reads, 1 writes, 2 trims
}

const (
	maxLogSamples = 5_000_000
	maxLogMs      = 1 << 40 // 34 years
)

// ReadLog reads a log. A line that is no line of a log, a log that was cut
// off and one without samples are errors that tell file and line.
func ReadLog(file string, r io.Reader) (Log, error) {
	l := Log{File: file}
	bad := func(line int, format string, args ...any) (Log, error) {
		return Log{}, fmt.Errorf("%s:%d: %s", file, line, fmt.Sprintf(format, args...))
	}
	br := bufio.NewReaderSize(r, 4096)
	last := [3]int64{-1, -1, -1}
	for n := 1; ; n++ {
		line, err := br.ReadSlice('\n')
		switch {
		case err == io.EOF && len(line) == 0:
			if len(l.Samples) == 0 {
				return bad(n, "no sample: fio ran for less than one interval, or did no request")
			}
			return l, nil
		case err == io.EOF:
			return bad(n, "cut off in the middle of a line: fio was killed, or the disk was full")
		case err == bufio.ErrBufferFull:
			return bad(n, "longer than a line of a fio log")
		case err != nil:
			return Log{}, fmt.Errorf("reading %s: %w", file, err)
		}
		s, why := parseSample(line)
		if why != "" {
			return bad(n, "%s", why)
		}
		if s.Ms < last[s.Dir] {
			return bad(n, "the time goes back from %d ms to %d ms: two runs in one file?", last[s.Dir], s.Ms)
		}
		if len(l.Samples) == maxLogSamples {
			return bad(n, "more than %d samples: was log_avg_msec not set?", maxLogSamples)
		}
		last[s.Dir] = s.Ms
		l.Samples = append(l.Samples, s)
	}
}

// OpenLog reads the log in a file.
func OpenLog(file string) (Log, error) {
	f, err := os.Open(file)
	if err != nil {
		return Log{}, err
	}
	defer f.Close()
	return ReadLog(file, f)
}

// parseSample reads "500, 31712, 0, 0, 0": time in ms, value, direction, block
// size, and in newer versions offset and priority. why tells what is wrong.
func parseSample(line []byte) (s Sample, why string) {
	f := bytes.Split(bytes.TrimRight(line, "\r\n"), []byte(","))
	if len(f) < 4 || len(f) > 8 {
		return s, fmt.Sprintf("%d fields where a fio log has time, value, direction, block size and up to four more", len(f))
	}
	var n [3]int64
	for i := range n {
		text := string(bytes.TrimSpace(f[i]))
		v, err := strconv.ParseInt(text, 10, 64)
		if err != nil || v < 0 {
			return s, fmt.Sprintf("expected a %[2]s, not %[1]q", text, [...]string{"time in ms", "value", "direction"}[i])
		}
		n[i] = v
	}
	switch {
	case n[0] > maxLogMs:
		return s, fmt.Sprintf("a time of %d ms is no time of a run", n[0])
	case n[2] > 2:
		return s, fmt.Sprintf("direction %d: expected 0 (reads), 1 (writes) or 2 (trims)", n[2])
	}
	return Sample{n[0], float64(n[1]), int(n[2])}, ""
}
