// Package proving is fettle-lab's command line: lab, bisect, and the instruments
// that need curves drawn, measure blockcache and measure cachesim.
package proving

import (
	"context"
	"encoding/json"
	"io"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/cli/keypath"
	"fettle/internal/chart"
	"fettle/internal/chart/draw"
	"fettle/internal/files"
)

// Name is the program's.
const Name = "fettle-lab"

// program is what the verbs are given.
type program struct{ *app.App }

// Main runs one command line and returns the exit status.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if code, ok := role(args, stdin, stdout, stderr); ok {
		return code
	}
	a := program{&app.App{Program: app.CalledAs(Name), Stdin: stdin, Stdout: stdout, Stderr: stderr}}
	ctx, stop := app.Interruptible(context.Background())
	defer stop()
	return a.Execute(ctx, args, a.root)
}

func (a program) root() *cobra.Command {
	c := &cobra.Command{
		Use:   a.Program,
		Short: "Prove on throwaway machines what fettle finds and fixes",
		Long: `fettle-lab tests traps and their fixes on real kernels in throwaway machines,
measures and simulates block caches, and finds the commits that moved a figure.
The commands fettle lab, fettle bisect, fettle measure blockcache and fettle
measure cachesim run it.`,
		PersistentPreRunE: app.NoEmptyFlags,
	}
	measure := &cobra.Command{Use: "measure", Short: "Measure and simulate block caches"}
	measure.AddCommand(a.measureBlockcacheCmd(), a.measureCachesimCmd())
	return app.Grow(c, a.labCmd(), a.bootCmd(), measure, a.bisectCmd(), a.figureCmd(), a.newCmd(), a.drawCmd(),
		keypath.New(keypath.Given{Stdout: a.Stdout, Stderr: a.Stderr, Usagef: app.Usagef, Failf: app.Failf}))
}

// drawCmd draws what fettle has measured.
func (a program) drawCmd() *cobra.Command {
	return &cobra.Command{Use: chart.DrawVerb + " FORMAT", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			var p chart.Picture
			if err := json.NewDecoder(a.Stdin).Decode(&p); err != nil {
				return app.Usagef("reading what to draw: %w", err)
			}
			return draw.Picture(a.Stdout, p, args[0])
		}}
}

// plotsFit refuses a folder for plots in which nothing can be made: now, not
// after minutes of measuring.
func plotsFit(dir string) error {
	if dir == "" {
		return nil
	}
	if err := files.Makeable(dir); err != nil {
		return app.Usagef("--plots %s: %w", dir, err)
	}
	return nil
}
