package sysctlconf

import (
	"context"
	"strings"

	"fettle/host"
)

// ReadUfw reads what ufw(8) sets when its firewall starts, with sysctl -p: the
// file that IPT_SYSCTL in /etc/default/ufw names. It runs as a service of its
// own, so whether it or sysctl.d comes last is not settled by any file. The
// Config is nil where ufw is not enabled.
func ReadUfw(ctx context.Context, h *host.Host) (*Config, error) {
	on, err := shellVariable(ctx, h, "/etc/ufw/ufw.conf", "ENABLED")
	if err != nil || !strings.EqualFold(on, "yes") {
		return nil, err
	}
	// Without the variable, ufw sets nothing: ufw-init-functions, ufw_start.
	file, err := shellVariable(ctx, h, "/etc/default/ufw", "IPT_SYSCTL")
	if err != nil || file == "" {
		return nil, err
	}
	c := &Config{Reader: Procps}
	c.Settings = c.file(ctx, h, file)
	return c, ctx.Err()
}

// shellVariable reads a plain NAME=value out of a file of shell assignments.
// An absent file has none.
func shellVariable(ctx context.Context, h *host.Host, file, name string) (string, error) {
	b, err := h.ReadFile(ctx, file)
	if host.IsAbsent(err) {
		return "", nil
	}
	value := ""
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), name+"="); ok {
			value = strings.Trim(v, `"'`)
		}
	}
	return value, err
}
