package notify

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"

	"fettle/internal/config"
)

// smtp hands a message to a mail server with curl(1), by TLS unless the server is
// on this machine. What is secret goes through a pipe, as with ask.
func (s Sender) smtp(ctx context.Context, c *config.Channel, text []byte) error {
	u, err := url.Parse(c.SMTP)
	if err != nil {
		return err
	}
	var conf curlConfig
	conf.set("url", strings.TrimRight(c.SMTP, "/"))
	conf.set("mail-from", c.From)
	for _, to := range c.Mail {
		conf.set("mail-rcpt", to)
	}
	args := []string{"--upload-file", "-", "--proto", "=smtp,smtps", "--max-time", "50"}
	if ip := net.ParseIP(u.Hostname()); u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		args = append(args, "--ssl-reqd")
	}
	if c.Token != "" {
		user, err := secret(c.Token)
		if err != nil {
			return err
		}
		conf.set("user", user)
	}
	crlf := bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")) // RFC 5321, section 2.3.8
	_, err = s.curl(ctx, &conf, crlf, args...)
	if err != nil {
		return fmt.Errorf("mail by %s: %w", u.Host, err)
	}
	return nil
}
