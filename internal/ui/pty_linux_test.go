package ui

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"fettle/internal/means"
)

func resize(t *testing.T, tty *os.File, rows, cols uint16) {
	t.Helper()
	if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: cols}); err != nil {
		t.Fatal(err)
	}
}

func TestColourOnARealTerminal(t *testing.T) {
	_, tty := means.OpenTerminal(t)
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
		resize(t, tty, 24, cols)
		if got := Width(tty); got != want {
			t.Errorf("a terminal of %d columns: width %d, want %d", cols, got, want)
		}
	}
}

// TestFits: a pager is for more lines than a terminal has; what it does not tell, it fits.
func TestFits(t *testing.T) {
	_, tty := means.OpenTerminal(t)
	for _, c := range []struct {
		term        string
		rows, lines int
		want        bool
	}{{"xterm", 24, 23, true}, {"xterm", 24, 24, false}, {"xterm", 0, 99, true}, {"dumb", 24, 99, true}, {"xterm", 1, 1, false}} {
		t.Setenv("TERM", c.term)
		resize(t, tty, uint16(c.rows), 80)
		if got := fits(tty, strings.Repeat("x\n", c.lines)); got != c.want {
			t.Errorf("%d lines on %s with %d: %t", c.lines, c.term, c.rows, got)
		}
	}
	if t.Setenv("TERM", "xterm"); !fits(&bytes.Buffer{}, strings.Repeat("x\n", 999)) {
		t.Error("a pipe has no end")
	}
}

// TestPage: the pager gets the text, and it is written where there is none.
func TestPage(t *testing.T) {
	master, tty := means.OpenTerminal(t)
	resize(t, tty, 2, 80)
	t.Setenv("TERM", "xterm")
	out := filepath.Join(t.TempDir(), "out")
	t.Setenv("PAGER", means.Tool(t, "tee")+" "+out)
	text := strings.Repeat("line\n", 9)
	if err := Page(tty, text); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(out); err != nil || string(b) != text {
		t.Errorf("the pager got %q, %v", b, err)
	}
	t.Setenv("PAGER", "/nowhere/pager")
	if err := Page(tty, "to\nbe\nread\n"); err != nil {
		t.Fatal(err)
	}
	if got := means.Shown(t, master, "read\r\n"); got != "to\r\nbe\r\nread\r\n" {
		t.Errorf("without a pager: %q", got)
	}
	var b bytes.Buffer
	if err := Page(&b, text); err != nil || b.String() != text {
		t.Errorf("on a pipe: %q, %v", b.String(), err)
	}
}

// TestProgress: one line, cut to the terminal, and written over.
func TestProgress(t *testing.T) {
	master, tty := means.OpenTerminal(t)
	resize(t, tty, 24, 50)
	p := NewProgress(tty)
	p.Show(strings.Repeat("x", 50))
	p.End()
	if got, want := means.Shown(t, master, "\r\x1b[K"), "\r"+strings.Repeat("x", 46)+"...\x1b[K\r\x1b[K"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	var b bytes.Buffer
	p = NewProgress(&b)
	p.Show("x")
	p.End()
	if b.Len() > 0 {
		t.Errorf("on a pipe: %q", b.String())
	}
}

// TestParagraphsOnATerminal: text is wrapped with what it is indented by; what is to be copied stays.
func TestParagraphsOnATerminal(t *testing.T) {
	_, tty := means.OpenTerminal(t)
	resize(t, tty, 24, 40)
	long := strings.Repeat("word ", 12) + "end"
	want := strings.Repeat("word ", 7) + "word\n" + strings.Repeat("word ", 4) + "end\n\n    " + long + "\n  " +
		strings.Repeat("word ", 6) + "word\n  " + strings.Repeat("word ", 5) + "end\n"
	if got := Paragraphs(long+"\n\n\t"+long+"\n  "+long, tty); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
