package message

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// template is a message made ready to match.
type template struct {
	Message
	windows []string // the parts of the words of which a line is first searched for one
	fields  []string
	words   int        // bytes of its words: what it says beside its placeholders
	needs   [][][]byte // parts of its words, in order: a line without them is not this message, however it is written
	re      func() *regexp.Regexp
	loose   func() *regexp.Regexp // with anything for each placeholder
}

// windowSize is how many bytes of a template's words a line must have before the
// template is tried on it.
const windowSize = 8

// Check tells what is wrong with a message.
func Check(m Message) error {
	if strings.TrimSpace(m.Says) == "" {
		return fmt.Errorf("message %q: says is missing: who prints it", m.Text)
	}
	if strings.TrimSpace(m.Since) == "" {
		return fmt.Errorf("message %q: since is missing: from which version on, and where that was read", m.Text)
	}
	_, err := parse(m)
	return err
}

func parse(m Message) (*template, error) {
	t := &template{Message: m}
	if !utf8.ValidString(m.Text) || strings.ContainsAny(m.Text, "\n\t") || m.Text != strings.TrimSpace(m.Text) || m.Text == "" {
		return nil, fmt.Errorf("message %q: it is one line without spaces at its ends", m.Text)
	}
	var form, loose strings.Builder
	parts := split(m.Text)
	for _, p := range parts {
		switch {
		case p.words != "":
			t.words += len(p.words)
			words := strings.ReplaceAll(regexp.QuoteMeta(p.words), " ", " +")
			form.WriteString(words)
			loose.WriteString(words)
		case p.all != nil:
			form.WriteString("(?:" + quoted(p.all) + ")")
			loose.WriteString(`\S*`)
		default:
			k, ok := kinds[p.field]
			if !ok {
				return nil, fmt.Errorf("message %q: no placeholder is called <%s>", m.Text, p.field)
			}
			t.fields = append(t.fields, p.field)
			form.WriteString("(" + k.form + ")")
			loose.WriteString(`.*`)
		}
	}
	said := spoken(m.Text)
	t.windows = windows(parts)
	for _, w := range windows(split(said)) {
		if !slices.Contains(t.windows, w) {
			t.windows = append(t.windows, w)
		}
	}
	if t.windows == nil {
		return nil, fmt.Errorf(
			"message %q: it needs %d characters in a row that are always the same, without quotation marks", m.Text, windowSize)
	}
	t.needs = needs(said)
	source := bounded(m.Text, form.String())
	t.re = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(source) })
	anything := loose.String()
	t.loose = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(anything) })
	return t, nil
}

// part is words, a field, or a choice of words.
type part struct {
	words, field string
	all          []string
}

func split(text string) []part {
	var out []part
	for text != "" {
		at := anyField().FindStringSubmatchIndex(text)
		if at == nil {
			return append(out, part{words: text})
		}
		if at[0] > 0 {
			out = append(out, part{words: text[:at[0]]})
		}
		inside := text[at[2]:at[3]]
		out = append(out, part{field: inside, all: alternatives(inside)})
		text = text[at[1]:]
	}
	return out
}

// spoken is a text without the name of the program, which may be a field of its own, or have a number behind it.
func spoken(text string) string {
	if first, rest, ok := strings.Cut(text, " "); ok && strings.HasSuffix(first, ":") && !strings.Contains(first, "[") {
		return rest
	}
	return text
}

// needs are the parts of a text that stand in a log as they are, whatever its form: not what JSON writes
// otherwise. Of a choice, one of them.
func needs(text string) [][][]byte {
	var out [][][]byte
	for _, p := range split(text) {
		for _, run := range strings.FieldsFunc(p.words, func(r rune) bool { return r == ' ' || escaped(r) }) {
			out = append(out, [][]byte{[]byte(run)})
		}
		if p.all == nil || slices.ContainsFunc(p.all, func(s string) bool { return s == "" || strings.ContainsFunc(s, escaped) }) {
			continue
		}
		var choice [][]byte
		for _, s := range p.all {
			choice = append(choice, []byte(s))
		}
		out = append(out, choice)
	}
	return out
}

