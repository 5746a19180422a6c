package trap

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"fettle/engine/message"
)

// quick reads front matter that is as plain as nearly all of it is: a line a
// field, lists of a line an item, no escapes. The YAML parser takes a tenth of
// a millisecond an article, which fettle why would pay for each trap. It tells
// whether it understood everything; if not, the parser has to.
func (a *Article) quick(front string) bool {
	if !utf8.ValidString(front) || strings.ContainsFunc(front, unprintable) {
		return false
	}
	text := map[string]*string{"id": &a.ID, "title": &a.Title, "since": &a.Since}
	lists := map[string]*[]string{"symptoms": &a.Symptoms, "tags": &a.Tags, "refs": &a.Refs,
		"questions": &a.Questions, "horizon": &a.Horizon, "covers": &a.Covers}
	var open *[]string // the list whose items may follow
	messages := false  // theirs may
	for line := range strings.Lines(front) {
		line = strings.TrimRight(line, "\n")
		if messages && strings.HasPrefix(line, "  ") {
			if !a.quickMessage(line) {
				return false
			}
			continue
		}
		if messages = line == "messages:" && a.Messages == nil; messages {
			open = nil
			continue
		}
		if item, ok := strings.CutPrefix(line, "  - "); ok && open != nil {
			v, ok := plainScalar(item)
			if !ok {
				return false
			}
			*open = append(*open, v)
			continue
		}
		open = nil
		key, value, ok := strings.Cut(line, ":")
		if !ok || value != "" && value[0] != ' ' {
			return false
		}
		value = strings.TrimSpace(value)
		var good bool
		if s, list := text[key], lists[key]; s != nil {
			*s, good = plainScalar(value)
			delete(text, key) // twice is a mistake, which the parser tells
		} else if list != nil {
			delete(lists, key)
			if value == "" {
				open, good = list, true
			} else {
				*list, good = plainList(value)
			}
		}
		if !good {
			return false
		}
	}
	return true
}

// quickMessage reads a line of a message: "  - text: …" begins one, "    says: …" goes on.
func (a *Article) quickMessage(line string) bool {
	if rest, ok := strings.CutPrefix(line, "  - "); ok {
		a.Messages = append(a.Messages, message.Message{})
		line = "    " + rest
	}
	line, ok := strings.CutPrefix(line, "    ")
	key, value, _ := strings.Cut(line, ": ")
	if !ok || len(a.Messages) == 0 {
		return false
	}
	m := &a.Messages[len(a.Messages)-1]
	to := map[string]*string{"text": &m.Text, "says": &m.Says, "since": &m.Since, "about": &m.About}[key]
	flag := map[string]*bool{"perhaps": &m.Perhaps, "harmless": &m.Harmless}[key]
	switch {
	case to != nil && *to == "":
		*to, ok = plainScalar(value)
		return ok
	case flag != nil && !*flag && value == "true":
		*flag = true
		return true
	}
	return false
}

// unprintable tells what parsers of YAML replace, drop or take for the end of a line.
func unprintable(r rune) bool { return r != '\n' && r != ' ' && !unicode.IsGraphic(r) }

// plainList reads "[a, b]".
func plainList(s string) ([]string, bool) {
	if len(s) < 3 || s[0] != '[' || s[len(s)-1] != ']' {
		return nil, false
	}
	var out []string
	for _, item := range strings.Split(s[1:len(s)-1], ",") {
		v, ok := plainScalar(strings.TrimSpace(item))
		if !ok || strings.ContainsAny(item, "\"'[]{}") {
			return nil, false
		}
		out = append(out, v)
	}
	return out, true
}

// plainScalar reads a value on one line: quoted without escapes, or plain and
// without anything that means something to YAML.
func plainScalar(s string) (string, bool) {
	if s == "" || s != strings.TrimSpace(s) {
		return "", false
	}
	switch s[0] {
	case '"', '\'':
		inner := s[1:max(1, len(s)-1)]
		return inner, len(s) > 2 && s[len(s)-1] == s[0] && !strings.ContainsAny(inner, "\\\t"+s[:1])
	}
	letter := s[0] >= 'a' && s[0] <= 'z' || s[0] >= 'A' && s[0] <= 'Z' || s[0] == '/'
	if !letter || strings.Contains(s, ": ") || strings.Contains(s, " #") || strings.HasSuffix(s, ":") || strings.Contains(s, "\t") {
		return "", false
	}
	switch strings.ToLower(s) {
	case "null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf":
		return "", false
	}
	return s, true
}
