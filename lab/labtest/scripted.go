package labtest

import "strings"

// Scripted stands in for programs that end as written: each command by the longest beginning of its line that there is
// an end for, one end after the other and the last one from then on. Without one it ends as the zero E.
type Scripted[E any] struct {
	Ends map[string][]E
	Ran  []string // the commands' lines
}

// Run tells how a command ends.
func (s *Scripted[E]) Run(argv []string) (end E) {
	line := strings.Join(argv, " ")
	s.Ran = append(s.Ran, line)
	best := ""
	for k := range s.Ends {
		if strings.HasPrefix(line, k) && len(k) > len(best) {
			best = k
		}
	}
	ends := s.Ends[best]
	if len(ends) == 0 {
		return end
	}
	if len(ends) > 1 {
		s.Ends[best] = ends[1:]
	}
	return ends[0]
}
