package agent

import (
	"testing"

	"fettle/cli/app"
	"fettle/cli/app/apptest"
)

func TestHelpFits(t *testing.T) {
	apptest.HelpFits(t, (&program{App: &app.App{}}).root(), Main, 3)
}

func TestUsageTells(t *testing.T) {
	apptest.UsageTells(t, (&program{App: &app.App{}}).root(), Main)
}
