package rules

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"strings"

	"fettle/lore/rule"
)

// Compiled is one rule in compiled.bin: a line with its name, the sum of its
// YAML, the lengths of lore and rule, whether it has a remedy, and the units that
// it asks about; then lore and rule.
type Compiled struct {
	ID     string
	Sum    string
	Lore   string
	Rule   string // rule.Encode
	Remedy bool
	Units  string // joined by commas; - for none
}

// Sum tells whether a rule's file has changed: nobody means to deceive it.
func Sum(b []byte) string {
	return fmt.Sprintf("%d-%08x", len(b), crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
}

// Compile makes a rule's entry.
func Compile(id string, yaml []byte) (Compiled, error) {
	r, mistakes := rule.Parse(id+"/rule.yaml", yaml, true)
	if len(mistakes) > 0 {
		return Compiled{}, mistakes
	}
	// The name of a unit holds no comma.
	b, err := r.Encode()
	return Compiled{ID: id, Sum: Sum(yaml), Lore: string(r.Lore()), Rule: string(b), Remedy: r.Remedy != nil, Units: cmp.Or(strings.Join(r.Units(), ","), "-")}, err
}

// Pack writes entries.
func Pack(all []Compiled) string {
	var b strings.Builder
	for _, c := range all {
		fmt.Fprintf(&b, "%s %s %d %d %t %s\n%s%s\n", c.ID, c.Sum, len(c.Lore), len(c.Rule), c.Remedy, c.Units, c.Lore, c.Rule)
	}
	return b.String()
}

// Unpack reads them, without copying. What does not fit the form ends it: the
// rules after it are parsed.
func Unpack(s string) map[string]Compiled {
	out := map[string]Compiled{}
	for s != "" {
		head, rest, ok := strings.Cut(s, "\n")
		f := strings.Fields(head)
		if !ok || len(f) != 6 {
			break
		}
		lore, okLore := atoi(f[2])
		code, okCode := atoi(f[3])
		if !okLore || !okCode || lore+code+1 > len(rest) {
			break
		}
		out[f[0]] = Compiled{f[0], f[1], rest[:lore], rest[lore : lore+code], f[4] == "true", f[5]}
		s = rest[lore+code+1:]
	}
	return out
}

func atoi(s string) (n int, ok bool) {
	for _, c := range s {
		if c < '0' || c > '9' || n > 1<<30 {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return n, s != ""
}
