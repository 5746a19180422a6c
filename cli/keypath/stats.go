package keypath

import (
	"fmt"

	"github.com/spf13/cobra"

	"fettle/internal/ui"
	"fettle/tools/keypath"
)

func (v *verb) statsCmd() *cobra.Command {
	verify := false
	c := &cobra.Command{
		Use:   "stats",
		Short: "Compute mean shortest distance and strong set of a web of keys",
		Long: `Describes the web of trust in keyrings: the number of live keys, the number of
signatures between them that count, the strong set (the largest set of keys in
which each has a path to each other) and its mean shortest distance. Without
--verify, signatures are not verified.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v.ctx = cmd.Context()
			return v.stats(verify)
		},
	}
	c.Flags().BoolVar(&verify, "verify", false, "verify each signature; takes a while")
	v.formatFlag(c, "text", "json")
	return c
}

func (v *verb) stats(verify bool) error {
	w, _, err := v.open(nil)
	if err != nil {
		return err
	}
	defer w.Close()
	bar := progress{line: ui.NewProgress(v.Stderr), what: "looking at keys"}
	s, err := w.Stats(v.ctx, verify, bar.to)
	bar.end()
	if err != nil {
		return v.Failf("describing the web: %w", err)
	}
	if v.format == "json" {
		return v.json(struct {
			keypath.Stats
			Read keypath.Tally `json:"read"`
		}{s, w.Tally})
	}
	word := "as claimed; --verify verifies them"
	if verify {
		word = "each one verified"
	}
	fmt.Fprintf(v.Stdout, "%-24s %d, of which %d are live\n", "Keys", s.Keys, s.Live)
	fmt.Fprintf(v.Stdout, "%-24s %d between live keys (%s)\n", "Signatures that count", s.Signed, word)
	fmt.Fprintf(v.Stdout, "%-24s %d keys\n", "Strong set", s.Strong)
	from := ""
	if s.Sampled < s.Strong {
		from = fmt.Sprintf(" (from a sample of %d keys)", s.Sampled)
	}
	_, err = fmt.Fprintf(v.Stdout, "%-24s %.2f signatures, %d at most%s\n", "Mean shortest distance", s.MeanDistance, s.Longest, from)
	return err
}
