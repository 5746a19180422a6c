package message

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"strings"
)

// parseJSON reads a record of journalctl -o json, of docker's log files, or a line that a
// program logs as JSON.
func parseJSON(line string) (Line, bool) {
	var all map[string]any
	if json.Unmarshal([]byte(line), &all) != nil {
		return Line{}, false
	}
	l := Line{Log: true, Host: word(all["_HOSTNAME"]), By: word(all["SYSLOG_IDENTIFIER"])}
	if word(all["_TRANSPORT"]) == "kernel" {
		l.By = "kernel"
	}
	if said := word(all["MESSAGE"]); said != "" {
		l.Text = clean(said)
		l.raw()
		return l, true
	}
	if said := word(all["log"]); said != "" { // docker's json-file
		inner := ParseLine(said)
		inner.Log, inner.Raw = true, inner.Text
		return inner, true
	}
	if word(all["msg"]) == "" && word(all["message"]) == "" {
		return Line{}, false
	}
	l.Text, l.Raw = line, line // a level may be anywhere in it
	return l, true
}

// raw writes a record as a line.
func (l *Line) raw() { l.Raw = strings.TrimSpace(l.Host + " " + l.By + ": " + l.Text) }

// word is a text of a record. The journal writes as a list of bytes what is not plain.
func word(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		var b strings.Builder
		for _, e := range v {
			switch e := e.(type) {
			case float64:
				b.WriteByte(byte(e))
			case string: // a field that was given twice
				return e
			}
		}
		return b.String()
	}
	return ""
}

// parseExport reads a record of journalctl -o export: a line a field, or for a value with
// line breaks its name, its length in eight bytes and it.
func parseExport(record []byte) Line {
	l := Line{Log: true}
	kernel := false
	for len(record) > 0 {
		line, rest, _ := bytes.Cut(record, []byte("\n"))
		name, value, ok := bytes.Cut(line, []byte("="))
		if !ok && len(rest) > 8 {
			n := binary.LittleEndian.Uint64(rest)
			value = rest[8:]
			if n < uint64(len(value)) {
				value, rest = value[:n], value[n+1:]
			} else {
				rest = nil
			}
		}
		record = rest
		switch string(name) {
		case "MESSAGE":
			l.Text = string(value)
		case "_HOSTNAME":
			l.Host = string(value)
		case "SYSLOG_IDENTIFIER":
			l.By = string(value)
		case "_TRANSPORT":
			kernel = string(value) == "kernel"
		}
	}
	if kernel {
		l.By = "kernel"
	}
	return l
}
