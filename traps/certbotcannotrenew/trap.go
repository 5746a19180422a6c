// Package certbotcannotrenew finds certificates whose renewal by certbot fails by its own configuration.
package certbotcannotrenew

import (
	"context"
	_ "embed"
	"path"
	"strings"
	"time"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/format/certs"
	"fettle/host/format/ini"
)

//go:embed lore.md
var lore trap.Lore

// Trap is certbot-cannot-renew.
var Trap = trap.Trap{Lore: lore, Cost: trap.Instant, Check: check}

const renewal = "/etc/letsencrypt/renewal"

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	files, err := h.Glob(ctx, renewal, "*.conf")
	if err != nil {
		return err
	}
	if len(files) == 0 {
		r.NotApplicable("", "certbot looks after no certificate here")
		return nil
	}
	w := &world{h: h}
	if w.programs, err = programs(ctx, h); err != nil {
		return err
	}
	if len(w.programs) == 0 {
		r.NotApplicable("", "certbot is not installed on the host itself")
		return nil
	}
	for _, f := range files {
		b, err := h.ReadFile(ctx, f)
		if err != nil {
			r.Unknown(path.Base(f), err)
			continue
		}
		w.one(ctx, r, newLineage(f, b))
	}
	return nil
}

// programs are certbot's, however it was installed.
func programs(ctx context.Context, h *host.Host) ([]string, error) {
	var out []string
	for _, p := range []string{"/usr/bin/certbot", "/snap/bin/certbot", "/usr/local/bin/certbot", "/opt/certbot/bin/certbot",
		"/usr/local/bin/certbot-auto",
		"/usr/bin/letsencrypt"} {
		there, err := h.Exists(ctx, p)
		if err != nil {
			return nil, err
		}
		if there {
			out = append(out, p)
		}
	}
	return out, nil
}

// lineage is a certificate and its renewals: a file in /etc/letsencrypt/renewal.
type lineage struct {
	name, file string
	params     map[string]ini.Entry // of [renewalparams]
	webroots   []ini.Entry          // of [[webroot_map]]
	cert       string
}

func newLineage(file string, text []byte) *lineage {
	l := &lineage{name: strings.TrimSuffix(path.Base(file), ".conf"), file: file, params: map[string]ini.Entry{}}
	section := ""
	for n, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = strings.Trim(line, "[] ")
			continue
		}
		k, v, ok := strings.Cut(line, "=")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		e := ini.Entry{Path: file, Line: n + 1, Section: section, Key: strings.TrimSpace(k), Value: strings.Trim(strings.TrimSpace(v), `"'`)}
		switch section {
		case "webroot_map":
			l.webroots = append(l.webroots, e)
		case "renewalparams":
			l.params[e.Key] = e
		case "":
			if e.Key == "cert" {
				l.cert = e.Value
			}
		}
	}
	return l
}

func (l *lineage) value(key string) string { return l.params[key].Value }

// abandoned is how long after its end a certificate is one that nothing uses any more.
const abandoned = 30 * 24 * time.Hour

// one reports on one certificate.
func (w *world) one(ctx context.Context, r *trap.Report, l *lineage) {
	end, err := expires(ctx, w.h, l.cert)
	switch {
	case host.IsAbsent(err):
		r.NotApplicable(l.name, "its certificate is not there")
		return
	case err != nil:
		r.Unknown(l.name, err)
		return
	case w.h.Now().Sub(end) > abandoned:
		r.NotApplicable(l.name, "expired more than a month ago: nothing uses it, or certificate-expired tells of it")
		return
	case strings.EqualFold(l.value("autorenew"), "false"):
		r.NotApplicable(l.name, "autorenew is off")
		return
	}
	for _, look := range looks {
		f, err := look(ctx, w, l)
		if err != nil {
			r.Unknown(l.name, err)
			return
		}
		if f != nil {
			r.Found(trap.Finding{Subject: l.name, Severity: trap.Warning, Summary: "certbot cannot renew it: " + f.says, ByHand: f.byHand,
				Detail: trap.Prose("valid until " + end.Format(time.DateOnly)), Evidence: []trap.Evidence{f.ev}})
			return
		}
	}
	r.Clear(l.name, "nothing in its configuration keeps certbot from renewing it", trap.Ev(l.file, "authenticator = %s",
		l.value("authenticator")))
}

// expires is when the certificate of a file ends.
func expires(ctx context.Context, h *host.Host, name string) (time.Time, error) {
	b, err := h.ReadFile(ctx, name)
	if err != nil {
		return time.Time{}, err
	}
	cs := certs.Parse(b)
	if len(cs) == 0 {
		return time.Time{}, &host.SyntaxError{Path: name, Msg: "has no certificate"}
	}
	return cs[0].NotAfter, nil
}
