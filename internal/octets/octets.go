// Package octets writes names of arbitrary bytes as text that passes through
// JSON, YAML and command lines unchanged, and reads them back.
//
// The kernel takes any byte but NUL, "/", ":" and white space in the name of an
// interface. A byte that is not UTF-8 is written \xNN, as in "br\xff". If a
// name already contains such a sequence, "br\xff" in letters, its backslash is
// followed by x5c: "br\x5cxff". All other names are text already, and stay unchanged.
package octets

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"fettle/internal/lazy"
)

// word is what stands for a byte, or for a word with one x5c less.
var word = lazy.Regexp(`\\((?:x5c)*)x([89a-f][0-9a-f])`)

// Text is a name as text.
func Text(name string) string {
	if utf8.ValidString(name) && !strings.Contains(name, `\x`) {
		return name
	}
	name = word().ReplaceAllString(name, `\x5c${1}x${2}`)
	var b strings.Builder
	for i := 0; i < len(name); {
		r, n := utf8.DecodeRuneInString(name[i:])
		if r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&b, `\x%02x`, name[i])
		} else {
			b.WriteString(name[i : i+n])
		}
		i += n
	}
	return b.String()
}

// Name is the name that a text stands for.
func Name(text string) string {
	if !strings.Contains(text, `\x`) {
		return text
	}
	return word().ReplaceAllStringFunc(text, func(w string) string {
		if rest, more := strings.CutPrefix(w, `\x5c`); more {
			return `\` + rest
		}
		n, _ := strconv.ParseUint(w[2:], 16, 8) // the pattern has two digits
		return string([]byte{byte(n)})
	})
}
