package login_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"fettle/internal/means"
	"fettle/tools/measure/login"
)

// TestBadHosts logs in where no login is to be had: one clear error each, in
// time, and nothing is changed.
func TestBadHosts(t *testing.T) {
	means.Short(t, "takes seconds")
	if os.Getenv(inside) == "" {
		t.Parallel()
	}
	inWorld(t, func(t *testing.T) {
		w := newWorld(t, nil)
		// Servers that are none, each on a port of its own.
		odd := map[string]func(net.Conn){
			"hangs up": func(c net.Conn) { c.Close() },
			"silent":   func(c net.Conn) { io.Copy(io.Discard, c) },
			"stalls": func(c net.Conn) {
				io.WriteString(c, "SSH-2.0-Stalling_1.0\r\n")
				io.Copy(io.Discard, c)
			},
			"endless banner": func(c net.Conn) {
				for line := strings.Repeat("x", 8000) + "\r\n"; ; {
					if _, err := io.WriteString(c, line); err != nil {
						return
					}
				}
			},
			"dripping banner": func(c net.Conn) {
				for {
					if _, err := io.WriteString(c, "please wait\r\n"); err != nil {
						return
					}
					time.Sleep(10 * time.Millisecond)
				}
			},
			"rubbish": func(c net.Conn) {
				io.WriteString(c, "SSH-2.0-Rubbish\r\n"+strings.Repeat("\x00\xff\x1b[2J", 4000))
				io.Copy(io.Discard, c)
			},
		}
		config := w.client
		port := 2200
		for name, serve := range odd {
			port++
			l, err := net.Listen("tcp", fmt.Sprintf("%s:%d", serverAddr, port))
			w.must(err)
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					go serve(c)
				}
			}()
			config = fmt.Sprintf("Host %s\n HostName %s\n Port %d\n", strings.ReplaceAll(name, " ", "-"), serverAddr, port) + config
		}
		w.run("/usr/bin/ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "/run/k/other")
		other, err := os.ReadFile("/run/k/other.pub")
		w.must(err)
		w.write("/run/k/known-changed", serverAddr+" "+string(other), 0o600)
		w.write("/run/k/known-empty", "", 0o600)
		config = `Host refuses
 HostName ` + serverAddr + `
 User nosuchuser
Host changed
 HostName ` + serverAddr + `
 UserKnownHostsFile /run/k/known-changed
 StrictHostKeyChecking no
 UpdateHostKeys yes
Host unknown
 HostName ` + serverAddr + `
 UserKnownHostsFile /run/k/known-empty
 StrictHostKeyChecking accept-new
 UpdateHostKeys yes
Host learns
 HostName ` + serverAddr + `
 UpdateHostKeys yes
Host closed
 HostName ` + serverAddr + `
 Port 2
Host endless-output
 HostName ` + serverAddr + `
 User nobody
Host faulty
 Nonsense yes
` + config
		w.write("/run/k/config-all", strings.Replace(config, "Host faulty\n Nonsense yes\n", "", 1), 0o600)
		w.write("/run/k/config-faulty", config, 0o600)
		known := func() string {
			var b strings.Builder
			for _, f := range []string{"/run/k/known", "/run/k/known-changed", "/run/k/known-empty"} {
				text, err := os.ReadFile(f)
				w.must(err)
				st, err := os.Stat(f)
				w.must(err)
				fmt.Fprintln(&b, f, st.ModTime(), st.Mode(), string(text))
			}
			return b.String()
		}
		before := known()
		const limit = time.Second
		for _, c := range []struct{ host, want string }{
			{"closed", "Connection refused"},
			{"refuses", "refused the login of nosuchuser"},
			{"changed", "is not the one in known_hosts"},
			{"unknown", "is not in known_hosts"},
			{"hangs-up", `in the phase "banner"`},
			{"silent", `no answer in the phase "banner"`},
			{"stalls", `no answer in the phase "key exchange"`},
			{"endless-banner", `in the phase "banner"`},
			{"dripping-banner", `in the phase "banner"`},
			{"rubbish", `in the phase "key exchange"`},
			{"no-such-host.invalid", `in the phase "resolve"`},
		} {
			t.Run(c.host, func(t *testing.T) {
				var m0, m1 runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&m0)
				start := time.Now()
				_, err := login.Measure(t.Context(), login.Options{Host: c.host, N: 1, Config: "/run/k/config-all", Limit: limit})
				took := time.Since(start)
				runtime.ReadMemStats(&m1)
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Fatalf("%v, want %s", err, c.want)
				}
				t.Log(err)
				if s := err.Error(); strings.ContainsAny(s, "\n\x1b\x00") || len(s) > 900 || strings.Contains(s, "debug1") {
					t.Errorf("not one clear line: %q", s)
				}
				if took > limit+means.Patience {
					t.Errorf("took %s with a limit of %s", took, limit)
				}
				if held := int64(m1.HeapAlloc) - int64(m0.HeapAlloc); held > 16<<20 {
					t.Errorf("%d MiB are held", held>>20)
				}
			})
		}
		if _, err := login.Measure(t.Context(),
			login.Options{Host: "learns", N: 1, Config: "/run/k/config-all", Limit: 10 * time.Second}); err != nil {
			t.Error(err)
		}
		if after := known(); after != before {
			t.Errorf("known_hosts changed:\n%s\nbefore:\n%s", after, before)
		}
		_, err = login.Measure(t.Context(), login.Options{Host: "learns", N: 1, Config: "/run/k/config-faulty"})
		if err == nil || !strings.Contains(err.Error(), "nonsense") {
			t.Errorf("a faulty configuration: %v", err)
		}
		for _, host := range []string{"", "-oProxyCommand=touch /run/k/pwned", "a b", "a\nb", "$(id)", "a;b", "`id`"} {
			if _, err := login.Measure(t.Context(), login.Options{Host: host, N: 1}); err == nil {
				t.Errorf("host %q was taken", host)
			}
		}
		if _, err := login.Measure(t.Context(), login.Options{Host: "server", N: 0, Config: w.config}); err == nil {
			t.Error("no logins at all were made, and that was well")
		}
		left, err := os.ReadDir(os.TempDir())
		if err != nil || len(left) != 0 {
			t.Errorf("left in %s: %v, %v", os.TempDir(), left, err)
		}
	})
}

