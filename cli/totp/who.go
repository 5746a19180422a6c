package totp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/host"
	"fettle/host/fact/sshlogin"
	"fettle/host/format/pam"
	"fettle/internal/ui"
)

func whoCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "who [USER...]",
		Short: "Show how each user can log in over SSH",
		Long: `Simulates sshd's methods and the PAM stack, without logging in and without
reading any secret (as root it sees the modes of all files). It assumes that
keys are in place and passwords correct, except for accounts whose password is
locked (as root, by passwd -S). "perhaps" means that it depends on a module that
fettle does not know.`,
		RunE: func(cmd *cobra.Command, args []string) error { return whoGetsIn(cmd.Context(), a, args) },
	}
}

func whoGetsIn(ctx context.Context, a *app.App, names []string) error {
	src, err := a.OpenLive()
	if err != nil {
		return err
	}
	defer src.Close()
	h := host.New(src)
	l, err := sshlogin.Read(ctx, h)
	if err != nil {
		return app.Exit(app.ExitUnknown, fmt.Errorf("could not inspect: %w", err))
	}
	if f := l.Sim.Config.Fatal; f != nil {
		fmt.Fprintf(a.Stdout, "PAM refuses every login over SSH: %v\n\n", f)
	}
	for _, n := range names {
		if _, ok := l.DB.User(n); !ok {
			return app.Usagef("there is no user %s in /etc/passwd", ui.Quote(n))
		}
	}
	locked := lockedOut(ctx, h)
	t := ui.Table{Header: []string{"USER", "GETS IN WITH"}}
	shown := map[string]bool{}
	var depends []string
	for _, u := range l.DB.Users {
		asked := len(names) == 0 && !strings.HasSuffix(u.Shell, "/nologin") && !strings.HasSuffix(u.Shell, "/false")
		for _, n := range names {
			asked = asked || n == u.Name
		}
		if !asked || shown[u.Name] {
			continue
		}
		shown[u.Name] = true
		for _, acc := range l.For(pam.UserOf(l.DB, u)) {
			if locked[u.Name] {
				acc.NoPassword()
			}
			who := u.Name
			if acc.From != "" {
				who += " from " + acc.From
			}
			t.Rows = append(t.Rows, []string{ui.Visible(who), ui.Visible(acc.Words())})
			for _, d := range acc.Depends {
				if strings.Contains(acc.Words(), "perhaps") {
					depends = append(depends, d)
				}
			}
		}
	}
	fmt.Fprint(a.Stdout, t.Text(ui.Width(a.Stdout), "", false))
	seen := map[string]bool{}
	for _, d := range depends {
		if !seen[d] {
			fmt.Fprintf(a.Stdout, "perhaps: it depends on %s\n", ui.Visible(d))
			seen[d] = true
		}
	}
	if errs := errors.Join(l.Sim.Unread...); errs != nil {
		return app.Exit(app.ExitUnknown, fmt.Errorf("some could not be inspected: %w", errs))
	}
	return nil
}

// lockedOut are the accounts that no password fits, as passwd(1) -S tells root: L,
// or LK where Red Hat's speaks. Whoever may not ask is told of nobody.
func lockedOut(ctx context.Context, h *host.Host) map[string]bool {
	out, err := h.Run(ctx, "passwd", "-S", "-a")
	if err != nil || out.Exit != 0 {
		return nil
	}
	locked := map[string]bool{}
	for line := range strings.Lines(string(out.Stdout)) {
		if f := strings.Fields(line); len(f) > 1 && (f[1] == "L" || f[1] == "LK") {
			locked[f[0]] = true
		}
	}
	return locked
}
