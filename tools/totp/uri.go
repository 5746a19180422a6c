package totp

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// URI is what a QR code holds: otpauth://totp/ISSUER:ACCOUNT?secret=…
// (github.com/google/google-authenticator/wiki/Key-Uri-Format). An empty
// issuer is left out.
func (f *File) URI(issuer, account string) string {
	label := url.PathEscape(account)
	if issuer != "" {
		label = url.PathEscape(issuer) + ":" + label
	}
	kind, more := "totp", ""
	if f.Counter() {
		kind, more = "hotp", "&counter="+f.value("HOTP_COUNTER")
	} else if s := f.StepSize(); s != Step {
		more = "&period=" + strconv.Itoa(s)
	}
	if issuer != "" {
		more += "&issuer=" + strings.ReplaceAll(url.QueryEscape(issuer), "+", "%20")
	}
	return "otpauth://" + kind + "/" + label + "?secret=" + f.Secret.Base32() + more
}

// ParseKey reads what a web service hands out: a secret in base32, or an
// otpauth:// URI. Step is the time of a code in seconds. What the PAM module
// cannot do is refused. The error never contains the secret.
func ParseKey(s string) (secret Secret, step int, err error) {
	s = strings.TrimSpace(s)
	if !strings.HasPrefix(strings.ToLower(s), "otpauth:") {
		secret, err = ParseSecret(s)
		return secret, Step, err
	}
	u, err := url.Parse(s)
	if err != nil {
		return secret, 0, errors.New("the otpauth URI cannot be read")
	}
	q := u.Query()
	if t := strings.ToLower(u.Host); t != "totp" {
		return secret, 0, fmt.Errorf("the URI is of type %q: fettle sets up totp", t)
	}
	if a := q.Get("algorithm"); a != "" && !strings.EqualFold(a, "SHA1") {
		return secret, 0, fmt.Errorf("the URI asks for %s: pam_google_authenticator supports SHA1 only", a)
	}
	if d := q.Get("digits"); d != "" && d != "6" {
		return secret, 0, fmt.Errorf("the URI asks for %s digits: pam_google_authenticator supports 6 only", d)
	}
	step = Step
	if p := q.Get("period"); p != "" {
		if step, err = strconv.Atoi(p); err != nil || step < 1 || step > 60 {
			return secret, 0, fmt.Errorf("the URI asks for codes of %s s: pam_google_authenticator takes 1 to 60", p)
		}
	}
	secret, err = ParseSecret(q.Get("secret"))
	return secret, step, err
}
