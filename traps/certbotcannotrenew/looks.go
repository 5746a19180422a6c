package certbotcannotrenew

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
)

// world is what all certificates share.
type world struct {
	h        *host.Host
	programs []string
	runs     *bool // something runs certbot by itself
	runsErr  error
}

// fault is why a certificate cannot be renewed.
type fault struct {
	says, byHand string
	ev           trap.Evidence
}

var looks = []func(context.Context, *world, *lineage) (*fault, error){challenge, plugin, webroot, port, timer}

func (l *lineage) ev(key string) trap.Evidence {
	e := l.params[key]
	return trap.Ev(e.At(), "%s = %s", e.Key, e.Value)
}

// httpOnly are authenticators that answer http-01 alone.
var httpOnly = []string{"standalone", "webroot", "nginx", "apache"}

// challenge: the only challenges allowed are gone, or are not those of the authenticator. Let's Encrypt ended tls-sni-01 in 2019.
func challenge(_ context.Context, _ *world, l *lineage) (*fault, error) {
	list := l.value("pref_challs")
	if strings.Trim(list, ", []") == "" || !slices.Contains(httpOnly, l.value("authenticator")) {
		return nil, nil
	}
	for c := range strings.SplitSeq(list, ",") {
		if c = strings.Trim(c, ` []'"`); c == "http-01" || c == "http" {
			return nil, nil
		}
	}
	return &fault{"pref_challs allows only challenges that the authenticator " + l.value("authenticator") + " does not have",
		"remove the line pref_challs from " + l.file, l.ev("pref_challs")}, nil
}

// plugins are authenticators that come in packages of their own.
var plugins = []string{"nginx", "apache", "dns-cloudflare", "dns-digitalocean", "dns-dnsimple", "dns-dnsmadeeasy", "dns-gehirn",
	"dns-google", "dns-linode", "dns-luadns", "dns-nsone", "dns-ovh", "dns-rfc2136", "dns-route53", "dns-sakuracloud"}

// plugin: the distribution's certbot is the only one, and the authenticator's package is not installed.
func plugin(ctx context.Context, w *world, l *lineage) (*fault, error) {
	name := l.value("authenticator")
	if !slices.Contains(plugins, name) || !slices.Equal(w.programs, []string{"/usr/bin/certbot"}) {
		return nil, nil
	}
	ps, err := w.h.Packages(ctx)
	if err != nil {
		return nil, err
	}
	packaged := false
	for _, p := range ps {
		packaged = packaged || p.Installed() && p.Name == "certbot"
		if p.Installed() && strings.HasPrefix(p.Name, "python") && strings.HasSuffix(p.Name, "-certbot-"+name) {
			return nil, nil
		}
	}
	if !packaged {
		return nil, nil
	}
	module := "certbot_" + strings.ReplaceAll(name, "-", "_")
	for _, dir := range []string{"/usr/lib/python3", "/usr/local/lib"} {
		in, err := w.h.Glob(ctx, dir, "*")
		if err != nil {
			return nil, err
		}
		for _, d := range append(in, dir) {
			for _, packages := range []string{"", "dist-packages", "site-packages"} {
				if there, err := w.h.Exists(ctx, path.Join(d, packages, module)); err != nil || there {
					return nil, err
				}
			}
		}
	}
	return &fault{"its authenticator " + name + " is not installed", "install python3-certbot-" + name, l.ev("authenticator")}, nil
}

// webroot: a folder into which the answers go is gone.
func webroot(ctx context.Context, w *world, l *lineage) (*fault, error) {
	if l.value("authenticator") != "webroot" {
		return nil, nil
	}
	for _, e := range l.webroots {
		there, err := w.h.Exists(ctx, e.Value)
		if err != nil {
			return nil, err
		}
		if !there && strings.HasPrefix(e.Value, "/") {
			return &fault{"the folder " + e.Value + ", from which " + e.Key + " is to be proved, is gone",
				"certbot certonly --webroot -w FOLDER -d NAMES once, which writes the configuration again", trap.Ev(e.At(), "%s = %s", e.Key,
					e.Value)}, nil
		}
	}
	return nil, nil
}

