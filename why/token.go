package why

import (
	"net/netip"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Classes replace what differs from case to case, so that a paste matches
// whatever its addresses, numbers and names.
const (
	classNum  = "<n>"    // numbers with or without unit, times, versions
	classHex  = "<hex>"  // hashes, machine ids, pointers
	classAddr = "<addr>" // IP and MAC addresses, with or without prefix length
	classIf   = "<if>"   // network interfaces
	wildcard  = "<*>"    // a placeholder in a symptom
)

// tokens splits one line into stemmed words and classes. Paths and dotted
// names fall into their parts; a name with underscores stays whole.
func tokens(line string) []string { return tokenizer{}.tokens(line) }

// tokenizer remembers what words come to: a log holds few different ones.
type tokenizer map[string]string

// Bounds of the memory of words: how many, and of how many bytes.
const (
	wordLimit  = 1 << 16
	wordLength = 64
)

func (tk tokenizer) tokens(line string) []string {
	line = clean(line)
	out := make([]string, 0, len(line)/6+1)
	for i := 0; i < len(line); {
		if line[i] <= ' ' {
			i++
			continue
		}
		end, dots, colons := i, 0, 0
		for ; end < len(line) && line[end] > ' '; end++ {
			switch line[end] {
			case '.':
				dots++
			case ':':
				colons++
			}
		}
		field := line[i:end]
		i = end
		if (dots >= 3 || colons >= 2) && isAddr(strings.Trim(field, `"'()[]{}<>,;:!?=`+"`")) {
			out = append(out, classAddr)
			continue
		}
		if len(field) > 10 && (field[0] == 'C' || field[0] == 'c' || field[0] == '(') && isCVE(strings.Trim(field, "()[],.;:?!")) {
			out = append(out, strings.ToLower(strings.Trim(field, "()[],.;:?!")))
			continue
		}
		out = tk.words(out, field)
	}
	return out
}

// isCVE knows the number of a hole: it is a name, and no number is like it.
func isCVE(s string) bool {
	year, n, ok := strings.Cut(strings.TrimPrefix(strings.ToUpper(s), "CVE-"), "-")
	return ok && len(s) > 12 && len(year) == 4 && allDigits(year) && allDigits(n)
}

// words appends the tokens of a field: its runs of letters, digits and _.
func (tk tokenizer) words(out []string, field string) []string {
	start := -1
	for k, r := range field {
		in := r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' ||
			r > 0x7f && (unicode.IsLetter(r) || unicode.IsDigit(r))
		switch {
		case in && start < 0:
			start = k
		case !in && start >= 0:
			out = tk.add(out, field[start:k])
			start = -1
		}
	}
	if start >= 0 {
		out = tk.add(out, field[start:])
	}
	return out
}

func (tk tokenizer) add(out []string, word string) []string {
	if c := word[0]; c >= '0' && c <= '9' && strings.Trim(word, "0123456789") == "" {
		return addToken(out, classNum)
	}
	t, ok := tk[word]
	if !ok {
		t = classify(strings.ToLower(strings.Trim(word, "_")))
		if len(tk) < wordLimit && len(word) <= wordLength {
			tk[strings.Clone(word)] = t
		}
	}
	return addToken(out, t)
}

// addToken takes several numbers for one: 14.201188, 09:12:44 and 1 2 3.
func addToken(out []string, t string) []string {
	if t == "" || t == classNum && len(out) > 0 && out[len(out)-1] == classNum {
		return out
	}
	out = append(out, t)
	if n := len(out) - len(noSpace); t == noSpace[len(noSpace)-1] && n >= 0 && slices.Equal(out[n:], noSpace) {
		return append(out[:n], enospc)
	}
	return out
}

// enospc is what errno(3) calls "No space left on device". The sentence counts
// as one word: its own words say nothing apart.
const enospc = "enospc"

var noSpace = []string{"no", "spac", "left", "on", "devic"}

// clean drops escape sequences, and makes spaces of control characters and of
// bytes that are not UTF-8.
func clean(s string) string {
	ok := utf8.ValidString(s)
	for i := 0; i < len(s) && ok; i++ {
		ok = (s[i] >= ' ' || s[i] == '\n' || s[i] == '\t') && s[i] != 0x7f
	}
	if ok {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if s[i] == 0x1b {
			i += escapeLen(s[i:])
			b.WriteByte(' ')
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError || unicode.IsControl(r) {
			r = ' '
		}
		b.WriteRune(r)
		i += n
	}
	return b.String()
}

// escapeLen is the length of the escape sequence at the start of s: CSI
// (ECMA-48, section 5.4) or two bytes of anything else.
func escapeLen(s string) int {
	if len(s) > 1 && s[1] == '[' {
		for i := 2; i < len(s); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return i + 1
			}
		}
		return len(s)
	}
	return min(2, len(s))
}

