package ui

import (
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	tab := Table{Header: []string{"NAME", "N", "WHAT"}, Right: []bool{false, true}, Rows: [][]string{
		{"a", "1", "one two three four five six seven"}, {"longer", "12", "short"}, {"a-word-that-has-no-space-and-is-too-long",
			"3", "x"}}}
	want := strings.Join([]string{
		"  NAME               N  WHAT",
		"  a                  1  one two three",
		"                        four five six",
		"                        seven",
		"  longer            12  short",
		"  a-word-that-has-no-space-and-is-too-long   3  x",
	}, "\n") + "\n"
	if got := tab.Text(40, "  ", false); got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
	if got := (&Table{Rows: [][]string{{"a", "b"}}}).Text(40, "", true); got != "a  b\n" {
		t.Errorf("%q", got)
	}
}

// TestTableColour: the header alone is bold.
func TestTableColour(t *testing.T) {
	tab := Table{Header: []string{"A"}, Rows: [][]string{{"b"}}}
	if got := tab.Text(40, "", true); got != "\x1b[1mA\x1b[m\nb\n" {
		t.Errorf("%q", got)
	}
	if got := (&Table{Rows: [][]string{{"b"}}}).Text(40, "", true); got != "b\n" {
		t.Errorf("without a header: %q", got)
	}
}

// TestTableNarrow: of columns that are as wide the last gives way, and none becomes narrower than eight.
func TestTableNarrow(t *testing.T) {
	tab := Table{}
	rows := [][]string{{"one two three", "one two three"}}
	for width, want := range map[int][]int{28: {13, 13}, 27: {13, 12}, 26: {12, 12}, 18: {8, 8}, 5: {8, 8}} {
		if got := tab.widths(rows, width); len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
			t.Errorf("%d: %v, want %v", width, got, want)
		}
	}
}
