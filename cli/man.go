package cli

import (
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// manCmd writes the man pages of all verbs, made from their help. It is
// hidden: packagers use it, through make man.
func (a *app) manCmd() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write the man pages of all verbs into a folder",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return usagef("%w", err)
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true // the same pages from the same source
			root.InitDefaultCompletionCmd()
			date := time.Unix(0, 0)
			h := &doc.GenManHeader{Section: "1", Source: "fettle " + Version(), Manual: "fettle", Date: &date}
			if d := buildDate(); !d.IsZero() {
				h.Date = &d
			}
			if err := doc.GenManTree(root, h, args[0]); err != nil {
				return failf("writing man pages: %w", err)
			}
			return nil
		},
	}
}

// buildDate is when the source was committed; zero when the build does not say.
func buildDate() time.Time {
	bi, _ := debug.ReadBuildInfo()
	if bi == nil {
		return time.Time{}
	}
	for _, s := range bi.Settings {
		if s.Key == "vcs.time" {
			t, _ := time.Parse(time.RFC3339, s.Value)
			return t
		}
	}
	return time.Time{}
}
