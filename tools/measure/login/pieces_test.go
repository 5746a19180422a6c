package login

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fettle/internal/means"
	"fettle/tools/measure/login/cause"
)

// TestParts: single lines of ssh's log, and what becomes of them.
func TestParts(t *testing.T) {
	begin := "0.010 debug1: Connecting to h [10.0.0.1] port 22.\n0.020 debug1: Connection established.\n" +
		"0.030 debug1: Remote protocol version 2.0, remote software version X_1\n0.040 debug1: Authenticating to h:22 as 'anna'\n" +
		"0.050 debug1: SSH2_MSG_NEWKEYS received\n0.060 debug2: SSH2_MSG_SERVICE_ACCEPT received\n"
	const spans = "ssh starts 0.010 server 0.000\nconnect 0.010 server 0.010 tries 1\nbanner 0.010 server 0.010\n" +
		"key exchange 0.020 server 0.000\nservice request 0.010 server 0.000\n"
	for _, c := range []struct{ name, log, want string }{
		{"two addresses", "0.010 debug1: resolving \"h\" port 22\n0.030 debug1: Connecting to h [::1] port 22.\n" +
			"0.040 debug1: Connecting to h [10.0.0.2] port 22.\n" +
			"0.060 debug1: Connection established.\n0.070 OUTPUT\n",
			"address 10.0.0.2\nssh starts 0.010 server 0.000\nresolve 0.020 server 0.000\n" +
				"connect 0.030 server 0.030 tries 2\nbanner 0.010 server 0.010\ntotal 0.070\n"},
		{"no address", "0.010 debug1: Connecting to h port 22.\n0.020 OUTPUT\n",
			"ssh starts 0.010 server 0.000\nconnect 0.010 server 0.010 tries 1\ntotal 0.020\n"},
		{"half an address", "0.010 debug1: Connecting to h [10.0.0.1\n0.020 OUTPUT\n",
			"ssh starts 0.010 server 0.000\nconnect 0.010 server 0.010 tries 1\ntotal 0.020\n"},
		{"a proxy", "0.010 debug1: Executing proxy command: exec nc h 22\n" +
			"0.500 debug1: Remote protocol version 2.0, remote software version Y\n0.600 OUTPUT\n",
			"server Y\nssh starts 0.010 server 0.000\nproxy 0.490 server 0.000\nkey exchange 0.100 server 0.000\ntotal 0.600\n"},
		{"no software", "0.010 debug1: Connecting to h [1.1.1.1] port 22.\n0.020 debug1: Remote protocol version 2.0\n0.030 OUTPUT\n",
			"address 1.1.1.1\nssh starts 0.010 server 0.000\nconnect 0.010 server 0.010 tries 1\n" +
				"key exchange 0.010 server 0.000\ntotal 0.030\n"},
		{"the time goes back", "0.050 debug1: Connecting to h [1.1.1.1] port 22.\n0.020 debug1: Connection established.\n0.030 OUTPUT\n",
			"address 1.1.1.1\nssh starts 0.050 server 0.000\nconnect 0.000 server 0.000 tries 1\n" +
				"banner 0.000 server 0.000\ntotal 0.050\n"},
		{"one method twice", begin + "0.070 debug1: Next authentication method: publickey\n0.075 debug1: Offering public key: a\n0.080 debug1: " +
			"Next authentication method: password\n0.100 debug1: Next authentication method: publickey\n0.110 debug1: Offering RSA public key: b\n" +
			"0.130 debug1: Authentication succeeded (publickey).\n0.140 debug1: Sending command: x\n0.200 OUTPUT\n",
			"server X_1\naddress 10.0.0.1\nuser anna\nmethod publickey\n" + spans + "auth none 0.010 server 0.000\n" +
				"auth publickey 0.040 server 0.000 tries 2\n" +
				"auth password 0.020 server 0.000\nsession open 0.010 server 0.000\nfirst output 0.060 server 0.000\ntotal 0.200\n"},
		{"words of another phase", begin + "0.070 debug1: SSH2_MSG_NEWKEYS received\n0.080 debug1: SSH2_MSG_SERVICE_ACCEPT received\n" +
			"0.090 debug1: Sending command: x\n0.100 OUTPUT\n",
			"server X_1\naddress 10.0.0.1\nuser anna\n" + spans + "auth none 0.040 server 0.000\ntotal 0.100\n"},
		{"a method before its time", "0.010 debug1: Connecting to h [1.1.1.1] port 22.\n0.020 debug1: Remote protocol version 2.0\n" +
			"0.030 debug1: Next authentication method: password\nAuthenticated to h\n0.040 OUTPUT\n",
			"address 1.1.1.1\nssh starts 0.010 server 0.000\nconnect 0.010 server 0.010 tries 1\nkey exchange 0.020 server 0.000\ntotal 0.040\n"},
		{"waiting for answers", begin + "0.070 debug3: send packet: type 50\n0.080 debug3: send packet: type 50\n" +
			"0.090 debug3: receive packet: type 4\n" +
			"0.100 debug3: receive packet: type 51\n" +
			"0.105 debug3: receive packet: type 51\n0.110 debug3: send packet: type 50\n" +
			"0.120 debug1: Next authentication method: password\n" +
			"0.150 debug3: receive packet: type 52\n0.160 debug3: send packet: type 90\n0.190 debug3: receive packet: type 91\n0.200 OUTPUT\n",
			"server X_1\naddress 10.0.0.1\nuser anna\nmethod password\n" + spans + "auth none 0.060 server 0.040\n" +
				"auth password 0.030 server 0.030\n" +
				"session open 0.040 server 0.030\nfirst output 0.010 server 0.010\ntotal 0.200\n"},
		{"numbers and words", "0.010 debug1: Connecting to h [1.1.1.1] port 22.\n0.020 debug1: Remote protocol version 2.0\n" +
			"0.030 debug3: receive packet: type 21\n" +
			"0.040 debug1: SSH2_MSG_NEWKEYS received\n0.050 debug3: receive packet: type 6\n0.060 debug3: receive packet: type 6\n" +
			"0.070 debug3: receive packet: type x\n0.080 OUTPUT\n",
			"address 1.1.1.1\nssh starts 0.010 server 0.000\nconnect 0.010 server 0.010 tries 1\nkey exchange 0.010 server 0.000\n" +
				"service request 0.020 server 0.000\nauth none 0.030 server 0.000\ntotal 0.080\n"},
		{"a command is not output where numbers are told", begin + "0.070 debug3: send packet: type 50\n0.080 debug3: receive packet: type 52\n" +
			"0.090 debug1: Sending command: x\n0.100 OUTPUT\n",
			"server X_1\naddress 10.0.0.1\nuser anna\nmethod none\n" + spans + "auth none 0.020 server 0.010\n" +
				"session open 0.020 server 0.000\ntotal 0.100\n"},
	} {
		if got := show(&play(t, strings.ReplaceAll(c.log, "\nAuthenticated", "\n0.035 Authenticated")).l); got != c.want {
			t.Errorf("%s: got\n%swant\n%s", c.name, got, c.want)
		}
	}
	p := play(t, begin+"0.070 debug1: Authentications that can continue: publickey,password\n")
	if p.l.Offered != "publickey,password" {
		t.Errorf("offered: %q", p.l.Offered)
	}
	for i := range 40 {
		p.line(time.Second, fmt.Sprint("debug1: Next authentication method: m", i))
	}
	p.output(time.Second)
	if len(p.l.Spans) != maxSpans {
		t.Errorf("%d phases are kept, want %d", len(p.l.Spans), maxSpans)
	}
	if got := clip(strings.Repeat("x", 256)); len(got) != 256 {
		t.Errorf("of 256 bytes %d are kept", len(got))
	}
	if got := clip(strings.Repeat("x", 255) + "äx"); got != strings.Repeat("x", 255)+"?" {
		t.Errorf("kept is %q", got[250:])
	}
}

