package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"fettle/conf/pam"
	"fettle/fact/sshlogin"
	"fettle/host"
	"fettle/internal/ui"
	"fettle/remedy"
	"fettle/trap"
)

// totpTrap is the trap whose remedy sets codes up, and whose check verifies it.
const totpTrap = "ssh-totp"

func (a *app) totpSetupCmd() *cobra.Command {
	var o fixOptions
	var group, mode, factors string
	c := &cobra.Command{
		Use:   "setup --group GROUP",
		Short: "Have PAM and sshd ask for codes; simulated first, undoable",
		Long: `Plans the lines in /etc/pam.d/sshd and sshd's configuration, and simulates for
every user of /etc/passwd what would let him in. A plan that locks anybody out,
changes anything for users outside the group, or lets a code or a password alone
suffice is refused. It is shown, asked about, applied, and undone unless
fettle confirm comes from a new login. fettle undo takes it back later.

--factors password asks for the password and then the code; keys work as before.
--factors key demands a key and then the code, and asks for no password.
--mode nullok lets in members without a file, without a code; strict does not.
` + statusHelp,
		Example: `  fettle totp setup --group totp --plan
  fettle totp setup --group totp --factors key --mode strict`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, kv := range [][2]string{{"group", group}, {"mode", mode}, {"factors", factors}} {
				if kv[1] != "" {
					o.with = append(o.with, kv[0]+"="+kv[1])
				}
			}
			return fixError(a.totpSetup(cmd.Context(), o))
		},
	}
	f := c.Flags()
	f.StringVar(&group, "group", "", "ask the members of this `GROUP`, or all")
	f.StringVar(&mode, "mode", "", "`MODE` for members without a file: nullok (the default) or strict")
	f.StringVar(&factors, "factors", "", "what goes with the code: `FACTOR` password (the default) or key")
	c.RegisterFlagCompletionFunc("mode", cobra.FixedCompletions([]string{"nullok", "strict"}, cobra.ShellCompDirectiveNoFileComp))
	c.RegisterFlagCompletionFunc("factors", cobra.FixedCompletions([]string{"password", "key"}, cobra.ShellCompDirectiveNoFileComp))
	f.BoolVar(&o.plan, "plan", false, "show the plan and change nothing")
	f.BoolVar(&o.yes, "yes", false, "do not ask")
	f.DurationVar(&o.confirm, "confirm-within", 0, "undo unless fettle confirm comes within this `TIME` (5m)")
	f.BoolVar(&o.wait, "wait", false, "wait for another fettle that is at work")
	o.format = "text"
	return c
}

func (a *app) totpSetup(ctx context.Context, o fixOptions) error {
	ts, err := a.find([]string{totpTrap})
	if err != nil {
		return err
	}
	t := ts[0]
	if _, err := t.Choose(trap.Finding{}, o.with); err != nil {
		return usagef("%w", err)
	}
	if o.confirm < 0 || o.confirm > 0 && o.confirm < time.Second {
		return usagef("--confirm-within %s is too short", o.confirm)
	}
	f := trap.Finding{Trap: totpTrap, Subject: "sshd", Severity: trap.Notice, Summary: "set up one-time codes for SSH logins", Params: map[string]string{"setup": "yes"}}
	if o.plan {
		return a.showPlans(ctx, t, []trap.Finding{f}, o)
	}
	if !o.yes && !ui.IsTerminal(a.stdin) {
		return usagef("there is no terminal to ask on: look at the plan (--plan), then give --yes")
	}
	store, err := remedy.OpenStore()
	if err != nil {
		return fmt.Errorf("setting up one-time codes: %w", err)
	}
	err = a.fixOne(ctx, store, t, f, o)
	var refused refusals
	if refused.add(f, err) {
		return refused.err()
	}
	return err
}

func (a *app) totpWhoCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "who [USER...]",
		Short: "Tell what lets each user in over SSH",
		Long: `Simulates sshd's methods and the PAM stack, without logging in and without
reading anybody's secret (root sees all files' modes). A key is taken to be in
place, a password to be right, and no account to be locked. What depends on a
module that fettle does not know is "perhaps".`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.totpWho(cmd.Context(), args) },
	}
}

func (a *app) totpWho(ctx context.Context, names []string) error {
	src, err := a.openLive()
	if err != nil {
		return err
	}
	defer src.Close()
	h := host.New(src)
	l, err := sshlogin.Read(ctx, h)
	if err != nil {
		return &status{exitUnknown, fmt.Errorf("could not look: %w", err)}
	}
	if f := l.Sim.Config.Fatal; f != nil {
		fmt.Fprintf(a.stdout, "PAM refuses every login over SSH: %v\n\n", f)
	}
	for _, n := range names {
		if _, ok := l.DB.User(n); !ok {
			return usagef("there is no user %s in /etc/passwd", ui.Quote(n))
		}
	}
	w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "USER\tGETS IN WITH")
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
			who := u.Name
			if acc.From != "" {
				who += " from " + acc.From
			}
			fmt.Fprintf(w, "%s\t%s\n", ui.Visible(who), ui.Visible(acc.Words()))
			for _, d := range acc.Depends {
				if strings.Contains(acc.Words(), "perhaps") {
					depends = append(depends, d)
				}
			}
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, d := range depends {
		if !seen[d] {
			fmt.Fprintf(a.stdout, "perhaps: it depends on %s\n", ui.Visible(d))
			seen[d] = true
		}
	}
	if errs := errors.Join(l.Sim.Unread...); errs != nil {
		return &status{exitUnknown, fmt.Errorf("not all could be looked at: %w", errs)}
	}
	return nil
}
