package ldapconf

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"fettle/host"
	"fettle/host/format/accounts"
)

// Unread is a client whose configuration nobody could look at.
type Unread struct {
	Name string
	Err  error
}

// maxHomes bounds how many users' homes are looked into.
const maxHomes = 500

// All reads the clients of a host: those of the system, and OpenLDAP's for
// every user who has a file of their own. What is not configured is left out.
func All(ctx context.Context, h *host.Host) (cs []*Client, unread []Unread) {
	add := func(name string, c *Client, err error) bool {
		switch {
		case err == nil && c != nil:
			cs = append(cs, c)
			return true
		case err != nil && !host.IsAbsent(err):
			unread = append(unread, Unread{name, err})
		}
		return false
	}
	vars, envErr := environment(ctx, h)
	if envErr != nil {
		unread = append(unread, Unread{"openldap", envErr})
	}
	var system *Client
	c, err := ReadOpenLDAP(ctx, h, Env{Vars: vars})
	if add("openldap", c, err) {
		system = c
	}
	sssd, err := ReadSSSD(ctx, h)
	for _, c := range sssd {
		add(c.Name, c, nil)
	}
	add("sssd", nil, err)
	c, err = ReadNSLCD(ctx, h)
	add("nslcd", c, err)
	for _, p := range padlFiles {
		c, err := readFlat(ctx, h, p.name, PADL, p.file)
		if add(p.name, c, err) {
			c.inherit(system)
		}
	}
	for _, c := range sssd {
		c.inherit(system)
	}
	users, missed := ofUsers(ctx, h, vars)
	for _, c := range users {
		if envErr != nil { // what every login gets may say otherwise
			unread = append(unread, Unread{c.Name, envErr})
		}
		cs = append(cs, c)
	}
	// Without a server to talk to, unreadable homes are no news to anybody.
	if missed != nil && (len(cs) > 1 || system != nil && len(system.Servers) > 0) {
		unread = append(unread, Unread{"openldap/users", missed})
	}
	return cs, unread
}

// Names reports whether a client of the host is configured to talk to a server:
// no other is ever asked.
func Names(ctx context.Context, h *host.Host, q host.PeerQuestion) bool {
	cs, _ := All(ctx, h)
	for _, c := range cs {
		for _, s := range c.Servers {
			if s.URI() == q.URI {
				return true
			}
		}
	}
	return false
}

// inherit gives a client of the library the CAs that ldap.conf names, where
// it names none itself.
func (c *Client) inherit(system *Client) {
	if system == nil {
		return
	}
	if !c.CACert.Given() && !c.CACertDir.Given() {
		c.CACert, c.CACertDir = system.CACert, system.CACertDir
	}
	if c.Program == PADL && !c.ReqCert.Given() {
		c.ReqCert = system.ReqCert
	}
	c.ReqSAN = system.ReqSAN
}

// ofUsers are the clients of users with a file of their own.
func ofUsers(ctx context.Context, h *host.Host, vars map[string]Setting) (cs []*Client, missed error) {
	db, err := accounts.Read(ctx, h)
	if err != nil {
		if host.IsAbsent(err) {
			return nil, nil
		}
		return nil, err
	}
	users := db.WithHomes()
	if len(users) > maxHomes {
		users, missed = users[:maxHomes], fmt.Errorf("more than %d homes: %w", maxHomes, host.ErrTooBig)
	}
	for _, u := range users {
		own := false
		var bad error
		ctx := host.As(ctx, u.UID)
		for _, f := range []string{"ldaprc", ".ldaprc"} {
			_, err := h.ReadFile(ctx, path.Join(u.Home, f))
			switch {
			case err == nil:
				own = true
			case !host.IsAbsent(err) && !errors.Is(err, host.ErrNotRegular):
				bad = err
			}
		}
		if own && bad == nil {
			var c *Client
			if c, bad = ReadOpenLDAP(ctx, h, Env{Home: u.Home, Vars: vars}); bad == nil {
				c.Name, c.User = "openldap/"+u.Name, u.UID
				cs = append(cs, c)
			}
		}
		if bad != nil && missed == nil {
			missed = bad
		}
	}
	return cs, missed
}

// environment reads the variables that pam_env gives to every login from
// /etc/environment. What a service has in its own unit is not seen.
func environment(ctx context.Context, h *host.Host) (map[string]Setting, error) {
	const file = "/etc/environment"
	b, err := h.ReadFile(ctx, file)
	if host.IsAbsent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	vars := map[string]Setting{}
	n := 0
	for line := range strings.Lines(string(b)) {
		n++
		line = strings.TrimLeft(strings.TrimSpace(line), space)
		line = strings.TrimSpace(strings.TrimPrefix(line, "export "))
		key, val, ok := strings.Cut(line, "=")
		if !ok || !strings.HasPrefix(key, "LDAP") {
			continue
		}
		// pam_env takes off a comment and a pair of quotes (_parse_env_file).
		val, _, _ = strings.Cut(val, "#")
		val = strings.TrimSpace(val)
		if len(val) > 1 && (val[0] == '"' || val[0] == '\'') && val[len(val)-1] == val[0] {
			val = val[1 : len(val)-1]
		}
		vars[key] = Setting{val, file, n}
	}
	return vars, nil
}