// escaped is what one or the other program that writes JSON writes otherwise.
func escaped(r rune) bool { return unsafeInJSON(r) || strings.ContainsRune("'`<>&+", r) }

// mayBe is a quick look whether a line, or the record of one, may be the message.
func (t *template) mayBe(line []byte) bool {
	for _, choice := range t.needs {
		end := -1
		for _, w := range choice {
			if i := bytes.Index(line, w); i >= 0 && (end < 0 || i+len(w) < end) {
				end = i + len(w)
			}
		}
		if end < 0 {
			return false
		}
		line = line[end:]
	}
	return true
}

// windows are the rarest window of the words; where no words are long enough, those of each
// choice together with the words beside it.
func windows(parts []part) []string {
	best := ""
	for _, p := range parts {
		best = rarest(p.words, best)
	}
	if best != "" {
		return []string{best}
	}
next:
	for i, p := range parts {
		var out []string
		for _, a := range p.all {
			whole := a
			if i > 0 {
				whole = parts[i-1].words + whole
			}
			if i+1 < len(parts) {
				whole += parts[i+1].words
			}
			w := rarest(whole, "")
			if w == "" {
				continue next
			}
			out = append(out, w)
		}
		if out != nil {
			return out
		}
	}
	return nil
}

func rarest(words, best string) string {
	for _, run := range strings.FieldsFunc(words, unsafeInJSON) {
		for i := 0; i+windowSize <= len(run); i++ {
			if w := run[i : i+windowSize]; best == "" || rarity(w) > rarity(best) {
				best = w
			}
		}
	}
	return best
}

// unsafeInJSON is what a log as JSON writes otherwise.
func unsafeInJSON(r rune) bool {
	return r == '"' || r == '\\' || r == '/' || r < ' ' || r >= utf8.RuneSelf
}

// rarity is higher for what fewer lines have.
func rarity(w string) int {
	sum := 0
	for i := range len(w) {
		switch c := w[i]; {
		case strings.IndexByte("etaoinsr ", c) >= 0:
			sum++
		case c >= 'a' && c <= 'z':
			sum += 2
		case c >= '0' && c <= '9', c == ':', c == '.', c == '-', c == '=':
			sum += 2
		default:
			sum += 4
		}
	}
	return sum
}

// bounded has the expression begin and end where words do.
func bounded(text, form string) string {
	first, _ := utf8.DecodeRuneInString(text)
	last, _ := utf8.DecodeLastRuneInString(text)
	if wordRune(first) || first == '<' {
		form = `(?:^|[^\w.-])` + form
	} else {
		form = `(?:)` + form
	}
	if wordRune(last) || last == '>' {
		form += `(?:$|[^\w-])`
	}
	return form
}

func wordRune(r rune) bool {
	return r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

// match finds the template in what a line says.
func (t *template) match(l *Line) (Hit, bool) {
	if !l.mayBe(t.Says) {
		return Hit{}, false
	}
	text := l.full()
	at := t.re().FindStringSubmatchIndex(text)
	if at == nil {
		return Hit{}, false
	}
	h := Hit{Fields: map[string]string{}}
	for i, name := range t.fields {
		v := text[at[2*i+2]:at[2*i+3]]
		if ok := kinds[name].ok; ok != nil && !ok(v) {
			return Hit{}, false
		}
		if h.Fields[name] == "" {
			h.Fields[name] = v
		}
	}
	h.Whole = len(strings.TrimSpace(text[:at[0]]))+len(strings.TrimSpace(text[at[1]:])) <= besides
	return h, true
}

// besides is how many bytes a line that is one message may have beside it: a full stop,
// a prefix such as "E: ".
const besides = 12

// Sample is a line as the template's program would print it.
func (m Message) Sample() string {
	return anyField().ReplaceAllStringFunc(m.Text, func(field string) string {
		inside := field[1 : len(field)-1]
		if all := alternatives(inside); all != nil {
			return all[0]
		}
		return kinds[inside].sample
	})
}

// Words are those of the template without its placeholders.
func (m Message) Words() string {
	return anyField().ReplaceAllStringFunc(m.Text, func(field string) string {
		return " " + strings.Join(alternatives(field[1:len(field)-1]), " ") + " "
	})
}
