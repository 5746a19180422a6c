package proving

import (
	"testing"

	"fettle/cli/app"
	"fettle/cli/app/apptest"
)

func TestHelpFits(t *testing.T) {
	apptest.HelpFits(t, program{&app.App{}}.root(), Main, 10)
}
