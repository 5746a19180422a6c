package installersync

import (
	"testing"

	"fettle/trap/traptest"
)

func TestGolden(t *testing.T) { traptest.Golden(t, &Trap) }