// port: certbot is to listen on a port on which something else does, and nothing stops that before.
func port(ctx context.Context, w *world, l *lineage) (*fault, error) {
	if l.value("authenticator") != "standalone" || !w.h.Running() || l.value("http01_address") != "" {
		return nil, nil
	}
	hooked, err := w.hooked(ctx, l)
	if err != nil || hooked {
		return nil, err
	}
	at := cmp.Or(l.value("http01_port"), "80")
	all, err := w.h.Listeners(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		ip, err := netip.ParseAddr(s.Address)
		if err != nil || s.Proto != "tcp" || fmt.Sprint(s.Port) != at || !ip.IsUnspecified() || strings.HasPrefix(s.Comm, "certbot") {
			continue
		}
		who := cmp.Or(s.Comm, "another program")
		return &fault{"it is to listen on port " + at + " itself, where " + who + " does",
			"certbot reconfigure --cert-name " + l.name +
				" with --nginx, --apache or --webroot (certbot 2.3 and newer); or hooks that stop and start " + who,
			trap.Ev("/proc/net/tcp", "%s listens on port %s", who, at)}, nil
	}
	return nil, nil
}

// hooked tells whether a hook runs before the renewal, which may free the port.
func (w *world) hooked(ctx context.Context, l *lineage) (bool, error) {
	if l.value("pre_hook") != "" {
		return true, nil
	}
	in, err := w.h.Glob(ctx, "/etc/letsencrypt/renewal-hooks/pre", "*")
	if err != nil || len(in) > 0 {
		return len(in) > 0, err
	}
	for _, name := range slices.Concat([]string{"/etc/letsencrypt/cli.ini", "/root/.config/letsencrypt/cli.ini"}, jobs) {
		text, err := w.h.ReadShort(ctx, name, longest)
		if err != nil {
			return false, err
		}
		if strings.Contains(text, "pre-hook") || strings.Contains(text, "pre_hook") {
			return true, nil
		}
	}
	found, err := w.anyJob(ctx, func(text string) bool {
		return mentions(text) && (strings.Contains(text, "-hook") || strings.Contains(text, "stop"))
	})
	return found, err
}

// timers are those of packages.
var timers = []string{"certbot.timer", "certbot-renew.timer", "snap.certbot.renew.timer", "letsencrypt.timer"}

// timer: nothing runs certbot.
func timer(ctx context.Context, w *world, _ *lineage) (*fault, error) {
	if w.h.Systemd(ctx) != nil {
		return nil, nil // without systemd its job is cron's, and Debian's package brings one
	}
	if w.runs == nil {
		runs, err := w.anybody(ctx)
		w.runs, w.runsErr = &runs, err
	}
	if w.runsErr != nil || *w.runs {
		return nil, w.runsErr
	}
	return &fault{"no timer and no job of cron runs it", "systemctl enable --now certbot.timer (certbot-renew.timer on Red Hat)",
		trap.Ev("systemctl show certbot.timer", "ActiveState=inactive")}, nil
}

func (w *world) anybody(ctx context.Context) (bool, error) {
	us, err := w.h.Units(ctx, timers...)
	if err != nil {
		return false, err
	}
	for _, u := range us {
		if u.Active() {
			return true, nil
		}
	}
	return w.anyJob(ctx, mentions)
}

// jobs are files of commands that run by themselves.
var jobs = []string{"/etc/crontab", "/etc/anacrontab", "/etc/rc.local"}

// longest is how long such a file may be.
const longest = 256 << 10

// folders have more of them.
var folders = []string{"/etc/cron.d", "/etc/cron.hourly", "/etc/cron.daily", "/etc/cron.weekly", "/etc/cron.monthly",
	"/var/spool/cron", "/var/spool/cron/crontabs", "/etc/systemd/system", "/usr/local/lib/systemd/system"}

func (w *world) anyJob(ctx context.Context, is func(text string) bool) (bool, error) {
	files := slices.Clone(jobs)
	for _, dir := range folders {
		in, err := w.h.Glob(ctx, dir, "*")
		if err != nil {
			return false, err
		}
		files = append(files, in...)
	}
	for _, name := range files {
		text, err := w.h.ReadShort(ctx, name, longest)
		if err != nil {
			return false, err
		}
		if is(text) {
			return true, nil
		}
	}
	return false, nil
}

// names are words by which a job may run certbot, through a script of its own too.
var names = []string{"certbot", "letsencrypt", "acme", "ssl", "cert"}

// mentions reports whether a job's text names certbot outside of comments, and of the job of Debian's package, which does nothing
// where systemd runs.
func mentions(text string) bool {
	for line := range strings.Lines(strings.ToLower(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") || strings.Contains(line, "/run/systemd/system") {
			continue
		}
		if slices.ContainsFunc(names, func(n string) bool { return strings.Contains(line, n) }) {
			return true
		}
	}
	return false
}