func isAddr(s string) bool {
	if strings.Count(s, ".") < 3 && strings.Count(s, ":") < 2 || len(s) > 64 {
		return false
	}
	if strings.Count(s, ":") == 5 && len(s) == 17 {
		return strings.Trim(strings.ToLower(s), "0123456789abcdef:") == ""
	}
	if _, err := netip.ParseAddr(s); err == nil {
		return true
	}
	if _, err := netip.ParsePrefix(s); err == nil {
		return true
	}
	_, err := netip.ParseAddrPort(s)
	return err == nil
}

func classify(w string) string {
	digits, letters, hex := 0, 0, true
	for _, r := range w {
		switch {
		case r >= '0' && r <= '9':
			digits++
		case r == '_':
			hex = false
		default:
			letters++
			hex = hex && r >= 'a' && r <= 'f'
		}
	}
	switch {
	case w == "":
		return ""
	case letters == 0:
		return classNum
	case digits == 0:
		return canonical(w)
	case hex && len(w) >= 6, strings.HasPrefix(w, "0x"):
		return classHex
	case isUnit(w):
		return classNum
	case isInterface(w):
		return classIf
	}
	return w
}

// isUnit tells 98g, 512mib, 20ms and 1st from names.
func isUnit(w string) bool {
	rest := strings.TrimLeft(w, "0123456789")
	if len(rest) == len(w) {
		return false
	}
	switch rest {
	case "b",
		"k",
		"m",
		"g",
		"t",
		"p",
		"kb",
		"mb",
		"gb",
		"tb",
		"kib",
		"mib",
		"gib",
		"tib",
		"s",
		"ms",
		"us",
		"ns",
		"sec",
		"min",
		"h",
		"d",
		"w",
		"u",
		"r",
		"x",
		"st",
		"nd",
		"rd",
		"th":
		return true
	}
	return false
}

var interfacePrefixes = []string{
	"enp",
	"eno",
	"ens",
	"enx",
	"eth",
	"wlan",
	"wlp",
	"wlx",
	"br",
	"virbr",
	"vmbr",
	"lxdbr",
	"xenbr",
	"docker",
	"tap",
	"tun",
	"veth",
	"vnet",
	"vif",
	"bond",
	"team",
	"wg",
	"dummy",
	"macvtap",
	"ppp",
	"vlan",
	"vxlan",
	"lan",
	"ib",
	"fwbr",
	"fwpr",
	"fwln",
}

// isInterface knows the names that the kernel, udev and hypervisors give.
func isInterface(w string) bool {
	for _, p := range interfacePrefixes {
		if rest, ok := strings.CutPrefix(w, p); ok && rest != "" && (rest[0] >= '0' && rest[0] <= '9' || p == "veth") {
			return true
		}
	}
	return false
}

// bag is a line's distinct words without classes. A name with underscores
// counts as a whole where known says that the lore has it, else by its parts;
// both when known is nil.
func bag(tokens []string, known func(string) bool, each func(word string)) {
	for _, t := range tokens {
		if t[0] == '<' {
			continue
		}
		each(t)
		if strings.ContainsRune(t, '_') && (known == nil || !known(t)) {
			for _, p := range strings.Split(t, "_") {
				if len(p) > 1 {
					each(canonical(p))
				}
			}
		}
	}
}
