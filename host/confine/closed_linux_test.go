package confine

import (
	"os"
	"runtime/debug"
	"testing"
	"time"

	"fettle/internal/means"
)

func descriptors(t *testing.T) int {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

// TestClosed: a child, a confined thread and what they failed at leave nothing open: an agent runs for months.
func TestClosed(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which would close files
	child := func() {
		c, err := Start(t.Context(), Job{Body: []byte("speak"), Messages: 1})
		if err != nil {
			t.Fatal(err)
		}
		if b, err := c.Receive(t.Context()); string(b) != "hello" || err != nil {
			t.Error(string(b), err)
		}
		c.Close()
		<-c.gone
		for range c.said {
		}
	}
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	thread := func(r Rules) func() {
		return func() { inThread(func() { confineThread(r, ABI()) }) }
	}
	for name, act := range map[string]func(){
		"a child": child, "a thread": thread(Rules{Program: true, Write: []string{file}}),
		"a thread that fails": thread(Rules{Read: []string{"/nosuch"}}),
		"descriptors":         keepEachDescriptor,
	} {
		act()
		before := descriptors(t)
		for range 3 {
			act()
		}
		for end := time.Now().Add(means.Patience); descriptors(t) > before; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Errorf("%s: %d descriptors stay open", name, descriptors(t)-before)
				break
			}
		}
	}
}
