package message

// scanner finds where one of many short strings of equal length is in a text. It
// looks at the three bytes at the end of a window, and skips as far as no string can
// begin (Wu and Manber, "A Fast Algorithm for Multi-Pattern Searching", 1994): most of a
// log is never looked at. Two libraries for Aho-Corasick were measured on the list of the
// built-in messages: building their automata took 170 and 710 ms, longer than all else
// that fettle why does, and they searched 73 and 53 MB/s on a machine where this one does
// several hundred.
type scanner struct {
	shift [1 << blockBits]uint8
	mid   [1 << blockBits]bool       // three bytes that a window has before its last three: most others end here
	at    map[[windowSize]byte][]int // the templates of a window
}

const blockBits = 14

func block(a, b, c byte) uint32 {
	return (uint32(a)<<16 | uint32(b)<<8 | uint32(c)) * 0x9E3779B1 >> (32 - blockBits)
}

func newScanner(windows [][]string) *scanner {
	s := &scanner{at: make(map[[windowSize]byte][]int, len(windows))}
	const most = windowSize - 2
	for i := range s.shift {
		s.shift[i] = most
	}
	for n, all := range windows {
		for _, w := range all {
			s.add(n, w)
		}
	}
	return s
}

func (s *scanner) add(n int, w string) {
	for i := 0; i+3 <= windowSize; i++ {
		b := block(w[i], w[i+1], w[i+2])
		s.shift[b] = min(s.shift[b], uint8(windowSize-3-i))
	}
	s.mid[block(w[windowSize-6], w[windowSize-5], w[windowSize-4])] = true
	key := [windowSize]byte([]byte(w))
	s.at[key] = append(s.at[key], n)
}

// next is where the first window at or after from ends, and whose it is; -1 at the end.
func (s *scanner) next(text []byte, from int) (end int, templates []int) {
	for i := from + windowSize; i <= len(text); {
		if skip := s.shift[block(text[i-3], text[i-2], text[i-1])]; skip > 0 {
			i += int(skip)
			continue
		}
		if s.mid[block(text[i-6], text[i-5], text[i-4])] {
			if found := s.at[[windowSize]byte(text[i-windowSize:i])]; found != nil {
				return i, found
			}
		}
		i++
	}
	return -1, nil
}
