package ui

import (
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	tab := Table{Header: []string{"NAME", "N", "WHAT"}, Right: []bool{false, true}, Rows: [][]string{
		{"a", "1", "one two three four five six seven"}, {"longer", "12", "short"}, {"a-word-that-has-no-space-and-is-too-long", "3", "x"}}}
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
