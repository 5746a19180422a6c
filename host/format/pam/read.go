package pam

import (
	"context"
	"errors"
	"path"
	"strings"

	"fettle/host"
)

// Dirs are the folders of service files, the one that counts first:
// pam.d(5), and the vendor's own of systems whose /etc is the admin's.
var Dirs = []string{"/etc/pam.d", "/usr/lib/pam.d", "/usr/etc/pam.d"}

// Read reads the configuration of a service of h. Its error says that
// something could not be looked at.
func Read(ctx context.Context, h *host.Host, service string) (*Config, error) {
	return ReadWith(ctx, h, service, nil)
}

// ReadWith is Read as it would be with the content of some files changed, by
// full path.
func ReadWith(ctx context.Context, h *host.Host, service string, with map[string][]byte) (*Config, error) {
	open := func(name string) (string, []byte, bool, error) { return openFile(ctx, h, name, with) }
	dir := false
	for _, d := range Dirs {
		ok, err := h.Exists(ctx, d)
		if err != nil && !errors.Is(err, host.ErrNotCollected) {
			return nil, err
		}
		dir = dir || ok || err != nil // a capture may hold the files and not the folder
	}
	if dir {
		_, _, found, err := open(service)
		if found || err != nil {
			return Parse(service, open)
		}
	}
	// Without a folder libpam reads pam.conf alone; Debian's, built to read
	// both, reads it for services that have no file.
	const conf = "/etc/pam.conf"
	b, err := h.ReadFile(ctx, conf)
	if host.IsAbsent(err) {
		return Parse(service, open)
	}
	if err != nil {
		return nil, err
	}
	own, other := ofService(string(b), service), ofService(string(b), "other")
	return Parse(service, func(name string) (string, []byte, bool, error) {
		switch {
		case name == lower(service) && own != "":
			return conf, []byte(own), true, nil
		case name == "other" && other != "" && !dir:
			return conf, []byte(other), true, nil
		}
		return open(name)
	})
}

func openFile(ctx context.Context, h *host.Host, name string, with map[string][]byte) (string, []byte, bool, error) {
	names := []string{name}
	if !strings.HasPrefix(name, "/") {
		names = nil
		for _, d := range Dirs {
			names = append(names, path.Join(d, name))
		}
	}
	for _, n := range names {
		if b, ok := with[n]; ok {
			return n, b, true, nil
		}
		b, err := h.ReadFile(ctx, n)
		if host.IsAbsent(err) {
			continue
		}
		if err != nil {
			return "", nil, false, err
		}
		return n, b, true, nil
	}
	return "", nil, false, nil
}

// ofService takes the lines of one service out of pam.conf, without the
// service's name, leaving the others empty so that numbers stay.
func ofService(text, service string) string {
	lines, _ := split(text)
	var b strings.Builder
	at, any := 1, false
	for _, l := range lines {
		name, rest, ok := word(l.text)
		if !ok || lower(name) != lower(service) {
			continue
		}
		for ; at < l.num; at++ {
			b.WriteByte('\n')
		}
		b.WriteString(strings.ReplaceAll(rest, "\n", " ") + "\n")
		at++
		any = true
	}
	if !any {
		return ""
	}
	return b.String()
}
