// Package fetch gets OpenPGP keys from keyservers (HKP, draft-shaw-openpgp-hkp)
// and from their owners' domains (WKD, draft-koch-openpgp-webkey-service), and
// keeps them. What comes is bounded, and kept only if it is the key asked for.
package fetch

import (
	"bytes"
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fettle/host/format/keyservers"
	"fettle/host/format/openpgp"
	"fettle/internal/files"
	"fettle/internal/httpget"
)

// DefaultServer keeps the signatures of others on the keys it has;
// keys.openpgp.org strips them, so that no path leads through it.
const DefaultServer = "hkps://keyserver.ubuntu.com"

const (
	maxKey  = 32 << 20
	timeout = 20 * time.Second
	fresh   = 7 * 24 * time.Hour // how long a key that was fetched is not asked for again
	absent  = 24 * time.Hour     // how long one that no server had
)

// ErrNone: no server has the key.
var ErrNone = errors.New("no keyserver has it")

// Client asks servers, one after the other, until one has the key.
type Client struct {
	Servers []string // base URLs, as keyservers.URL makes them
	Folder  string   // where keys are kept
	// Left is how many questions may still be asked.
	Left int
	// Asked counts those that were.
	Asked int
}

const maxRedirects = 3

// stays refuses a redirect by which a server sends who asks to another, or to
// this host's own services.
func stays(first, to *url.URL) error {
	if to.Scheme != first.Scheme && to.Scheme != "https" || to.Port() != first.Port() || !near(first.Hostname(), to.Hostname()) {
		return fmt.Errorf("%s redirects to %s://%s, which is not followed", first.Host, to.Scheme, to.Host)
	}
	return nil
}

// near: the same host, or example.org and www.example.org.
func near(from, to string) bool {
	from, to = strings.ToLower(from), strings.ToLower(to)
	return from == to || from == "www."+to || to == "www."+from
}

// ByID gets a key by id or fingerprint (hexadecimal) into the folder; false: it
// was there already.
func (c *Client) ByID(ctx context.Context, id string) (bool, error) {
	id = strings.ToUpper(id)
	right := func(f openpgp.Fingerprint) bool {
		return strings.HasSuffix(f.String(), id) || fmt.Sprintf("%016X", f.ID()) == id
	}
	return c.get(ctx, id, right, func(server string) string {
		return server + "/pks/lookup?" + url.Values{"op": {"get"}, "options": {"mr"}, "search": {"0x" + id}}.Encode()
	})
}

// ByAddress gets the keys of a mail address: from its domain, then from keyservers.
func (c *Client) ByAddress(ctx context.Context, address string) error {
	any := func(openpgp.Fingerprint) bool { return true }
	urls, err := keyservers.WebKeyURLs(address)
	if err != nil {
		return err
	}
	for _, u := range urls {
		if _, err := c.get(ctx, "wkd-"+fileName(address), any, func(string) string { return u }); err == nil {
			break
		}
	}
	_, err = c.get(ctx, fileName(address), any, func(server string) string {
		return server + "/pks/lookup?" + url.Values{"op": {"get"}, "options": {"mr"}, "search": {address}}.Encode()
	})
	return err
}

// get asks for what is not in the folder. url makes of a server what to ask.
func (c *Client) get(ctx context.Context, name string, right func(openpgp.Fingerprint) bool, url func(server string) string) (bool, error) {
	file := filepath.Join(c.Folder, name+".pgp")
	if st, err := os.Stat(file); err == nil {
		age := time.Since(st.ModTime())
		switch {
		case st.Size() > 0 && age < fresh:
			return false, nil
		case st.Size() == 0 && age < absent:
			return false, ErrNone
		}
	}
	err := ErrNone
	for _, s := range c.Servers {
		if c.Left <= 0 {
			return false, fmt.Errorf("no more keys are fetched: %d requests were sent (--fetch allows more)", c.Asked)
		}
		c.Left--
		c.Asked++
		var keys []byte
		if keys, err = c.ask(ctx, url(s)); err == nil {
			if keys = matching(keys, right); len(keys) > 0 {
				return true, write(file, keys)
			}
			err = ErrNone
		}
	}
	if errors.Is(err, ErrNone) {
		return false, errors.Join(err, write(file, nil))
	}
	return false, err
}

func write(file string, b []byte) error {
	if err := files.WriteFile(file, b, 0o600); err != nil {
		return fmt.Errorf("keeping a key: %w", err)
	}
	return nil
}

// ask gets packets from a URL.
func (c *Client) ask(ctx context.Context, u string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	res, err := httpget.Get(ctx, u, httpget.Options{Limit: maxKey, Stall: timeout, Redirects: maxRedirects, Follow: stays})
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	switch {
	case res.Status == 404:
		return nil, ErrNone
	case res.Status != 200:
		return nil, fmt.Errorf("asking %s: it answers %d %s", res.URL, res.Status, res.Reason)
	}
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	if openpgp.FormOf(b) == openpgp.Armored {
		return openpgp.Dearmor(bytes.NewReader(b), maxKey)
	}
	return b, nil
}

// matching keeps of what a server sent the keys that were asked for.
func matching(b []byte, right func(openpgp.Fingerprint) bool) []byte {
	var out []byte
	r := openpgp.NewReader(bytes.NewReader(b), 0)
	wanted := false
	for {
		p, err := r.Next()
		if err != nil {
			return out
		}
		if p.Tag == openpgp.TagPublicKey {
			k, err := openpgp.ParseKey(p.Body)
			wanted = err == nil && right(k.Fingerprint)
		}
		if wanted {
			out = append(out, b[p.Start:p.End]...)
		}
	}
}

// fileName makes of an address a name that is safe in a folder.
func fileName(address string) string {
	sum := sha1.Sum([]byte(strings.ToLower(address)))
	return fmt.Sprintf("mail-%x", sum)
}

// Prepare makes the folder for its owner alone.
func (c *Client) Prepare() error {
	if err := files.Make(c.Folder, 0o700); err != nil {
		return fmt.Errorf("a folder for keys that are fetched: %w", err)
	}
	return nil
}

// Kept are the files of keys that were fetched.
func (c *Client) Kept() ([]string, error) {
	list, err := os.ReadDir(c.Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the folder of keys that were fetched: %w", err)
	}
	var out []string
	for _, d := range list {
		if st, err := d.Info(); err == nil && st.Size() > 0 && strings.HasSuffix(d.Name(), ".pgp") {
			out = append(out, filepath.Join(c.Folder, d.Name()))
		}
	}
	return out, nil
}
