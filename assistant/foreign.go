package assistant

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"fettle/host/redact"
	"fettle/internal/ui"
)

// Bounds of what a host says.
const (
	maxText   = 2000     // bytes of one text
	maxDeep   = 12       // values within values
	maxList   = 200      // entries of a list within an answer
	maxAnswer = 24 << 10 // bytes of an answer's entries
)

// visible makes of foreign text what a model and a terminal can only read: secrets masked as in
// evidence, control, bidirectional and invisible characters escaped, bounded. Lines stay lines.
func visible(s string, limit int) string {
	lines := strings.Split(redact.MaskedProse(strings.ToValidUTF8(s, "\uFFFD")), "\n")
	for i, l := range lines {
		lines[i] = ui.Visible(strings.ReplaceAll(l, "\t", "    "))
	}
	s = strings.Join(lines, "\n")
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return fmt.Sprintf("%s… (%d more bytes)", s[:limit], len(s)-limit)
}

// foreign makes every text of a value visible, keys too, and bounds it.
func foreign(v any, deep int) any {
	switch v := v.(type) {
	case string:
		return visible(v, maxText)
	case []any:
		if deep >= maxDeep {
			return "…"
		}
		out := make([]any, 0, min(len(v), maxList))
		for i, e := range v {
			if i == maxList {
				out = append(out, fmt.Sprintf("… (%d more)", len(v)-i))
				break
			}
			out = append(out, foreign(e, deep+1))
		}
		return out
	case map[string]any:
		if deep >= maxDeep {
			return "…"
		}
		out := map[string]any{}
		for k, e := range v {
			out[visible(k, maxText)] = foreign(e, deep+1)
		}
		return out
	}
	return v
}

// page is as many entries from the cursor on as an answer holds, and the cursor for the rest.
func page(entries []any, cursor string, limit int) (out []any, next string, err error) {
	from := 0
	if cursor != "" {
		if from, err = strconv.Atoi(cursor); err != nil || from < 0 || from > len(entries) {
			return nil, "", fmt.Errorf("unknown cursor %q for this call", visible(cursor, 40))
		}
	}
	if limit <= 0 || limit > maxList {
		limit = maxList
	}
	left := maxAnswer
	for i, e := range entries[from:] {
		e = foreign(e, 0)
		b, err := json.Marshal(e)
		if err != nil {
			return nil, "", err
		}
		if i > 0 && len(b) > left || i == limit {
			return out, strconv.Itoa(from + i), nil
		}
		if len(b) > maxAnswer {
			e = map[string]any{"cut": visible(string(b), maxAnswer/2)}
		}
		left -= len(b)
		out = append(out, e)
	}
	return out, "", nil
}
