package ui

import (
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"fettle/internal/means"
)

// TestColourOnARealTerminal opens a pseudo-terminal, which any user may.
func TestColourOnARealTerminal(t *testing.T) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		means.Missing(t, "needs pseudo-terminals: "+err.Error())
	}
	defer master.Close()
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		means.Missing(t, "needs pseudo-terminals: "+err.Error())
	}
	defer tty.Close()
	for _, c := range []struct {
		term, noColor string
		want          bool
	}{{"xterm", "", true}, {"linux", "", true}, {"dumb", "", false}, {"", "", false}, {"xterm", "1", false}} {
		t.Setenv("TERM", c.term)
		t.Setenv("NO_COLOR", c.noColor)
		if got := Colour(tty); got != c.want {
			t.Errorf("TERM=%s NO_COLOR=%s: colour %v", c.term, c.noColor, got)
		}
	}
	for cols, want := range map[uint16]int{0: 80, 20: 40, 66: 66, 80: 80, 200: 100} {
		if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: cols}); err != nil {
			t.Fatal(err)
		}
		if got := Width(tty); got != want {
			t.Errorf("a terminal of %d columns: width %d, want %d", cols, got, want)
		}
	}
}
