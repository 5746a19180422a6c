package measure

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"fettle/cli/app"
	"fettle/cli/app/apptest"
	"fettle/cli/tune"
	"fettle/internal/means"
	"fettle/tools/measure/counters"
	"fettle/tools/measure/ksm"
	"fettle/tools/measure/login"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "tune" { // the keeper of KSM's settings
		code, _, _ := apptest.Run(context.Background(), app.App{Stdin: os.Stdin}, tune.Cmd, os.Args[1:]...)
		os.Exit(code)
	}
	os.Exit(m.Run())
}

func called(t *testing.T, stdin io.Reader, args ...string) (code int, out, errs string) {
	t.Helper()
	ctx, end := context.WithTimeout(t.Context(), means.Patience)
	defer end()
	return apptest.Run(ctx, app.App{Stdin: stdin}, Cmd, append([]string{"measure"}, args...)...)
}

// session calls fettle measure, with a file of the host as standard input after "<".
func session(t *testing.T, file string) {
	t.Helper()
	apptest.Session(t, file, func(_ context.Context, args []string) (code int, out, errs string) {
		var stdin []byte
		if n := len(args); n > 2 && args[n-2] == "<" {
			var err error
			if stdin, err = os.ReadFile(args[n-1]); err != nil {
				t.Fatal(err)
			}
			args = args[:n-2]
		}
		return called(t, bytes.NewReader(stdin), args...)
	})
}

