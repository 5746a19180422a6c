package totp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/internal/files"
	"fettle/internal/ui"
	"fettle/tools/totp"
)

type enrolOptions struct {
	group, out, issuer           string
	existing, replace, noQR, ink bool
	ascii, untested              bool
	set                          totp.Settings
	sheets                       *os.Root // the folder out
}

func enrolCmd(a *app.App) *cobra.Command {
	var o enrolOptions
	c := &cobra.Command{
		Use:   "enrol [USER...]",
		Short: "Give users a secret: their file, and the QR code for their app",
		Long: `Creates a secret, or takes one that a web service already uses (--existing), and
writes the file that pam_google_authenticator reads: mode 0400, owned by the
user, with the options RATE_LIMIT 3 30 and DISALLOW_REUSE and five scratch codes
that work once each. On a terminal it asks for the app's first code before it
writes the file. An existing file is kept, unless --replace is given. For
several users, or in scripts, --out FOLDER writes one sheet per user, readable
only by you, to hand out.

The place and owner of the file follow the module's options secret= and user= in
/etc/pam.d/sshd.

Exit status:
  0  done
  2  usage error or bad input
  3  it could not be written`,
		Example: `  fettle totp enrol
  install -d -m 0700 /root/sheets
  fettle totp enrol --group totp --out /root/sheets
  fettle totp enrol alice --existing < secret.txt`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("window") && o.set.Window < 1 {
				return app.Usagef("--window %d: the module takes 1 to 100", o.set.Window)
			}
			return enrol(cmd.Context(), a, args, o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.group, "group", "", "enrol the members of this `GROUP`, too")
	f.StringVar(&o.out, "out", "", "write a sheet for each user into this `FOLDER` (mode 0700) and print no secret")
	f.StringVar(&o.issuer, "issuer", "", "`NAME` under which the app shows the code (the host's name)")
	f.BoolVar(&o.existing, "existing", false, "take a secret in base32, or an otpauth:// URI, from standard input")
	f.BoolVar(&o.replace, "replace", false, "replace existing files: their secrets stop working")
	f.IntVar(&o.set.Window, "window", 0, "number of `CODES` accepted at a time: 3 (the default) allows 30 s of clock skew, 17 allows 4 min")
	f.BoolVar(&o.untested, "untested", false, "do not ask for a code from the app first")
	pictureFlags(c, &o.noQR, &o.ascii, &o.ink)
	return c
}

func pictureFlags(c *cobra.Command, noQR, ascii, ink *bool) {
	f := c.Flags()
	f.BoolVar(noQR, "no-qr", false, "print the secret without a QR code")
	f.BoolVar(ascii, "ascii", false, "draw the QR code with # (the default if the locale is not UTF-8)")
	f.BoolVar(ink, "ink", false, "draw the QR code for dark text on a light background")
}

func enrol(ctx context.Context, a *app.App, names []string, o enrolOptions) error {
	t, done, err := openTOTP(ctx, a)
	if err != nil {
		return err
	}
	defer done()
	who, err := t.holders(ctx, names, o.group)
	if err != nil {
		return err
	}
	switch {
	case len(who) > 1 && o.existing:
		return app.Usagef("--existing is for one user: a shared secret is no second factor")
	case len(who) > 1 && o.out == "":
		return app.Usagef("for %d users, name a folder for their sheets: --out FOLDER", len(who))
	}
	if o.out != "" {
		if o.sheets, err = privateFolder(o.out); err != nil {
			return err
		}
		defer o.sheets.Close()
	}
	// Nothing is changed for anybody where one cannot be served.
	for _, h := range who {
		_, err := h.place.Read()
		var at *fs.PathError
		switch {
		case errors.As(err, &at) && at.Path != h.place.Path: // the folder
			return app.Failf("%s: %w; nothing was changed", h.name, err)
		case errors.Is(err, os.ErrNotExist):
		case err != nil:
			return app.Failf("%s: %w", h.name, err)
		case !o.replace:
			return app.Usagef("%s: %w", h.name, &totp.Exists{Path: h.place.Path})
		}
		if o.out != "" {
			if _, err := o.sheets.Lstat(sheet(h.name)); err == nil {
				return app.Usagef("%s is there already: choose another folder, or remove it", filepath.Join(o.out, sheet(h.name)))
			}
		}
	}
	if o.issuer, err = issuerOf(o.issuer, t.h.Name()); err != nil {
		return err
	}
	for _, h := range who {
		if err := enrolOne(a, h, o); err != nil {
			return err
		}
	}
	return nil
}

func sheet(user string) string { return strings.ReplaceAll(user, "/", "_") + ".txt" }

// issuerOf is the name under which the app shows a code: given, or the host's
// first. In the URI a colon ends it (Key Uri Format, "Label").
func issuerOf(given, host string) (string, error) {
	if given == "" {
		given, _, _ = strings.Cut(host, ".")
		return given, nil
	}
	if !utf8.ValidString(given) || strings.ContainsFunc(given, func(r rune) bool { return r == ':' || !unicode.IsPrint(r) }) ||
		len(given) > 100 {
		return "", app.Usagef("--issuer %q: it is a short name of printable characters, without a colon", given[:min(len(given), 100)])
	}
	return given, nil
}

// privateFolder opens a folder of one's own that nobody else can enter. The
// sheets go into what was opened and judged: its name may lead elsewhere soon.
func privateFolder(dir string) (root *os.Root, err error) {
	named, err := os.Lstat(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, app.Usagef("--out %s: there is no such folder; make it first: install -d -m 0700 %s", ui.Quote(dir), ui.Quote(dir))
	}
	if err != nil {
		return nil, app.Usagef("--out: %w", err)
	}
	if root, err = files.Folder(dir); err != nil {
		return nil, app.Usagef("--out: %w", err)
	}
	defer func() {
		if err != nil {
			root.Close()
		}
	}()
	st, err := root.Stat(".")
	if err != nil {
		return nil, app.Usagef("--out: %w", err)
	}
	if !os.SameFile(named, st) || st.Mode().Perm()&0o077 != 0 {
		return root, app.Usagef("--out %s: secrets go only into a folder of mode 0700: install -d -m 0700 %s", ui.Quote(dir), ui.Quote(dir))
	}
	if s, ok := st.Sys().(*syscall.Stat_t); ok && int(s.Uid) != os.Geteuid() {
		return root, app.Usagef(
			"--out %s: secrets go only into a folder of your own; this one belongs to user %d, who could read them",
			ui.Quote(dir),
			s.Uid,
		)
	}
	return root, nil
}

func enrolOne(a *app.App, h holder, o enrolOptions) error {
	var secret totp.Secret
	var err error
	if o.existing {
		var text string
		if text, err = a.Line("Secret or otpauth URI of "+h.name+": ", true); err == nil {
			secret, o.set.StepSize, err = totp.ParseKey(text)
		}
		if err != nil {
			return app.Usagef("%w; nothing was changed", err)
		}
	} else if secret, err = totp.NewSecret(); err != nil {
		return app.Failf("%w", err)
	}
	f, err := totp.New(secret, o.set)
	if err != nil {
		return app.Usagef("%w", err)
	}
	text := sheetText(a, h, f, o)
	if o.out == "" {
		fmt.Fprint(a.Stdout, text)
		if err := firstCode(a, h, f, o); err != nil {
			return err
		}
	} else if err := writeSheet(o.sheets, sheet(h.name), text); err != nil {
		return app.Failf("%w", err)
	}
	if err := h.place.Write(f.Bytes(), o.replace); err != nil {
		if o.out != "" {
			o.sheets.Remove(sheet(h.name))
		}
		var exists *totp.Exists
		if errors.As(err, &exists) {
			return app.Usagef("%s: %w", h.name, err)
		}
		return app.Failf("%s: %w", h.name, err)
	}
	fmt.Fprintf(a.Stderr, "%s is enrolled: %s\n", h.name, h.place.Path)
	return nil
}

func writeSheet(dir *os.Root, name, text string) error {
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		dir.Remove(name) // half a sheet is a secret that nobody uses
	}
	return err
}

