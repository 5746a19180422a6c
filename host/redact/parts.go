package redact

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"regexp"
	"strings"

	"fettle/internal/lazy"
)

// partsOf are files that may hold anything, and the lines of them that checks
// look for. The rest is left out, and lines keep their numbers.
var partsOf = []struct {
	file, line func() *regexp.Regexp
	instead    string // of a line that is left out
}{
	{lazy.Regexp(`^(?:/usr)?/etc/sudoers$`), lazy.Regexp(`^[@#]include(?:dir)?\s`), ""},
	{
		lazy.Regexp(`^/etc/postgresql/|^/var/lib/(?:postgresql|pgsql|postgres)/`),
		lazy.Regexp(`(?i)^\s*(?:fsync|full_page_writes|data_directory)\s*[= \t]`),
		LeftOut,
	},
	{lazy.Regexp(`^/proc/net/fib_trie$`), lazy.Regexp(`^(?:Main|Local|Id [0-9]+):$|^\s+/0 universe`), ""},
	{lazy.Regexp(`^/var/cache/debconf/`), lazy.Regexp(`^(?:Name|Value): (?:grub-pc/install_devices$|/dev/)`), "Redacted: yes"},
	{lazy.Regexp(`^/etc/ufw/`), lazy.Regexp(`^### tuple ### |DOCKER-USER`), ""},
	{
		lazy.Regexp(`^/etc/my\.cnf|^/etc/mysql/`),
		lazy.Regexp(`(?i)^\s*(?:(?:loose[-_])?(?:open[-_]files[-_]limit|max[-_]connections)\s*=\s*\d+\s*|(?:loose[-_])?datadir\s*=\s*['"]?/\S+\s*|\[[\w.-]+\]\s*)$`),
		LeftOut,
	},
	{lazy.Regexp(`^/etc/yum\.repos\.d/`), lazy.Regexp(`(?i)^\[.*-els[]-]`), ""},
	{lazy.Regexp(`^/etc/(?:crontab$|cron\.d/)`), ofJobs, LeftOut},
	{lazy.Regexp(`^/etc/(?:cron\.[hdwm][a-z]+ly/|profile\.d/|init\.d/)|^/var/spool/cron/`), ofJobs, ""},
}

// LeftOut stands for a line of a table of cron and of databases' settings: whoever judges such a file whole must know that it is not.
const LeftOut = "# left out by redaction"

// ofJobs are the lines of jobs that checks look for.
var ofJobs = lazy.Regexp(`^[^#]*(?:keyserver|recv-key|checkarray|raid-check|logrotate)`)

// keptLines redacts the lines of a file that checks look for.
func (r *Redactor) keptLines(name, s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		body := strings.TrimSuffix(line, "\n")
		for _, p := range partsOf {
			switch {
			case !p.file().MatchString(name):
			case p.line().MatchString(body):
				b.WriteString(r.keptLine(name, body))
			case strings.TrimSpace(body) != "":
				b.WriteString(p.instead)
			}
		}
		b.WriteString(line[len(body):])
	}
	return b.String()
}

// fieldsOfCron is how many fields of a line of cron's tables come before its command.
func fieldsOfCron(name string) int {
	switch {
	case name == "/etc/crontab", strings.HasPrefix(name, "/etc/cron.d/"):
		return 6
	case strings.HasPrefix(name, "/var/spool/cron/"):
		return 5
	}
	return 0
}

var cronTime = lazy.Regexp(`^\s*(?:@\w+|[\d*][\d*,/-]*\s)`)

// keptLine redacts a line that checks look for: in cron's tables and programs for the
// shell, it is a command.
func (r *Redactor) keptLine(name, line string) string {
	database := strings.HasPrefix(name, "/etc/my") && !strings.Contains(line, "[")
	if database && !strings.Contains(line, "/") { // a key and a number
		return line
	}
	if database || strings.HasPrefix(name, "/etc/postgresql/") || strings.HasPrefix(name, "/var/lib/p") {
		return r.setting(name, Secrets(line))
	}
	if !strings.HasPrefix(name, "/etc/cron") && !strings.HasPrefix(name, "/etc/profile.d/") && !strings.HasPrefix(name, "/etc/init.d/") &&
		!strings.HasPrefix(name, "/var/spool/cron/") {
		return r.free(Secrets(line))
	}
	n := fieldsOfCron(name)
	if n == 0 || !cronTime().MatchString(line) {
		return r.Command(tokenSecrets(line))
	}
	if strings.HasPrefix(strings.TrimSpace(line), "@") {
		n -= 4
	}
	at := 0
	for range n {
		at += len(line[at:]) - len(strings.TrimLeft(line[at:], " \t"))
		at += strings.IndexAny(line[at:]+" ", " \t")
	}
	at = min(at, len(line))
	when, who := line[:at], ""
	if n == 6 || n == 2 {
		i := strings.LastIndexAny(strings.TrimRight(when, " \t"), " \t") + 1
		when, who = line[:i], line[i:at]
	}
	return r.Text(when) + r.userWord(who) + r.Command(tokenSecrets(line[at:]))
}

// routes redacts /proc/net/route, whose addresses are words of memory in
// hexadecimal (net/ipv4/fib_trie.c, fib_route_seq_show).
func (r *Redactor) routes(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		f := strings.Split(strings.TrimRight(line, " \n"), "\t")
		for i := range f {
			if a, ok := wordAddr(f[i]); ok && (i == 1 || i == 2) {
				raw := r.Addr(a).As4()
				f[i] = strings.ToUpper(hex.EncodeToString([]byte{raw[3], raw[2], raw[1], raw[0]}))
			} else if i == 0 {
				f[i] = r.Text(f[i])
			}
		}
		b.WriteString(strings.Join(f, "\t") + "\n")
	}
	return b.String()
}

// wordAddr is the address of a little-endian word.
func wordAddr(s string) (netip.Addr, bool) {
	raw, err := hex.DecodeString(s)
	if err != nil || len(raw) != 4 {
		return netip.Addr{}, false
	}
	return netip.AddrFrom4([4]byte{raw[3], raw[2], raw[1], raw[0]}), true
}

// anonymousTable leaves out who made a table of ACPI (ACPI 6.5, table 5.4:
// OEMID to creator revision), and makes its checksum right again if it was.
func anonymousTable(b []byte) []byte {
	const checksum, maker, body = 9, 10, 36
	if len(b) < body || int(binary.LittleEndian.Uint32(b[4:])) != len(b) {
		return b[:min(len(b), maker)]
	}
	b = bytes.Clone(b)
	before := sum(b)
	clear(b[maker:body])
	b[checksum] += before - sum(b)
	return b
}

func sum(b []byte) (n byte) {
	for _, c := range b {
		n += c
	}
	return n
}
