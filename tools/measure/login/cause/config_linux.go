package cause

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"fettle/internal/lazy"
)

// settings are the lines of `sshd -T`: the effective configuration of one
// connection, in which no Match is left that could undo what is replaced.
type settings [][2]string

// effective asks sshd itself what holds for this connection.
func effective(ctx context.Context, o *Options) (settings, error) {
	out, err := command(
		ctx,
		30*time.Second,
		o.SSHD,
		"-T",
		"-f",
		o.Config,
		"-C",
		fmt.Sprintf(
			"user=%s,host=%s,addr=%s,laddr=%s,lport=%d",
			o.User,
			o.Client.WithZone(""),
			o.Client.WithZone(""),
			o.Server.Addr().WithZone(""),
			o.Server.Port(),
		),
	)
	if err != nil {
		return nil, fmt.Errorf("asking sshd for its effective configuration (%s -T -f %s): %w", o.SSHD, o.Config, err)
	}
	var s settings
	for line := range strings.Lines(string(out)) {
		k, v, _ := strings.Cut(strings.TrimSpace(line), " ")
		if k != "" {
			s = append(s, [2]string{strings.ToLower(k), v})
		}
	}
	return s, nil
}

func (s settings) get(key string) string {
	for _, kv := range s {
		if kv[0] == key {
			return kv[1]
		}
	}
	return ""
}

// with returns the settings with these replaced; "" leaves one out.
func (s settings) with(change map[string]string) settings {
	var out settings
	for _, kv := range s {
		if _, ok := change[kv[0]]; !ok {
			out = append(out, kv)
		}
	}
	for k, v := range change {
		if v != "" {
			out = append(out, [2]string{k, v})
		}
	}
	return out
}

func (s settings) text() []byte {
	var b bytes.Buffer
	for _, kv := range s {
		fmt.Fprintf(&b, "%s %s\n", kv[0], kv[1])
	}
	return b.Bytes()
}

// private makes the effective configuration that of a private sshd: one key,
// which exists only in this process's memory, and no other way in.
func (s settings) private(keys string) settings {
	return s.with(map[string]string{
		"port": "", "listenaddress": "", "addressfamily": "", "pidfile": "none", "banner": "none",
		"maxstartups": "", "persourcemaxstartups": "", "persourcepenalties": "", "subsystem": "",
		"authorizedkeysfile": keys, "authorizedkeyscommand": "none", "authorizedkeyscommanduser": "",
		"authorizedprincipalsfile": "none", "authorizedprincipalscommand": "none", "authorizedprincipalscommanduser": "",
		"trustedusercakeys": "none", "strictmodes": "no",
		"authenticationmethods": "publickey", "pubkeyauthentication": "yes",
		"pubkeyacceptedalgorithms": keyAlgorithm, "pubkeyacceptedkeytypes": "",
		"passwordauthentication": "no", "kbdinteractiveauthentication": "no", "challengeresponseauthentication": "",
		"hostbasedauthentication": "no", "gssapiauthentication": "no", "kerberosauthentication": "no",
	})
}

const keyAlgorithm = "ecdsa-sha2-nistp256"

// badLine is how sshd names a line that it cannot take (servconf.c).
var badLine = lazy.Regexp(`line (\d+)[:\s]`)

// accepted writes the settings to a file that sshd accepts. What `sshd -T`
// prints and `sshd -f` does not take, as some versions do with settings of
// theirs that are unset, is left out.
func (s settings) accepted(ctx context.Context, sshd, file string) (settings, error) {
	for range 20 {
		if err := os.WriteFile(file, s.text(), 0o600); err != nil {
			return nil, err
		}
		_, err := command(ctx, 30*time.Second, sshd, "-t", "-f", file)
		if err == nil {
			return s, nil
		}
		m := badLine().FindStringSubmatch(err.Error())
		if m == nil {
			return nil, fmt.Errorf("sshd does not accept its own effective configuration: %w", err)
		}
		n, _ := strconv.Atoi(m[1])
		if n < 1 || n > len(s) || strings.HasPrefix(s[n-1][0], "au") || strings.HasSuffix(s[n-1][0], "authentication") {
			return nil, fmt.Errorf("sshd does not accept its own effective configuration: %w", err)
		}
		s = append(s[:n-1:n-1], s[n:]...)
	}
	return nil, fmt.Errorf("sshd accepts none of its own effective configuration (%s -t -f %s)", sshd, file)
}
