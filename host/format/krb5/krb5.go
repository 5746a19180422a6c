// Package krb5 reads the settings of krb5.conf(5) for this host's own keys.
package krb5

import (
	"context"
	"errors"
	"path"
	"strings"

	"fettle/host"
)

// File is where MIT's and Heimdal's libraries begin to read.
const File = "/etc/krb5.conf"

// depth bounds files that include files.
const depth = 8

// Config is what [libdefaults] says; of a key set twice the first counts, as
// in MIT's library (profile_get_string(3)).
type Config struct {
	Realm  string // default_realm, or ""
	Keytab string // default_keytab_name's file
}

// Read reads the file and what it includes; a host without one has the defaults.
func Read(ctx context.Context, h *host.Host) (Config, error) {
	r := reader{h: h, seen: map[string]bool{}}
	if err := r.file(ctx, File, 0); err != nil {
		return Config{}, err
	}
	c := Config{Realm: r.first["default_realm"], Keytab: "/etc/krb5.keytab"}
	if name := r.first["default_keytab_name"]; name != "" {
		c.Keytab = strings.TrimPrefix(strings.TrimPrefix(name, "WRFILE:"), "FILE:")
	}
	if !strings.HasPrefix(c.Keytab, "/") {
		return c, errors.New(File + ": default_keytab_name " + c.Keytab + " is not a file")
	}
	return c, nil
}

type reader struct {
	h     *host.Host
	seen  map[string]bool
	first map[string]string // of [libdefaults]
}

func (r *reader) file(ctx context.Context, name string, at int) error {
	if r.seen[name] || at > depth {
		return nil
	}
	r.seen[name] = true
	b, err := r.h.ReadFile(ctx, name)
	if host.IsAbsent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	section := ""
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || line[0] == '#' || line[0] == ';':
		case words[0] == "include" && len(words) == 2:
			err = r.file(ctx, path.Clean(words[1]), at+1)
		case words[0] == "includedir" && len(words) == 2:
			err = r.folder(ctx, path.Clean(words[1]), at+1)
		case line[0] == '[':
			section = strings.Trim(line, "[]")
		case section == "libdefaults":
			r.set(line)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// folder reads the files that includedir takes: names of letters, digits, - and
// _ alone, or that end in .conf.
func (r *reader) folder(ctx context.Context, dir string, at int) error {
	entries, err := r.h.ReadDir(ctx, dir)
	if err != nil && !host.IsAbsent(err) {
		return err
	}
	for _, e := range entries {
		if e.Type.IsDir() ||
			strings.Trim(strings.TrimSuffix(e.Name, ".conf"), "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "" {
			continue
		}
		if err := r.file(ctx, path.Join(dir, e.Name), at); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) set(line string) {
	key, value, _ := strings.Cut(line, "=")
	key = strings.TrimSpace(key)
	if r.first == nil {
		r.first = map[string]string{}
	}
	if _, ok := r.first[key]; !ok {
		r.first[key] = strings.TrimSpace(value)
	}
}