// TestWhyThereIsNoLogin: the reason as ssh tells it, and where it ended.
func TestWhyThereIsNoLogin(t *testing.T) {
	over, stop := context.WithCancelCause(t.Context())
	stop(errors.New("Ctrl-C"))
	late, end := context.WithTimeoutCause(t.Context(), 0, errLimit)
	defer end()
	none := errors.New("exit status 255")
	at := "0.100 debug1: Connecting to h [1.1.1.1] port 22.\n0.200 debug1: Remote protocol version 2.0\n" +
		"0.300 debug1: Authenticating to h:22 as 'anna'\n"
	for _, c := range []struct {
		name, log, stderr string
		ctx               context.Context
		want              string
	}{
		{"no word", at, "", t.Context(), `h: the login ended in the phase "key exchange" after 2.5 s: exit status 255`},
		{"standard error", at, "one\ndebug1: x\n\ntwo \ndebug2: y\n", t.Context(), `h: the login ended in the phase "key exchange": two`},
		{"at once", "0.010 OpenSSH_9.2p1, X\n0.020 bad option\n", "other", t.Context(), "h: ssh did not begin: bad option"},
		{"at once, without a word", "", "", t.Context(), `h: the login ended in the phase "ssh starts" after 2.5 s: exit status 255`},
		{"the last three", at + "0.400 a\n0.400 b\n0.400  \n0.400 c \n0.400 d\n", "x", t.Context(),
			`h: the login ended in the phase "key exchange": b; c; d`},
		{"too long", at + "0.400 a\n", "", late,
			`h: no answer in the phase "key exchange", 2.3 s after it began and 2.5 s after the login began (--limit 3m0s waits longer)`},
		{"stopped", at + "0.400 a\n", "", over, `h: interrupted in the phase "key exchange"`},
		{"another key", at + "0.400 @@@@@@@@\n0.400 @    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\n" +
			"0.400 Host key verification failed.\n", "", t.Context(),
			"h: its host key is not the one in known_hosts. Nothing was accepted and nothing was changed. " +
				"If the host was really reinstalled: " +
				"ssh-keygen -R removes the old key, and a login by hand shows the new one"},
		{"no key", at + "0.400 No ED25519 host key is known for h and you have requested strict checking.\n" +
			"0.400 Host key verification failed.\n", "", t.Context(),
			"h: its host key is not in known_hosts, and fettle accepts none: log in once by hand first"},
		{"refused", at + "0.400 anna@h: Permission denied (publickey).\n", "", t.Context(),
			"h refused the login of anna (anna@h: Permission denied (publickey).). fettle asks for no password: " +
				"a key, an agent or a Kerberos ticket is needed"},
		{"too many keys", "0.4 Received disconnect: Too many authentication failures\n", "", t.Context(),
			"h refused the login of the user (Received disconnect: Too many authentication failures). fettle asks for no password: " +
				"a key, an agent or a Kerberos ticket is needed"},
	} {
		p := play(t, c.log)
		err := p.failed(c.ctx, &Options{Host: "h", Limit: 90 * time.Second}, 2500*time.Millisecond, none, c.stderr)
		if err.Error() != c.want {
			t.Errorf("%s: %s\nwant %s", c.name, err, c.want)
		}
	}
}

