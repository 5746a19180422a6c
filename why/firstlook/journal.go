package firstlook

import (
	"bytes"
	"strconv"
	"time"
	"unicode/utf8"
)

// entry is one entry of the journal, as its fields come ("Journal Export Formats",
// https://systemd.io/JOURNAL_EXPORT_FORMATS/).
type entry struct {
	at, host, boot, ident, comm, unit, of, id, message, prio []byte
}

// field is where a field is kept; nil where it is of no use.
func (e *entry) field(key []byte) *[]byte {
	switch string(key) {
	case "__REALTIME_TIMESTAMP":
		return &e.at
	case "_HOSTNAME":
		return &e.host
	case "_BOOT_ID":
		return &e.boot
	case "SYSLOG_IDENTIFIER":
		return &e.ident
	case "_COMM":
		return &e.comm
	case "_SYSTEMD_UNIT":
		return &e.unit
	case "UNIT":
		return &e.of
	case "MESSAGE_ID":
		return &e.id
	case "MESSAGE":
		return &e.message
	case "PRIORITY":
		return &e.prio
	}
	return nil
}

func (e *entry) reset() {
	for _, f := range []*[]byte{&e.at, &e.host, &e.boot, &e.ident, &e.comm, &e.unit, &e.of, &e.id, &e.message, &e.prio} {
		*f = (*f)[:0]
	}
}

func (e *entry) record() record {
	prio, err := strconv.Atoi(string(e.prio))
	if err != nil || prio < 0 || prio > 7 {
		prio = -1
	}
	r := record{stamp: e.at, host: e.host, boot: e.boot, by: e.ident, unit: e.of, id: e.id, text: e.message, prio: prio}
	if len(r.by) == 0 {
		r.by = e.comm
	}
	if len(r.unit) == 0 {
		r.unit = e.unit
	}
	return r
}

// exported reads one line of the export format. An entry is complete at its empty line.
func (p *parser) exported(b []byte) (e *entry, done bool) {
	switch {
	case p.export == nil && bytes.HasPrefix(b, []byte("__CURSOR=")):
		p.export = &entry{}
		return nil, false
	case p.export == nil:
		return nil, false
	case len(b) == 0:
		p.entry, *p.export = *p.export, p.entry
		p.export.reset()
		return &p.entry, len(p.entry.message) > 0
	}
	if key, v, ok := bytes.Cut(b, []byte("=")); ok {
		if to := p.export.field(key); to != nil {
			*to = append((*to)[:0], v...)
		}
	}
	return nil, false
}

// json reads an entry of journalctl -o json. Only texts are of use; everything else is
// skipped.
func (p *parser) json(b []byte) (record, bool) {
	e := &p.entry
	e.reset()
	for i := 1; i < len(b); {
		if b[i] != '"' {
			i++
			continue
		}
		key, next := jsonText(b, i)
		if next < 0 {
			break
		}
		for next < len(b) && (b[next] == ' ' || b[next] == ':') {
			next++
		}
		if next >= len(b) {
			break
		}
		if b[next] == '"' {
			v, after := jsonText(b, next)
			if after < 0 {
				break
			}
			if to := e.field(key); to != nil {
				*to = unescape((*to)[:0], v)
			}
			i = after
			continue
		}
		if i = jsonSkip(b, next); i < 0 {
			break
		}
	}
	return e.record(), len(e.message) > 0
}

// jsonText is what is between the quotes at i, and where they end; -1 without an end.
func jsonText(b []byte, i int) ([]byte, int) {
	for end := i + 1; ; end++ {
		n := bytes.IndexByte(b[end:], '"')
		if n < 0 {
			return nil, -1
		}
		end += n
		text := b[i+1 : end]
		if escapes := len(text) - len(bytes.TrimRight(text, `\`)); escapes%2 == 0 {
			return text, end + 1
		}
	}
}

// jsonSkip skips a number, a null or a list.
func jsonSkip(b []byte, i int) int {
	depth := 0
	for ; i < len(b); i++ {
		switch b[i] {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case '"':
			if _, i = jsonText(b, i); i < 0 {
				return -1
			}
			i--
		case ',':
			if depth <= 0 {
				return i
			}
		}
	}
	return -1
}

// unescape appends a text as it is in JSON to out.
func unescape(out, v []byte) []byte {
	if bytes.IndexByte(v, '\\') < 0 {
		return append(out, v...)
	}
	for i := 0; i < len(v); i++ {
		if v[i] != '\\' || i+1 >= len(v) {
			out = append(out, v[i])
			continue
		}
		i++
		switch v[i] {
		case 'n', 't', 'r':
			out = append(out, ' ')
		case 'u':
			if i+4 < len(v) {
				n, _ := strconv.ParseUint(string(v[i+1:i+5]), 16, 32)
				out = utf8.AppendRune(out, rune(n))
				i += 4
			}
		default:
			out = append(out, v[i])
		}
	}
	return out
}

// readable is a stamp as people read it: journald's microseconds become a time.
func readable(stamp string) string {
	if us, err := strconv.ParseInt(stamp, 10, 64); err == nil && us > 1e14 {
		return time.UnixMicro(us).UTC().Format("2006-01-02 15:04:05")
	}
	return stamp
}
