package means

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Terminal is a new pseudo-terminal (pty(7)), which any user may have: its master, and the
// name of its other end.
func Terminal(t testing.TB) (master *os.File, name string) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		Missing(t, "needs pseudo-terminals: "+err.Error())
	}
	t.Cleanup(func() { master.Close() })
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return master, fmt.Sprintf("/dev/pts/%d", n)
}

// OpenTerminal is Terminal with its other end open.
func OpenTerminal(t testing.TB) (master, tty *os.File) {
	t.Helper()
	master, name := Terminal(t)
	tty, err := os.OpenFile(name, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		Missing(t, "needs pseudo-terminals: "+err.Error())
	}
	t.Cleanup(func() { tty.Close() })
	return master, tty
}

// Shown is what a terminal shows, read from its master until it ends as wanted: the kernel hands it on in parts, when it comes to it
// (tty_flip_buffer_push, drivers/tty/tty_buffer.c).
func Shown(t testing.TB, master *os.File, end string) string {
	t.Helper()
	var got []byte
	for b := make([]byte, 4096); !bytes.HasSuffix(got, []byte(end)); {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(master.Fd()), Events: unix.POLLIN}}, int(Patience.Milliseconds()))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if n == 1 {
			n, err = master.Read(b)
		}
		if err != nil || n == 0 {
			t.Fatalf("the terminal shows %q, %v; it should end in %q", got, err, end)
		}
		got = append(got, b[:n]...)
	}
	return string(got)
}

// ShownSoFar is all that a terminal shows by now.
func ShownSoFar(t testing.TB, master, tty *os.File) string {
	t.Helper()
	const mark = "\x1b_so far\x1b\\"
	if _, err := tty.WriteString(mark); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(Shown(t, master, mark), mark)
}