// TestFirstOutput: the command's own word counts, however it arrives, else what came first.
func TestFirstOutput(t *testing.T) {
	means.Within(t, "output, and asking for it", func() { // outside of the bubble, in which nobody waits for a lock
		f := &firstOutput{start: time.Now(), enough: func() {}}
		for range 2 {
			f.Write([]byte("x"))
			f.at()
			f.text()
		}
	})
	synctest.Test(t, func(t *testing.T) {
		full := func() *firstOutput {
			return &firstOutput{start: time.Now(), enough: func() { t.Error("enough of little") }}
		}
		f := full()
		if _, ok := f.at(); ok {
			t.Error("output before there is any")
		}
		for i, s := range []string{"motd\n", "fettle-", "login 1 2 3 4", " \nmore", "fettle-login 9 9 9 9\n"} {
			time.Sleep(time.Second)
			if n, err := f.Write([]byte(s)); n != len(s) || err != nil {
				t.Error(n, err)
			}
			want := time.Second
			if i >= 3 {
				want = 4 * time.Second
			}
			if at, ok := f.at(); !ok || at != want {
				t.Errorf("after %q: at %s (%v), want %s", s, at, ok, want)
			}
		}
		if f.text() != "fettle-login 1 2 3 4 \nmore" {
			t.Errorf("kept: %q", f.text())
		}
		long := full()
		time.Sleep(time.Second)
		long.Write(bytes.Repeat([]byte("x"), 9<<10))
		if n := len(long.text()); n != 4<<10 {
			t.Errorf("%d bytes of another's words are kept", n)
		}
		long.Write([]byte("fettle-login\n" + strings.Repeat("y", 2000)))
		if n := len(long.text()); n != 1<<10 {
			t.Errorf("%d bytes of the command's words are kept", n)
		}
		half := full()
		half.Write(bytes.Repeat([]byte("x"), 8<<10))
		if n := len(half.text()); n != 8<<10 {
			t.Errorf("of 8 KiB %d bytes are kept", n)
		}
		enough := 0
		much := &firstOutput{start: time.Now(), enough: func() { enough++ }}
		much.Write(make([]byte, muchOutput))
		if enough != 0 {
			t.Error("a megabyte is too much")
		}
		if much.Write([]byte("x")); enough != 1 {
			t.Error("output without an end")
		}
	})
	means.Within(t, "the end of what is written", func() {
		end := &tail{max: 4}
		for _, s := range []string{"ab", "cde", "fghijk", ""} {
			if n, err := end.Write([]byte(s)); n != len(s) || err != nil {
				t.Error(n, err)
			}
		}
		if end.String() != "hijk" {
			t.Errorf("kept: %q", end.String())
		}
		if end.Write([]byte("l")); end.String() != "ijkl" {
			t.Errorf("kept: %q", end.String())
		}
	})
	for text, want := range map[string]Conn{
		"fettle-login 1.1.1.1 22 2.2.2.2 23\nx": {"1.1.1.1", "22", "2.2.2.2", "23"},
		"hi fettle-login 1 2 3\n":               {}, "fettle-login 1 2 3 4 5\n": {},
		"fettle-login\n1 2 3 4\n": {}, "1 2 3 4": {},
	} {
		p := newParser()
		if p.finish(time.Second, text); p.l.Conn != want || p.l.Total != time.Second {
			t.Errorf("%q: %+v after %s", text, p.l.Conn, p.l.Total)
		}
	}
}

