package means

import (
	"errors"
	"os"
	"syscall"
	"testing"
)

// Fill takes all the room that is left on a disk, with a file of this name.
func Fill(t testing.TB, name string) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for b := make([]byte, 1<<16); len(b) > 0; {
		if _, err := f.Write(b); errors.Is(err, syscall.ENOSPC) {
			b = b[:len(b)/2]
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
