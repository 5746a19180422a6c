package means

import (
	"bytes"
	"sync"
)

// Said is what a program writes, for a test that reads it meanwhile.
type Said struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *Said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *Said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