// TestWhatIsSlow: what a phase may take beyond its round trips, and no more.
func TestWhatIsSlow(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		phase Phase
		most  time.Duration // with a round trip of 100 ms
	}{{Start, 300 * ms}, {Resolve, 300 * ms}, {Connect, 850 * ms}, {Banner, 400 * ms}, {Exchange, 950 * ms},
		{Service, 400 * ms}, {Auth("none"), 500 * ms},
		{Session, 500 * ms}, {Output, 400 * ms}, {Proxy, 2350 * ms}} {
		for over, slow := range map[time.Duration]bool{-ms: false, ms: true} {
			spans := []Span{{Phase: Connect, Took: 100 * ms, Tries: 1}, {Phase: c.phase, Took: c.most + over}}
			r := Result{Logins: []Login{{Spans: spans[:1]}, {Spans: spans[1:]}, {Spans: spans[1:]}}}
			if c.phase == Connect {
				r.Logins[1].Spans[0].Tries, r.Logins[2].Spans[0].Tries = 2, 2
			}
			r.sum()
			if (len(r.Slow) == 1) != slow || slow && r.Slow[0].Phase != c.phase {
				t.Errorf("%s of %s: slow are %+v", c.phase, c.most+over, r.Slow)
			}
		}
	}
	r := Result{Logins: []Login{{Total: 9 * time.Second, Spans: []Span{{Phase: Start, Took: time.Second},
		{Phase: Session, Took: 5 * time.Second, Server: 2600 * ms},
		{Phase: Banner, Took: 3 * time.Second, Server: 1500 * ms}}}}}
	r.sum()
	var order []string
	for _, s := range r.Slow {
		order = append(order, fmt.Sprint(s.Phase, " ", s.Waited()))
	}
	if want := []string{"session open true", "banner false", "ssh starts false"}; !slices.Equal(order, want) {
		t.Errorf("slow are %q, want %q", order, want)
	}
	even := stat("x", []Span{{Took: 4 * ms, Tries: 4}, {Took: ms, Tries: 1},
		{Took: 3 * ms, Tries: 3, Server: ms}, {Took: 2 * ms, Tries: 2, Server: 2 * ms}})
	if want := (Stat{Phase: "x", Median: 0.002, Min: 0.001, Max: 0.004, Server: 0.002, Tries: 2, N: 4}); even != want {
		t.Errorf("%+v, want %+v", even, want)
	}
	bounds := Result{Logins: make([]Login, 3), Total: Stat{Median: 1}}
	for first, cold := range map[time.Duration]bool{2 * time.Second: false, 2001 * ms: true} {
		bounds.Logins[0].Total = first
		if _, got := bounds.Cold(); got != cold {
			t.Errorf("the first took %s, most a second: cold %v", first, got)
		}
	}
	bounds.Total.Median, bounds.Logins[0].Total = 0.25, 750*ms
	if _, cold := bounds.Cold(); cold {
		t.Error("half a second more is not felt")
	}
}

// fake writes a shell script that stands for ssh. LOG is where it logs, MEANS what it says of the host; what it was given is in args.
func fake(t *testing.T, script string) (ssh string, args func() []string) {
	t.Helper()
	dir := t.TempDir()
	file, given := filepath.Join(dir, "ssh"), filepath.Join(dir, "args")
	text := `echo "$*" >> ` + given + `
if [ "$1" = -G ]; then MEANS; exit 0; fi
for a; do if [ "$last" = -E ]; then log=$a; fi; last=$a; done
say() { echo "$1" > "${log:-/dev/stderr}"; }
` + script
	if !strings.Contains(script, "MEANS=") {
		text = strings.Replace(text, "MEANS;", "echo hostname h; echo Port 22; echo port 23; echo ProxyJump none;", 1)
	} else {
		_, said, _ := strings.Cut(script, "MEANS=")
		said, _, _ = strings.Cut(said, "\n")
		text = strings.Replace(text, "MEANS;", said+";", 1)
	}
	return means.Script(t, file, text), func() []string {
		b, err := os.ReadFile(given)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSpace(string(b)), "\n")
	}
}

const goodLogin = `say 'OpenSSH_9.9p1, X'
say 'debug1: Connecting to h [10.0.0.1] port 22.'
say 'debug1: Connection established.'
say 'debug1: Remote protocol version 2.0, remote software version Y'
say 'debug1: SSH2_MSG_NEWKEYS received'
say 'debug2: SSH2_MSG_SERVICE_ACCEPT received'
say 'debug1: Next authentication method: publickey'
say 'Authenticated to h ([10.0.0.1]:22) using "publickey".'
`

const word = "echo motd; echo fettle-login 10.0.0.9 5000 10.0.0.1 22\n"

