package redact

import (
	"strings"

	"fettle/internal/lazy"
)

// inlineKey is a key that a repository of apt's holds itself, in Signed-By: indented,
// its empty lines written as a dot (sources.list(5)).
var inlineKey = lazy.Regexp(`(?ms)^[ \t]+-----BEGIN PGP PUBLIC KEY BLOCK-----[ \t]*$.*?^[ \t]+-----END PGP PUBLIC KEY BLOCK-----[ \t]*$\n?`)

// betweenKeys redacts a text by lines, and the keys in it as keyrings are.
func (r *Redactor) betweenKeys(s string, lines func(string) string) string {
	var out strings.Builder
	for {
		at := inlineKey().FindStringIndex(s)
		if at == nil {
			return out.String() + lines(s)
		}
		out.WriteString(lines(s[:at[0]]) + r.indented(s[at[0]:at[1]]))
		s = s[at[1]:]
	}
}

// indented is a key in place of one, as it is in Signed-By.
func (r *Redactor) indented(key string) string {
	var plain strings.Builder
	for line := range strings.Lines(key) {
		if line = strings.TrimSpace(line); line != "." {
			plain.WriteString(line)
		}
		plain.WriteByte('\n')
	}
	other, ok := r.keyring([]byte(plain.String()))
	if !ok {
		return " " + Dropped + "\n"
	}
	var out strings.Builder
	for line := range strings.Lines(strings.TrimSpace(string(other)) + "\n") {
		if line == "\n" {
			line = ".\n"
		}
		out.WriteString(" " + line)
	}
	return out.String()
}
