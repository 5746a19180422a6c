package counters

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/gosnmp/gosnmp"

	"fettle/host"
)

// Secrets are what an agent must not know from a command line, which every
// user of the host can read. None is ever printed.
type Secrets struct {
	Community string
	AuthKey   string
	PrivKey   string
}

// String hides them from every format.
func (Secrets) String() string   { return "(secrets)" }
func (Secrets) GoString() string { return "(secrets)" }

// Environment variables of secrets.
const (
	EnvCommunity = "FETTLE_SNMP_COMMUNITY"
	EnvAuthKey   = "FETTLE_SNMP_AUTH_KEY"
	EnvPrivKey   = "FETTLE_SNMP_PRIV_KEY"
)

// FromEnv fills what is empty from the environment.
func (s *Secrets) FromEnv() {
	for name, to := range map[string]*string{EnvCommunity: &s.Community, EnvAuthKey: &s.AuthKey, EnvPrivKey: &s.PrivKey} {
		if *to == "" {
			*to = os.Getenv(name)
		}
	}
}

// FromFile reads lines of "community SECRET", "auth SECRET" or "priv SECRET".
// The file must be readable by its owner alone.
func (s *Secrets) FromFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if st.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s: others may read or write it (mode %04o): chmod 600 %s", name, st.Mode().Perm(), name)
	}
	sc := bufio.NewScanner(f)
	for n := 1; sc.Scan(); n++ {
		line := strings.TrimSpace(sc.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, value, _ := strings.Cut(line, " ")
		to := map[string]*string{"community": &s.Community, "auth": &s.AuthKey, "priv": &s.PrivKey}[key]
		if to == nil || strings.TrimSpace(value) == "" {
			// What is there may be a secret: it is not shown.
			return &host.SyntaxError{Path: name, Line: n, Msg: "expected community, auth or priv and a secret after a space"}
		}
		*to = strings.TrimSpace(value)
	}
	if err := sc.Err(); err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	return nil
}

// AuthProtocols and PrivProtocols are what version 3 knows, by name.
var (
	AuthProtocols = []string{"MD5", "SHA", "SHA-224", "SHA-256", "SHA-384", "SHA-512"}
	PrivProtocols = []string{"DES", "AES", "AES-192", "AES-256"}
)

var (
	authNumbers = []gosnmp.SnmpV3AuthProtocol{gosnmp.MD5, gosnmp.SHA, gosnmp.SHA224, gosnmp.SHA256, gosnmp.SHA384, gosnmp.SHA512}
	privNumbers = []gosnmp.SnmpV3PrivProtocol{gosnmp.DES, gosnmp.AES, gosnmp.AES192C, gosnmp.AES256C}
)

// ErrBadSNMP: the agent cannot be asked in this way at all.
var ErrBadSNMP = errors.New("SNMP")

func bad(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrBadSNMP, fmt.Sprintf(format, args...))
}

// version3 sets up the user-based security model, RFC 3414.
func (c SNMP) version3(g *gosnmp.GoSNMP) error {
	usm := &gosnmp.UsmSecurityParameters{UserName: c.User, AuthenticationProtocol: gosnmp.NoAuth, PrivacyProtocol: gosnmp.NoPriv}
	g.Version, g.SecurityModel, g.MsgFlags, g.SecurityParameters = gosnmp.Version3, gosnmp.UserSecurityModel, gosnmp.NoAuthNoPriv, usm
	if c.Auth != "" {
		k := slices.Index(AuthProtocols, strings.ToUpper(c.Auth))
		if k < 0 {
			return bad("%s is no authentication protocol: there are %s", strconv.Quote(c.Auth), strings.Join(AuthProtocols, ", "))
		}
		if len(c.AuthKey) < 8 {
			return bad("the authentication key of user %s must have 8 characters at least (RFC 3414)", strconv.Quote(c.User))
		}
		usm.AuthenticationProtocol, usm.AuthenticationPassphrase, g.MsgFlags = authNumbers[k], c.AuthKey, gosnmp.AuthNoPriv
	}
	if c.Priv != "" {
		k := slices.Index(PrivProtocols, strings.ToUpper(c.Priv))
		switch {
		case k < 0:
			return bad("%s is no privacy protocol: there are %s", strconv.Quote(c.Priv), strings.Join(PrivProtocols, ", "))
		case c.Auth == "":
			return bad("privacy requires authentication (RFC 3414): give an authentication protocol too")
		case len(c.PrivKey) < 8:
			return bad("the privacy key of user %s must have 8 characters at least (RFC 3414)", strconv.Quote(c.User))
		}
		usm.PrivacyProtocol, usm.PrivacyPassphrase, g.MsgFlags = privNumbers[k], c.PrivKey, gosnmp.AuthPriv
	}
	return nil
}
