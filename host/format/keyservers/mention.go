// Package keyservers reads which OpenPGP keyservers gpg, dirmngr and scripts
// of a host are configured to ask, and where the keys that apt trusts are published.
package keyservers

import (
	"slices"
	"strings"

	"fettle/internal/lazy"
)

// A keyserver as gpg and scripts name it, with what is before its name.
var nameExpr = lazy.Regexp(`(?i)((?:(?:hkps?|https?|ldaps?)://)?)([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)((?::[0-9]{1,5})?)`)

// deadExpr are the names of keyservers that do not exist any more: those of
// pgp.net, gone since the 2010s; the sks pool, whose names were withdrawn in
// June 2021; keys.gnupg.net, an alias of it.
var deadExpr = lazy.Regexp(`(?i)^(?:(?:[a-z0-9-]+\.)*pgp\.net|(?:[a-z0-9-]+\.)*sks-keyservers\.net|(?:http-)?keys\.gnupg\.net)$`)

// Mention is a place where a file names a keyserver.
type Mention struct {
	Line int
	Text string // of the line
	Name string // as written there: "hkps://keys.example.org"
	Host string // in lower case
	Dead bool   // it is known to exist no more
}

// optionExpr is the option in a configuration file or on a command line.
var optionExpr = lazy.Regexp(`(?:^|\s|["'=])(?:--)?keyserver(?:\s+|=)["']?([^\s"';|&)]+)`)

// MaxMentions is how many keyservers one file may name.
const MaxMentions = 200

// Find finds the keyservers that a text sets, up to one more than
// MaxMentions. Comments don't.
func Find(text string) (out []Mention) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(strings.TrimSpace(line), "#") || len(line) > 4096 {
			continue
		}
		for _, m := range optionExpr().FindAllStringSubmatch(line, 8) {
			if len(out) > MaxMentions {
				return out
			}
			if host := nameExpr().FindStringSubmatch(m[1]); host != nil {
				out = append(out, Mention{n, strings.TrimSpace(line), m[1], strings.ToLower(host[2]), deadExpr().MatchString(host[2])})
			}
		}
	}
	return out
}

// Alive replaces the dead names in a text, and others that are gone, by a keyserver's.
func Alive(text, keyserver string, gone ...string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") {
			line = optionExpr().ReplaceAllStringFunc(line, func(option string) string {
				name := optionExpr().FindStringSubmatch(option)[1]
				host := nameExpr().FindStringSubmatch(name)
				if host == nil || !deadExpr().MatchString(host[2]) && !slices.Contains(gone, strings.ToLower(host[2])) {
					return option
				}
				return strings.TrimSuffix(option, name) + keyserver
			})
		}
		b.WriteString(line)
	}
	return b.String()
}
