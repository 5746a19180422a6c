// Package meaning says what the words of a log mean: numbers and names whose meaning is
// documented. Each table names its source. It says what a word means and not what is wrong.
package meaning

import (
	"regexp"
	"strconv"
	"strings"
)

// Meaning is what one word of a message means.
type Meaning struct {
	Term   string `json:"term"`   // as the message has it
	Says   string `json:"says"`   // a sentence without its full stop
	Source string `json:"source"` // where that is written
}

// most is how many words of one message are explained.
const most = 3

// Of explains the words of a message, and its MESSAGE_ID where the journal gave it one.
func Of(text, messageID string) []Meaning {
	var out []Meaning
	add := func(m Meaning) {
		for _, o := range out {
			if o.Says == m.Says || o.Term == m.Term {
				return
			}
		}
		if len(out) < most {
			out = append(out, m)
		}
	}
	for _, find := range finders {
		for _, m := range find(text) {
			add(m)
		}
	}
	if e, ok := Catalogue[strings.ReplaceAll(strings.ToLower(messageID), "-", "")]; ok {
		add(Meaning{Term: "MESSAGE_ID=" + messageID, Says: e.Says, Source: catalogSource})
	}
	return out
}

// finders look for the words of one table each, the narrower before the wider.
var finders = []func(string) []Meaning{
	systemdExits, signals, oom, scsi, ata, nvme, filesystems, edac, tlsAlerts, kerberos, ldap, smtp, dns, http, errnos,
}

// Entry is one line of a table: its name as others write it, and what it says in our words.
type Entry struct {
	Name string
	Says string
}

// numbered finds the numbers that re captures first in a table.
func numbered(text string, re func() *regexp.Regexp, table map[int]Entry, source string) []Meaning {
	var out []Meaning
	for _, m := range re().FindAllStringSubmatch(text, most) {
		n, err := strconv.ParseInt(m[1], 0, 32)
		if err != nil {
			continue
		}
		if e, ok := table[int(n)]; ok {
			out = append(out, Meaning{Term: strings.TrimSpace(m[0]), Says: e.Name + ": " + e.Says, Source: source})
		}
	}
	return out
}
