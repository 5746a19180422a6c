package raforwarding

import (
	"testing"

	"fettle/engine/trap/traptest"
)

func TestGolden(t *testing.T) { traptest.Golden(t, &Trap) }

func TestOldKernel(t *testing.T) {
	for release, want := range map[string]bool{
		"2.6.32-5-amd64": true, "2.6.36": true, "2.6.37": false, "2.6.37-rc1": false, "2.6.38-8": false, "2.4.37": true,
		"3.2.0-4-amd64": false, "6.18.44": false, "": false, "garbage": false,
	} {
		if got := oldKernel(release); got != want {
			t.Errorf("oldKernel(%q) = %v", release, got)
		}
	}
}

func TestLore(t *testing.T) {
	a, err := lore.Article()
	if err != nil {
		t.Fatal(err)
	}
	if a.ID != "ipv6-ra-forwarding" || a.Title == "" || len(a.Symptoms) < 10 || a.Since == "" || len(a.Refs) == 0 {
		t.Errorf("lore is incomplete: %+v", a)
	}
}
