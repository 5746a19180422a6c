package cli

import (
	"testing"

	"fettle/cli/app"
	"fettle/cli/app/apptest"
	"fettle/traps"
)

func TestHelpFits(t *testing.T) {
	apptest.HelpFits(t, tree(&app.App{Traps: traps.All()}), Main, 25)
}

func TestUsageTells(t *testing.T) {
	apptest.UsageTells(t, tree(&app.App{Traps: traps.All()}), Main)
}
