package hub

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle/cli/app"
	"fettle/engine/pack"
	"fettle/engine/rule"
	"fettle/fleet/hub"
	"fettle/fleet/hub/store"
	"fettle/fleet/hub/store/storetest"
	"fettle/fleet/hub/web"
	"fettle/internal/means"
)

// served is the folder of a hub that serves at other times, and its database.
func served(t *testing.T) (string, *store.DB) {
	t.Helper()
	dir := storetest.Dir(t)
	if err := os.WriteFile(filepath.Join(dir, "hub.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	known, err := hub.ReadKnown(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir, storetest.Open(t, known.Where(dir))
}

// line is a command line, how it ends and what it says.
type line struct {
	line string
	code int
	says string
}

func (l line) run(t *testing.T, dir string) {
	t.Helper()
	code, out, errs := run(t, t.Context(), "", append([]string{"--state", dir}, strings.Fields(l.line)...)...)
	said := strings.Join(strings.Fields(out+errs), " ")
	if code != l.code || !strings.Contains(said, l.says) || l.says == "" && said != "" {
		t.Errorf("%s: %d %s; want %d %q", l.line, code, said, l.code, l.says)
	}
}

// TestPackIsHandedOn: one that is signed with a pinned key is offered to a group, stopped and resumed; who did it is noted.
func TestPackIsHandedOn(t *testing.T) {
	keygen := means.Tool(t, "ssh-keygen")
	dir, db := served(t)
	reported(t, db, "web1", "web")
	files, err := rule.Start("acme-trap")
	if err != nil {
		t.Fatal(err)
	}
	at := t.TempDir()
	rules := filepath.Join(at, "acme/acme-trap")
	err = os.MkdirAll(rules, 0o755)
	for _, f := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(rules, f.Name), []byte(f.Content), 0o644))
	}
	manifest := []byte("name: acme\nversion: 7\nexpires: 2999-01-01\n")
	if err := errors.Join(err, os.WriteFile(filepath.Join(at, "acme", pack.ManifestFile), manifest, 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"key", "other"} {
		c := exec.Command(keygen, "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", filepath.Join(at, name))
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatal(err, string(out))
		}
		public, err := os.ReadFile(filepath.Join(at, name+".pub"))
		if err := errors.Join(err, os.WriteFile(filepath.Join(at, name+".keys"), append([]byte("ops "), public...), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	_, file, err := pack.Build(t.Context(), filepath.Join(at, "acme"), func(text []byte) ([]byte, error) {
		c := exec.Command(keygen, "-q", "-Y", "sign", "-f", filepath.Join(at, "key"), "-n", pack.Namespace)
		c.Stdin = bytes.NewReader(text)
		return c.Output()
	})
	if err := errors.Join(err, os.WriteFile(filepath.Join(at, "acme.pack"), file, 0o644)); err != nil {
		t.Fatal(err)
	}
	offer := func(keys, group string) string {
		return fmt.Sprintf("pack offer %[1]s/acme.pack --canary %s --wait 2h --stop-at 100 --keys %[1]s/%[3]s.keys", at, group, keys)
	}
	for _, l := range []line{
		{offer("other", "web"), 3, "acme.pack: "}, {offer("key", "wbe"), 3, `no host is in the group "wbe"`},
		{"pack list", 0, "PACK VERSION SIGNER"},
		{offer("key", "web"), 0, ""}, {"pack list", 0, "acme 7 ops web canary 0 0 0 0 0 just now"}, {offer("key", "web"), 3, ""},
		{"pack stop acme", 0, ""}, {"pack list", 0, "acme 7 ops web stopped 0 0 0 0 0 "}, {"pack list", 0, "by " + whoami()},
		{"pack resume acme --stop-at 60", 0, ""}, {"pack list", 0, "acme 7 ops web "},
	} {
		if l.code != 0 && l.says == "" {
			l.says = "acme"
		}
		l.run(t, dir)
	}
	list, err := db.Packs(t.Context())
	if err != nil || len(list) != 1 || list[0].Wait != 2*time.Hour || list[0].StopAt != 60 || list[0].Who != whoami() {
		t.Errorf("%+v, %v", list, err)
	}
	acts, err := db.Audits(t.Context(), 0, 0, 20)
	var audit []string
	for i := len(acts) - 1; i >= 0; i-- {
		audit = append(audit, strings.Join([]string{acts[i].From, acts[i].What, acts[i].On, acts[i].Details}, ", "))
	}
	want := "fettle-hub pack offer, offer pack, acme 7, canaries: group web; signed by ops\n" +
		"fettle-hub pack stop, stop pack, acme, \nfettle-hub pack resume, resume pack, acme, stop at 60 per cent"
	if got := strings.Join(audit, "\n"); err != nil || !strings.HasSuffix(got, want) {
		t.Errorf("the audit log has\n%s\n%v", got, err)
	}
}

// TestChannels: each is tried, and which failed is said with the reason.
func TestChannels(t *testing.T) {
	status := http.StatusOK
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	defer s.Close()
	conf := filepath.Join(t.TempDir(), "notify.yaml")
	address := s.Listener.Addr().String()
	for _, c := range []struct {
		text   string
		status int
		line
	}{
		{"channels:\n- webhook: " + s.URL + "\n", 200, line{code: 0, says: "ok webhook of " + address}},
		{"channels:\n- webhook: " + s.URL + "\n", 500, line{code: 3, says: "failed webhook of " + address + ": "}},
		{"channels:\n- webhook: http://127.0.0.1:1/\n- webhook: " + s.URL + "\n", 200, line{code: 3, says: "ok webhook of " + address}},
		{"channels: []\n", 200, line{code: 2, says: conf + ": no channel is configured"}},
		{"chanels: []\n", 200, line{code: 2, says: "chanels"}},
	} {
		if err := os.WriteFile(conf, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		status, c.line.line = c.status, "notify "+conf
		c.line.run(t, t.TempDir())
	}
}

// TestWhichHost: by its ID, or by a name that it has alone.
func TestWhichHost(t *testing.T) {
	dir, db := served(t)
	for _, name := range []string{"web1", "web2"} {
		reported(t, db, name, "web")
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("no capture"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, l := range []line{
		{"attach idweb1 " + file, 2, file + ": "}, {"attach web2 " + file, 2, file + ": "},
		{"attach web3 " + file, 2, `no host has the name or id "web3"`},
		{"host set web2 --name web1", 0, ""}, {"attach idweb2 " + file, 2, file + ": "}, {"attach idweb1 " + file, 2, file + ": "},
		{"attach web1 " + file, 2, `2 hosts have the name "web1": name one by its ID: idweb1, idweb2`},
	} {
		l.run(t, dir)
	}
}

// TestWhatCameOfRestarts: who is away, what is lacking by its cause, and who could not be compared; without these a line alone.
func TestWhatCameOfRestarts(t *testing.T) {
	say := func(c *store.Comings) string {
		var out bytes.Buffer
		(&program{App: &app.App{Stdout: &out}}).restarts(c)
		var lines []string
		for l := range strings.Lines(out.String()) {
			lines = append(lines, strings.Join(strings.Fields(l), " "))
		}
		return strings.Join(lines, "\n")
	}
	if got := say(&store.Comings{Restarted: 2, AsBefore: 2}); got != "2 hosts restarted, 2 as before" {
		t.Errorf("%q", got)
	}
	ref := func(name string) store.HostRef { return store.HostRef{Agent: "id" + name, Name: name, Group: "web"} }
	at := time.Date(2026, 12, 1, 2, 3, 0, 0, time.Local)
	c := store.Comings{Restarted: 2, Lacking: 1, NotCompared: []store.HostRef{ref("c")},
		Away:   []store.AwayHost{{Host: ref("a"), Since: at.UTC(), Stopped: true}, {Host: ref("b"), Since: at}},
		Causes: []store.Cause{{Subject: "/srv", Severity: "critical", Summary: "is not mounted", Hosts: []store.HostRef{ref("d\x1b")}}}}
	want := c.Headline() + "\n\nHOST GROUP HEARD NOT-BACK\na web 2026-12-01 02:03 said that it stops\nb web 2026-12-01 02:03 fell silent\n\n" +
		"SEVERITY WITHOUT HOW HOSTS\ncritical /srv is not mounted d\\x1b\n\nnot compared (no earlier snapshot, or an older agent): c"
	if got := say(&c); strings.ReplaceAll(got, `d\\x1b`, `d\x1b`) != want {
		t.Errorf("it says\n%s\nwant\n%s", got, want)
	}
}

// TestWhereThePageIs: as configured, else at the address that it listens at; and what is reached from this machine alone.
func TestWhereThePageIs(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := page{listener: l, settings: new(web.Settings)}
	if u, err := url.Parse(p.url()); err != nil || u.Scheme != "http" || u.Host != l.Addr().String() {
		t.Errorf("%s, %v", u, err)
	}
	p.login.Secure = true
	if u, err := url.Parse(p.url()); err != nil || u.Scheme != "https" || u.Host != l.Addr().String() {
		t.Errorf("with TLS: %s, %v", u, err)
	}
	p.settings.URL = "https://hub.example.org"
	if p.url() != p.settings.URL {
		t.Errorf("as configured: %s", p.url())
	}
	for ip, want := range map[string]bool{"127.0.0.7": true, "::1": true, "192.0.2.1": false, "::": false, "0.0.0.0": false} {
		if loopback(&net.TCPAddr{IP: net.ParseIP(ip)}) != want {
			t.Errorf("%s is reached from this machine alone: %v", ip, !want)
		}
	}
	if loopback(&net.UnixAddr{Name: "x"}) {
		t.Error("a socket that is none of TCP")
	}
	dir, db := served(t)
	if got := p.hint(t.Context(), db); got != "nobody can log in yet: fettle-hub users add NAME --role operator" {
		t.Errorf("%q", got)
	}
	if p.login.NoPasswords = true; p.hint(t.Context(), db) != "" {
		t.Error("where nobody has a password users are to be added")
	}
	p.login.NoPasswords = false
	code, _, errs := run(t, t.Context(), "correct horse battery\n", "--state", dir, "users", "add", "ann")
	if code != 0 || p.hint(t.Context(), db) != "" {
		t.Errorf("with a user: %q, %s", p.hint(t.Context(), db), errs)
	}
}
