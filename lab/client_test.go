package lab

import (
	"slices"
	"testing"
)

// Two commands travel as one list, and come out as they went in.
func TestSplitClient(t *testing.T) {
	for _, client := range [][]string{nil, {"qemu", "-m", "1024"}} {
		c, argv, err := splitClient(withClient(client, []string{"uml", "3"}))
		if err != nil || !slices.Equal(c, client) || !slices.Equal(argv, []string{"uml", "3"}) {
			t.Errorf("%q: %q, %q, %v", client, c, argv, err)
		}
	}
	for _, bad := range [][]string{{"x", "a"}, {"1", "a"}, {"-1", "a"}, {"9", "a", "b"}} {
		if _, argv, err := splitClient(bad); err == nil {
			t.Errorf("%q: %q", bad, argv)
		}
	}
}
