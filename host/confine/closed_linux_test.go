package confine

import (
	"os"
	"runtime/debug"
	"testing"

	"fettle/internal/means"
)

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
		before := len(means.OpenFiles(t))
		for range 3 {
			act()
		}
		means.Until(t, name+": descriptors to be closed", func() bool { return len(means.OpenFiles(t)) <= before })
	}
}
