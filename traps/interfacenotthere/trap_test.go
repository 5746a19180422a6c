package interfacenotthere

import (
	"testing"

	"fettle/engine/trap/traptest"
)

func TestGolden(t *testing.T) { traptest.Golden(t, &Trap) }