// firstCode asks for a code of the app where somebody is there to give one:
// a picture that was not scanned would lock him out.
func firstCode(a *app.App, h holder, f *totp.File, o enrolOptions) error {
	if o.untested || o.existing || !ui.IsTerminal(a.Stdin) {
		return nil
	}
	for range 3 {
		code, err := a.Line("The code that the app shows for "+h.name+" now: ", false)
		if err != nil {
			break
		}
		code = strings.ReplaceAll(code, " ", "")
		if skew, ok := f.Secret.Search(code, time.Now(), f.StepSize()); ok {
			if f.Takes(skew) {
				return nil
			}
			fmt.Fprintf(a.Stderr, "That code is %s. Set the clock right and try again.\n", skewWords(skew, f.StepSize()))
			continue
		}
		fmt.Fprintln(a.Stderr, "That is not a code of this secret.")
	}
	return app.Failf("no code was right, so nothing was written for %s (--untested writes without asking)", h.name)
}

// sheetText is what a user needs to know.
func sheetText(a *app.App, h holder, f *totp.File, o enrolOptions) string {
	var b strings.Builder
	fmt.Fprintf(&b, "One-time codes of %s on %s\n\n", ui.Visible(h.name), ui.Visible(o.issuer))
	b.WriteString(picture(a, f, o.issuer, h.name, o.noQR, o.ascii || !ui.UTF8(), o.ink))
	fmt.Fprintf(&b, "Secret: %s\n", groups(f.Secret.Base32()))
	fmt.Fprintf(&b, "URI:    %s\n", f.URI(o.issuer, h.name))
	if len(f.Scratch) > 0 {
		b.WriteString("\nScratch codes, each of which works once instead of a code. Keep them on paper:\n")
		for _, s := range f.Scratch {
			fmt.Fprintf(&b, "    %s\n", s)
		}
	}
	b.WriteByte('\n')
	return b.String()
}

// picture is the QR code, or why there is none.
func picture(a *app.App, f *totp.File, issuer, user string, none, ascii, ink bool) string {
	if none {
		return ""
	}
	p, err := totp.Picture(f.URI(issuer, user), !ascii, ink, ui.Width(a.Stdout))
	if err != nil { // a shorter text may fit
		p, err = totp.Picture(f.URI("", user), !ascii, ink, ui.Width(a.Stdout))
	}
	if err != nil {
		return fmt.Sprintf("(%v: type the secret instead)\n\n", err)
	}
	return p + "\n"
}

// groups writes a secret in groups of four, to be typed.
func groups(s string) string {
	var b strings.Builder
	for i, r := range s {
		if i > 0 && i%4 == 0 {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// skewWords says how far the clock that made a code is off.
func skewWords(skew, step int) string {
	d := (time.Duration(skew*step) * time.Second).String()
	switch {
	case skew > 0:
		return "of " + d + " from now: the clock that made it is ahead of this host's"
	case skew < 0:
		return d[1:] + " old: the clock that made it is slower than this host's"
	}
	return "of this moment"
}
