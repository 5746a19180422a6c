package slowdisk

import (
	"testing"

	"fettle/engine/trap/traptest"
)

func TestGolden(t *testing.T) { traptest.Golden(t, &Trap) }

func TestLore(t *testing.T) {
	if a, err := Trap.Lore.Article(); err != nil || len(a.Symptoms) < 3 {
		t.Errorf("%+v, %v", a, err)
	}
}
