package firstlook

import (
	"bytes"
	"strconv"
)

// record is one message of a log. Its slices are the reader's: whoever keeps one copies it.
type record struct {
	stamp []byte // as the line has it
	host  []byte
	boot  []byte
	by    []byte // the program: kernel, systemd, nginx
	unit  []byte // of whom it speaks, or whose it is, where the log says so
	id    []byte // MESSAGE_ID
	text  []byte
	prio  int // syslog(3); -1 where it is not known
}

// parser reads lines of the formats in which people have logs: journalctl's short ones,
// JSON and export, syslog's old and new form, dmesg, containers' and programs' own.
type parser struct {
	export *entry // the entry of journalctl -o export that is being read
	entry  entry  // room for one entry
}

// line reads one line, without its end. No record: the line has no message, or its entry
// goes on.
func (p *parser) line(b []byte) (record, bool) {
	if e, done := p.exported(b); e != nil {
		return e.record(), done
	} else if p.export != nil {
		return record{}, false
	}
	b = unquoted(bytes.TrimRight(b, "\r"))
	switch {
	case len(b) == 0 || explains(b):
		return record{}, false
	case b[0] == '{':
		if r, ok := p.json(b); ok {
			return r, true
		}
	}
	return textLine(b), true
}

// explains tells lines that are about the log or a message, and are none: what journalctl -x
// adds, and what it says of itself.
func explains(b []byte) bool {
	return bytes.HasPrefix(b, []byte("-- ")) || bytes.Equal(b, []byte("--")) || bytes.HasPrefix(b, []byte("░░"))
}

// unquoted takes off colours and what forums put before a quoted line.
func unquoted(b []byte) []byte {
	if bytes.IndexByte(b, 0x1b) >= 0 {
		b = plain(b)
	}
	for len(b) > 1 && (b[0] == '>' || b[0] == '|') && b[1] == ' ' {
		b = b[2:]
	}
	return bytes.TrimLeft(b, " \t")
}

// plain takes off what colours a line (ECMA-48, CSI … m and the like).
func plain(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] != 0x1b {
			out = append(out, b[i])
			continue
		}
		if i+1 < len(b) && b[i+1] == '[' {
			for i += 2; i < len(b) && (b[i] < '@' || b[i] > '~'); i++ {
			}
		}
	}
	return out
}

// textLine reads a line that people read.
func textLine(b []byte) record {
	r := record{prio: -1}
	if name, rest, ok := composed(b); ok {
		r.by, b = name, rest
	}
	b = r.priority(b)
	n, year := stampLen(b)
	r.stamp, b = bytes.TrimRight(b[:n], " :"), bytes.TrimLeft(b[n:], " ")
	kernel := len(r.stamp) > 1 && r.stamp[0] == '[' && (!year || digits(r.stamp[1:]) == 0) // as dmesg has it, or dmesg -T
	if n > 0 && b != nil && (!kernel || monotonic(b)) {
		b = r.said(b, year)
	}
	if string(r.by) == "kernel" || len(r.by) == 0 && kernel {
		r.by = []byte("kernel")
		if k := kernelLen(b); k > 0 { // rsyslog leaves the kernel's own stamp
			b = b[k:]
		}
	}
	r.text = bytes.TrimSpace(b)
	return r
}

// monotonic tells whether a host and who speaks follow the kernel's stamp, as journalctl -o short-monotonic
// writes them: of the kernel's own "r8169 0000:02:00.0: …" none is a host.
func monotonic(b []byte) bool {
	_, rest, _ := bytes.Cut(b, []byte(" "))
	by, _, ok := bytes.Cut(rest, []byte(": "))
	return ok && (string(by) == "kernel" || bytes.HasSuffix(by, []byte("]")))
}

// composed cuts "name_1  | text", as docker compose prefixes what its containers print.
func composed(b []byte) (name, rest []byte, ok bool) {
	i := bytes.Index(b[:min(len(b), 64)], []byte(" | "))
	if i < 1 {
		return nil, b, false
	}
	name = bytes.TrimRight(b[:i], " ")
	if bytes.ContainsAny(name, " \t[]():=\"'/") {
		return nil, b, false
	}
	return name, b[i+3:], true
}

// priority cuts "<6>" (syslog's and the kernel's), and RFC 5424's version behind it.
func (r *record) priority(b []byte) []byte {
	if len(b) < 3 || b[0] != '<' {
		return b
	}
	end := bytes.IndexByte(b[:min(len(b), 5)], '>')
	if end < 2 {
		return b
	}
	n, err := strconv.Atoi(string(b[1:end]))
	if err != nil || n > 191 {
		return b
	}
	r.prio = n & 7
	return bytes.TrimPrefix(b[end+1:], []byte("1 "))
}

// said reads "host by[pid]: text", RFC 5424's "host by pid id [data] text", or a program's
// own line, which has neither.
func (r *record) said(b []byte, year bool) []byte {
	host, rest, ok := bytes.Cut(b, []byte(" "))
	if !ok || len(host) == 0 || !nameLike(host) {
		return b
	}
	by, text, ok := bytes.Cut(rest, []byte(": "))
	if name, isBy := program(by); ok && isBy {
		r.host, r.by = host, name
		return text
	}
	if name, isBy := program(bytes.TrimSuffix(rest, []byte(":"))); isBy && bytes.HasSuffix(rest, []byte(":")) {
		r.host, r.by = host, name // an empty message
		return nil
	}
	if !year || r.prio < 0 {
		return b
	}
	by, text, _ = bytes.Cut(rest, []byte(" "))
	_, text, _ = bytes.Cut(text, []byte(" ")) // the pid
	if _, text, ok = bytes.Cut(text, []byte(" ")); ok {
		r.host, r.by = host, by
		if bytes.HasPrefix(text, []byte("- ")) {
			return text[2:]
		}
		if i := bytes.Index(text, []byte("] ")); i > 0 && text[0] == '[' {
			return text[i+2:]
		}
		return text
	}
	return b
}

// program reads "nginx[123]", "postfix/smtp[7]", "(sd-pam)".
func program(b []byte) ([]byte, bool) {
	name, pid, hasPID := bytes.Cut(b, []byte("["))
	if len(name) == 0 || len(name) > 128 || hasPID && !bytes.HasSuffix(pid, []byte("]")) {
		return nil, false
	}
	for _, c := range name {
		switch c {
		case ' ', '\t', '"', '=', '<', '>', '{', '}':
			return nil, false
		}
	}
	return name, true
}

// nameLike tells what may be a host's name.
func nameLike(b []byte) bool {
	for _, c := range b {
		if c <= ' ' || c == '[' || c == ']' || c == '(' || c == '"' || c == '=' || c == '*' || c == '{' {
			return false
		}
	}
	return len(b) <= 253 && b[len(b)-1] != ':' && b[len(b)-1] != ','
}
