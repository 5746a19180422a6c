package app

import (
	"os"
	"testing"
)

// A verb that fettle hands to another program speaks as fettle there.
func TestCalledAs(t *testing.T) {
	was := os.Args[0]
	defer func() { os.Args[0] = was }()
	for called, want := range map[string]string{
		"fettle/fettle-lab": "fettle", "fettle": "fettle-lab", "/usr/bin/fettle-lab": "fettle-lab", "fettle-lab": "fettle-lab",
	} {
		os.Args[0] = called
		if got := CalledAs("fettle-lab"); got != want {
			t.Errorf("called as %s: %s, expected %s", called, got, want)
		}
	}
}
