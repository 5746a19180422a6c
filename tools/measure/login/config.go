package login

import (
	"bytes"
	"context"
	"os/exec"
	"strings"
	"time"
)

// meaning is what ssh's configuration makes of the host (ssh -G, since 6.8):
// hostname, user, port, proxyjump and the rest, the first of each.
func (o *Options) meaning(ctx context.Context) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	args := []string{"-G"}
	if o.Config != "" {
		args = append(args, "-F", o.Config)
	}
	cmd := exec.CommandContext(ctx, o.SSH, append(args, "--", o.Host)...)
	cmd.Env = environ()
	cmd.WaitDelay = time.Second
	errs := &tail{max: 2 << 10}
	out := &tail{max: 64 << 10}
	cmd.Stdout, cmd.Stderr = out, errs
	if err := cmd.Run(); err != nil {
		said := strings.ReplaceAll(string(bytes.TrimSpace(errs.b)), "\n", "; ")
		if said == "" {
			said = err.Error()
		}
		return nil, &ConfigError{Host: o.Host, Said: clip(strings.ReplaceAll(said, "\r", ""))}
	}
	m := map[string]string{}
	for line := range strings.Lines(out.String()) {
		k, v, _ := strings.Cut(strings.TrimSpace(line), " ")
		if _, ok := m[strings.ToLower(k)]; !ok {
			m[strings.ToLower(k)] = v
		}
	}
	return m, nil
}

// ConfigError is a configuration, or a host's name, that ssh does not take.
type ConfigError struct{ Host, Said string }

func (e *ConfigError) Error() string {
	return e.Host + ": what ssh's configuration says of it (ssh -G): " + e.Said
}

// proxied tells whether ssh reaches the host through another program.
func (o *Options) proxied() bool {
	for _, k := range []string{"proxyjump", "proxycommand"} {
		if v := o.means[k]; v != "" && v != "none" {
			return true
		}
	}
	return false
}

// logsTo are the arguments that make ssh log to a FIFO, or none where it has to
// log to standard error: with -E and host-based authentication ssh writes a
// line of its log into the connection, which ends it (ssh_keysign, OpenSSH 9.2:
// the child's log descriptor is the number that it moves the connection to).
func (o *Options) logsTo(fifo string) []string {
	if o.hostbased() {
		return nil
	}
	return []string{"-E", fifo}
}

func (o *Options) hostbased() bool {
	return o.means["hostbasedauthentication"] == "yes" && !o.proxied()
}
