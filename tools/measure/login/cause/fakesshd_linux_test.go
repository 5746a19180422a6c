package cause

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/sys/unix"

	"fettle/internal/means"
)

const (
	sshdEnv = "FETTLE_TEST_SSHD"
	seenDir = "/run/seen/" // what the fake sshd was asked, and what it saw
)

func TestMain(m *testing.M) {
	if os.Getenv(sshdEnv) != "" {
		if err := fakeSSHD(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(255)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// fakeSSHD answers as OpenSSH's sshd does; /run/mode says what is wrong with it.
func fakeSSHD(args []string) error {
	b, _ := os.ReadFile("/run/mode")
	mode := strings.TrimSpace(string(b))
	switch args[0] {
	case "-T":
		if mode == "no configuration" {
			return errors.New("cannot read it\nat all")
		}
		set, err := os.ReadFile("/run/settings")
		os.Stdout.Write(set)
		return errors.Join(err, os.WriteFile(seenDir+"asked", []byte(strings.Join(args, " ")), 0o600))
	case "-t":
		text, err := os.ReadFile(args[2])
		for i, line := range strings.Split(string(text), "\n") {
			if strings.HasPrefix(line, "nonsense") || strings.HasPrefix(line, mode+" ") {
				return fmt.Errorf("%s: line %d: Bad configuration option: %s", args[2], i+1, line)
			}
		}
		return err
	}
	os.WriteFile(args[4], []byte("first\nsecond\nlast words\n"), 0o600)
	see := func(what, file string) error {
		text, err := os.ReadFile(file)
		return errors.Join(err, os.WriteFile(seenDir+what, text, 0o600))
	}
	hidden, err := os.ReadDir("/run/nscd")
	if err := errors.Join(err, see("hosts", "/etc/hosts"), see("pam", "/etc/pam.d/sshd"), see("config", args[2]),
		os.WriteFile(seenDir+"nscd", []byte(fmt.Sprint(len(hidden))), 0o600)); err != nil {
		return err
	}
	conn, err := net.FileConn(os.Stdin)
	if err != nil {
		return err
	}
	stack, _ := os.ReadFile("/etc/pam.d/sshd")
	if mode == "silent" {
		time.Sleep(time.Hour)
	}
	return serveSSH(conn, mode, string(stack))
}

func serveSSH(conn net.Conn, mode, stack string) error {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	host, err := ssh.NewSignerFromKey(key)
	if err != nil {
		return err
	}
	conf := &ssh.ServerConfig{PublicKeyCallback: func(c ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		folders, _ := filepath.Glob("/run/fettle-login-*/keys")
		for _, f := range folders {
			if b, _ := os.ReadFile(f); string(b) == string(ssh.MarshalAuthorizedKey(key)) && c.User() == "root" && mode != "strangers" &&
				!(strings.HasPrefix(stack, permits) && strings.Contains(stack, "pam_refuses")) { // alone
				return nil, nil
			}
		}
		return nil, errors.New("who is that?")
	}}
	if hosts, _ := os.ReadFile("/etc/hosts"); mode == "slow" || mode == "slow names" && !strings.Contains(string(hosts), "192.0.2.7") {
		conf.AuthLogCallback = func(_ ssh.ConnMetadata, method string, _ error) {
			if method == "none" {
				time.Sleep(800 * time.Millisecond)
			}
		}
	}
	conf.AddHostKey(host)
	_, chans, reqs, err := ssh.NewServerConn(conn, conf)
	if err != nil {
		return err
	}
	go ssh.DiscardRequests(reqs)
	for c := range chans {
		if mode == "no session" {
			c.Reject(ssh.Prohibited, "no session for you")
			continue
		}
		ch, in, err := c.Accept()
		if err != nil {
			return err
		}
		for r := range in {
			os.WriteFile(seenDir+"run", fmt.Appendf(nil, "%s %s", r.Type, r.Payload[4:]), 0o600)
			r.Reply(mode != "no command", nil)
			switch {
			case mode == "another command":
				fmt.Fprintln(ch, "this account is not available")
			case r.Type == "exec":
				fmt.Fprint(ch, strings.Repeat("welcome\n", 1000), word, "\n")
			default:
				ch.Write([]byte{0, 0, 0, 5, 2, 0, 0, 0, 3})
			}
			ch.Close()
		}
	}
	return nil
}

const (
	itsSettings = "usepam yes\nUseDNS yes\nlistenaddress 0.0.0.0:22\nnonsense 1\nforcecommand /bin/x y\nloglevel INFO\n"
	itsStack    = "auth required pam_permit.so\nauth required pam_one.so\naccount required pam_two.so  a\n" +
		"session optional pam_two.so a\nsession required pam_refuses.so\n"
)

// TestFakeServer makes the experiments on a host that is a few files, with an sshd that is this test, in namespaces.
func TestFakeServer(t *testing.T) {
	if !means.Inside(t, unix.CLONE_NEWNS|unix.CLONE_NEWPID|unix.CLONE_NEWNET, 10*means.Patience) {
		return
	}
	for _, dir := range []string{"/etc", "/run"} {
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=755"); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"/etc/nsswitch.conf": "hosts: files\n", "/etc/hosts": "127.0.0.1 localhost\n",
		"/etc/resolv.conf": "nameserver 192.0.2.53\nnameserver 192.0.2.54\n", "/etc/pam.d/sshd": itsStack, "/run/nscd/socket": "",
		"/run/sshd":     "#!/bin/sh\n" + sshdEnv + "=1 GORACE=atexit_sleep_ms=0 exec '" + self + "' \"$@\"\n",
		"/run/getent":   "#!/bin/sh\nsleep 0.3\nexit 2\n",
		"/run/settings": itsSettings, seenDir + "x": ""} {
		put(t, name, text)
	}
	if err := unix.Mount("/run/getent", Getent, "", unix.MS_BIND, ""); err != nil {
		means.Missing(t, "needs "+Getent)
	}
	options := func() Options {
		return Options{Client: netip.MustParseAddr("192.0.2.7"), SSHD: "/run/sshd", Limit: means.Patience}
	}
	var told []string
	o := options()
	o.Tell = func(s string) { told = append(told, s) }
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"as the server is", "the client's address has a name", "and no PAM module is asked",
		"and no shell is started"} {
		if told[i] != want || r.Steps[i].Name != want || r.Steps[i].Seconds <= 0 || r.Steps[i].Seconds > means.Patience.Seconds() {
			t.Errorf("%q and %+v, want %s", told[i], r.Steps[i], want)
		}
	}
	if r.User != "root" || r.Client != "192.0.2.7" || r.Total != r.Steps[0].Seconds || r.Floor <= 0 || r.Floor > r.Total ||
		r.Explained() > r.Delay() {
		t.Errorf("%+v", r)
	}
	if asked := seen(t,
		"asked"); asked != "-T -f /etc/ssh/sshd_config -C user=root,host=192.0.2.7,addr=192.0.2.7,laddr=127.0.0.1,lport=22" {
		t.Errorf("sshd was asked %s", asked)
	}
	slowNames(t, options)
	logins(t, options)
	failures(t, options)
	oneByOne(t, options)
	motds(t, options)
	cgroups(t)
	if left, _ := filepath.Glob("/run/fettle-login-*"); len(left) > 0 {
		t.Errorf("%q stay", left)
	}
}

func put(t *testing.T, name, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o755)); err != nil {
		t.Fatal(err)
	}
}

