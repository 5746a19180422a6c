package config

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
)

// Channel is one way of telling somebody what changed. Exactly one of Mail,
// Webhook, Alertmanager, Journal and Textfile is set.
type Channel struct {
	Mail         Words  `yaml:"mail"`    // addresses
	Webhook      string `yaml:"webhook"` // a URL, or the file that holds it
	Alertmanager string `yaml:"alertmanager"`
	Journal      bool   `yaml:"journal"`
	Textfile     string `yaml:"textfile"`

	// Severity is the least that is told of.
	Severity string `yaml:"severity"`
	From     string `yaml:"from"`     // mail: the sender
	Template string `yaml:"template"` // webhook: json, slack, matrix, ntfy
	// SMTP is a mail server, smtp(s)://HOST:PORT, instead of sendmail(8): mail.
	SMTP string `yaml:"smtp"`
	// Token names the file that holds a secret for the Authorization header:
	// webhook, alertmanager; with smtp, USER:PASSWORD.
	Token string `yaml:"token_file"`
	// Valid is how long alerts last that no run renews: alertmanager.
	Valid string `yaml:"valid"`
}

// Words is one string, or a list of them.
type Words []string

// UnmarshalYAML takes both forms.
func (w *Words) UnmarshalYAML(decode func(any) error) error {
	var one string
	if decode(&one) == nil {
		*w = Words{one}
		return nil
	}
	return decode((*[]string)(w))
}

// Templates are the forms of a webhook's body.
var Templates = []string{"json", "slack", "matrix", "ntfy"}

// DefaultValid is how long an alert lasts: two daily runs may be missed.
const DefaultValid = 50 * time.Hour

// Kind is what sort of channel it is, "" of none, and the settings it may have.
func (c *Channel) Kind() string {
	kinds := c.kinds()
	if len(kinds) != 1 {
		return ""
	}
	return kinds[0]
}

func (c *Channel) kinds() (out []string) {
	for _, k := range []struct {
		name string
		set  bool
	}{{"mail", len(c.Mail) > 0}, {"webhook", c.Webhook != ""}, {"alertmanager", c.Alertmanager != ""}, {"journal", c.Journal},
		{"textfile", c.Textfile != ""}} {
		if k.set {
			out = append(out, k.name)
		}
	}
	return out
}

// Name tells channels of one file apart for as long as they mean the same.
func (c *Channel) Name() string {
	return c.Kind() + c.Template + " " + strings.Join(c.Mail, ",") + c.Webhook + c.Alertmanager + c.Textfile
}

// Title is what messages call a channel: nothing of it that may be secret.
func (c *Channel) Title() string {
	switch c.Kind() {
	case "mail":
		return "mail to " + strings.Join(c.Mail, ", ")
	case "webhook":
		if path.IsAbs(c.Webhook) {
			return "webhook " + c.Webhook
		}
		u, err := url.Parse(c.Webhook)
		if err != nil {
			return "webhook"
		}
		return "webhook of " + u.Host
	case "alertmanager":
		return "alertmanager " + c.Alertmanager
	case "textfile":
		return "textfile " + c.Textfile
	}
	return c.Kind()
}

// Lasting is how long an alert lasts that is not renewed.
func (c *Channel) Lasting() time.Duration {
	if d, err := time.ParseDuration(c.Valid); err == nil {
		return d
	}
	return DefaultValid
}

// Check tells what is wrong with a channel, without the name of its file.
func (c *Channel) Check() error { _, err := c.valid(); return err }

// mail tells what is wrong with a channel for mail.
func (c *Channel) mail() (at string, err error) {
	for _, a := range append(c.Mail[:len(c.Mail):len(c.Mail)], c.From) {
		if a != "" && !address(a) {
			return ".mail", fmt.Errorf("mail %q: expected an address such as root or ops@example.org", a)
		}
	}
	if c.SMTP == "" {
		if c.Token != "" {
			return ".token_file", errors.New("token_file goes with smtp, webhook or alertmanager")
		}
		return "", nil
	}
	u, err := url.Parse(c.SMTP)
	if err != nil || u.Scheme != "smtp" && u.Scheme != "smtps" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.User != nil {
		return ".smtp", fmt.Errorf("smtp %q: expected smtp://HOST:PORT or smtps://HOST:PORT", c.SMTP)
	}
	if c.From == "" {
		return ".smtp", errors.New("smtp needs from, the sender's address")
	}
	return "", nil
}

// valid tells what is wrong, and where below the channel.
func (c *Channel) valid() (at string, err error) {
	kinds := c.kinds()
	if len(kinds) != 1 {
		return "", fmt.Errorf("a channel is one of mail, webhook, alertmanager, journal, textfile; this is %d of them", len(kinds))
	}
	kind := kinds[0]
	for _, s := range []struct{ name, value, of string }{{"from", c.From, "mail"}, {"template", c.Template, "webhook"},
		{"token_file", c.Token, "webhook alertmanager mail"}, {"smtp", c.SMTP, "mail"},
		{"valid", c.Valid, "alertmanager"}} {
		if s.value != "" && !strings.Contains(s.of, kind) {
			return "." + s.name, fmt.Errorf("%s does not go with %s", s.name, kind)
		}
	}
	if c.Severity != "" && !slices.Contains(severities, c.Severity) {
		return ".severity", fmt.Errorf("severity %q: expected notice, warning or critical", c.Severity)
	}
	switch kind {
	case "mail":
		if at, err := c.mail(); err != nil {
			return at, err
		}
	case "webhook":
		return c.webhook()
	case "alertmanager":
		if !web(c.Alertmanager) {
			return ".alertmanager", fmt.Errorf("alertmanager %q: expected http://HOST:9093", c.Alertmanager)
		}
		if d, err := time.ParseDuration(c.Valid); c.Valid != "" && (err != nil || d <= 0) {
			return ".valid", fmt.Errorf("valid %q: expected a time such as 50h", c.Valid)
		}
	case "textfile":
		if !path.IsAbs(c.Textfile) || !strings.HasSuffix(c.Textfile, ".prom") {
			return ".textfile", fmt.Errorf(
				"textfile %q: expected a path that begins with / and ends in .prom, which node_exporter reads",
				c.Textfile,
			)
		}
	}
	if c.Token != "" && !path.IsAbs(c.Token) {
		return ".token_file", fmt.Errorf("token_file %q: expected a path that begins with /", c.Token)
	}
	return "", nil
}

func (c *Channel) webhook() (at string, err error) {
	if !web(c.Webhook) && !path.IsAbs(c.Webhook) {
		return ".webhook", fmt.Errorf("webhook %q: expected https://HOST/…, or the path of a file with such a URL", c.Webhook)
	}
	known := false
	for _, t := range Templates {
		known = known || t == c.Template
	}
	if c.Template != "" && !known {
		return ".template", fmt.Errorf("template %q: expected %s", c.Template, strings.Join(Templates, ", "))
	}
	return "", nil
}

func web(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// address tells whether s may be on sendmail's command line and in a header.
func address(s string) bool {
	return s != "" && s[0] != '-' && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune("<>()[],;:\\\"", r)
	})
}
