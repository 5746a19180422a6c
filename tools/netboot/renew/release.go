// Package renew gets a tree of Debian's installer from a mirror or a package,
// verifies it up to Debian's own keys, and puts it in the place of an old one.
package renew

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"fettle/internal/files"
	"fettle/internal/httpget"
)

// Keyring holds the keys of Debian's archive (package debian-archive-keyring).
const Keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

// Source is where a tree comes from.
type Source struct {
	Mirror, Suite, Arch string
	Keyring             string
	// GTK: the installer with a graphical interface.
	GTK bool
	// GPGV runs gpgv with arguments and returns what it wrote to its output.
	GPGV func(ctx context.Context, args ...string) ([]byte, error)
	// Now is the clock by which a Release file is too old.
	Now  func() time.Time
	dial func(ctx context.Context, network, address string) (net.Conn, error) // nil: over TCP
}

// Untrusted is an error about what was sent, not about sending it: it is not what
// was signed, too old, too long, or cannot be read.
type Untrusted struct{ Err error }

func (e *Untrusted) Error() string { return e.Err.Error() }

// Unwrap is the error about it.
func (e *Untrusted) Unwrap() error { return e.Err }

func untrusted(format string, args ...any) error { return &Untrusted{fmt.Errorf(format, args...)} }

const (
	maxRelease = 8 << 20
	maxSums    = 4 << 20
	maxTarball = 400 << 20
)

// Tarball is a netboot.tar.gz that is known and not fetched yet.
type Tarball struct {
	URL  string
	SHA  string // SHA-256, hexadecimal
	Date time.Time
}

// Find asks a mirror for the tarball of a suite: its InRelease, which gpgv
// verifies, has the hash of SHA256SUMS, and that has the tarball's.
func (s Source) Find(ctx context.Context) (Tarball, error) {
	dists := strings.TrimRight(s.Mirror, "/") + "/dists/" + s.Suite
	signed, err := s.get(ctx, dists+"/InRelease", maxRelease)
	if err != nil {
		return Tarball{}, err
	}
	text, err := s.verify(ctx, signed)
	if err != nil {
		return Tarball{}, fmt.Errorf("%s/InRelease: %w", dists, err)
	}
	rel, err := parseRelease(text)
	if err == nil {
		err = rel.fits(s.Suite, s.Now())
	}
	if err != nil {
		return Tarball{}, untrusted("%s/InRelease: %w", dists, err)
	}
	images := "main/installer-" + s.Arch + "/current/images"
	want, ok := rel.sums[images+"/SHA256SUMS"]
	if !ok {
		return Tarball{}, untrusted("%s/InRelease lists no installer for %s", dists, s.Arch)
	}
	sums, err := s.get(ctx, dists+"/"+images+"/SHA256SUMS", maxSums)
	if err != nil {
		return Tarball{}, err
	}
	if sha(sums) != want {
		return Tarball{}, untrusted(
			"%s/%s/SHA256SUMS is not the file that Debian signed: the mirror is being updated, or was tampered with",
			dists,
			images,
		)
	}
	name := "netboot/netboot.tar.gz"
	if s.GTK {
		name = "netboot/gtk/netboot.tar.gz"
	}
	for line := range strings.Lines(string(sums)) {
		if f := strings.Fields(line); len(f) == 2 && strings.TrimPrefix(f[1], "./") == name && isSHA(f[0]) {
			return Tarball{URL: dists + "/" + images + "/" + name, SHA: f[0], Date: rel.date}, nil
		}
	}
	return Tarball{}, untrusted("%s/%s/SHA256SUMS lists no %s", dists, images, name)
}

// Fetch writes the tarball to a file, and fails when it is another.
func (t Tarball) Fetch(ctx context.Context, to io.Writer, progress func(done, all int64)) error {
	res, err := httpget.Get(ctx, t.URL, httpget.Options{Limit: maxTarball})
	if err != nil {
		return sent(err)
	}
	defer res.Body.Close()
	if res.Status != 200 {
		return fmt.Errorf("%s: the mirror answers %d", t.URL, res.Status)
	}
	h := sha256.New()
	var n int64
	buf := make([]byte, 256<<10)
	for {
		k, rerr := res.Body.Read(buf)
		h.Write(buf[:k])
		if _, err := to.Write(buf[:k]); err != nil {
			return fmt.Errorf("keeping the tree: %w", err)
		}
		if n += int64(k); progress != nil {
			progress(n, res.Size)
		}
		if rerr == io.EOF {
			break
		}
		if rerr != nil {
			return sent(rerr)
		}
	}
	if hex.EncodeToString(h.Sum(nil)) != t.SHA {
		return untrusted("%s is not the file that Debian signed (its SHA-256 is another): nothing was unpacked", t.URL)
	}
	return nil
}