// TestMeasure drives a program that says what ssh says.
func TestMeasure(t *testing.T) {
	opts := "-o BatchMode=yes -o StrictHostKeyChecking=yes -o UpdateHostKeys=no -o ClearAllForwardings=yes -o ForwardAgent=no " +
		"-o ForwardX11=no -o PermitLocalCommand=no -o RequestTTY=no -o RemoteCommand=none"
	const alone = " -o ControlMaster=no -o ControlPath=none"
	const asks = " -- h echo fettle-login $SSH_CONNECTION"
	for _, c := range []struct {
		name, script string
		o            Options
		told         string
		args         []string // but the log's name
		err          string
	}{
		{name: "two", script: goodLogin + word, o: Options{Host: "h", N: 2}, told: "1/2 2/2",
			args: []string{"-G -- h", "-vvv " + opts + alone + " -E LOG" + asks, "-vvv " + opts + alone + " -E LOG" + asks}},
		{name: "another configuration", script: goodLogin + word, o: Options{Host: "h", N: 1, Config: "/x y"}, told: "1/1",
			args: []string{"-G -F /x y -- h", "-vvv -F /x y " + opts + alone + " -E LOG" + asks}},
		{name: "host-based", script: "# MEANS=echo hostbasedauthentication yes\n" + goodLogin + word, o: Options{Host: "h", N: 1}, told: "1/1",
			args: []string{"-G -- h", "-vvv " + opts + alone + asks}},
		{name: "host-based behind a jump host", script: "# MEANS=echo hostbasedauthentication yes; echo proxyjump j\n" + goodLogin + word,
			o: Options{Host: "h", N: 1}, told: "1/1",
			args: []string{"-G -- h", "-vvv " + opts + " -o HostbasedAuthentication=no" + alone + " -E LOG" + asks}},
		{name: "a silent command", script: goodLogin, o: Options{Host: "h", N: 1}, told: "1/1"},
		{name: "no login", script: "say 'anna@h: Permission denied (publickey).'; exit 255\n", o: Options{Host: "h", N: 2},
			err: "h refused the login of the user"},
		{name: "the end of a login that never was", script: "say 'debug1: Connecting to h [1.1.1.1] port 22.'\n", o: Options{Host: "h", N: 1},
			err: `h: the login ended in the phase "connect" after `},
		{name: "the second fails", o: Options{Host: "h", N: 3}, told: "1/3",
			script: "if [ -e \"$0.once\" ]; then say gone; exit 255; fi; touch \"$0.once\"\n" + goodLogin + word,
			err:    `login 2 of 3, after 1 that went well: h: ssh did not begin: gone`},
		{name: "a silent one that fails", script: goodLogin + "exit 1\n", o: Options{Host: "h", N: 1},
			err: `h: the login ended in the phase "session open" after `},
		{name: "no logins", script: "", o: Options{Host: "h"}, err: "0 logins: at least 1 is needed"},
		{name: "no configuration", script: "# MEANS=echo one >&2; printf 'two\\r\\n' >&2; exit 255\n", o: Options{Host: "h", N: 1},
			err: "h: what ssh's configuration says of it (ssh -G): one; two"},
		{name: "no word of it", script: "# MEANS=exit 7\n", o: Options{Host: "h", N: 1},
			err: "h: what ssh's configuration says of it (ssh -G): exit status 7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ssh, args := fake(t, c.script)
			var told []string
			c.o.SSH, c.o.Tell = ssh, func(done, all int) { told = append(told, fmt.Sprintf("%d/%d", done, all)) }
			var r *Result
			var err error
			means.Within(t, "the logins", func() { r, err = Measure(t.Context(), c.o) })
			if c.err != "" && (err == nil || !strings.HasPrefix(err.Error(), c.err)) || c.err == "" && err != nil {
				t.Fatalf("%v, want %q", err, c.err)
			}
			if got := strings.Join(told, " "); got != c.told {
				t.Errorf("told %q, want %q", got, c.told)
			}
			if c.args != nil {
				got := args()
				for i, line := range got {
					if before, after, ok := strings.Cut(line, " -E "); ok {
						_, after, _ = strings.Cut(after, " ")
						got[i] = before + " -E LOG " + after
					}
				}
				if !slices.Equal(got, c.args) {
					t.Errorf("ssh was called so: %q\nwant %q", got, c.args)
				}
			}
			if c.err != "" {
				return
			}
			l := r.First()
			if r.Host != "h" || len(r.Logins) != c.o.N || l.Client != "OpenSSH_9.9p1" || l.Server != "Y" ||
				l.Address != "10.0.0.1" || l.Method != "publickey" {
				t.Errorf("%+v", r)
			}
			if want := (Conn{"10.0.0.9", "5000", "10.0.0.1", "22"}); l.Conn != want && strings.Contains(c.script, "motd") {
				t.Errorf("the connection is %+v, want %+v", l.Conn, want)
			}
			var phases []string
			for _, s := range r.Phases {
				phases = append(phases, string(s.Phase))
			}
			want := "ssh starts, connect, banner, key exchange, service request, auth none, auth publickey, session open"
			if strings.Join(phases, ", ") != want {
				t.Errorf("phases %q, want %s", phases, want)
			}
		})
	}
}

