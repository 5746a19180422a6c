package firstlook

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

// stampLen is how long the stamp at the beginning of a line is, with what separates it from
// the rest; 0 where there is none. year tells that it has one.
func stampLen(b []byte) (n int, year bool) {
	switch {
	case len(b) < 8:
		return 0, false
	case b[0] == '[':
		return bracketed(b)
	case b[0] >= '0' && b[0] <= '9':
		return isoLen(b)
	}
	return monthLen(b), false
}

// digits counts how many digits b begins with.
func digits(b []byte) int {
	n := 0
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	return n
}

// clockLen reads "12:34:56", with a fraction and a zone behind it.
func clockLen(b []byte) int {
	if len(b) < 8 || digits(b) != 2 || b[2] != ':' || digits(b[3:]) != 2 || b[5] != ':' || digits(b[6:]) != 2 {
		return 0
	}
	n := 8
	if n+1 < len(b) && (b[n] == '.' || b[n] == ',') && digits(b[n+1:]) > 0 {
		n += 1 + digits(b[n+1:])
	}
	switch {
	case n < len(b) && b[n] == 'Z':
		n++
	case n+2 < len(b) && (b[n] == '+' || b[n] == '-') && digits(b[n+1:]) >= 2:
		for n++; n < len(b) && (b[n] == ':' || b[n] >= '0' && b[n] <= '9'); n++ {
		}
	}
	return n
}

// isoLen reads "2026-01-02T03:04:05…" and "2026/01/02 03:04:05…", with a zone's name.
func isoLen(b []byte) (int, bool) {
	if len(b) < 19 || digits(b) != 4 || b[4] != '-' && b[4] != '/' || digits(b[5:]) != 2 || b[7] != b[4] || digits(b[8:]) != 2 ||
		b[10] != 'T' && b[10] != ' ' {
		return 0, false
	}
	n := clockLen(b[11:])
	if n == 0 {
		return 0, false
	}
	n += 11
	if n < len(b) && b[n] == ' ' {
		zone, _, ok := bytes.Cut(b[n+1:min(len(b), n+6)], []byte(" "))
		switch string(zone) {
		case "UTC", "GMT", "CET", "CEST", "EET", "EST", "EDT":
			if ok {
				n += 1 + len(zone)
			}
		}
	}
	return space(b, n), true
}

// space is the end of the blanks and colons behind n.
func space(b []byte, n int) int {
	for n < len(b) && (b[n] == ' ' || b[n] == ':') {
		n++
	}
	return n
}

// monthLen reads "Jan _2 03:04:05" in any language that writes the month in letters, with a
// weekday before it or a year behind.
func monthLen(b []byte) int {
	n := wordLen(b)
	if n < 2 {
		return 0
	}
	i := n
	for i < len(b) && (b[i] == '.' || b[i] == ' ') {
		i++
	}
	if i == n {
		return 0
	}
	if w := wordLen(b[i:]); w >= 2 { // a weekday stood first: "Sun Dec 18 02:21:46 2016"
		for i += w; i < len(b) && (b[i] == '.' || b[i] == ' '); i++ {
		}
	}
	d := digits(b[i:])
	if d < 1 || d > 2 || i+d >= len(b) || b[i+d] != ' ' {
		return 0
	}
	i += d + 1
	c := clockLen(b[i:])
	if c == 0 {
		return 0
	}
	i += c
	if i+5 < len(b) && b[i] == ' ' && digits(b[i+1:]) == 4 && b[i+5] == ' ' {
		i += 5
	}
	return space(b, i)
}

// wordLen counts letters, also those beyond ASCII.
func wordLen(b []byte) int {
	n := 0
	for n < len(b) && n < 16 && (b[n]|0x20 >= 'a' && b[n]|0x20 <= 'z' || b[n] >= 0x80) {
		n++
	}
	return n
}

// bracketed reads "[   12.345678] ", "[Tue Nov 20 22:30:22 2018] " and "[2016-07-15 09:07:35,914]".
func bracketed(b []byte) (int, bool) {
	if n := kernelLen(b); n > 0 {
		return n, false
	}
	end := -1
	for i := 1; i < len(b) && i < 48; i++ {
		if b[i] == ']' {
			end = i
			break
		}
	}
	if end < 9 {
		return 0, false
	}
	in := append(append([]byte{}, b[1:end]...), ' ')
	if n, _ := isoLen(in); n >= len(in)-1 {
		return space(b, end+1), true
	}
	if n := monthLen(in); n >= len(in)-1 {
		return space(b, end+1), true
	}
	return 0, false
}

// kernelLen reads "[   12.345678] ", and the thread that the kernel may name behind it.
func kernelLen(b []byte) int {
	if len(b) < 4 || b[0] != '[' {
		return 0
	}
	i := 1
	for i < len(b) && b[i] == ' ' {
		i++
	}
	d := digits(b[i:])
	if d == 0 || i+d+2 >= len(b) || b[i+d] != '.' {
		return 0
	}
	i += d + 1
	i += digits(b[i:])
	if i >= len(b) || b[i] != ']' {
		return 0
	}
	i++
	if i < len(b) && b[i] == '[' { // CONFIG_PRINTK_CALLER: "[    C1]"
		j := i + 1
		for j < len(b) && b[j] == ' ' {
			j++
		}
		if j < len(b) && (b[j] == 'C' || b[j] == 'T') {
			if k := j + 1 + digits(b[j+1:]); k < len(b) && b[k] == ']' {
				i = k + 1
			}
		}
	}
	return space(b, i)
}

// layouts are how stamps are read; those without a year get that of the clock's.
var layouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05-0700", "2006-01-02T15:04:05.999999-0700", "2006-01-02 15:04:05",
	"2006-01-02 15:04:05 MST", "2006/01/02 15:04:05", "Jan _2 15:04:05", "Mon Jan _2 15:04:05 2006", "Jan _2 15:04:05 2006"}

// seconds is a stamp as seconds; what they count from is the same for stamps of one form.
func seconds(stamp string) (float64, bool) {
	s := strings.Trim(stamp, "[] ")
	if v, err := strconv.ParseFloat(s, 64); err == nil {
		if v > 1e14 { // microseconds of journald
			v /= 1e6
		}
		return v, true
	}
	s = strings.Replace(s, ",", ".", 1)
	for _, l := range layouts {
		if t, err := time.Parse(l, s); err == nil {
			return float64(t.Unix()) + float64(t.Nanosecond())/1e9, true
		}
	}
	return 0, false
}
