package pack

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/engine/pack"
	"fettle/engine/rule"
	"fettle/internal/files"
	"fettle/internal/ui"
)

const sshKeygen = "/usr/bin/ssh-keygen"

func buildCmd(a *app.App) *cobra.Command {
	var key, out string
	c := &cobra.Command{
		Use:   "build DIR",
		Short: "Make a signed pack of a folder of rules",
		Long: `Make a pack of a folder: pack.yaml, and a folder for each rule with rule.yaml
and its samples. Every rule is checked and run on its samples; no pack is
written when one fails. ssh-keygen signs it, with a key in a file, in an agent
(give its public half) or in a security key.

Exit status:
  0  the pack is written
  2  usage error
  3  a rule or a sample failed, or the pack could not be signed`,
		Example: `  fettle pack build acme --key ~/.ssh/id_ed25519`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if key == "" {
				return app.Usagef("--key FILE: which SSH key signs?")
			}
			p, b, err := pack.Build(cmd.Context(), args[0], func(text []byte) ([]byte, error) { return sign(cmd.Context(), a, key, text) })
			if err != nil {
				return app.Failf("%s: %w", args[0], err)
			}
			if err := vet(a, p); err != nil {
				return app.Failf("%s: %w", args[0], err)
			}
			if out == "" {
				out = fmt.Sprintf("%s-%d.pack", p.Name, p.Version)
			}
			if err := files.WriteFile(out, b, 0o644); err != nil {
				return app.Failf("%w", err)
			}
			fmt.Fprintln(a.Stdout, ui.Visible(out))
			return nil
		},
	}
	c.Flags().StringVar(&key, "key", "", "sign with the SSH key in `FILE`")
	c.Flags().StringVarP(&out, "output", "o", "", "write the pack to `FILE` (default: NAME-VERSION.pack)")
	c.MarkFlagFilename("key")
	return c
}

// vet refuses a rule with the id of one of fettle's own traps, which no host would load, and tells of the rows in
// the pack's tables that nobody has confirmed for a year.
func vet(a *app.App, p *pack.Pack) error {
	rules, err := p.Rules()
	for _, r := range rules {
		if a.Trap(r.ID) != nil {
			return fmt.Errorf("%s is one of fettle's own traps; give the rule another id, such as %s-%s", r.ID, p.Name, r.ID)
		}
		for _, old := range r.Unconfirmed(time.Now()) {
			a.Warn(fmt.Sprintf("%s: %s: is it still so?", r.ID, old))
		}
	}
	return err
}

// sign has ssh-keygen sign. What it says is shown at once: a security key waits to be touched.
func sign(ctx context.Context, a *app.App, key string, text []byte) ([]byte, error) {
	c := exec.CommandContext(ctx, sshKeygen, "-q", "-Y", "sign", "-f", key, "-n", pack.Namespace)
	var sig, said bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = bytes.NewReader(text), &sig, io.MultiWriter(a.Stderr, &said)
	switch err := c.Run(); {
	case err == nil:
		return sig.Bytes(), nil
	case strings.Contains(said.String(), "passphrase"):
		fmt.Fprintln(a.Stderr) // its prompt has no end of line
		return nil, fmt.Errorf("the key %s needs its passphrase: sign in a terminal, or load it into an agent "+
			"(ssh-add %[2]s) and give --key %[2]s.pub", key, strings.TrimSuffix(key, ".pub"))
	default:
		return nil, fmt.Errorf("signing with %s: %w", key, err)
	}
}

// lasting is how long a new pack is good for unless its author says otherwise.
const lasting = 180 * 24 * time.Hour

func newCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "new NAME",
		Short: "Start a pack: a folder NAME with a manifest and one rule",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			name := args[0]
			if err := pack.ValidName(name); err != nil {
				return app.Usagef("%w", err)
			}
			id := name + "-first-trap"
			start, err := rule.Start(id)
			if err != nil {
				return app.Usagef("%w", err)
			}
			if err := os.Mkdir(name, 0o755); err != nil {
				return app.Usagef("making a folder for the pack: %w", err)
			}
			write := func(file, text string) error {
				file = filepath.Join(name, file)
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					return app.Failf("%w", err)
				}
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					return app.Failf("%w", err)
				}
				fmt.Fprintln(a.Stdout, file)
				return nil
			}
			manifest := fmt.Sprintf(`name: %s
version: 1 # each pack that hosts get has a higher one
about: what this pack is for
# From this day on no host installs this version, and those that have it say that
# they wait for a newer one.
expires: %s
`, name, time.Now().Add(lasting).Format(time.DateOnly))
			if err := write(pack.ManifestFile, manifest); err != nil {
				return err
			}
			for _, f := range start {
				if err := write(filepath.Join(id, f.Name), f.Content); err != nil {
					return err
				}
			}
			return nil
		},
	}
}