// TestTooLongALogin: it is ended, with all that it started, and told where it was.
func TestTooLongALogin(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	ssh, _ := fake(t, "say 'debug1: Connecting to h [1.1.1.1] port 22.'\nsleep 600 & echo $! > \"$0.child\"; wait\n")
	o := Options{Host: "h", N: 1, SSH: ssh, Limit: 300 * time.Millisecond}
	means.Within(t, "a login of 0.3 s at most", func() {
		if _, err := Measure(t.Context(), o); err == nil || !strings.Contains(err.Error(), "(--limit 1s waits longer)") {
			t.Error(err)
		}
	})
	b, err := os.ReadFile(ssh + ".child")
	if err == nil {
		means.Until(t, "the child's end", func() bool {
			st, err := os.ReadFile("/proc/" + strings.TrimSpace(string(b)) + "/stat")
			return err != nil || strings.Contains(string(st), ") Z ")
		})
	}
	over, stop := context.WithCancel(t.Context())
	defer stop()
	os.Remove(ssh + ".child")
	go func() { // which begins when ssh has
		for over.Err() == nil {
			if _, err := os.Stat(ssh + ".child"); err == nil {
				stop()
			}
			time.Sleep(time.Millisecond)
		}
	}()
	o.Limit = 0
	means.Within(t, "a login that is interrupted", func() {
		if _, err := Measure(over, o); err == nil || err.Error() != `h: interrupted in the phase "connect"` {
			t.Error(err)
		}
	})
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestHostsThatAreRefused(t *testing.T) {
	for host, want := range map[string]string{
		"": "the host's name is empty", "-oX": `host "-oX" begins with -`,
		"a b": `host "a b" has a space or a control character`, "a\x7f": "control character",
		"a\n": "control character", "a;b": `host "a;b" has a character in it that a shell acts on`, "$(x)": "a shell acts on",
		"a`":     "a shell acts on",
		"anna@h": "", "ssh://anna@h:22": "", "[::1]": "", "h%x~*?": "",
	} {
		if err := CheckHost(host); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", host, err, want)
		}
	}
	o := Options{Host: "h", N: 1, SSH: filepath.Join(t.TempDir(), "none")}
	if err := o.check(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "OpenSSH's client is needed (package openssh-client): ") {
		t.Error(err)
	}
	o = Options{Host: "h", N: 1, means: map[string]string{}}
	o.SSH = "/bin/sh"
	if err := o.check(t.Context()); err != nil || o.Limit != DefaultLimit {
		t.Errorf("%v; a limit of %s", err, o.Limit)
	}
	o.SSH = filepath.Join(t.TempDir(), "ssh")
	if err := os.WriteFile(o.SSH, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	want := "starting " + o.SSH + ": fork/exec " + o.SSH + ": permission denied"
	if _, err := Measure(t.Context(), o); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if _, err := Control(t.Context(), o); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	ssh, _ := fake(t, "")
	o = Options{Host: "h", N: 1, SSH: ssh}
	if err := o.check(t.Context()); err != nil || o.means["port"] != "22" || o.means["hostname"] != "h" || o.proxied() {
		t.Errorf("%v: %q", err, o.means) // the first of each counts
	}
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	if _, err := Measure(t.Context(), o); err == nil || !strings.HasPrefix(err.Error(), "making a folder for ssh's log: ") {
		t.Error(err)
	}
	t.Setenv("KRB5CCNAME", "/x")
	t.Setenv("FETTLE_OTHER", "y")
	if env := environ(); !slices.Contains(env, "KRB5CCNAME=/x") || !slices.Contains(env, "SSH_ASKPASS_REQUIRE=never") ||
		slices.Contains(env, "FETTLE_OTHER=y") {
		t.Errorf("%q", env)
	}
}

// TestControl: logins over a connection of their own, which ends with them.
func TestControl(t *testing.T) {
	const master = `for a; do case $a in ControlPath=*) socket=${a#ControlPath=};; -N) master=1;; esac; done
if [ "$master" ]; then trap 'echo ended >> "$0.ended"; rm -f "$socket"; exit' TERM; FAIL; touch "$socket"; while :; do sleep 0.02; done; fi
`
	const mux = "say 'debug2: mux_client_hello_exchange: master version 4'\n"
	for _, c := range []struct{ name, fail, script, err string }{
		{"three", ":", mux + word, ""},
		{"no use of it", ":", goodLogin + word, "h: ssh did not use the control socket"},
		{"a login fails", ":", "say gone; exit 255\n", "over a control socket: h: ssh did not begin: gone"},
		{"no connection", "echo 'no  route' >&2; echo x >&2; exit 255", mux, "h: a connection to share: no route x"},
		{"never", "while :; do sleep 0.02; done", mux, "h: a connection to share: not open after 400ms"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ssh, args := fake(t, strings.Replace(master, "FAIL", c.fail, 1)+c.script)
			var told []string
			o := Options{Host: "h", N: 3, SSH: ssh, Limit: means.Patience,
				Tell: func(done, all int) { told = append(told, fmt.Sprintf("%d/%d", done, all)) }}
			if c.name == "never" {
				o.Limit = 400 * time.Millisecond
			}
			var s Stat
			var err error
			means.Within(t, "logins over one connection", func() { s, err = Control(t.Context(), o) })
			if c.err == "" && err != nil || c.err != "" && (err == nil || err.Error() != c.err) {
				t.Fatalf("%v, want %q", err, c.err)
			}
			var socket string
			for i, a := range args() {
				_, path, ok := strings.Cut(a, "ControlPath=")
				if !ok {
					continue
				}
				path, _, _ = strings.Cut(path, " ")
				if socket = path; (i == 1) != strings.Contains(a, "ControlMaster=yes") || (i > 1) != strings.Contains(a, "ControlMaster=no") ||
					(i > 1) != strings.Contains(a, "-vvv") {
					t.Errorf("call %d: %s", i, a)
				}
			}
			if _, err := os.Lstat(filepath.Dir(socket)); !os.IsNotExist(err) {
				t.Errorf("the socket's folder is left: %v", err)
			}
			if c.fail == ":" {
				if b, _ := os.ReadFile(ssh + ".ended"); string(b) != "ended\n" {
					t.Errorf("the connection ended %q", b)
				}
			}
			if c.err == "" && (s.N != 3 || s.Phase != Mux || s.Median <= 0 || s.Min > s.Median || strings.Join(told, " ") != "1/3 2/3 3/3") {
				t.Errorf("%+v, told %q", s, told)
			}
		})
	}
}

