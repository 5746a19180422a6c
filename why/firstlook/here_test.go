package firstlook

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fettle/host"
	"fettle/host/hosttest"
)

// watched is a host that writes down what it is asked.
type watched struct {
	host.Source
	asked []string
}

func (w *watched) note(kind, what string) { w.asked = append(w.asked, kind+" "+what) }

func (w *watched) Identity() host.Identity {
	id := w.Source.Identity()
	id.BootID = "db45350e-5ff3-434d-ad82-82a38fb0aadf"
	return id
}

func (w *watched) Command(ctx context.Context, c host.Command) (host.Output, error) {
	w.note("run", c.String())
	return w.Source.Command(ctx, c)
}

func (w *watched) Stat(ctx context.Context, p string, follow bool) (host.Info, error) {
	w.note("stat", p)
	return w.Source.Stat(ctx, p, follow)
}

func (w *watched) ReadFile(ctx context.Context, p string, limit int64) ([]byte, error) {
	w.note("read", p)
	return w.Source.ReadFile(ctx, p, limit)
}

func (w *watched) ReadDir(ctx context.Context, p string) ([]host.Entry, error) {
	w.note("list", p)
	return w.Source.ReadDir(ctx, p)
}

func (w *watched) Readlink(ctx context.Context, p string) (string, error) {
	w.note("link", p)
	return w.Source.Readlink(ctx, p)
}

func (w *watched) Table(ctx context.Context, t host.Table) ([]byte, error) {
	w.note("table", string(t))
	return w.Source.Table(ctx, t)
}

const bootJournal = "command/journalctl -b -o json --no-pager -n 20000 " + host.JournalFields

// onHost is this host: its journal has the line of nginx, and one that speaks of a file.
func onHost(t *testing.T, more string) (*host.Host, *watched) {
	t.Helper()
	src, _, err := hosttest.Parse([]byte(fmt.Sprintf(`kind: live
hostname: web1
time: 2026-01-11T17:00:00Z
-- %s SYSLOG_IDENTIFIER=nginx --
{"__REALTIME_TIMESTAMP":"1768149440000000","MESSAGE":"bind() to 0.0.0.0:80 failed (98: Address already in use)","SYSLOG_IDENTIFIER":"nginx"}
{"__REALTIME_TIMESTAMP":"1768149441000000","MESSAGE":"open() \"/var/log/nginx/access.log\" failed in nginx.service","SYSLOG_IDENTIFIER":"nginx"}
-- command/ss -ltn --
State  Recv-Q Send-Q Local Address:Port Peer Address:Port
LISTEN 0      511          0.0.0.0:80        0.0.0.0:*
-- root/proc/self/mountinfo --
22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
-- command/systemctl show --property=LoadState,ActiveState,SubState,StateChangeTimestamp,User,NRestarts,Result -- nginx.service --
LoadState=loaded
ActiveState=failed
SubState=failed
StateChangeTimestamp=Sun 2026-01-11 16:37:23 UTC
Result=exit-code
%s`, bootJournal, more)))
	if err != nil {
		t.Fatal(err)
	}
	w := &watched{Source: src}
	return host.New(w), w
}

const ownLog = `Jan 11 16:37:20 web1 nginx[3026]: bind() to 0.0.0.0:80 failed (98: Address already in use)
Jan 11 16:37:21 web1 nginx[3026]: open() "/var/log/nginx/access.log" failed in nginx.service
`

func ask(log string, days int) Question {
	l := New()
	l.Write([]byte(log))
	return l.Report().Ask(l.Boots(), days)
}

// TestLogOfAUnit: of a log that was read from this host's journal, the unit comes first, whatever the
// host was called when it was written and whether or not its lines name it.
func TestLogOfAUnit(t *testing.T) {
	h, w := onHost(t, "")
	q := ask(strings.ReplaceAll(ownLog, "web1", "localhost"), 0)
	q.Unit = "nginx.service"
	here := Answer(t.Context(), h, q)
	if !here.Own || len(here.Facts) < 2 || here.Facts[0].Name != q.Unit ||
		here.Facts[0].Says != "failed (failed) since Sun 2026-01-11 16:37:23 UTC, result exit-code" {
		t.Errorf("%+v", here)
	}
	q.Claims = nil
	if here = Answer(t.Context(), h, q); !here.Own || len(here.Facts) != 1 {
		t.Errorf("without a line: %+v", here)
	}
	for _, bad := range []string{"--version", "a/b.service", "nginx"} {
		q.Unit = bad
		named := func(s string) bool { return strings.Contains(s, bad+" ") }
		if here = Answer(t.Context(), h, q); here.Own || slices.ContainsFunc(w.asked, named) {
			t.Errorf("%s: %+v after %q", bad, here, w.asked)
		}
	}
}

