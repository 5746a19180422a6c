package host

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

// answers is a source of which only two answers are used.
type answers struct {
	Source
	read func(ctx context.Context) ([]byte, error)
	dir  []Entry
}

func (a answers) ReadFile(ctx context.Context, _ string, _ int64) ([]byte, error) { return a.read(ctx) }
func (a answers) ReadDir(context.Context, string) ([]Entry, error)                { return a.dir, nil }

// The time of one check is not that of another who waits for the same answer.
func TestWhoWaitedAsksAgain(t *testing.T) {
	var mu sync.Mutex
	asked := 0
	began := make(chan struct{}, 2)
	h := New(answers{read: func(ctx context.Context) ([]byte, error) {
		mu.Lock()
		asked++
		first := asked == 1
		mu.Unlock()
		if first {
			began <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return []byte("yes"), nil
	}})
	short, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := h.ReadFile(short, "/f")
		done <- err
	}()
	<-began
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if b, err := h.ReadFile(t.Context(), "/f"); string(b) != "yes" || err != nil {
				t.Errorf("%q, %v", b, err)
			}
		})
	}
	time.Sleep(20 * time.Millisecond) // all four wait by now
	cancel()
	wg.Wait()
	if err := <-done; !errors.Is(err, context.Canceled) || asked != 2 {
		t.Errorf("%v; asked %d times", err, asked)
	}
}

func TestReadDirLeavesTheSourceAlone(t *testing.T) {
	src := answers{dir: []Entry{{Name: "b"}, {Name: "a"}}}
	es, err := New(src).ReadDir(t.Context(), "/d")
	if err != nil || es[0].Name != "a" || src.dir[0].Name != "b" {
		t.Errorf("%v %v; the source has %v", es, err, src.dir)
	}
}