func seen(t *testing.T, what string) string {
	t.Helper()
	b, err := os.ReadFile(seenDir + what)
	if err != nil {
		t.Error(err)
	}
	return string(b)
}

// opened is a bench, and experiments on it, until done.
func opened(t *testing.T, o Options) (x *experiments, done func()) {
	t.Helper()
	if err := o.Check(); err != nil {
		t.Fatal(err)
	}
	b, err := newBench(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	x = &experiments{bench: b, r: &Report{}}
	if err := x.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return x, func() { means.Within(t, "the bench to be closed", b.close) }
}

// logins: sshd sees what the variant replaces, and this host does not.
func logins(t *testing.T, options func() Options) {
	x, done := opened(t, options())
	defer done()
	for _, c := range []struct {
		v           variant
		hosts, nscd string
		run         string
		config      string
	}{
		{variant{}, "127.0.0.1 localhost\n", "1", "exec echo " + word, "\nloglevel INFO\n"},
		{variant{files: map[string][]byte{"/etc/hosts": []byte("other\n")}, hide: []string{"/run/nscd", "/run/none"}}, "other\n",
			"0", "exec echo " + word,
			"\nforcecommand /bin/x y\n"},
		{variant{sftp: true, set: map[string]string{"loglevel": "DEBUG"}}, "127.0.0.1 localhost\n", "1", "subsystem fettle",
			"\nloglevel DEBUG\n"},
		{variant{sftp: true}, "127.0.0.1 localhost\n", "1", "subsystem fettle", "\nforcecommand none\n"},
	} {
		began := time.Now()
		took, err := x.login(t.Context(), c.v)
		if err != nil || took.accepted <= 0 || took.opened < took.accepted || took.output < took.opened ||
			took.output > time.Since(began) {
			t.Errorf("%+v: %+v, %v", c.v, took, err)
		}
		config := "\n" + seen(t, "config")
		if h, n, r := seen(t, "hosts"), seen(t, "nscd"), seen(t, "run"); h != c.hosts || n != c.nscd || r != c.run ||
			!strings.Contains(config, c.config) {
			t.Errorf("%+v: sshd sees %q, %s files of nscd, runs %q, is set %s", c.v, h, n, r, config)
		}
		if strings.Contains(config, "nonsense") || strings.Contains(config, "listenaddress") || !strings.Contains(config,
			"\nauthenticationmethods publickey\n") {
			t.Errorf("the private sshd is set %s", config)
		}
	}
	if b, err := os.ReadFile("/etc/hosts"); string(b) != "127.0.0.1 localhost\n" {
		t.Errorf("this host has %q, %v", b, err)
	}
	if hosts := string(x.quick.files["/etc/hosts"]); !strings.HasPrefix(hosts, "192.0.2.7 ") || x.stack == nil || x.service != "sshd" {
		t.Errorf("%q, %+v of %q", hosts, x.stack, x.service)
	}
	for _, what := range []string{"/etc/nsswitch.conf", "/etc/hosts"} { // what is not there cannot be replaced
		if err := os.Rename(what, "/etc/kept"); err != nil {
			t.Fatal(err)
		}
		y := &experiments{bench: x.bench, r: &Report{}}
		if err := y.prepare(t.Context()); err != nil || len(y.r.Unknown) != 1 || !strings.HasPrefix(y.r.Unknown[0],
			"lookups of the client's name: ") ||
			y.quick.files != nil {
			t.Errorf("without %s: %+v, %v", what, y.r, err)
		}
		if err := os.Rename("/etc/kept", what); err != nil {
			t.Fatal(err)
		}
	}
	y := &experiments{bench: x.bench, r: &Report{}}
	y.bench.set = append(settings{{"pamservicename", "none"}}, x.set...)
	err := y.prepare(t.Context())
	if y.stack != nil || err == nil && len(y.r.Unknown) == 0 {
		t.Errorf("a stack that is not there: %+v, %v", y.r, err)
	}
}

// failures: why a login, or sshd itself, fails is said, with its last words.
func failures(t *testing.T, options func() Options) {
	defer os.Remove("/run/mode")
	const login = "logging in as root through a private sshd: "
	for _, c := range []struct {
		mode, want string
		limit      time.Duration
	}{
		{"strangers", login + "ssh: handshake failed: ", 0},
		{"no session", login + "ssh: rejected: administratively prohibited (\"no session for you\"); sshd says: second; last words", 0},
		{"no command", login + "the session was opened, and the server refused to run anything in it; sshd says: second; last words", 0},
		{"another command", "", 0},
		{"silent", login + "ssh: handshake failed: read tcp", 300 * time.Millisecond},
		{"no configuration",
			"asking sshd for its effective configuration (/run/sshd -T -f /etc/ssh/sshd_config): cannot read it; at all (exit status 255)", 0},
		{"authenticationmethods", "sshd does not accept its own effective configuration: ", 0},
		{"hostbasedauthentication", "sshd does not accept its own effective configuration: ", 0},
		{"loglevel", "", 0},
	} {
		put(t, "/run/mode", c.mode)
		o := options()
		if c.limit > 0 {
			o.Limit = c.limit
		}
		if err := o.Check(); err != nil {
			t.Fatal(err)
		}
		b, err := newBench(t.Context(), o)
		if err == nil {
			_, err = b.login(t.Context(), variant{})
			b.closeNow()
		}
		if (err != nil) != (c.want != "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.mode, err, c.want)
		}
	}
	put(t, "/run/mode", "silent")
	x, _ := opened(t, options())
	defer x.closeNow()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	means.Within(t, "a login that is given up", func() {
		if _, err := x.login(ctx, variant{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("given up: %v", err)
		}
	})
	os.Remove("/run/mode")
	for what, v := range map[string]variant{"replacing /none/file for one process: ": {files: map[string][]byte{"/none/file": nil}},
		"hiding /etc/hosts from one process: ": {hide: []string{"/etc/hosts"}}} {
		if _, err := x.login(t.Context(), v); err == nil || !strings.Contains(err.Error(), "starting sshd: "+what) {
			t.Errorf("%v, want %s", err, what)
		}
	}
	o := options()
	o.SSHD = "/run/none"
	if _, err := Run(t.Context(), o); err == nil || !strings.HasPrefix(err.Error(), "OpenSSH's server is needed for the experiments: ") {
		t.Errorf("without sshd: %v", err)
	}
}

// closeNow removes what a bench has, and does not wait for what hangs: it ends with this test's namespace.
func (b *bench) closeNow() {
	if b.wire != nil {
		b.wire.close()
	}
	os.RemoveAll(b.dir)
}

// oneByOne: what was gained by taking away names or modules is shared among those that are slow by themselves.
func oneByOne(t *testing.T, options func() Options) {
	x, done := opened(t, options())
	defer done()
	x.names(t.Context(), 8) // getent takes a third of a second for each source
	if c := x.r.Causes; len(c) != 1 || c[0].Name != "nss:files" || c[0].On != "server" || !near(c[0].Seconds, 8) ||
		len(c[0].Evidence) != 2 ||
		c[0].Evidence[0] != "sshd has UseDNS yes: it asks for the name of 192.0.2.7 at each login" ||
		!strings.HasPrefix(c[0].Evidence[1], "getent -s files: nothing after ") {
		t.Errorf("names: %+v", c)
	}
	put(t, "/etc/nsswitch.conf", "hosts: dns\n")
	x.bench.set = x.set.with(map[string]string{"usedns": "no"})
	x.r = &Report{}
	x.names(t.Context(), 8)
	if c := x.r.Causes; len(c) != 1 || c[0].Name != ReverseDNS || !near(c[0].Seconds, 8) || len(c[0].Evidence) != 4 ||
		c[0].Evidence[0] != "sshd has UseDNS no: a PAM module or hosts.allow asks for the name of 192.0.2.7" ||
		!strings.HasPrefix(c[0].Evidence[2], "name server 192.0.2.53: ") || !strings.HasPrefix(c[0].Evidence[3],
		"name server 192.0.2.54: ") {
		t.Errorf("name servers: %+v", c)
	}
	put(t, "/run/getent", "#!/bin/sh\nexit 3\n")
	x.r = &Report{}
	x.names(t.Context(), 1<<20)
	if len(x.r.Unknown) != 1 || !strings.HasPrefix(x.r.Unknown[0], "getent -s dns: exit status 3") {
		t.Errorf("a source that fails: %+v", x.r)
	}
	// Modules: so much slower than nothing that each counts, or so much faster that none does.
	slow, quick := times{output: -time.Hour}, times{output: 2 * time.Hour}
	x.r = &Report{}
	mods, err := x.modules(t.Context(), 5, quick, slow)
	var names []string
	for _, m := range mods {
		names = append(names, string(m.rule.Facility)+" "+m.rule.Name())
	}
	if want := []string{"auth pam_one", "account pam_two", "session pam_two"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("%q, %v, want %q", names, err, want)
	}
	if c := x.r.Causes; len(c) != 2 || c[0].Name != "pam:pam_one" || c[0].Seconds != 5 || c[1].Name != "pam:pam_two" ||
		c[1].Seconds != 0 ||
		c[0].Evidence[0] != "/etc/pam.d/sshd:2: auth required pam_one.so" || len(c[1].Evidence) != 4 ||
		c[1].Evidence[0] != "/etc/pam.d/sshd:3: account required pam_two.so a" {
		t.Errorf("modules: %+v", c)
	}
	if u := x.r.Unknown; len(u) != 1 || !strings.HasPrefix(u[0], "PAM session pam_refuses alone: logging in as root ") {
		t.Errorf("a module that refuses: %q", u)
	}
	x.r = &Report{}
	if mods, err := x.modules(t.Context(), 5, times{}, slow); err != nil || len(mods) != 0 || len(x.r.Causes) != 0 {
		t.Errorf("modules without which nothing is gained: %+v, %+v, %v", mods, x.r.Causes, err)
	}
	x.r = &Report{}
	if mods, err := x.modules(t.Context(), 5, quick, quick); err != nil || len(mods) != 0 || len(x.r.Steps) != 3 {
		t.Errorf("modules that cost nothing: %+v, %+v, %v", mods, x.r.Steps, err)
	}
	// GSSAPI is for those who try it.
	x.r = &Report{}
	x.ifTried(t.Context())
	if len(x.r.Steps) != 0 || len(x.r.Unknown) != 0 {
		t.Errorf("without GSSAPI: %+v", x.r)
	}
	put(t, "/run/settings", itsSettings+"gssapiauthentication yes\n")
	put(t, "/run/mode", "slow")
	x.ifTried(t.Context())
	if c := x.r.IfTried; len(x.r.Steps) != 1 || len(x.r.Unknown) != 0 || len(x.r.Causes) != 0 || len(c) != 1 || c[0].Name != GSSAPI ||
		c[0].Seconds < 0.8 || c[0].Seconds != x.r.Steps[0].Seconds || len(c[0].Evidence) != 1 {
		t.Errorf("with GSSAPI: %+v", x.r)
	}
	put(t, "/run/mode", "")
	for _, c := range []struct {
		seconds float64
		name    string
	}{{1000, "pam:pam_systemd"}, {0, Logind}} { // there is no bus, and that is said immediately
		cause := Cause{Name: "pam:pam_systemd", Seconds: c.seconds}
		x.logind(t.Context(), &cause)
		if cause.Name != c.name || len(cause.Evidence) != 1 || !strings.HasPrefix(cause.Evidence[0], "the system's D-Bus: ") {
			t.Errorf("logind: %+v, want %s", cause, c.name)
		}
	}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-6 }

// slowNames: what the client's name costs is found, and a login without it made.
func slowNames(t *testing.T, options func() Options) {
	put(t, "/run/mode", "slow names")
	defer os.Remove("/run/mode")
	r, err := Run(t.Context(), options())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Unknown) > 0 && strings.Contains(r.Unknown[0], "this host is busy") {
		t.Logf("too busy to tell: %q", r.Unknown)
		return
	}
	if len(r.Causes) == 0 || r.Causes[0].Name != "nss:files" || r.Causes[0].Seconds < 0.5 || r.Without >= r.Total ||
		r.Explained() < 0.3 ||
		r.Steps[len(r.Steps)-1].Name != "as the server is, without the causes" {
		t.Errorf("%+v", r)
	}
}

// cgroups: where this process is in a user's session, sshd is started where the daemon is.
func cgroups(t *testing.T) {
	if err := unix.Mount("tmpfs", "/sys/fs/cgroup", "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		own, folder, want string
		in                bool
	}{
		{"0::/system.slice/ssh.service\n", "", "", false}, {"0::/user.slice/user-0.slice/x.scope\n", "", "", true},
		{"0::/user.slice/user-0.slice/x.scope\n", "sshd.service", "sshd.service", true},
		{"0::/user.slice/user-0.slice/x.scope\n", "ssh.service", "ssh.service", true},
		{"0::/system.slice/x.service\n", "", "", false},
	} {
		put(t, "/run/cgroup", c.own)
		if err := unix.Mount("/run/cgroup", "/proc/self/cgroup", "", unix.MS_BIND, ""); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll("/sys/fs/cgroup/system.slice/"+c.folder, 0o755); err != nil {
			t.Fatal(err)
		}
		f, in := daemonCgroup()
		name := ""
		if f != nil {
			name = filepath.Base(f.Name())
			f.Close()
		}
		if name != c.want || in != c.in {
			t.Errorf("%q: %q, %t; want %q, %t", c.own, name, in, c.want, c.in)
		}
		if err := unix.Unmount("/proc/self/cgroup", unix.MNT_DETACH); err != nil {
			t.Fatal(err)
		}
	}
}

// motds: of the scripts of pam_motd those that run-parts runs are timed, and the slow and broken ones named.
func motds(t *testing.T, options func() Options) {
	x, done := opened(t, options())
	defer done()
	const dir = "/etc/update-motd.d/"
	if out := x.motd(t.Context()); out != nil {
		t.Errorf("none: %q", out)
	}
	for name, text := range map[string]string{"10-slow": "sleep 0.2\n", "20-fails": "exit 1\n", "30-dot.sh": "exit 1\n",
		"40-plain": "exit 1\n"} {
		put(t, dir+name, "#!/bin/sh\n"+text)
	}
	if err := errors.Join(os.Chmod(dir+"40-plain", 0o644), os.Mkdir(dir+"50-folder", 0o755)); err != nil {
		t.Fatal(err)
	}
	out := x.motd(t.Context())
	if len(out) != 2 || !strings.HasPrefix(out[0], dir+"10-slow takes ") || !strings.HasPrefix(out[1], dir+"20-fails takes ") {
		t.Errorf("%q", out)
	}
	if s := x.r.Steps; len(s) != 2 || s[0].Name != dir+"10-slow" || s[0].Seconds < 0.2 || s[1].Name != dir+"20-fails" {
		t.Errorf("%+v", s)
	}
}
