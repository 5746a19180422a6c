package means

import (
	"os"
	"syscall"
	"testing"
)

// Script writes a program of sh(1), and returns its name.
func Script(t testing.TB, name, text string) string {
	t.Helper()
	syscall.ForkLock.RLock() // else a child that is just being started has the file open too, and it is busy (execve(2), ETXTBSY)
	err := os.WriteFile(name, []byte("#!/bin/sh\n"+text), 0o755)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	return name
}
