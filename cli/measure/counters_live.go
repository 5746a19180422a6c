package measure

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	xterm "golang.org/x/term"

	"fettle/cli/app"
	"fettle/host"
	"fettle/internal/ui"
	"fettle/tools/measure/counters"
)

// live polls counters.
func (f *counterFlags) live(ctx context.Context, a *app.App, names []string) (*counters.Result, error) {
	src, err := f.open(ctx, a, names)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	show := f.progress(a)
	rec, err := counters.Record(ctx, src, counters.Plan{Names: names, Interval: f.interval, For: f.length, Progress: show})
	show(0, -1, 0)
	switch {
	case errors.Is(err, counters.ErrNoInterface):
		return nil, app.Usagef("%w", err)
	case err != nil:
		return nil, app.Failf("%w", err)
	case rec.Rounds < 2 && rec.LastErr != nil:
		return nil, app.Failf("only one poll was answered, and a rate needs two: %w", rec.LastErr)
	case rec.Rounds < 2:
		return nil, app.Failf("interrupted after %s: a rate needs two readings, %s apart", rec.Took.Round(time.Millisecond), f.interval)
	}
	source := "this host"
	if f.agent != "" {
		source = "SNMP agent " + f.agent
	}
	return &counters.Result{Source: source, Interval: f.interval, Asked: f.length, Recording: rec, Counters: f.judged(rec.Series)}, nil
}

func (f *counterFlags) open(ctx context.Context, a *app.App, names []string) (counters.Source, error) {
	if f.agent == "" {
		src, err := counters.Local()
		if errors.Is(err, host.ErrUnsupported) {
			return nil, app.Failf("counters of this host: %w; --snmp and --read work here", err)
		}
		if err != nil {
			return nil, app.Failf("%w", err)
		}
		return src, nil
	}
	c := counters.SNMP{
		Bits:    f.bits,
		Timeout: f.timeout,
		Retries: f.retries,
		User:    f.user,
		Auth:    f.auth,
		Priv:    f.priv,
		Trust:   f.maxRate == "link",
	}
	var err error
	if c.Host, c.Port, err = agentAddress(f.agent); err != nil {
		return nil, err
	}
	if f.secrets != "" {
		if err := c.FromFile(f.secrets); err != nil {
			return nil, app.Usagef("--snmp-secrets: %w", err)
		}
	}
	c.FromEnv()
	if err := askSecrets(a, &c); err != nil {
		return nil, err
	}
	src, err := counters.OpenSNMP(ctx, c, names)
	switch {
	case errors.Is(err, counters.ErrNoInterface), errors.Is(err, counters.ErrBadSNMP):
		return nil, app.Usagef("%w", err)
	case err != nil:
		return nil, app.Failf("%w", err)
	}
	return src, nil
}

// agentAddress splits HOST[:PORT]; an IPv6 address with a port needs brackets.
func agentAddress(text string) (string, uint16, error) {
	h, port, err := net.SplitHostPort(text)
	if err != nil {
		h, port = strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"), "161"
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 || h == "" || strings.ContainsAny(h, " /@") {
		return "", 0, app.Usagef("--snmp %s: expected HOST or HOST:PORT", strconv.Quote(text))
	}
	return h, uint16(n), nil
}

// progress tells a terminal how far a measurement is. lost < 0 ends the line.
func (f *counterFlags) progress(a *app.App) func(rounds, lost int, since time.Duration) {
	bar := ui.NewProgress(a.Stderr)
	return func(rounds, lost int, since time.Duration) {
		if lost < 0 {
			bar.End()
			return
		}
		line := fmt.Sprintf("%s, %d polls", counters.FormatTime(since), rounds)
		if f.length > 0 {
			line = fmt.Sprintf("%s of %s, %d polls", counters.FormatTime(since), counters.FormatTime(f.length), rounds)
		}
		if lost > 0 {
			line += fmt.Sprintf(", %d lost", lost)
		}
		bar.Show(line + " (Ctrl-C ends and shows the result)")
	}
}

// askSecrets asks at a terminal for what the environment and the file lack.
func askSecrets(a *app.App, c *counters.SNMP) error {
	ask := func(what, env string, to *string) error {
		if *to != "" {
			return nil
		}
		in, ok := a.Stdin.(*os.File)
		if !ok || !ui.IsTerminal(in) {
			return app.Usagef("no %s: set %s, or give --snmp-secrets FILE", what, env)
		}
		fmt.Fprintf(a.Stderr, "%s of %s: ", strings.ToUpper(what[:1])+what[1:], ui.Visible(c.Host))
		b, err := xterm.ReadPassword(int(in.Fd()))
		fmt.Fprintln(a.Stderr)
		if err != nil || len(b) == 0 {
			return app.Usagef("no %s was given", what)
		}
		*to = string(b)
		return nil
	}
	if c.User == "" {
		return ask("community", counters.EnvCommunity, &c.Community)
	}
	if c.Auth != "" {
		if err := ask("authentication key", counters.EnvAuthKey, &c.AuthKey); err != nil {
			return err
		}
	}
	if c.Priv != "" {
		return ask("privacy key", counters.EnvPrivKey, &c.PrivKey)
	}
	return nil
}