// fetchLimit is how long a small file may take, however it drips.
const fetchLimit = 5 * time.Minute

func (s Source) get(ctx context.Context, url string, limit int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchLimit)
	defer cancel()
	res, err := httpget.Get(ctx, url, httpget.Options{Limit: limit, Dial: s.dial})
	if err != nil {
		return nil, sent(err)
	}
	defer res.Body.Close()
	if res.Status != 200 {
		return nil, fmt.Errorf("%s: the mirror answers %d", url, res.Status)
	}
	b, err := io.ReadAll(res.Body)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("%s: is not whole after %s", url, fetchLimit)
	}
	return b, sent(err)
}

// sent tells an answer that does not end from one that does not come.
func sent(err error) error {
	if errors.Is(err, httpget.ErrTooMuch) {
		return &Untrusted{err}
	}
	return err
}

func sha(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

func isSHA(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == sha256.Size
}

// verify returns the text that a good signature of the keyring covers, and
// nothing that stands around it.
func (s Source) verify(ctx context.Context, signed []byte) ([]byte, error) {
	if _, err := os.Stat(s.Keyring); err != nil {
		return nil, fmt.Errorf("the keys of Debian's archive are missing: %w; install debian-archive-keyring, or name another keyring", err)
	}
	dir, err := files.Private("fettle-release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	in, out := filepath.Join(dir, "InRelease"), filepath.Join(dir, "text")
	if err := os.WriteFile(in, signed, 0o600); err != nil {
		return nil, err
	}
	status, err := s.GPGV(ctx, "--quiet", "--keyring", s.Keyring, "--status-fd", "1", "--output", out, in)
	if err == nil {
		err = goodSignature(status)
	}
	if err != nil {
		return nil, untrusted("its signature is not good: %w", err)
	}
	text, err := files.ReadAtMost(out, maxRelease)
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, untrusted("its signature covers nothing")
	}
	return text, nil
}

// goodSignature reads gpgv's status lines (GnuPG's doc/DETAILS): it is content with
// a signature of a key that has expired, which says EXPKEYSIG instead of GOODSIG.
func goodSignature(status []byte) error {
	expired := ""
	for line := range strings.Lines(string(status)) {
		f := strings.Fields(line)
		switch {
		case len(f) < 3 || f[0] != "[GNUPG:]":
		case f[1] == "GOODSIG":
			return nil
		case f[1] == "EXPKEYSIG":
			expired = f[2]
		}
	}
	if expired != "" {
		return fmt.Errorf("the key %.40s has expired; a newer debian-archive-keyring may have it prolonged", expired)
	}
	return errors.New("gpgv tells of no good one")
}

// release is what counts of a Release file.
type release struct {
	codename, suite string
	date, until     time.Time
	sums            map[string]string // SHA-256 by path
}

func parseRelease(b []byte) (release, error) {
	r := release{sums: map[string]string{}}
	section := ""
	for line := range strings.Lines(string(b)) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, " ") {
			if f := strings.Fields(line); section == "SHA256" && len(f) == 3 && isSHA(f[0]) {
				r.sums[path.Clean(f[2])] = f[0]
			}
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		section, value = name, strings.TrimSpace(value)
		var err error
		switch name {
		case "Codename":
			r.codename = value
		case "Suite":
			r.suite = value
		case "Date":
			r.date, err = time.Parse(time.RFC1123, value)
		case "Valid-Until":
			r.until, err = time.Parse(time.RFC1123, value)
		}
		if err != nil {
			return r, fmt.Errorf("its %s cannot be read: %.60q", name, value)
		}
	}
	if r.codename == "" || r.date.IsZero() {
		return r, errors.New("it names no codename or no date")
	}
	return r, nil
}

// fits refuses another suite's file, and one that is too old to be believed.
func (r release) fits(suite string, now time.Time) error {
	switch {
	case suite != r.codename && suite != r.suite:
		return fmt.Errorf("it is of %s (%s), and %s was asked for", r.codename, r.suite, suite)
	case !r.until.IsZero() && now.After(r.until):
		return fmt.Errorf("it was valid until %s: the mirror is no longer updated, or hides newer files", r.until.Format(time.DateOnly))
	case r.date.After(now.Add(24 * time.Hour)):
		return fmt.Errorf("it is of %s, which is yet to come: is the clock right?", r.date.Format(time.DateOnly))
	}
	return nil
}
