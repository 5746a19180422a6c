package totp

import (
	"context"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/cli/fix"
)

func setupCmd(a *app.App) *cobra.Command {
	var o fix.Options
	var group, mode, factors string
	c := &cobra.Command{
		Use:   "setup --group GROUP",
		Short: "Have PAM and sshd ask for codes; simulated first, undoable",
		Long: `Plans the lines in /etc/pam.d/sshd and sshd's configuration, and simulates how
every user of /etc/passwd could log in. A plan that locks anybody out, changes
anything for users outside the group, or lets a code or a password alone suffice
is refused. The plan is shown, applied if you confirm it, and undone unless you
run fettle confirm from a new login. fettle undo reverts it later.

--factors password asks for the password and then the code; keys work as before.
--factors key requires a key and then the code, and asks for no password. With
--mode nullok, members without a file can log in without a code; with strict,
they cannot.
` + fix.StatusHelp,
		Example: `  fettle totp setup --group totp --plan
  fettle totp setup --group totp --factors key --mode strict`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, kv := range [][2]string{{"group", group}, {"mode", mode}, {"factors", factors}} {
				if kv[1] != "" {
					o.With = append(o.With, kv[0]+"="+kv[1])
				}
			}
			return fix.Status(setup(cmd.Context(), a, o))
		},
	}
	f := c.Flags()
	f.StringVar(&group, "group", "", "require a code from members of this `GROUP`, or all")
	app.WordFlag(c, &mode, "mode", "`MODE` for members without a file: nullok (the default) or strict", "nullok", "strict")
	app.WordFlag(c, &factors, "factors", "`FACTOR` besides the code: password (the default) or key", "password", "key")
	f.BoolVar(&o.Plan, "plan", false, "show the plan and change nothing")
	f.BoolVar(&o.Yes, "yes", false, "do not ask")
	f.DurationVar(&o.Confirm, "confirm-within", 0, "undo unless fettle confirm comes within this `TIME` (5m)")
	f.BoolVar(&o.Wait, "wait", false, "wait for another running fettle")
	return c
}

func setup(ctx context.Context, a *app.App, o fix.Options) error {
	t, err := a.SetsUp("totp")
	if err != nil {
		return err
	}
	return fix.SetUp(ctx, a, t, o)
}
