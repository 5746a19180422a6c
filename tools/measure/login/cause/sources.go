package cause

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"time"
)

// Getent is glibc's own asker of name services; a static program cannot load
// their modules.
const Getent = "/usr/bin/getent"

// Source is how long one source of nsswitch's hosts takes.
type Source struct {
	Name  string
	Took  time.Duration
	Found bool
	Err   error // it could not be asked, or did not end within the limit
}

func (s Source) String() string {
	switch {
	case s.Err != nil:
		return fmt.Sprintf("getent -s %s: %v", s.Name, s.Err)
	case s.Found:
		return fmt.Sprintf("getent -s %s: found after %.2f s", s.Name, s.Took.Seconds())
	}
	return fmt.Sprintf("getent -s %s: nothing after %.2f s", s.Name, s.Took.Seconds())
}

// AskSources asks each source by itself, all in parallel. database is "hosts" for
// an address's name and "ahosts" for a name's addresses (getaddrinfo).
func AskSources(ctx context.Context, sources []string, database, key string, limit time.Duration) []Source {
	out := make([]Source, len(sources))
	var wg sync.WaitGroup
	for i, s := range sources {
		wg.Add(1)
		go func() {
			defer wg.Done()
			start := time.Now()
			_, err := command(ctx, limit, Getent, "-s", "hosts:"+s, database, "--", key)
			out[i] = Source{Name: s, Took: time.Since(start), Found: err == nil}
			var ee *exec.ExitError
			if err != nil && (!errors.As(err, &ee) || ee.ExitCode() != 2) { // 2: no such key
				out[i].Err = err
			}
		}()
	}
	wg.Wait()
	return out
}

// slowOnes shares seconds among the sources that are slow by themselves, in the
// order in which glibc asks them. A source behind one that has already used the
// time up was never reached.
func slowOnes(sources []Source, seconds float64) map[string]float64 {
	out := map[string]float64{}
	left, sum := seconds, 0.0
	for _, s := range sources {
		took := s.Took.Seconds()
		if took < Slow || left < Slow/2 {
			continue
		}
		share := min(took, left)
		out[s.Name] = share
		left -= share
		sum += share
	}
	// A login may ask more than once.
	if sum > 0 && left > 0 {
		for k := range out {
			out[k] *= seconds / sum
		}
	}
	return out
}
