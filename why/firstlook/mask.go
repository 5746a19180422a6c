package firstlook

// Masked is what is the same in lines that differ in numbers, addresses and identifiers alone:
// each run of digits, and each word of hexadecimal digits that has one of 0 to 9, is one sign.

// fnv is FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv/): one multiplication a byte.
const (
	fnvStart = 14695981039346656037
	fnvPrime = 1099511628211
)

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

// maskedHash is the hash of a text as it is masked, with seed for who said it.
func maskedHash(seed uint64, text []byte) uint64 {
	h := seed
	for i := 0; i < len(text); {
		c := text[i]
		if kind[c] == other {
			h = (h ^ uint64(c)) * fnvPrime
			i++
			continue
		}
		// Most words are letters alone: they are hashed while it is found out.
		plain, all, start := h, uint8(0), i
		for ; i < len(text); i++ {
			k := kind[text[i]]
			if k == other {
				break
			}
			all |= k
			plain = (plain ^ uint64(text[i])) * fnvPrime
		}
		switch {
		case all&digit == 0:
			h = plain
		case all&letter == 0:
			h = (h ^ '#') * fnvPrime
		default:
			h = mixed(h, text[start:i])
		}
	}
	return h
}

// word is the run of letters and digits at i: where it ends, how many digits it has, and
// whether it has letters that are no hexadecimal digits.
func word(text []byte, i int) (end, digits int, foreign bool) {
	for end = i; end < len(text); end++ {
		switch kind[text[end]] {
		case digit:
			digits++
		case letter:
			foreign = true
		case other:
			return end, digits, foreign
		}
	}
	return end, digits, foreign
}

// mixed hashes a word such as "sda1" or "md127": its letters, and one sign for each number.
func mixed(h uint64, w []byte) uint64 {
	in := false
	for _, c := range w {
		if kind[c] == digit {
			if !in {
				h = (h ^ '#') * fnvPrime
			}
			in = true
			continue
		}
		in = false
		h = (h ^ uint64(c)) * fnvPrime
	}
	return h
}

// masked is a text as maskedHash sees it.
func masked(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		if kind[text[i]] == other {
			out = append(out, text[i])
			i++
			continue
		}
		end, digits, foreign := word(text, i)
		switch {
		case digits == 0:
			out = append(out, text[i:end]...)
		case !foreign:
			out = append(out, '#')
		default:
			in := false
			for _, c := range text[i:end] {
				if kind[c] != digit {
					out = append(out, c)
				} else if !in {
					out = append(out, '#')
				}
				in = kind[c] == digit
			}
		}
		i = end
	}
	return out
}
