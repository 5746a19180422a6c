package firstlook

// Masked is what is the same in lines that differ in numbers, addresses and identifiers alone:
// each run of digits, and each word of hexadecimal digits that has one of 0 to 9, is one sign.

// kinds of bytes.
const (
	other  = 0
	letter = 1 << (iota - 1)
	hexLetter
	digit
)

var kind = func() (k [256]uint8) {
	for c := range k {
		switch {
		case c >= '0' && c <= '9':
			k[c] = digit
		case c >= 'a' && c <= 'f', c >= 'A' && c <= 'F':
			k[c] = hexLetter
		case c >= 'g' && c <= 'z', c >= 'G' && c <= 'Z':
			k[c] = letter
		}
	}
	return k
}()

// masked appends a text to out, masked.
func masked(out, text []byte) []byte {
	for i := 0; ; {
		at := i
		for at < len(text) && text[at]-'0' > 9 {
			at++
		}
		if at == len(text) {
			return append(out, text[i:]...)
		}
		start, end, all := at, at, uint8(0)
		for start > i && kind[text[start-1]] != other {
			start--
		}
		for end = start; end < len(text) && kind[text[end]] != other; end++ {
			all |= kind[text[end]]
		}
		out = append(out, text[i:start]...)
		if all&letter == 0 {
			out = append(out, '#')
		} else {
			out = numbered(out, text[start:end])
		}
		i = end
	}
}

// numbered appends a word such as "sda1" or "md127": its letters, and one sign for each number.
func numbered(out, word []byte) []byte {
	in := false
	for _, c := range word {
		if kind[c] != digit {
			out = append(out, c)
		} else if !in {
			out = append(out, '#')
		}
		in = kind[c] == digit
	}
	return out
}
