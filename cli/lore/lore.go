package lore

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/engine/rule"
	"fettle/engine/trap"
	"fettle/internal/ui"
)

// loreCmd is the family of verbs for who writes rules.
// Cmd is fettle lore.
func Cmd(a *app.App) *cobra.Command {
	c := &cobra.Command{
		Use:         "lore",
		Annotations: app.NoRules,
		Short:       "Write traps of your own: rules in YAML",
		Long: `Write traps of your own: rules in YAML.

fettle loads rules from /etc/fettle/traps.d, from ~/.config/fettle/traps.d, and
from --traps DIR. Files and folders must belong to root (or to you) and must not
be writable by others.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return app.Usagef("check, test or new? `fettle lore --help` tells")
		},
	}
	c.AddCommand(loreCheckCmd(a), loreTestCmd(a), loreNewCmd(a))
	return c
}

func loreCheckCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE...",
		Short: "Find the mistakes in rules, with line and column",
		Long: `Find the mistakes in rules. Each is printed as FILE:LINE:COLUMN: what is wrong.
For a folder, its rule.yaml is checked. Rows of tables that nobody has confirmed
for a year are listed, too.

Exit status:
  0  no mistakes; there may be warnings
  2  mistakes, or a file that cannot be read`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return loreCheck(a, args) },
	}
}

// ships: one of fettle's own traps has the rule's id, and is not that rule itself.
func ships(a *app.App, r *rule.Rule) bool {
	return slices.ContainsFunc(a.Traps, func(t *trap.Trap) bool { return t.ID() == r.ID && t.Lore != r.Trap().Lore })
}

func loreCheck(a *app.App, args []string) error {
	wrong := 0
	for _, name := range args {
		file := ruleFile(name)
		b, err := rule.Read(file)
		if err != nil {
			fmt.Fprintln(a.Stdout, ui.Visible(app.Unread(err, "a rule: rule.yaml, or its folder").Error()))
			wrong++
			continue
		}
		r, mistakes := rule.Parse(file, b, false)
		for _, m := range mistakes {
			fmt.Fprintln(a.Stdout, ui.Visible(m.Error()))
		}
		switch n := len(mistakes.Fatal()); {
		case n > 0:
			wrong++
		case len(mistakes) > 0:
			fmt.Fprintf(a.Stdout, "%s: can be used, with warnings\n", ui.Visible(file))
		default:
			fmt.Fprintf(a.Stdout, "%s: no mistakes\n", ui.Visible(file))
		}
		if r != nil {
			for _, old := range r.Unconfirmed(time.Now()) {
				fmt.Fprintf(a.Stdout, "%s: %s: is it still so?\n", ui.Visible(file), ui.Visible(old))
			}
		}
		if r != nil && ships(a, r) {
			fmt.Fprintf(a.Stdout, "%s: %s is one of fettle's own traps: the rule is refused until it has another id\n", ui.Visible(file), r.ID)
		}
	}
	if wrong > 0 {
		return app.Exit(app.ExitUsage, nil)
	}
	return nil
}

// ruleFile is the rule in a folder, or the file itself.
func ruleFile(name string) string {
	if st, err := os.Stat(name); err == nil && st.IsDir() {
		return filepath.Join(name, "rule.yaml")
	}
	return name
}

func loreTestCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "test DIR...",
		Short: "Run rules over their own sample hosts",
		Long: `Run the rule in a folder (rule.yaml) on the sample hosts beside it: at least one
healthy*.txtar and one trapped*.txtar, each with the expected outcomes. The rule
is also run on a host of which nothing was collected, and must not report that
one as clear.

Exit status:
  0  all samples give the expected outcomes
  2  the rule has mistakes, or there are no samples
  3  a sample gives another outcome`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, dir := range args {
				if err := loreTest(cmd.Context(), a, dir); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func loreTest(ctx context.Context, a *app.App, dir string) error {
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		if err == nil {
			dir = filepath.Dir(dir)
		} else {
			return app.Unread(err, "a rule's folder, with rule.yaml and its samples")
		}
	}
	file := filepath.Join(dir, "rule.yaml")
	b, err := rule.Read(file)
	if err != nil {
		return app.Unread(err, "a rule beside its samples")
	}
	r, mistakes := rule.Parse(file, b, false)
	if r == nil {
		return app.Usagef("%w", mistakes)
	}
	results, err := r.Test(ctx, os.DirFS(dir))
	if err != nil {
		return app.Usagef("%s: %w", dir, err)
	}
	failed := 0
	for _, res := range results {
		name := ui.Visible(filepath.Join(dir, res.Name))
		if res.Passed() {
			fmt.Fprintf(a.Stdout, "ok      %s\n", name)
			continue
		}
		failed++
		fmt.Fprintf(a.Stdout, "FAILED  %s\n", name)
		if res.Err != nil {
			fmt.Fprintf(a.Stdout, "        %s\n", ui.Visible(res.Err.Error()))
		}
		if res.Got != res.Want {
			fmt.Fprintf(a.Stdout, "    the check says:\n%s    wanted:\n%s", indented(res.Got), indented(res.Want))
		}
	}
	if failed > 0 {
		return app.Failf("%s: %d of %d samples failed", r.ID, failed, len(results))
	}
	return nil
}

func indented(s string) string {
	if s == "" {
		s = "(nothing)"
	}
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString("        " + ui.Visible(strings.TrimRight(line, "\n")) + "\n")
	}
	return b.String()
}

func loreNewCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "new ID",
		Short: "Write a commented start: a rule and its samples, in a folder ID",
		Long: `Create a commented template for a rule: the folder ID, with rule.yaml, one
healthy and one trapped sample. It passes fettle lore check and fettle lore test
unchanged. To use it, copy the folder, or rule.yaml under another name, to
/etc/fettle/traps.d.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			files, err := rule.Start(args[0])
			if err != nil {
				return app.Usagef("%w", err)
			}
			if err := os.Mkdir(args[0], 0o755); err != nil {
				return app.Usagef("making a folder for the rule: %w", err)
			}
			for _, f := range files {
				name := filepath.Join(args[0], f.Name)
				if err := os.WriteFile(name, []byte(f.Content), 0o644); err != nil {
					os.RemoveAll(args[0]) // made a moment ago
					return app.Failf("%w", err)
				}
			}
			for _, f := range files {
				fmt.Fprintln(a.Stdout, filepath.Join(args[0], f.Name))
			}
			return nil
		},
	}
}
