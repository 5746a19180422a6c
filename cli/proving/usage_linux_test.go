package proving

import (
	"testing"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/cli/app/apptest"
)

func TestHelpFits(t *testing.T) {
	apptest.HelpFits(t, program{&app.App{}}.root(), Main, 10)
}

func TestUsageTells(t *testing.T) {
	fettle := &cobra.Command{Use: "fettle"} // hands these over
	for _, verb := range []string{"lab", "bisect", "measure", "new", "keypath"} {
		fettle.AddCommand(&cobra.Command{Use: verb, Run: func(*cobra.Command, []string) {}})
	}
	apptest.UsageTells(t, program{&app.App{Program: Name}}.root(), Main, fettle)
}
