package measure

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"time"

	"fettle/cli/app"
	"fettle/host"
	"fettle/measure/counters"
)

// record polls live counters.
func (m *counted) record(ctx context.Context, a *app.App, names []string) error {
	src, err := m.open(ctx, a, names)
	if err != nil {
		return err
	}
	defer src.Close()
	show := countersProgress(a, m.flags)
	rec, err := counters.Record(ctx, src, counters.Plan{Names: names, Interval: m.interval, For: m.flags.length, Progress: show})
	show(0, -1, 0)
	switch {
	case errors.Is(err, counters.ErrNoInterface):
		return app.Usagef("%w", err)
	case err != nil:
		return app.Failf("%w", err)
	case rec.Rounds < 2 && rec.LastErr != nil:
		return app.Failf("only one poll was answered, and a rate needs two: %w", rec.LastErr)
	case rec.Rounds < 2:
		return app.Failf("interrupted after %s: a rate needs two readings, %s apart", rec.Took.Round(time.Millisecond), m.interval)
	}
	m.rec, m.series = rec, rec.Series
	return nil
}

func (m *counted) open(ctx context.Context, a *app.App, names []string) (counters.Source, error) {
	f := m.flags
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
	c := counters.SNMP{Bits: f.bits, Timeout: f.timeout, Retries: f.retries, User: f.user, Auth: f.auth, Priv: f.priv, Trust: f.maxRate == "link"}
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
	m.source = "SNMP agent " + f.agent
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
