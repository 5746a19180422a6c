// Package certificatenotloaded finds web and mail servers that were started before the certificate in their file was issued, and that have
// not read it since.
package certificatenotloaded

import (
	"cmp"
	"context"
	"crypto/x509"
	_ "embed"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/fact/process"
	"fettle/host/format/certs"
	"fettle/internal/lazy"
	"fettle/internal/sorted"
)

//go:embed lore.md
var lore trap.Lore

// Trap is certificate-not-loaded.
var Trap = trap.Trap{Lore: lore, Cost: trap.Instant, Check: check}

// server is one whose workers are new processes after each reload, so that the age of the newest says when it last read its files.
type server struct {
	name  string // as a subject
	unit  string
	comms []string
	files []string // patterns of its settings
}

var servers = []server{
	{"nginx", "nginx.service", []string{"nginx"}, []string{"/etc/nginx/*.conf", "/etc/nginx/conf.d/*.conf", "/etc/nginx/sites-enabled/*",
		"/etc/nginx/snippets/*.conf"}},
	{"apache", "apache2.service", []string{"apache2"}, []string{"/etc/apache2/*.conf", "/etc/apache2/sites-enabled/*",
		"/etc/apache2/conf-enabled/*"}},
	{"httpd", "httpd.service", []string{"httpd"}, []string{"/etc/httpd/conf/*.conf", "/etc/httpd/conf.d/*.conf"}},
}

// naming finds certificates in the settings of both.
var naming = lazy.Regexp(`^\s*(?:ssl_certificate|SSLCertificateFile)\s+"?(/[^\s;"]+)`)

// grace is how old a new certificate may be before somebody should have loaded it: certbot's hooks run within the hour, and
// Let's Encrypt dates certificates back by one.
const grace = 6 * time.Hour

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	if !h.Running() {
		return host.ErrNotRunning
	}
	ps, err := h.Processes(ctx)
	if err != nil {
		return err
	}
	looked := false
	for _, s := range servers {
		own := slices.DeleteFunc(slices.Clone(ps), func(p host.Process) bool {
			return !slices.Contains(s.comms, p.Comm) || !p.Own() || p.Unit != s.unit
		})
		if len(own) == 0 {
			continue
		}
		looked = true
		if err := s.look(ctx, h, r, own); err != nil {
			r.Unknown(s.name, err)
		}
	}
	if !looked {
		r.NotApplicable("", "neither nginx nor Apache runs as a service of the host")
	}
	return nil
}

// look compares the start of the newest process with the certificates that the settings name.
func (s *server) look(ctx context.Context, h *host.Host, r *trap.Report, ps []host.Process) error {
	newest, err := started(ctx, h, ps)
	if err != nil {
		return err
	}
	if newest.IsZero() {
		return errors.New("its processes have ended meanwhile")
	}
	names, err := s.certificates(ctx, h)
	if err != nil {
		return err
	}
	there := 0
	for _, name := range names {
		c, err := certificate(ctx, h, name.path)
		if host.IsAbsent(err) {
			continue // configuration-refused
		}
		there++
		switch {
		case err != nil:
			r.Unknown(s.name+" "+name.path, err)
		case c == nil:
			r.NotApplicable(s.name+" "+name.path, "is no certificate")
		case c.NotBefore.After(newest) && h.Now().Sub(c.NotBefore) > grace:
			r.Found(trap.Finding{
				Subject: s.name + " " + name.path, Severity: trap.Warning,
				Summary: s.name + " has not read its new certificate: it serves the old one, which will expire",
				ByHand:  "systemctl reload " + s.unit + ", and for the next time a script in /etc/letsencrypt/renewal-hooks/deploy that does so",
				Evidence: []trap.Evidence{
					trap.Ev(name.path, "valid from %s", c.NotBefore.UTC().Format(time.RFC3339)),
					trap.Ev("/proc/*/stat", "the newest process of %s was started %s", s.name, newest.UTC().Format(time.RFC3339)),
					trap.Ev(name.at, "names %s", name.path)},
			})
		case c.NotBefore.After(newest):
			r.Clear(s.name+" "+name.path, "was issued within the last hours: the reload may still come")
		default:
			r.Clear(s.name+" "+name.path, "was issued before "+s.name+" last read its files")
		}
	}
	if there == 0 {
		r.NotApplicable(s.name, "its settings name no certificate that is there")
	}
	return nil
}

// started is when the newest of some processes was started.
func started(ctx context.Context, h *host.Host, ps []host.Process) (newest time.Time, err error) {
	boot, err := process.Booted(ctx, h)
	if err != nil {
		return newest, err
	}
	for _, p := range ps {
		s, err := process.ReadStat(ctx, h, p.PID)
		if host.IsAbsent(err) {
			continue
		}
		if err != nil {
			return newest, err
		}
		if at := boot.Add(s.Start); at.After(newest) {
			newest = at
		}
	}
	return newest, nil
}

// place is a file that settings name, and where.
type place struct{ path, at string }

func (s *server) certificates(ctx context.Context, h *host.Host) ([]place, error) {
	var out []place
	for _, pattern := range s.files {
		in, err := h.Glob(ctx, path.Dir(pattern), path.Base(pattern))
		if err != nil && !host.IsAbsent(err) {
			return nil, err
		}
		for _, name := range in {
			text, err := h.ReadString(ctx, name)
			if host.IsAbsent(err) || errors.Is(err, host.ErrTooBig) {
				continue
			}
			if err != nil {
				return nil, err
			}
			n := 0
			for line := range strings.Lines(text) {
				n++
				if m := naming().FindStringSubmatch(line); m != nil && !strings.Contains(m[1], "$") {
					out = append(out, place{m[1], fmt.Sprintf("%s:%d", name, n)})
				}
			}
		}
	}
	sorted.By(out, func(a, b place) int { return cmp.Compare(a.path, b.path) })
	return slices.CompactFunc(out, func(a, b place) bool { return a.path == b.path }), nil
}

// certificate is the first one of a file; nil for a folder, and for what holds none.
func certificate(ctx context.Context, h *host.Host, name string) (*x509.Certificate, error) {
	st, err := h.Stat(ctx, name)
	if err != nil || !st.Mode.IsRegular() {
		return nil, err
	}
	b, err := h.ReadFile(ctx, name)
	if err != nil {
		return nil, err
	}
	if cs := certs.Parse(b); len(cs) > 0 {
		return cs[0], nil
	}
	return nil, nil
}