// TestForcedCommand: a server that runs a command of its own, one that says
// nothing and one that never stops.
func TestForcedCommand(t *testing.T) {
	if os.Getenv(inside) == "" {
		t.Parallel()
	}
	inWorld(t, func(t *testing.T) {
		w := newWorld(t, []fault{func(w *world) {
			w.sshd += "Match User nobody\n ForceCommand /usr/bin/yes\nMatch User root\n ForceCommand /bin/true\n"
			w.client = "Host yes\n HostName " + serverAddr + "\n User nobody\n" + w.client
		}})
		for _, host := range []string{"yes", "server"} {
			r, err := login.Measure(t.Context(), login.Options{Host: host, N: 1, Config: w.config, Limit: 20 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			if r.Total.Median > 5 || r.First().Conn != (login.Conn{}) {
				t.Errorf("%s: %+v", host, r.First())
			}
			if _, ok := r.First().Span(login.Output); !ok {
				t.Errorf("%s: no phase %q", host, login.Output)
			}
		}
	})
}

// TestJump: behind a jump host the phases are those of the host itself, though
// both ssh processes talk; and host-based authentication, which would mix the
// two logs, is left out there.
func TestJump(t *testing.T) {
	if os.Getenv(inside) == "" {
		t.Parallel()
	}
	inWorld(t, func(t *testing.T) {
		w := newWorld(t, []fault{pamSession, func(w *world) {
			w.client = "Host inner\n HostName " + serverAddr + "\n ProxyJump nobody@gate\n " +
				"HostbasedAuthentication yes\nHost gate\n HostName " + serverAddr + "\n" + w.client
		}})
		r, err := login.Measure(t.Context(), login.Options{Host: "inner", N: 1, Config: w.config, Limit: 20 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		var got []login.Phase
		for _, s := range r.First().Spans {
			got = append(got, s.Phase)
		}
		if fmt.Sprint(got) != "[ssh starts proxy key exchange service request auth none auth publickey session open first output]" {
			t.Errorf("%q", got)
		}
		// The jump host opens a session as well.
		for _, p := range []login.Phase{login.Proxy, login.Session} {
			if s, _ := r.First().Span(p); s.Took < 700*time.Millisecond {
				t.Errorf("%s took %s", p, s.Took)
			}
		}
		if r.First().User != "root" || r.First().Address != "" {
			t.Errorf("%+v", r.First())
		}
	})
}
