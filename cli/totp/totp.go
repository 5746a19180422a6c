package totp

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/host"
	"fettle/host/fact/sshlogin"
	"fettle/host/format/accounts"
	"fettle/host/format/pam"
	"fettle/internal/ui"
	"fettle/tools/totp"
)

// Cmd is fettle totp.
func Cmd(a *app.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "totp",
		Short: "Set up one-time codes as a second factor for SSH",
		Long: `Sets up one-time codes for SSH logins: a file with a secret for each user
(enrol), and the lines in PAM's and sshd's configuration that ask for a code
(setup). who shows how each user can log in.

Secrets are read only from the terminal or standard input, and written only to
users' own files and to standard output: never to a log, a journal of changes, a
capture, or the arguments of a process.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return app.Usagef("what about one-time codes? `fettle totp --help` lists enrol, verify, qr, disable, who and setup")
		},
	}
	c.AddCommand(enrolCmd(a), verifyCmd(a), qrCmd(a), disableCmd(a), whoCmd(a), setupCmd(a))
	return c
}

// holder is a user with the place of his file.
type holder struct {
	name  string
	place totp.Place
}

// totpHost is what the verbs need to know of this host.
type totpHost struct {
	h    *host.Host
	db   *accounts.DB
	line pam.Rule // the line that asks for the code; without arguments if there is none
}

// openTOTP reads this host. Close ends it.
func openTOTP(ctx context.Context, a *app.App) (t *totpHost, closeIt func(), err error) {
	src, err := a.OpenLive()
	if err != nil {
		return nil, nil, err
	}
	t = &totpHost{h: host.New(src), line: pam.Rule{Module: "pam_google_authenticator.so"}}
	closeIt = func() { src.Close() }
	if t.db, err = accounts.Read(ctx, t.h); err != nil {
		closeIt()
		return nil, nil, app.Failf("%w", err)
	}
	// Where the files are is said by the module's options (secret=, user=).
	c, err := pam.Read(ctx, t.h, sshlogin.Service)
	if err != nil {
		closeIt()
		return nil, nil, app.Failf("%w", err)
	}
	if lines := c.Uses(pam.Auth, t.line.Name()); len(lines) > 0 {
		t.line = lines[0]
	}
	return t, closeIt, nil
}

// holders finds users by name and the members of a group. Nobody named means
// whoever calls.
func (t *totpHost) holders(ctx context.Context, names []string, group string) ([]holder, error) {
	if group != "" {
		if _, ok := t.db.Group(group); !ok {
			return nil, app.Usagef("there is no group %s in /etc/group", ui.Quote(group))
		}
		users, missing := t.db.MembersOf(group)
		for _, u := range users {
			names = append(names, u.Name)
		}
		names = append(names, missing...)
		if len(names) == 0 {
			return nil, app.Usagef("group %s has no members: gpasswd -a USER %s", group, group)
		}
	}
	if len(names) == 0 {
		if os.Getuid() == 0 {
			return nil, app.Usagef("for whom? name users, or --group")
		}
		u, ok := t.db.UserByID(uint32(os.Getuid()))
		if !ok {
			return nil, app.Usagef("user ID %d is not in /etc/passwd: name a user", os.Getuid())
		}
		names = []string{u.Name}
	}
	var out []holder
	for _, n := range names {
		if slices.ContainsFunc(out, func(h holder) bool { return h.name == n }) {
			continue
		}
		h, err := t.holder(ctx, n)
		if err != nil {
			return nil, err
		}
		out = append(out, h)
	}
	return out, nil
}

func (t *totpHost) holder(ctx context.Context, name string) (holder, error) {
	u, ok := t.db.User(name)
	if !ok {
		var err error
		if u, err = t.elsewhere(ctx, name); err != nil {
			return holder{}, err
		}
	}
	h := holder{name: name, place: totp.Place{Path: pam.TOTPPath(&t.line, &pam.User{Name: u.Name, Home: u.Home}), UID: u.UID, GID: u.GID}}
	if v, ok := t.line.Value("user"); ok {
		owner, found := t.db.User(v)
		if n, err := strconv.ParseUint(v, 10, 31); err == nil {
			owner, found = t.db.UserByID(uint32(n))
		}
		if !found {
			return h, app.Usagef("%s:%d has user=%s, but there is no such user", t.line.File, t.line.Line, v)
		}
		h.place.UID, h.place.GID = owner.UID, owner.GID
	}
	if !strings.HasPrefix(h.place.Path, "/") {
		return h, app.Usagef("the file of %s would be %s, which is not absolute", name, ui.Quote(h.place.Path))
	}
	return h, nil
}

// elsewhere asks the name services beyond /etc/passwd.
func (t *totpHost) elsewhere(ctx context.Context, name string) (accounts.User, error) {
	unknown := app.Usagef("there is no user %s", ui.Quote(name))
	if len(t.db.UsersElsewhere) == 0 || name == "" || name[0] == '-' || strings.ContainsAny(name, ":\n") {
		return accounts.User{}, unknown
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/usr/bin/getent", "passwd", name)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"}
	out, err := cmd.Output()
	if err != nil {
		if ctx.Err() != nil {
			return accounts.User{}, app.Failf("asking %s for user %s: took too long", strings.Join(t.db.UsersElsewhere, ", "), name)
		}
		return accounts.User{}, unknown
	}
	f := strings.Split(strings.TrimSpace(string(out)), ":")
	if len(f) < 7 || f[0] != name {
		return accounts.User{}, unknown
	}
	uid, err1 := strconv.ParseUint(f[2], 10, 32)
	gid, err2 := strconv.ParseUint(f[3], 10, 32)
	if err1 != nil || err2 != nil {
		return accounts.User{}, unknown
	}
	return accounts.User{Name: name, UID: uint32(uid), GID: uint32(gid), Home: f[5], Shell: f[6]}, nil
}

// read reads a user's file.
func (h holder) read() (*totp.File, error) {
	b, err := h.place.Read()
	if errors.Is(err, os.ErrNotExist) {
		return nil, app.Failf("%s has no file of one-time codes (%s): fettle totp enrol %s", h.name, h.place.Path, h.name)
	}
	if err != nil {
		return nil, app.Failf("%w", err)
	}
	defer clear(b)
	f, err := totp.Parse(b)
	if err != nil {
		return nil, app.Failf("%s: %w", h.place.Path, err)
	}
	return f, nil
}