func TestOwnLog(t *testing.T) {
	h, _ := onHost(t, "")
	here := Answer(t.Context(), h, ask(ownLog, 0))
	if !here.Own {
		t.Fatalf("not taken for its own: %s", here.Reason)
	}
	got := map[string]string{}
	for _, f := range here.Facts {
		got[f.Name] = f.Says
	}
	for name, want := range map[string]string{
		"80":                        "a program listens on 0.0.0.0:80 (TCP)",
		"/var/log/nginx/access.log": "does not exist now, nor does /var/log/nginx",
		"nginx.service":             "failed (failed) since Sun 2026-01-11 16:37:23 UTC, result exit-code",
	} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
}

// TestForeignLogAsksNothing: a log of another host, boot or nobody chooses nothing that is looked at.
func TestForeignLogAsksNothing(t *testing.T) {
	for name, log := range map[string]string{
		"another host":       strings.ReplaceAll(ownLog, "web1", "mail7"),
		"two hosts":          ownLog + "Jan 11 16:37:22 db2 sshd[1]: error: nothing\n",
		"no host":            "bind() to 0.0.0.0:80 failed (98: Address already in use)\n",
		"another boot":       "-- Boot 00000000000000000000000000000001 --\n" + ownLog,
		"a longer host name": strings.ReplaceAll(ownLog, "web1", "web1x"),
	} {
		h, w := onHost(t, "")
		if here := Answer(t.Context(), h, ask(log, 7)); here.Own || here.Facts != nil || here.Reason == "" {
			t.Errorf("%s: %+v", name, here)
		}
		if len(w.asked) > 0 {
			t.Errorf("%s: the host was asked %q", name, w.asked)
		}
	}
}

// TestForgedLinesAskOnlyTheJournal: with the host's name alone a log gets no further than to the
// question whether the journal has its lines.
func TestForgedLinesAskOnlyTheJournal(t *testing.T) {
	h, w := onHost(t, "")
	forged := "Jan 11 16:37:20 web1 nginx[1]: cannot open /etc/passwd and /dev/sda in evil.service on port 22: error\n"
	if here := Answer(t.Context(), h, ask(forged, 0)); here.Own || len(here.Facts) > 0 {
		t.Errorf("%+v", here)
	}
	// Beside a line that is the host's own, one that is not still chooses nothing.
	here := Answer(t.Context(), h, ask(ownLog+forged, 0))
	if !here.Own {
		t.Fatalf("%+v", here)
	}
	for _, q := range w.asked {
		if strings.Contains(q, "passwd") || strings.Contains(q, "sda") || strings.Contains(q, "evil") {
			t.Errorf("asked: %s", q)
		}
	}
}

// TestHostileNames: names that are none, and files whose state nobody needs, are not asked about
// even where this host's own journal has the line, and even where the question says so.
func TestHostileNames(t *testing.T) {
	text := "failed"
	h, w := onHost(t, "")
	q := Question{Hosts: []string{"web1"}, Claims: []Claim{{By: "nginx",
		Text: "bind() to 0.0.0.0:80 failed (98: Address already in use)"}}}
	for _, n := range []Thing{
		{"unit", "--root=/tmp/x.service"}, {"unit", "-H"}, {"unit", "a b.service"}, {"unit", "x.service\n--all"}, {"unit", ""},
		{"disk", "../../etc/shadow"}, {"disk", "sda; rm"}, {"disk", "sda\n"}, {"disk", ""},
		{"port", "80 or src :1"}, {"port", "99999999"}, {"port", ""},
		{"file", "/etc/shadow"}, {"file", "/etc/ssh/ssh_host_rsa_key"}, {"file", "/root/.ssh/id_ed25519"}, {"file", "/home/ana/x"},
		{"file", "/etc/../root/x"}, {"file", "/proc/1/environ"}, {"file", "/etc/ssl/private/a.pem"}, {"file", "/etc/krb5.keytab"},
		{"file", "relative"}, {"file", "/var/lib/x\x00y"}, {"file", "/etc/x y"}, {"else", "x"},
	} {
		q.Claims[0].Things = []Thing{n}
		w.asked = nil
		here := Answer(t.Context(), host.New(w), q)
		if !here.Own || len(here.Facts) > 0 {
			t.Errorf("%q: %+v", n, here)
		}
		if slices.ContainsFunc(w.asked, func(a string) bool { return !strings.HasPrefix(a, "run journalctl -b ") }) {
			t.Errorf("%q: asked %q", n, w.asked)
		}
	}
	_ = h
	// Who said it goes into a match of journalctl: only a name does.
	for _, by := range []string{"a b", "x\n-D/tmp", "--file=/etc/shadow", strings.Repeat("x", 65), ""} {
		q.Claims[0].By, q.Claims[0].Text = by, text
		for _, m := range matches(q) {
			if m != "SYSLOG_IDENTIFIER="+by || !identifier(by) {
				t.Errorf("%q becomes %q", by, m)
			}
		}
		c := host.Command{Name: "journalctl", Args: append([]string{"-b", "-o", "json", "--no-pager", "-n", "5"}, matches(q)...)}
		if err := c.Allowed(); err != nil {
			t.Errorf("%v", err)
		}
	}
}

