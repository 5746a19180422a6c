package crontab

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"fettle/internal/means"
)

// tables are files of /etc/cron.d, each with one thing in it. What cron says of them, cron itself is asked.
var tables = map[string]string{
	"good": "SHELL=/bin/sh\nPATH=/usr/bin:/bin\n# every day\n17 3 * * * root true\n", "noeol": "17 3 * * * root true",
	"stranger": "17 3 * * * nobody-here true\n", "nouser": "17 3 * * * true\n", "nouser-arg": "17 3 * * * /bin/true -x\n",
	"minute60": "60 3 * * * root true\n", "hour24": "0 24 * * * root true\n", "dom0": "0 0 0 * * root true\n",
	"month13": "0 0 1 13 * root true\n",
	"dow8":    "0 0 * * 8 root true\n", "dow7": "0 0 * * 7 root true\n", "names": "0 0 * JAN-mar mon,Fri root true\n",
	"name-range-back": "0 0 * * fri-mon root true\n", "range-back": "30-10 * * * * root true\n", "step": "*/5 1-23/2 * * * root true\n",
	"step0": "*/0 * * * * root true\n", "number-step": "5/10 * * * * root true\n", "star-tail": "*5 * * * * root true\n",
	"reboot": "@reboot root true\n", "fortnightly": "@fortnightly root true\n", "reboot-alone": "@reboot\n",
	"reboot-user-only": "@reboot root\n",
	"dash":             "-*/5 * * * * root true\n", "six-stars": "* * * * * * root true\n", "four": "0 3 * * root true\n",
	"blank-cr": "17 3 * * * root true\r\n\r\n",
	"cr":       "17 3 * * * root true\r\n", "mailto-empty": "MAILTO=\n17 3 * * * root true\n",
	"mailto-quoted": "MAILTO=\"\"\n17 3 * * * root true\n",
	"spaces":        " MAILTO = root \n17 3 * * * root true\n", "quoted-tail": "A=\"b\" c\n17 3 * * * root true\n",
	"quoted-name":        "\"A\" = b\n17 3 * * * root true\n",
	"only-comment-noeol": "# nothing", "comment-behind": "17 3 * * * root true # daily\n", "text": "this file is managed\n",
	"export": "export A=b\n17 3 * * * root true\n",
	"tabs":   "17\t3\t*\t*\t*\troot\ttrue\n", "empty": "", "percent": "17 3 * * * root date +%F\n", "tilde": "0~10 3 * * * root true\n",
	"list": "0,15,30,45 * * * * root true\n", "list-end": "0, * * * * root true\n", "negative": "-1 * * * * root true\n",
	"big":          "99999999999 * * * * root true\n",
	"single-quote": "A='b c'\n17 3 * * * root true\n", "open-quote": "A=\"b\n17 3 * * * root true\n",
	"equals-in-command":   "17 3 * * * root A=b true\n",
	"user-blank-line-end": "17 3 * * * root \n", "bom": "\ufeff17 3 * * * root true\n", "unended-comment": "17 3 * * * root true\n# end",
	"long-step": "1-70/100 * * * * root true\n", "back-beyond": "90-80 * * * * root true\n", "tilde-back": "10~0 3 * * * root true\n",
	"tilde-beyond": "10~70 3 * * * root true\n", "tilde-open": "~ 3 * * * root true\n", "tilde-alone": "10~ 3 * * * root true\n",
	"tilde-step": "0~10/2 3 * * * root true\n",
	"one-beyond": "1-70 * * * * root true\n", "unended-blanks": "17 3 * * * root true\n  ", "empty-name": "=x\n17 3 * * * root true\n",
	"empty-quotes-name": "\"\"=x\n17 3 * * * root true\n", "env-time": "17 3 * * *=a root true\n",
	"value-tail": "A=b # c\n17 3 * * * root true\n",
	"upper":      "@Daily root true\n", "user-tab": "17 3 * * * root\ttrue\n", "colon-user": "17 3 * * * root:root true\n",
	"unended-variable": "17 3 * * * root true\nA=b",
}

// TestCronAgrees: Debian's cron refuses the same files, in a root of its own.
func TestCronAgrees(t *testing.T) {
	means.Root(t)
	bin := means.Tool(t, "cron")
	root := t.TempDir()
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string, mode os.FileMode) {
		t.Helper()
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	copyIn := func(name string) {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		write(name, string(b), 0o755)
	}
	copyIn(bin)
	libs, err := exec.Command("ldd", bin).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`/\S+`).FindAllString(string(libs), -1) {
		copyIn(m)
	}
	write("/etc/passwd", "root:x:0:0::/root:/bin/sh\n", 0o644)
	write("/etc/nsswitch.conf", "passwd: files\n", 0o644)
	write("/dev/null", "", 0o666)
	for _, dir := range []string{"/var/spool/cron/crontabs", "/var/run", "/run", "/root"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range tables {
		write("/etc/cron.d/"+name, text, 0o644)
	}
	log := cronLog(t, root, bin)
	for name, text := range tables {
		refused := strings.Contains(log, "(*system*"+name+") ERROR")
		table := Parse(Debian, text)
		bad := ""
		for _, j := range table.Jobs {
			if j.Bad == "" && j.User != "root" {
				j.Bad = "bad username"
			}
			if j.Bad != "" && bad == "" {
				bad = j.Bad
			}
		}
		if ours := bad != "" || table.Unended; ours != refused {
			t.Errorf("%s: refused %v here, %v by cron:\n%q", name, ours, refused, text)
		}
		if bad != "" && !strings.Contains(log, "Error: "+bad+"; while reading /etc/cron.d/"+name+"\n") {
			t.Errorf("%s: %q is not what cron says", name, bad)
		}
	}
	if t.Failed() {
		t.Log(log)
	}
}

// cronLog is what cron logs until it has read all tables.
func cronLog(t *testing.T, root, bin string) string {
	t.Helper()
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(root, "dev/log"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cmd := exec.Command(bin, "-f")
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/bin:/bin"}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	if err := l.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for b := make([]byte, 8192); ; {
		n, err := l.Read(b)
		if err != nil {
			t.Fatalf("cron says no more: %v\n%s", err, out.String())
		}
		out.Write(bytes.TrimRight(b[:n], "\x00\n"))
		out.WriteByte('\n')
		if strings.Contains(string(b[:n]), "@reboot jobs") {
			return out.String()
		}
	}
}