// lab makes a fettle-lab that keeps what it is to draw, and draws a word.
func lab(t *testing.T) {
	t.Helper()
	const script = "#!/bin/sh\ncat > /mnt/asked\necho \"drawn as $2\"\n"
	if err := errors.Join(os.Mkdir("/mnt/bin", 0o755), os.WriteFile("/mnt/bin/fettle-lab", []byte(script), 0o755)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", "/mnt/bin:"+os.Getenv("PATH"))
}

// drawn wants a picture of what was measured.
func drawn(t *testing.T, file, as, has string) {
	t.Helper()
	b, err := os.ReadFile(file)
	asked, aerr := os.ReadFile("/mnt/asked")
	if err != nil || aerr != nil || string(b) != "drawn as "+as+"\n" || !strings.Contains(string(asked), has) {
		t.Errorf("%s: %q, %v; asked for %s, %v", file, b, err, asked, aerr)
	}
}

const series = "time,eth0 rx,eth1 " +
	"rx\n1700000000,4000000000,0\n1700000010,4100000000,1000\n1700000020,5032704,2000\n1700000030,105032704,4000\n"

func TestCounters(t *testing.T) {
	if !apptest.Golden(t, map[string]string{"/mnt/good.csv": series, "/mnt/empty.csv": "", "/mnt/secrets": "community hunter2\n",
		"/mnt/bad.csv": "time,eth0\nx,y\n"}) {
		return
	}
	os.Chmod("/mnt/secrets", 0o600)
	session(t, "counters.txt")
	lab(t)
	for _, as := range []string{"svg", "png"} {
		file := "/mnt/picture." + as
		code, out, errs := called(t, nil, "counters", "--read", "/mnt/good.csv", "--"+as, file, "--format", "json")
		if code != 0 || errs != "" || !json.Valid([]byte(out)) {
			t.Errorf("status %d, said %q and %q", code, out, errs)
		}
		drawn(t, file, as, `"plot"`)
	}
	if code, out, errs := called(t, nil, "counters", "--read", "/mnt/good.csv", "--svg", "/dev/full"); code != 3 || out == "" ||
		!strings.Contains(errs, "--svg /dev/full: ") {
		t.Errorf("a picture on a full disk: status %d, said %q and %q", code, out, errs)
	}
	if code, out, errs := called(t, nil, "counters", "--simulate", "600Mbit/s", "--svg", "/mnt/none/x"); code != 2 || out != "" ||
		!strings.Contains(errs, "--svg /mnt/none/x: ") {
		t.Errorf("no folder for a picture: status %d, said %q and %q", code, out, errs)
	}
	code, out, errs := called(t, nil, "counters", "lo", "--interval", "10ms", "--for", "30ms", "--format", "json")
	var d struct {
		Interval float64                 `json:"interval_s"`
		Source   string                  `json:"source"`
		Counters []struct{ Name string } `json:"counters"`
	}
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 || errs != "" || len(d.Counters) == 0 || d.Source != "this host" {
		t.Errorf("live: status %d, %v, said %q and %q", code, err, out, errs)
	}
	if code, _, errs := called(t, nil, "counters", "eth9", "--interval", "10ms", "--for", "30ms"); code != 2 || !strings.Contains(errs,
		"eth9") {
		t.Errorf("an interface that is not there: status %d, said %q", code, errs)
	}
	ctx, end := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer end()
	code, out, errs = apptest.Run(ctx, app.App{}, Cmd, "measure", "counters", "lo", "--interval", "1m", "--for", "0")
	if code != 3 || out != "" ||
		!regexp.MustCompile(`^fettle: interrupted after .*s: a rate needs two readings, 1m0s apart\n$`).MatchString(errs) {
		t.Errorf("interrupted: status %d, said %q and %q", code, out, errs)
	}
}

// TestCounterFlags: what one knows of the counters stands in place of what the source says.
func TestCounterFlags(t *testing.T) {
	was := counters.Facts{Width: 32, MaxRate: 5, Queues: 2, Lag: time.Second}
	for args, want := range map[string]counters.Facts{
		"": was, "--width 40": {Width: 40, Trusted: true, MaxRate: 5, Queues: 2, Lag: time.Second},
		"--queues 4": {Width: 32, MaxRate: 5, Queues: 4, Lag: time.Second}, "--lag 0s": {Width: 32, MaxRate: 5, Queues: 2},
		"--max-rate 8bit/s": {Width: 32, MaxRate: 8, Queues: 2, Lag: time.Second}, "--max-rate link": was,
	} {
		f := counterFlags{}
		words := strings.Fields(args)
		f.interval, f.length, f.timeout = time.Second, 10*time.Second, time.Second
		if len(words) > 0 {
			c := CountersCmd(&app.App{})
			if err := c.ParseFlags(words); err != nil {
				t.Fatal(err)
			}
			f.setLag = c.Flags().Changed("lag")
			f.width, _ = c.Flags().GetInt("width")
			f.queues, _ = c.Flags().GetInt("queues")
			f.maxRate, _ = c.Flags().GetString("max-rate")
		}
		if err := f.valid(); err != nil {
			t.Errorf("%s: %v", args, err)
		}
		got := was
		if f.override(&got); got != want && want.MaxRate != 8 || want.MaxRate == 8 && got.MaxRate == was.MaxRate {
			t.Errorf("%s: %+v, want %+v", args, got, want)
		}
	}
	for _, c := range []struct {
		agent            string
		setIv, setFor    bool
		interval, length time.Duration
	}{{"", false, false, time.Second, 20 * time.Second}, {"sw", false, false, 10 * time.Second, 5 * time.Minute},
		{"sw", true, false, time.Second, 5 * time.Minute}, {"sw", false, true, 10 * time.Second, 20 * time.Second}} {
		f := counterFlags{agent: c.agent, interval: time.Second, length: 20 * time.Second, timeout: 1, setIv: c.setIv, setFor: c.setFor}
		if err := f.valid(); err != nil || f.interval != c.interval || f.length != c.length {
			t.Errorf("%+v: every %s for %s, %v", c, f.interval, f.length, err)
		}
	}
}

func TestAgentAddresses(t *testing.T) {
	for text, want := range map[string]string{"switch1": "switch1 161", "switch1:1161": "switch1 1161", "[2001:db8::1]": "2001:db8::1 161",
		"[2001:db8::1]:99": "2001:db8::1 99", "2001:db8::1": "2001:db8::1 161", "192.0.2.1:65535": "192.0.2.1 65535"} {
		h, port, err := agentAddress(text)
		if got := strings.TrimSpace(h + " " + itoa(port)); err != nil || got != want {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"", ":161", "a:0", "a:65536", "a:x", "a b", "user@a", "http://a"} {
		if h, port, err := agentAddress(text); err == nil || !strings.HasSuffix(err.Error(), ": expected HOST or HOST:PORT") {
			t.Errorf("%q: %q, %d, %v", text, h, port, err)
		}
	}
}

func itoa(n uint16) string { b, _ := json.Marshal(n); return string(b) }

// TestSecretsAreAskedFor on a terminal, each where it is needed and not known, and not shown.
func TestSecretsAreAskedFor(t *testing.T) {
	type secrets = counters.Secrets
	const community, auth, priv = "Community of sw: \n", "Authentication key of sw: \n", "Privacy key of sw: \n"
	for _, c := range []struct {
		flags     string
		has       secrets
		typed     string
		want      secrets
		said, err string
	}{
		{"", secrets{}, "hunter2\n", secrets{Community: "hunter2"}, community, ""},
		{"", secrets{Community: "x"}, "", secrets{Community: "x"}, "", ""},
		{"", secrets{}, "\n", secrets{}, community, "no community was given"},
		{"anna", secrets{}, "", secrets{}, "", ""},
		{"anna SHA AES", secrets{}, "one\ntwo\n", secrets{AuthKey: "one", PrivKey: "two"}, auth + priv, ""},
		{"anna SHA AES", secrets{AuthKey: "one"}, "two\n", secrets{AuthKey: "one", PrivKey: "two"}, priv, ""},
		{"anna SHA", secrets{}, "\n", secrets{}, auth, "no authentication key was given"},
	} {
		master, tty := means.OpenTerminal(t)
		if _, err := master.WriteString(c.typed + "\n\n"); err != nil {
			t.Fatal(err)
		}
		var errs strings.Builder
		is := counters.SNMP{Host: "sw", Secrets: c.has}
		for i, to := range []*string{&is.User, &is.Auth, &is.Priv} {
			if f := strings.Fields(c.flags); i < len(f) {
				*to = f[i]
			}
		}
		err := askSecrets(&app.App{Stdin: tty, Stderr: &errs}, &is)
		if is.Secrets != c.want || errs.String() != c.said || (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
			t.Errorf("%q typed %q: said %q, %v", c.flags, c.typed, errs.String(), err)
		}
	}
}

func TestProgressOfCounters(t *testing.T) {
	master, tty := means.OpenTerminal(t)
	f := counterFlags{length: time.Minute}
	show := f.progress(&app.App{Stderr: tty})
	show(3, 0, 2*time.Second)
	show(3, 1, 2*time.Second)
	f.length = 0
	show(4, 0, 90*time.Second)
	show(0, -1, 0)
	said := means.ShownSoFar(t, master, tty)
	for _, want := range []string{"\r2s of 1m, 3 polls (Ctrl-C ends and shows the result)", "\r2s of 1m, 3 polls, 1 lost (Ctrl-C",
		", 4 polls (Ctrl-C"} {
		if !strings.Contains(said, want) {
			t.Errorf("said %q, want %q", said, want)
		}
	}
}

func TestDisks(t *testing.T) {
	if !apptest.Golden(t, map[string]string{"/mnt/iostat": "Device r/s r_await w/s w_await %util\nsda 0 0 300 5.00 50.0\nsdb 0 0 300 49.50 " +
		"99.0\n" +
		"sdc 0 0 300 6.60 50.0\n", "/mnt/nothing": "hello\n", "/mnt/slow": "Device r/s r_await w/s w_await %util\nsda 0 0 42 2.00 20.0\n" +
		"sdb 0 0 42 92.00 99.0\n", "/mnt/zpool": "NAME SIZE ALLOC FREE CKPOINT EXPANDSZ FRAG CAP DEDUP HEALTH ALTROOT\n" +
		"tank 10G 3G 7G - - 1% 30% 1.00x ONLINE -\n  /dev/vda 5G 1G 4G - - 1% 20% - ONLINE\n  /dev/vdb 5G 2G 3G - - 1% 40% - ONLINE\n"}) {
		return
	}
	session(t, "disks.txt")
	code, out, errs := called(t, nil, "disks", "--interval", "1s")
	if code != 0 || !strings.HasPrefix(out, "No array, volume or file system here spans several disks.\n") || errs != "measuring for 1s\n" {
		t.Errorf("live: status %d, said %q and %q", code, out, errs)
	}
	ctx, end := context.WithCancel(t.Context())
	end()
	code, out, errs = apptest.Run(ctx, app.App{}, Cmd, "measure", "disks", "--interval", "3s")
	if code != 3 || out != "" || errs != "measuring for 3s\nfettle: interrupted before the 3s were over: nothing is compared\n" {
		t.Errorf("interrupted: status %d, said %q and %q", code, out, errs)
	}
}

func TestInstaller(t *testing.T) {
	const plain = "Sep 16 08:00:00 main-menu[512]: INFO: Menu item 'pkgsel' selected\nSep 16 08:00:10 pkgsel: starting tasksel\n" +
		"Sep 16 08:10:10 pkgsel: finishing up\nSep 16 08:11:10 main-menu[512]: INFO: Menu item 'finish-install' selected\n"
	if !apptest.Golden(t, map[string]string{"/mnt/plain": plain, "/mnt/fast": strings.ReplaceAll(strings.ReplaceAll(plain, "08:10",
		"08:05"), "08:11", "08:06"),
		"/mnt/nothing": "hello\n"}) {
		return
	}
	if err := syscall.Mkfifo("/mnt/pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	session(t, "installer.txt")
}

// kernel makes KSM's files, on which nothing happens.
func kernel(t *testing.T) {
	t.Helper()
	if err := errors.Join(unix.Mount("none", "/sys/kernel", "tmpfs", 0, ""), os.MkdirAll(ksm.Dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"run": "0", "pages_to_scan": "100", "sleep_millisecs": "20", "smart_scan": "0",
		"advisor_mode": "[none] scan-time", "pages_shared": "100", "pages_sharing": "4096", "pages_unshared": "0", "pages_volatile": "0",
		"full_scans": "3", "pages_scanned": "0", "general_profit": "16777216"} {
		if err := os.WriteFile(filepath.Join(ksm.Dir, name), []byte(value+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestKSM(t *testing.T) {
	if !apptest.Golden(t, map[string]string{"/mnt/x": ""}) {
		return
	}
	if err := unix.Mount("none", "/sys/kernel", "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	session(t, "ksm-none.txt")
	kernel(t)
	lab(t)
	synctest.Test(t, func(t *testing.T) {
		// watched is fettle measure ksm, whose standard error may be a terminal.
		watched := func(ctx context.Context, stderr io.Writer, args ...string) (code int, out string) {
			var stdout bytes.Buffer
			a := &app.App{Program: "fettle", Stdout: &stdout, Stderr: stderr, Stdin: strings.NewReader("")}
			c := KSMCmd(a)
			c.SilenceErrors, c.SilenceUsage = true, true
			c.SetArgs(args)
			code = a.End(c.ExecuteContext(ctx))
			return code, stdout.String()
		}
		var errs bytes.Buffer
		start := time.Now()
		code, out := watched(t.Context(), &errs, "--for", "90s", "--interval", "5s", "--svg", "/mnt/ksm.svg")
		if took := time.Since(start); code != 0 || errs.String() != "now: measuring for 1m30s\n" || !strings.Contains(out, "MiB") ||
			took != 90*time.Second {
			t.Errorf("after %s: status %d, said %q and %q", took, code, out, errs.String())
		}
		drawn(t, "/mnt/ksm.svg", "svg", `"plot"`)
		errs.Reset()
		if code, out := watched(t.Context(), &errs, "--for=1s", "--interval=1s", "--format=json"); code != 0 || errs.Len() > 0 ||
			!json.Valid([]byte(out)) {
			t.Errorf("as JSON: status %d, said %q and %q", code, out, errs.String())
		}
	})
	synctest.Test(t, func(t *testing.T) {
		code, out, errs := apptest.Run(t.Context(), app.App{}, Cmd, "measure", "ksm", "--try", "as-is", "--try", "1250/10", "--for", "1m")
		if code != 0 || errs != "as-is: measuring for 1m0s\n1250/10: measuring for 1m0s\n" || !strings.Contains(out, "as-is") ||
			!strings.Contains(out, "1250/10") {
			t.Errorf("status %d, said %q and %q", code, out, errs)
		}
		if b, err := os.ReadFile(ksm.Dir + "/pages_to_scan"); err != nil || strings.TrimSpace(string(b)) != "100" {
			t.Errorf("left behind: %q, %v", b, err)
		}
		ctx, end := context.WithTimeout(t.Context(), 30*time.Second)
		defer end()
		code, out, errs = apptest.Run(ctx, app.App{}, Cmd, "measure", "ksm", "--try", "1250/10", "--for", "1m")
		if code != 3 || out != "" || !strings.HasSuffix(errs, "fettle: interrupted: nothing is compared; KSM's settings are restored\n") {
			t.Errorf("interrupted: status %d, said %q and %q", code, out, errs)
		}
	})
	l, _, err := ksm.Take(opened(t), ksm.LeaseDir)
	if err != nil {
		t.Fatal(err)
	}
	if code, out, errs := called(t, nil, "ksm", "--try", "1250/10"); code != 2 || out != "" || !strings.Contains(errs,
		"fettle: --try 1250/10: ") {
		t.Errorf("another has the lease: status %d, said %q and %q", code, out, errs)
	}
	if _, err := l.Release(); err != nil {
		t.Fatal(err)
	}
}

func opened(t *testing.T) *ksm.Kernel {
	t.Helper()
	k, err := ksm.Open("")
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestLiveKSM: a terminal has a picture that is drawn over; elsewhere each setting is named once.
func TestLiveKSM(t *testing.T) {
	var said bytes.Buffer
	a := &app.App{Program: "fettle", Stderr: &said}
	l := newLive(a, ksmFlags{format: "text", length: time.Minute})
	at := time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC)
	s := ksm.Series{Page: 4096, States: []ksm.State{{At: at}, {At: at.Add(10 * time.Second)}}}
	l.show("a\x1b")(s)
	l.show("a\x1b")(s)
	l.show("b")(s)
	l.end()
	if said.String() != "a\\x1b: measuring for 1m0s\nb: measuring for 1m0s\n" {
		t.Errorf("said %q", said.String())
	}
	said.Reset()
	newLive(a, ksmFlags{format: "json", length: time.Minute}).show("a")(s)
	if said.Len() > 0 {
		t.Errorf("beside JSON it said %q", said.String())
	}
	synctest.Test(t, func(t *testing.T) {
		master, tty := means.OpenTerminal(t)
		l := newLive(&app.App{Stderr: tty}, ksmFlags{format: "text", length: time.Minute})
		l.done = []ksm.Run{{Name: "first", Series: s}}
		show := l.show("now")
		show(s)
		show(s) // too soon
		time.Sleep(200 * time.Millisecond)
		show(s)
		l.end()
		l.end()
		text := means.ShownSoFar(t, master, tty)
		lines := strings.Count(strings.Split(text, "\x1b[")[0], "\n")
		up := fmt.Sprintf("\x1b[%dA\x1b[J", lines)
		if strings.Count(text, up) != 2 || !strings.HasSuffix(text, up) || lines < 12 || strings.Count(text, "first") != 2 ||
			strings.Count(text, " saved, 0 µs of ksmd's CPU time, 10 s of 1 min\r\n") != 2 {
			t.Errorf("%d lines, drawn %q", lines, text)
		}
		if len(l.done) != 1 {
			t.Errorf("%d are done", len(l.done))
		}
	})
}

// shamSSH logs in at once, as an old ssh says it, and notes what it was asked.
const shamSSH = `echo "$*" >> /mnt/asked
case $1 in -G) printf 'hostname 192.0.2.7\nuser anna\nport 22\n'; exit;; esac
log=/dev/stderr
while [ $# -gt 1 ]; do [ "$1" = -E ] && log=$2; shift; done
case $1 in
*"measure login"*) cat /mnt/report; exit $(cat /mnt/status);;
*fettle-login*) cat /mnt/log > $log; echo fettle-login $(cat /mnt/conn); exit;;
esac
echo "no such command" >&2; exit 1`

const loginLog = `OpenSSH_6.6.1, OpenSSL 1.0.1f 6 Jan 2014
debug1: Reading configuration data /etc/ssh/ssh_config
debug1: Connecting to web1 [192.0.2.7] port 22.
debug1: Connection established.
debug1: Remote protocol version 2.0, remote software version dropbear_2014.63
debug1: SSH2_MSG_KEXINIT sent
debug1: SSH2_MSG_KEXINIT received
debug1: SSH2_MSG_NEWKEYS sent
debug1: SSH2_MSG_NEWKEYS received
debug1: SSH2_MSG_SERVICE_REQUEST sent
debug1: SSH2_MSG_SERVICE_ACCEPT received
debug1: Authentications that can continue: publickey,password
debug1: Next authentication method: publickey
debug1: Server accepts key: pkalg ssh-rsa blen 279
debug1: Authentication succeeded (publickey).
Authenticated to web1 ([192.0.2.7]:22).
debug1: channel 0: new [client-session]
debug1: Entering interactive session.
debug1: Sending command: echo fettle-login $SSH_CONNECTION
`

func TestLogin(t *testing.T) {
	if !apptest.Golden(t, map[string]string{"/mnt/log": loginLog, "/mnt/conn": "192.0.2.1 2345 192.0.2.7 22", "/mnt/status": "0"}) {
		return
	}
	apptest.Cover(t, "/usr/bin/ssh", shamSSH)
	session(t, "login.txt")
	lab(t)
	asked := func() string {
		b, err := os.ReadFile("/mnt/asked")
		if err != nil {
			t.Fatal(err)
		}
		os.Remove("/mnt/asked")
		return string(b)
	}
	code, out, errs := called(t, nil, "login", "web1", "-n", "2", "--format", "json", "--ssh-config", "/mnt/config")
	var d struct {
		Host  string          `json:"host"`
		Total struct{ N int } `json:"total"`
	}
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 || errs != "" || d.Host != "web1" || d.Total.N != 2 {
		t.Errorf("status %d, %v, said %q and %q", code, err, out, errs)
	}
	if said := asked(); strings.Count(said, "-F /mnt/config") != 1+2+strings.Count(said, "fettle-login $SSH_CONNECTION")-2 {
		t.Errorf("asked:\n%s", said)
	}
	if code, _, errs := called(t, nil, "login", "web1", "-n", "1", "--svg", "/mnt/l.svg"); code != 0 || errs != "" {
		t.Errorf("status %d, said %q", code, errs)
	}
	drawn(t, "/mnt/l.svg", "svg", "bars")
}

// TestLoginOnServer: the experiments on the host are fettle's own there, for the client as the server sees it.
func TestLoginOnServer(t *testing.T) {
	if !apptest.Golden(t, map[string]string{"/mnt/status": "0", "/mnt/report": `{"user":"anna"}`}) {
		return
	}
	apptest.Cover(t, "/usr/bin/ssh", shamSSH)
	t.Setenv("XDG_RUNTIME_DIR", "/mnt")
	f := loginFlags{limit: 90 * time.Second}
	l := &login.Login{User: "anna", Conn: login.Conn{ClientAddr: "192.0.2.1", ServerAddr: "192.0.2.7", ServerPort: "2222"}}
	if rep, err := onServer(t.Context(), "web1", l, f); err != nil || rep.User != "anna" {
		t.Errorf("%+v, %v", rep, err)
	}
	const args = "measure login --format=json --server-side=192.0.2.1 --server-addr=192.0.2.7 --server-port=2222 --user=anna --limit=1m30s"
	if b, err := os.ReadFile("/mnt/asked"); err != nil || !strings.Contains(string(b), args) || !strings.Contains(string(b), "sudo -n") {
		t.Errorf("asked %s, %v", b, err)
	}
	os.Remove("/mnt/asked")
	l.User = "root"
	if _, err := onServer(t.Context(), "web1", l, f); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile("/mnt/asked"); err != nil || strings.Contains(string(b), "sudo") {
		t.Errorf("root needs no sudo: %s, %v", b, err)
	}
	for _, c := range []struct{ status, report, want string }{
		{"3", "", "fettle there ended with status 3: "}, {"0", "hello", "reading what fettle there found: "},
		{"255", "", "could not reach web1"},
	} {
		if err := errors.Join(os.WriteFile("/mnt/status", []byte(c.status), 0o600), os.WriteFile("/mnt/report", []byte(c.report),
			0o600)); err != nil {
			t.Fatal(err)
		}
		if rep, err := onServer(t.Context(), "web1", l, f); rep != nil || err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%+v: %+v, %v", c, rep, err)
		}
	}
	l.Conn.ClientAddr = ""
	if _, err := onServer(t.Context(), "web1", l, f); err == nil || !strings.Contains(err.Error(), "SSH_CONNECTION") {
		t.Errorf("a server that does not say: %v", err)
	}
	for text, want := range map[string]string{"": "", "a\nb\n": "b", "a\n  b \n\n \n": "b", "\n": ""} {
		if got := lastLine(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
