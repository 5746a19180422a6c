package cli

import (
	"os"
	"strings"
	"testing"

	"fettle/internal/means"
	"fettle/why/firstlook"
)

// TestFirstLookAsksAConfinedChild: questions about this host go to a copy of fettle that can read
// and no more, and come back.
func TestFirstLookAsksAConfinedChild(t *testing.T) {
	a := evilApp()
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]string{name + "-not": "other hosts", name: "journal"} {
		var here firstlook.Here
		q := firstlook.Question{Hosts: []string{host}, Claims: []firstlook.Claim{{By: "nobody-at-all", Text: "a line that no journal has"}}}
		if err := a.Ask(t.Context(), "first-look", q, &here); err != nil {
			if strings.Contains(err.Error(), "no confined process") {
				means.Missing(t, err.Error())
			}
			t.Fatal(err)
		}
		if here.Own || !strings.Contains(here.Reason, want) {
			t.Errorf("%s: %+v", host, here)
		}
	}
	if err := a.Ask(t.Context(), "no such question", nil, new(firstlook.Here)); err == nil {
		t.Error("an unknown question was answered")
	}
}