// TestExplain: what is slow, and by what it is explained, from the client and from the server.
func TestExplain(t *testing.T) {
	slowOne := func(p Phase, median, server float64) Stat {
		return Stat{Phase: p, Median: median, Server: server, N: 1}
	}
	result := func(method string, total float64, slow ...Stat) *Result {
		l := Login{Method: method, User: "anna", Spans: []Span{{Phase: Connect, Took: 100 * time.Millisecond, Tries: 1}}}
		return &Result{Host: "h", Logins: []Login{l}, Slow: slow, Total: Stat{Median: total}}
	}
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
	o := Options{Host: "h", N: 3, SSH: "/bin/sh", means: map[string]string{"hostname": "10.0.0.1"}}
	never := func(context.Context, *Login) (*cause.Report, error) { t.Error("the server was asked"); return nil, nil }
	e, err := Explain(t.Context(), o, result("publickey", 0.2), never)
	if err != nil || e.Delay != 0 || e.Share() != 0 || e.Causes == nil || len(e.Causes) != 0 {
		t.Errorf("nothing is slow: %+v %v", e, err)
	}
	e, err = Explain(t.Context(), o, result("publickey", 9, slowOne(Session, 2.25, 2), slowOne(Start, 1.05, 0)), nil)
	if err != nil || !near(e.Delay, 2.25-0.2-0.05+1.05-0.05) || e.Explained != 0 || e.Share() != 0 || e.Server != nil {
		t.Errorf("no server to ask: %+v %v", e, err)
	}

	rep := &cause.Report{Total: 2.5, Floor: 0.2, Without: 0.5, Unknown: []string{"x"},
		Causes: []cause.Cause{{Name: "pam", On: "server", Seconds: 0.5}, {Name: "motd", On: "server", Seconds: 1.5},
			{Name: "tie", Seconds: 0.5}},
		IfTried: []cause.Cause{{Name: "motd", Evidence: []string{"tried"}}, {Name: "gssapi", Evidence: []string{"never"}}}}
	var asked *Login
	server := func(_ context.Context, l *Login) (*cause.Report, error) { asked = l; return rep, nil }
	r := result("publickey", 9, slowOne(Session, 3.25, 3))
	e, err = Explain(t.Context(), o, r, server)
	var names []string
	for _, c := range e.Causes {
		names = append(names, fmt.Sprint(c.Name, c.Evidence))
	}
	if err != nil || asked != r.First() || e.Server != rep || !near(e.Delay, 3) || !near(e.Explained, 2) || !near(e.Share(), 2.0/3) ||
		!slices.Equal(names, []string{"motd[tried]", "pam[]", "tie[]"}) || !slices.Equal(e.Unknown, []string{"x"}) {
		t.Errorf("%+v %q %v", e, names, err)
	}
	e, err = Explain(t.Context(), o, result("publickey", 9, slowOne(Session, 1.25, 1)), server)
	if err != nil || !near(e.Explained, e.Delay) || !near(e.Share(), 1) {
		t.Errorf("more explained than there is: %+v", e)
	}
	failing := func(context.Context, *Login) (*cause.Report, error) { return nil, errors.New("no root") }
	if e, err := Explain(t.Context(), o, r, failing); err != nil || !slices.Equal(e.Unknown, []string{"causes on the server: no root"}) {
		t.Errorf("%+v %v", e, err)
	}
	over, stop := context.WithCancel(t.Context())
	_, err = Explain(over, o, r, func(context.Context, *Login) (*cause.Report, error) { stop(); return nil, errors.New("x") })
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}

	// The method that succeeds cannot be left out; another is, and what is gained is what it costs.
	hostbased := result("hostbased", 5, slowOne(Auth("hostbased"), 2.5, 0.5))
	e, err = Explain(t.Context(), o, hostbased, never)
	if err != nil || len(e.Causes) != 1 || e.Causes[0].Name != cause.Hostbased || e.Causes[0].On != "client" || e.Causes[0].Seconds != 2.5 ||
		!slices.Equal(e.Causes[0].Evidence, []string{"auth hostbased takes 2.50 s, 0.50 s of it waiting for the server",
			"it is the method that succeeds: it cannot be left out to compare"}) {
		t.Errorf("%+v %v", e, err)
	}
	ssh, args := fake(t, goodLogin+word)
	quick := o
	quick.SSH = ssh
	for _, c := range []struct {
		total, took, server, seconds float64
		on                           string
	}{{60, 2, 1.5, 2, "server"}, {60, 2, 0.5, 2, "client"}, {60, 200, 0, 60, "client"}, {0.1, 2, 0, 0, ""}} {
		e, err := Explain(t.Context(), quick, result("publickey", c.total, slowOne(Auth("gssapi-with-mic"), c.took, c.server)), nil)
		if err != nil || (len(e.Causes) == 1) != (c.seconds > 0) {
			t.Errorf("%+v: %+v %v", c, e, err)
			continue
		}
		if c.seconds == 0 {
			continue
		}
		// A login of the script takes some hundredths of a second, and on a loaded machine some tenths.
		if got := e.Causes[0]; got.Name != cause.GSSAPI || got.On != c.on || got.Seconds > c.seconds || got.Seconds < c.seconds-30 ||
			len(got.Evidence) != 2 || !strings.HasPrefix(got.Evidence[1], "with -o GSSAPIAuthentication=no the login takes ") {
			t.Errorf("%+v: %+v", c, got)
		}
		if c.seconds < 60 && e.Causes[0].Seconds != c.seconds {
			t.Errorf("%+v: %+v", c, e.Causes[0])
		}
	}
	if got := args(); len(got) != 8 || !strings.Contains(got[0], "-o GSSAPIAuthentication=no ") {
		t.Errorf("%d logins to compare: %q", len(got), got)
	}
	bad, _ := fake(t, "say gone; exit 255\n")
	quick.SSH = bad
	_, err = Explain(t.Context(), quick, result("publickey", 9, slowOne(Auth("hostbased"), 2, 0)), nil)
	if err == nil || err.Error() != "a login with -o HostbasedAuthentication=no, to compare: h: ssh did not begin: gone" {
		t.Error(err)
	}

	// What the server's name lookups take is fitted to what the client waited.
	for _, c := range []struct {
		waited float64
		added  float64
	}{{2, 1}, {0.5, -0.5}, {2.3, 0}, {0.44, 0}, {2.2, 1.2}, {1, 0}} {
		causes := []cause.Cause{{Name: cause.ReverseDNS, Seconds: 0.75}, {Name: "nss:sleep", Seconds: 0.25}, {Name: "pam", Seconds: 7}}
		added := stretch(causes, c.waited)
		factor := 1 + c.added
		if !near(added, c.added) || !near(causes[0].Seconds, 0.75*factor) || !near(causes[1].Seconds, 0.25*factor) || causes[2].Seconds != 7 ||
			len(causes[2].Evidence) != 0 || c.added != 0 && len(causes[1].Evidence) != 1 {
			t.Errorf("waited %v: %v added, %+v", c.waited, added, causes)
		}
	}
	if stretch([]cause.Cause{{Name: "pam", Seconds: 7}}, 1) != 0 {
		t.Error("no lookup is stretched")
	}
	dns := &cause.Report{Total: 1.5, Floor: 0.2, Without: 0.5, Causes: []cause.Cause{{Name: cause.ReverseDNS, On: "server", Seconds: 1}}}
	e, err = Explain(t.Context(), o, result("publickey", 9, slowOne(Auth("none"), 2.25, 2)),
		func(context.Context, *Login) (*cause.Report, error) { return dns, nil })
	if err != nil || !near(e.Causes[0].Seconds, 2) || !near(e.Explained, 2) {
		t.Errorf("%+v %v", e, err)
	}
	if _, ok := slow(result("x", 1), Session); ok {
		t.Error("what is not slow is")
	}
	for explained, want := range map[float64]bool{0.74: false, 0.76: true} {
		e := &Explanation{Delay: 1, Explained: explained, Causes: []cause.Cause{{On: "client"}}}
		if e.allOnClient() != want {
			t.Errorf("of a second %v s are explained: the server is asked: %v", explained, want)
		}
		if e.Causes = append(e.Causes, cause.Cause{On: "server"}); e.allOnClient() {
			t.Error("a cause on the server is looked at there")
		}
	}
}