// TestNamesInText: what is looked up is named as such things are.
func TestNamesInText(t *testing.T) {
	for text, want := range map[string]string{
		"EXT4-fs error (device sda1): x":                                 "disk sda1",
		"open() \"/etc/nginx/nginx.conf\" failed (2: No such file)":      "file /etc/nginx/nginx.conf",
		"foo@bar.service: Main process exited":                           "unit foo@bar.service",
		"listen tcp 127.0.0.1:9100: bind: address already in use":        "port 9100",
		"cannot read /home/ana/.ssh/id_rsa or /etc/shadow":               "",
		"reading /dev/nvme0n1p2 failed":                                  "disk nvme0n1p2",
		"a.service a.service b.socket c.mount d.timer":                   "unit a.service, unit b.socket",
		"sda sda1, vdb and dm-0 of /dev/mapper/x":                        "disk sda, disk sda1, disk vdb",
		"port 0, then port 443":                                          "",
		"port 65535":                                                     "port 65535",
		"[::1]:8080 or *:9 or localhost:10":                              "port 8080",
		"/etc/a/, (/usr/b): '/var/c.':":                                  "file /etc/a, file /usr/b, file /var/c",
		"/etcetera/x /dev/sda9999 /dev/null":                             "",
		"see http://example.org/usr/x and s/etc/passwd for user=/bin/sh": "file /bin/sh",
	} {
		var got []string
		for _, th := range things(text, "") {
			got = append(got, th.Kind+" "+th.Name)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestNewAgainstTheDaysBefore: a message is new where the journal before does not have its like.
func TestNewAgainstTheDaysBefore(t *testing.T) {
	h, _ := onHost(t, `-- command/journalctl -o json --no-pager -n 20000 --since=@1767544640 --until=@1768149439 `+host.JournalFields+
		` SYSLOG_IDENTIFIER=nginx --
{"__REALTIME_TIMESTAMP":"1768000000000000","MESSAGE":"bind() to 0.0.0.0:8080 failed (98: Address already in use)","SYSLOG_IDENTIFIER":"nginx"}
`)
	l := New()
	l.Write([]byte(ownLog))
	r := l.Report()
	r.Settle(Answer(t.Context(), h, r.Ask(l.Boots(), 7)))
	if r.Here.Compared != 7 {
		t.Fatalf("%+v", r.Here)
	}
	for _, g := range r.Groups {
		known := strings.HasPrefix(g.Text, "bind()")
		if g.Known == nil || *g.Known != known {
			t.Errorf("%q: known %v, want %v", g.Text, g.Known, known)
		}
	}
	if text := r.Text(80); strings.Count(text, "new: not in the 7 days before") != 1 {
		t.Error(text)
	}
}

// TestAnswerAsksWhatIsAsked: without days the journal before is left alone, and a journal that cannot be read is told.
func TestAnswerAsksWhatIsAsked(t *testing.T) {
	h, w := onHost(t, "")
	if here := Answer(t.Context(), h, ask(ownLog, 0)); here.Known != nil || here.Compared != 0 ||
		slices.ContainsFunc(w.asked, func(a string) bool { return strings.Contains(a, "--since") }) {
		t.Errorf("%+v after %q", here, w.asked)
	}
	h, _ = onHost(t, "") // no journal of the days before
	if here := Answer(t.Context(), h, ask(ownLog, 7)); !here.Own || here.Known != nil || here.Compared != 0 || len(here.Facts) == 0 {
		t.Errorf("%+v", here)
	}
	elsewhere := strings.ReplaceAll(ownLog, "nginx", "other")
	h, _ = onHost(t, "-- "+bootJournal+" SYSLOG_IDENTIFIER=other --\nexit 1\n")
	if here := Answer(t.Context(), h, ask(elsewhere, 0)); here.Own || !strings.Contains(here.Reason, "could not be read: journalctl failed") {
		t.Errorf("%+v", here)
	}
	h, _ = onHost(t, "-- "+bootJournal+" SYSLOG_IDENTIFIER=other --\n\n")
	if here := Answer(t.Context(), h, ask(elsewhere, 0)); here.Own || !strings.Contains(here.Reason, "does not have these lines") {
		t.Errorf("%+v", here)
	}
	q := ask(ownLog, 0)
	for i := range 20 { // more than are looked at
		q.Claims[0].Things = []Thing{{"port", fmt.Sprint(100 + i)}}
		q.Claims = append(q.Claims, q.Claims[0])
	}
	h, _ = onHost(t, "")
	if here := Answer(t.Context(), h, q); len(here.Facts) > 12 || !here.Own {
		t.Errorf("%d facts", len(here.Facts))
	}
}
