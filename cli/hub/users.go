package hub

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/fleet/hub/store"
	"fettle/fleet/hub/web/login"
	"fettle/internal/ui"
)

func (p *program) usersCmd() *cobra.Command {
	c := &cobra.Command{
		Use: "users", Args: cobra.NoArgs,
		Short: "Manage who logs in to the web page by password",
		Long: `Manages the users whose passwords are stored in the hub (argon2id). Users who
log in by OpenID Connect or through a proxy need no entry.

A reader sees what hosts report; an operator may also accept findings, ask hosts
for a run, and set their groups, names and labels. With --group, a user sees and
touches the hosts of those groups alone. If a user is changed or removed, that
user's sessions and tokens end, also sessions by OpenID Connect; users logout
ends sessions and changes nothing else.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(p.usersListCmd(), p.usersAddCmd(), p.usersRemoveCmd(), p.usersLogoutCmd())
	return c
}

func (p *program) usersListCmd() *cobra.Command {
	return &cobra.Command{
		Use: "list", Args: cobra.NoArgs,
		Short: "List users",
		RunE: p.withDB(func(cmd *cobra.Command, _ []string, db *store.DB) error {
			users, err := db.Users(cmd.Context())
			if err != nil {
				return err
			}
			var rows [][]string
			for _, u := range users {
				rows = append(rows, []string{u.Name, string(u.Role), u.Sees.String(), u.Created.Format(time.DateOnly)})
			}
			p.list("NAME ROLE GROUPS SINCE", rows)
			return nil
		}),
	}
}

func (p *program) usersAddCmd() *cobra.Command {
	var role string
	var groups []string
	c := &cobra.Command{
		Use: "add NAME", Args: cobra.ExactArgs(1),
		Short: "Add a user, or give one another password or role",
		Long: `Adds a user, or changes the password, role and groups of one. On a terminal it
asks for the password; otherwise it reads the first line of standard input.`,
		Example: `  fettle-hub users add ann --role operator
  fettle-hub users add web-team --role operator --group web --group web-test
  pass show hub/ann | fettle-hub users add ann`,
		RunE: p.withDB(func(cmd *cobra.Command, args []string, db *store.DB) error {
			r, err := roleOf(args[0], role)
			if err != nil {
				return err
			}
			sees, err := rightsOf(groups)
			if err != nil {
				return err
			}
			password, err := p.password("Password: ")
			if err != nil {
				return err
			}
			hash, err := login.Hash(password, login.Usual)
			if err != nil {
				return app.Usagef("%w", err)
			}
			if err := record(cmd.Context(), db, "users add", "set user", args[0], string(r)+" of "+sees.String()); err != nil {
				return err
			}
			return db.PutUser(cmd.Context(), store.User{Name: args[0], Role: r, Sees: sees, Password: hash, Created: time.Now()})
		}),
	}
	c.Flags().StringVar(&role, "role", string(store.Reader), "`ROLE`: reader or operator")
	c.Flags().StringArrayVar(&groups, "group", nil, seesFlag)
	return c
}

const seesFlag = "see and touch the hosts of this `GROUP` alone; - is no group; may be repeated"

// rightsOf reads --group: without any, all groups.
func rightsOf(groups []string) (store.Rights, error) {
	if len(groups) == 0 {
		return store.AllGroups, nil
	}
	var out []string
	for _, g := range groups {
		if g == "-" {
			g = ""
		}
		if err := store.CheckGroup(g); err != nil {
			return "", app.Usagef("--group: %w", err)
		}
		out = append(out, g)
	}
	return store.OnlyGroups(out...), nil
}

// roleOf reads --role, for a user of that name.
func roleOf(name, role string) (store.Role, error) {
	r, ok := store.ParseRole(role)
	if !ok {
		return r, app.Usagef("--role %s: expected reader or operator", role)
	}
	if !login.Plausible(name) {
		return r, app.Usagef("the name %q: expected up to 200 characters without blanks", name)
	}
	return r, nil
}

// password asks twice on a terminal, and takes a line of anything else.
func (p *program) password(prompt string) (string, error) {
	f, ok := p.Stdin.(*os.File)
	if !ok || !ui.IsTerminal(p.Stdin) {
		line, err := bufio.NewReader(io.LimitReader(p.Stdin, 4096)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", app.Usagef("reading the password: %w", err)
		}
		return strings.TrimRight(line, "\r\n"), nil
	}
	var twice [2]string
	for i, ask := range []string{prompt, "The same again: "} {
		fmt.Fprint(p.Stderr, ask)
		b, err := ui.Hidden(f)
		fmt.Fprintln(p.Stderr)
		if err != nil {
			return "", app.Failf("reading the password: %w", err)
		}
		twice[i] = b
	}
	if twice[0] != twice[1] {
		return "", app.Usagef("the two passwords differ")
	}
	return twice[0], nil
}

func (p *program) usersRemoveCmd() *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Args: cobra.ExactArgs(1),
		Short: "Remove a user, whose sessions and tokens end",
		Long: `Removes a user with all sessions and tokens of that name. A name that logs in by
OpenID Connect is logged out, and may log in again as long as the provider lets
it.`,
		RunE: p.withDB(func(cmd *cobra.Command, args []string, db *store.DB) error {
			err := db.DropUser(cmd.Context(), args[0])
			if errors.Is(err, store.ErrNone) {
				return app.Usagef("there is no user %q, and no session of that name", args[0])
			}
			if err != nil {
				return err
			}
			return record(cmd.Context(), db, "users remove", "remove user", args[0], "")
		}),
	}
}

func (p *program) usersLogoutCmd() *cobra.Command {
	var tokens bool
	c := &cobra.Command{
		Use: "logout NAME", Args: cobra.ExactArgs(1),
		Short: "End all sessions of a name, by password and by OpenID Connect",
		Long: `Ends all sessions of NAME, however NAME logged in, and prints their number.
Whoever is still allowed to log in can do so again: remove the user, or change
the password or the groups at the provider, first.`,
		Example: `  fettle-hub users logout ann --tokens`,
		RunE: p.withDB(func(cmd *cobra.Command, args []string, db *store.DB) error {
			n, err := db.EndSessions(cmd.Context(), args[0], tokens)
			if err != nil {
				return err
			}
			fmt.Fprintln(p.Stdout, n, "ended")
			return record(cmd.Context(), db, "users logout", "end sessions", args[0], fmt.Sprint(n))
		}),
	}
	c.Flags().BoolVar(&tokens, "tokens", false, "also revoke the tokens of that name")
	return c
}

func (p *program) tokenCmd() *cobra.Command {
	c := &cobra.Command{
		Use: "token", Args: cobra.NoArgs,
		Short: "Manage tokens for programs and feed readers",
		Long: `Manages tokens for the hub's API (Authorization: Bearer TOKEN) and for feed
readers (the token as the password).`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(p.tokenListCmd(), p.tokenAddCmd(), p.tokenRemoveCmd())
	return c
}

func (p *program) tokenAddCmd() *cobra.Command {
	var role, note string
	var groups []string
	var life int
	c := &cobra.Command{
		Use: "add NAME", Args: cobra.ExactArgs(1),
		Short: "Print a new token; it is shown once",
		RunE: p.withDB(func(cmd *cobra.Command, args []string, db *store.DB) error {
			r, err := roleOf(args[0], role)
			if err != nil {
				return err
			}
			if life < 1 {
				return app.Usagef("--days must be above zero")
			}
			sees, err := rightsOf(groups)
			if err != nil {
				return err
			}
			secret, hash := login.NewSecret()
			now := time.Now()
			if err := db.PutSession(cmd.Context(),
				store.Session{Hash: hash, User: args[0], Role: r, Sees: sees, How: "token", Created: now, Expires: now.AddDate(0, 0, life),
					Note: note}); err != nil {
				return err
			}
			if err := record(cmd.Context(), db, "token add", "add token", args[0],
				fmt.Sprintf("%.12s, %s of %s, %d days", hash, r, sees, life)); err != nil {
				return err
			}
			fmt.Fprintln(p.Stdout, secret)
			return nil
		}),
	}
	f := c.Flags()
	f.StringVar(&role, "role", string(store.Reader), "`ROLE`: reader or operator")
	f.StringArrayVar(&groups, "group", nil, seesFlag)
	f.StringVar(&note, "note", "", "`TEXT`: what it is for")
	f.IntVar(&life, "days", 365, "`DAYS` until it expires")
	return c
}

func (p *program) tokenListCmd() *cobra.Command {
	return &cobra.Command{
		Use: "list", Args: cobra.NoArgs,
		Short: "List tokens, without their secrets",
		RunE: p.withDB(func(cmd *cobra.Command, _ []string, db *store.DB) error {
			tokens, err := db.Tokens(cmd.Context())
			if err != nil {
				return err
			}
			var rows [][]string
			for _, t := range tokens {
				rows = append(
					rows,
					[]string{fmt.Sprintf("%.12s", t.Hash), t.User, string(t.Role), t.Sees.String(), ago(t.Seen), t.Expires.Format(time.DateOnly), t.Note},
				)
			}
			p.list("ID NAME ROLE GROUPS USED EXPIRES NOTE", rows)
			return nil
		}),
	}
}

func (p *program) tokenRemoveCmd() *cobra.Command {
	return &cobra.Command{
		Use: "remove ID", Args: cobra.ExactArgs(1),
		Short: "Revoke a token, by the ID that token list shows",
		RunE: p.withDB(func(cmd *cobra.Command, args []string, db *store.DB) error {
			tokens, err := db.Tokens(cmd.Context())
			if err != nil {
				return err
			}
			for _, t := range tokens {
				if len(args[0]) >= 8 && strings.HasPrefix(t.Hash, args[0]) {
					if err := db.DropSession(cmd.Context(), t.Hash); err != nil {
						return err
					}
					return record(cmd.Context(), db, "token remove", "remove token", t.User, fmt.Sprintf("%.12s", t.Hash))
				}
			}
			return app.Usagef("there is no token %q", args[0])
		}),
	}
}

// withDB is a verb that works on the hub's database, also while it serves.
func (p *program) withDB(run func(*cobra.Command, []string, *store.DB) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		_, db, err := p.open(cmd.Context())
		if err != nil {
			return err
		}
		err = run(cmd, args, db)
		if cerr := db.Close(); err == nil {
			err = cerr
		}
		var told *app.Status
		if err != nil && !errors.As(err, &told) {
			err = app.Failf("%w", err)
		}
		return err
	}
}
