package totp

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/internal/ui"
	"fettle/tools/totp"
)

func verifyCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "verify [USER]",
		Short: "Test a code, and measure the difference between the clocks",
		Long: `Reads a code from standard input and compares it with those of the user's
secret, up to 12.5 hours before and after now. It uses up neither the code nor a
scratch code, nor an attempt that RATE_LIMIT counts.

Exit status:
  0  the code is valid
  2  usage error
  3  it is not`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return verify(cmd.Context(), a, args) },
	}
}

// oneFile finds the file of one user.
func oneFile(ctx context.Context, a *app.App, args []string) (holder, *totp.File, string, error) {
	t, done, err := openTOTP(ctx, a)
	if err != nil {
		return holder{}, nil, "", err
	}
	defer done()
	who, err := t.holders(ctx, args, "")
	if err != nil {
		return holder{}, nil, "", err
	}
	f, err := who[0].read()
	name, _, _ := strings.Cut(t.h.Name(), ".")
	return who[0], f, name, err
}

func verify(ctx context.Context, a *app.App, args []string) error {
	h, f, _, err := oneFile(ctx, a, args)
	if err != nil {
		return err
	}
	code, err := a.Line("Code of "+h.name+": ", false)
	if err != nil {
		return app.Usagef("%w", err)
	}
	code = strings.ReplaceAll(code, " ", "")
	if strings.Trim(code, "0123456789") != "" || len(code) != 6 && len(code) != 8 {
		return app.Usagef("a code has 6 digits, a scratch code 8")
	}
	if len(code) == 8 {
		if slices.Contains(f.Scratch, code) {
			fmt.Fprintf(a.Stdout, "It is one of %s's %d scratch codes, and would be taken once. It is not used up now.\n", h.name, len(f.Scratch))
			return nil
		}
		return app.Failf("it is not one of the %d scratch codes that %s has left", len(f.Scratch), h.name)
	}
	if f.Counter() {
		return app.Failf("%s's codes follow a counter (HOTP), which fettle does not check", h.name)
	}
	skew, ok := f.Secret.Search(code, time.Now(), f.StepSize())
	if !ok {
		return app.Failf(
			"it is no code of %s's secret within %s of now: another secret, another user, or a clock that is off by more; compare the phone's "+
				"clock with `date -u`",
			h.name,
			(time.Duration(totp.Reach*f.StepSize()) * time.Second).String(),
		)
	}
	if !f.Takes(skew) {
		w := f.Window()
		return app.Failf("the secret is right, but the code is %s; the module takes %d s before to %d s after its own time. "+
			"Set the phone's clock by the network, "+
			"and look at this host's: timedatectl", skewWords(skew, f.StepSize()), (w-1)/2*f.StepSize(), w/2*f.StepSize())
	}
	at := time.Now().Unix()/int64(f.StepSize()) + int64(skew)
	if used, _ := f.Option("DISALLOW_REUSE"); slices.Contains(strings.Fields(used), strconv.FormatInt(at, 10)) {
		return app.Failf("the code is right and was used for a login already: wait for the next")
	}
	fmt.Fprintf(a.Stdout, "It would be taken: it is %s.\n", skewWords(skew, f.StepSize()))
	return nil
}

func qrCmd(a *app.App) *cobra.Command {
	var noQR, ascii, ink bool
	var issuer string
	c := &cobra.Command{
		Use:   "qr [USER]",
		Short: "Show a user's secret again, as a QR code",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, f, host, err := oneFile(cmd.Context(), a, args)
			if err != nil {
				return err
			}
			issuer, err := issuerOf(issuer, host)
			if err != nil {
				return err
			}
			fmt.Fprintf(
				a.Stdout,
				"%sSecret: %s\nURI:    %s\n",
				picture(a, f, issuer, h.name, noQR, ascii || !ui.UTF8(), ink),
				groups(f.Secret.Base32()),
				f.URI(issuer, h.name),
			)
			return nil
		},
	}
	c.Flags().StringVar(&issuer, "issuer", "", "`NAME` under which the app shows the code (the host's name)")
	pictureFlags(c, &noQR, &ascii, &ink)
	return c
}

func disableCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "disable USER...",
		Short: "Take users' files out of use",
		Long: `Renames the user's file to .google_authenticator.disabled, so that it can be
restored. Without a file, a user can log in without a code if nullok is set, and
is locked out otherwise: see fettle totp who.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, done, err := openTOTP(cmd.Context(), a)
			if err != nil {
				return err
			}
			defer done()
			who, err := t.holders(cmd.Context(), args, "")
			if err != nil {
				return err
			}
			for _, h := range who { // all or none
				if _, err := h.place.Read(); err != nil {
					return app.Failf("%s: %w", h.name, err)
				}
			}
			for _, h := range who {
				if err := h.place.Disable(); err != nil {
					return app.Failf("%s: %w", h.name, err)
				}
				fmt.Fprintf(
					a.Stdout,
					"%s: %s is out of use. To bring it back: mv %s %s\n",
					h.name,
					h.place.Path,
					ui.Quote(h.place.Disabled()),
					ui.Quote(h.place.Path),
				)
			}
			return nil
		},
	}
}
