package notify

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"path"
	"strings"
	"unicode/utf8"

	"fettle/engine/trap"
	"fettle/internal/config"
	"fettle/internal/files"
	"fettle/internal/jsondoc"
)

// request is one HTTP request; its body is sent as it is.
type request struct {
	method, url string
	headers     [][2]string
	body        []byte
}

// webhook posts the message in the form that the receiver takes.
func (s Sender) webhook(ctx context.Context, c *config.Channel, m *Message) error {
	to, err := address(c.Webhook)
	if err != nil {
		return err
	}
	r := request{method: "POST", url: to, headers: [][2]string{{"Content-Type", "application/json"}}}
	var body any = m
	switch c.Template {
	case "slack": // https://docs.slack.dev, "Sending messages using incoming webhooks"
		body = map[string]string{"text": slackText.Replace(m.Text + "\n" + short(m.body(unwrapped), 30_000))}
	case "matrix": // Matrix client-server API v1.11, PUT …/send/m.room.message/{txnId}
		body = map[string]string{"msgtype": "m.text", "body": m.Text + "\n" + short(m.body(unwrapped), 30_000)}
		r.method, r.url = "PUT", strings.TrimRight(to, "/")+"/"+transaction(m)
	case "ntfy": // https://docs.ntfy.sh/publish: plain text, longer ones become attachments
		r.headers = [][2]string{{"Title", ascii(m.Text)}, {"Priority", priority[m.worst()]}, {"Content-Type", "text/plain; charset=utf-8"}}
		r.body = []byte(short(m.body(unwrapped), 3500))
	}
	if r.body == nil {
		if r.body, err = encoded(body); err != nil {
			return err
		}
	}
	if err := authorize(&r, c.Token); err != nil {
		return err
	}
	return s.ask(ctx, r)
}

// unwrapped is the width of text that the receiver wraps itself.
const unwrapped = 1 << 20

var slackText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

var priority = map[trap.Severity]string{0: "low", trap.Notice: "low", trap.Warning: "default", trap.Critical: "high"}

// transaction is the same for the same message, so that a repetition is none.
func transaction(m *Message) string {
	if m.ID != "" {
		return "fettle" + m.ID
	}
	sum := sha256.Sum256([]byte(m.Host + "\x00" + m.Started.String() + "\x00" + m.Text))
	return "fettle" + hex.EncodeToString(sum[:12])
}

// short is s of at most n bytes, whole lines of it.
func short(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = s[:n]
	return s[:strings.LastIndexByte(s, '\n')+1] + "(shortened)\n"
}

func encoded(v any) ([]byte, error) {
	var b bytes.Buffer
	err := jsondoc.Encode(&b, v, "")
	return b.Bytes(), err
}

// address is a URL, or the one that a file holds.
func address(s string) (string, error) {
	if path.IsAbs(s) {
		line, err := secret(s)
		if err != nil {
			return "", err
		}
		if u, err := url.Parse(line); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return "", fmt.Errorf("%s: expected a URL, http(s)://…", s) // not quoted: it is a secret
		}
		s = line
	}
	return s, nil
}

// secret is the one line of a file.
func secret(file string) (string, error) {
	b, err := files.ReadAtMost(file, 64<<10)
	if err != nil {
		return "", err
	}
	s := strings.TrimSpace(string(b))
	if s == "" || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f || r == utf8.RuneError }) {
		return "", fmt.Errorf("%s: expected one line without blanks", file)
	}
	return s, nil
}

// authorize adds a bearer token (RFC 6750) from a file.
func authorize(r *request, file string) error {
	if file == "" {
		return nil
	}
	token, err := secret(file)
	if err != nil {
		return err
	}
	r.headers = append(r.headers, [2]string{"Authorization", "Bearer " + token})
	return nil
}

// ask sends a request with curl(1). URL and headers, which may be secret, go
// through a pipe: a command line is everybody's to read.
func (s Sender) ask(ctx context.Context, r request) error {
	var conf curlConfig
	conf.set("url", r.url)
	conf.set("request", r.method)
	for _, h := range r.headers {
		conf.set("header", h[0]+": "+h[1])
	}
	// A redirect is not followed, and so the message did not arrive: --fail takes only
	// 400 and above for failures.
	code, err := s.curl(ctx, &conf, r.body, "--data-binary", "@-", "--fail", "--proto", "=http,https", "--globoff", "--max-time", "30",
		"--write-out", "%{http_code}")
	if err == nil && !strings.HasPrefix(code, "2") {
		err = fmt.Errorf("answered with status %s", code)
	}
	if err != nil {
		return fmt.Errorf("%s of %s: %w", r.method, asked(r.url), err)
	}
	return nil
}

// curlConfig is what curl(1) reads with --config.
type curlConfig struct{ text strings.Builder }

var curlQuoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

func (c *curlConfig) set(name, value string) {
	fmt.Fprintf(&c.text, "%s = \"%s\"\n", name, curlQuoted.Replace(value))
}

// curl runs curl(1) with the configuration from a pipe, and the body as its input.
func (s Sender) curl(ctx context.Context, conf *curlConfig, body []byte, args ...string) (string, error) {
	in, out, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer in.Close()
	go func() {
		out.WriteString(conf.text.String())
		out.Close()
	}()
	// --disable first: no curlrc.
	args = append([]string{"--disable", "--config", "/dev/fd/3", "--silent", "--show-error", "--connect-timeout", "10",
		"--output", os.DevNull}, args...)
	return started(ctx, s.Curl, args, body, in, "install the package curl")
}

// asked is whom a URL asks, without what may be secret in it.
func asked(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return "the URL"
	}
	return u.Scheme + "://" + u.Host
}
