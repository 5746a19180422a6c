package notify

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"time"

	"fettle/internal/config"
)

// mail hands the message to sendmail(8): "-i", a line with a lone dot does not
// end it; "--", what follows are addresses.
func (s Sender) mail(ctx context.Context, c *config.Channel, m *Message) error {
	if c.SMTP != "" {
		return s.smtp(ctx, c, mailText(c, m))
	}
	args := []string{"-i"}
	if c.From != "" {
		args = append(args, "-f", c.From)
	}
	_, err := started(
		ctx,
		s.Sendmail,
		append(append(args, "--"), c.Mail...),
		mailText(c, m),
		nil,
		"a mail server such as postfix or msmtp-mta has it",
	)
	return err
}

// mailText is a message of RFC 5322, in UTF-8; its lines are far shorter than
// the 998 octets of section 2.1.1 but for commands with long names, which are cut.
func mailText(c *config.Channel, m *Message) []byte {
	var b bytes.Buffer
	date := m.Started
	if m.ID == "" {
		date = time.Now()
	}
	if c.From != "" {
		fmt.Fprintf(&b, "From: %s\n", c.From)
	}
	fmt.Fprintf(
		&b,
		"To: %s\nSubject: %s\nDate: %s\n",
		strings.Join(c.Mail, ", "),
		ascii("fettle: "+m.Text),
		date.Format(time.RFC1123Z),
	)
	if m.ID != "" {
		fmt.Fprintf(&b, "Message-ID: <%s@%s>\n", m.ID, atom(m.Host))
	}
	b.WriteString("Auto-Submitted: auto-generated\nMIME-Version: 1.0\n")
	const text = "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n"
	if m.HTML == "" {
		b.WriteString(text)
		lines(&b, m.body(76))
		return b.Bytes()
	}
	// RFC 2046, section 5.1.4: the richest comes last.
	boundary := "fettle-" + rand.Text()
	fmt.Fprintf(&b, "Content-Type: multipart/alternative; boundary=\"%s\"\n\n--%s\n%s", boundary, boundary, text)
	lines(&b, m.body(76))
	fmt.Fprintf(&b, "--%s\nContent-Type: text/html; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n", boundary)
	lines(&b, m.HTML)
	fmt.Fprintf(&b, "--%s--\n", boundary)
	return b.Bytes()
}

// atom is a name for the right side of a Message-ID (RFC 5322, section 3.6.4).
func atom(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' {
			return r
		}
		return '-'
	}, s)
	return strings.Trim(s, ".") + ".fettle"
}

func lines(b *bytes.Buffer, s string) {
	for line := range strings.Lines(s) {
		line = strings.TrimRight(line, "\n")
		b.WriteString(strings.ToValidUTF8(line[:min(len(line), 990)], "") + "\n")
	}
}

// ascii is a header's value: RFC 5322 section 2.2 has printable US-ASCII there.
func ascii(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
	return s[:min(len(s), 200)]
}

// started runs a program with a clean environment. What it says comes back, and
// is in the error; missing tells where to get a program that is not there.
func started(ctx context.Context, program string, args []string, stdin []byte, extra *os.File, missing string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = environment()
	cmd.Dir = "/"
	cmd.Stdin = bytes.NewReader(stdin)
	if extra != nil {
		cmd.ExtraFiles = []*os.File{extra}
	}
	said := &tail{}
	cmd.Stdout, cmd.Stderr = said, said
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("%s is not there; %s", program, missing)
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s: %w", program, context.Cause(ctx))
	case err != nil:
		return "", fmt.Errorf("%s: %w: %s", program, err, strings.Join(strings.Fields(string(said.b)), " "))
	}
	return string(said.b), nil
}

// environment is what programs need; curl also its proxies.
func environment() []string {
	env := []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "HOME=/nonexistent"}
	for _, name := range []string{"http_proxy", "https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY", "all_proxy", "ALL_PROXY"} {
		if v := os.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// tail keeps the end of what a program says.
type tail struct{ b []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if over := len(t.b) - 2000; over > 0 {
		t.b = t.b[over:]
	}
	return len(p), nil
}
