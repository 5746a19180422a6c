package login_test

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"fettle/internal/means"
	"fettle/tools/measure/login"
	"fettle/tools/measure/login/cause"
)

// A scenario is a server, or a client, in which something was made slow.
type scenario struct {
	name string
	long bool // only with FETTLE_LONG=1
	slow []fault
	want []string // "WHERE CAUSE"
	// evidence is told of the cause.
	evidence string
	// ifTried is a cause for others than this client.
	ifTried string

	result func(*testing.T) // of the child that plays it
}

// scenarios: each cause alone, and two together. The delays are short, so that
// many can be shown; a real one is 5 to 60 seconds.
var scenarios = []scenario{
	{name: "nothing"},
	{name: "dead name server", slow: []fault{useDNS, deadDNS}, want: []string{"server reverse-dns"}},
	{name: "slow name server", slow: []fault{useDNS, slowDNS}, want: []string{"server reverse-dns"}, long: true},
	{name: "dead name server that nobody asks", slow: []fault{deadDNS}, long: true},
	{name: "silent source of names", slow: []fault{useDNS, silentSource}, want: []string{"server nss:sleep"}},
	{name: "pam session", slow: []fault{pamSession}, want: []string{"server pam:pam_sleep"}},
	{name: "pam account", slow: []fault{pamAccount}, want: []string{"server pam:pam_sleep"}, long: true},
	{name: "pam setcred", slow: []fault{pamSetcred}, want: []string{"server pam:pam_sleep"}, long: true},
	{name: "absent kdc", slow: []fault{absentKDC}, want: []string{"client gssapi"}},
	{name: "gssapi for those who have a ticket", slow: []fault{namelessGSSAPI}, ifTried: "gssapi"},
	{name: "logind", slow: []fault{slowLogind}, want: []string{"server logind"}, long: true},
	{
		name:     "motd",
		slow:     []fault{slowMotd},
		want:     []string{"server pam:pam_motd"},
		evidence: "/etc/update-motd.d/50-news takes 0.8",
		long:     true,
	},
	{name: "shell", slow: []fault{slowShell}, want: []string{"server shell-startup"}, long: true},
	{name: "source of names on the client", slow: []fault{clientSource}, want: []string{"client nss:sleep"}, long: true},
	{name: "hostbased", slow: []fault{deadDNS, hostbased}, want: []string{"client hostbased"}, long: true},

	{
		name: "dead name server and pam",
		slow: []fault{useDNS, deadDNS, pamSession},
		want: []string{"server pam:pam_sleep", "server reverse-dns"},
	},
	{
		name: "two pam modules",
		slow: []fault{pamSession, pamSession2},
		want: []string{"server pam:pam_sleep", "server pam:pam_sleep2"},
		long: true,
	},
	{
		name: "silent source and dead name server",
		slow: []fault{useDNS, deadDNS, silentSource},
		want: []string{"server nss:sleep", "server reverse-dns"},
		long: true,
	},
	{
		name: "silent source and pam",
		slow: []fault{useDNS, silentSource, pamSession},
		want: []string{"server nss:sleep", "server pam:pam_sleep"},
		long: true,
	},
	{name: "absent kdc and pam", slow: []fault{absentKDC, pamSession}, want: []string{"client gssapi", "server pam:pam_sleep"}, long: true},
	{
		name: "absent kdc and dead name server",
		slow: []fault{absentKDC, useDNS, deadDNS},
		want: []string{"client gssapi", "server reverse-dns"},
		long: true,
	},
	{name: "shell and logind", slow: []fault{slowShell, slowLogind}, want: []string{"server logind", "server shell-startup"}, long: true},
}

// TestNamesTheCause injects causes into real daemons, and wants exactly those
// named and nine tenths of the delay explained.
func TestNamesTheCause(t *testing.T) {
	means.Short(t, "takes seconds")
	if os.Getenv(inside) == "" {
		t.Parallel()
		// They sleep most of the time: more of them at once than processors.
		places := make(chan struct{}, 3)
		for i := range scenarios {
			if s := &scenarios[i]; !s.long || os.Getenv("FETTLE_LONG") != "" {
				s.result = startWorld(t, t.Name()+"/"+name(s.name), places)
			}
		}
	}
	for i := range scenarios {
		s := &scenarios[i]
		t.Run(s.name, func(t *testing.T) {
			if s.long {
				means.Long(t, "is a longer proof")
			}
			if s.result != nil {
				s.result(t)
			} else {
				s.play(t)
			}
		})
	}
}

// name is what the testing package makes of a subtest's name.
func name(s string) string { return strings.ReplaceAll(s, " ", "_") }

// play wants the scenario to come out right. Other tests share the processors,
// and a machine that is busy is slow itself: it has three tries.
func (s *scenario) play(t *testing.T) {
	w := newWorld(t, s.slow)
	for try := 1; ; try++ {
		wrong := s.try(t, w)
		if len(wrong) == 0 {
			return
		}
		if try == 3 {
			t.Fatal(strings.Join(wrong, "\n"))
		}
		t.Logf("try %d: %s", try, strings.Join(wrong, "\n"))
	}
}

// butNoise leaves out that this machine was busy.
func butNoise(unknown []string) []string {
	return slices.DeleteFunc(slices.Clone(unknown), func(u string) bool { return strings.HasPrefix(u, "what takes less than ") })
}

func (s *scenario) try(t *testing.T, w *world) (wrong []string) {
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	o := login.Options{Host: "server", N: 2, Config: w.config, Limit: 20 * time.Second}
	r, err := login.Measure(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Phases {
		t.Logf("%-22s %6.3f s, %6.3f s of it waiting for the server", p.Phase, p.Median, p.Server)
	}
	if conn := r.First().Conn; conn.ClientAddr != clientAddr || conn.ServerAddr != serverAddr || conn.ServerPort != "22" {
		t.Fatalf("the connection is %+v", conn)
	}
	onServer := func(ctx context.Context, l *login.Login) (*cause.Report, error) {
		return cause.Run(ctx, cause.Options{User: l.User, Client: netip.MustParseAddr(l.Conn.ClientAddr),
			Server: netip.MustParseAddrPort(l.Conn.ServerAddr + ":" + l.Conn.ServerPort), Limit: 20 * time.Second})
	}
	if len(s.want) == 0 {
		if len(r.Slow) != 0 {
			bad("slow: %+v", r.Slow)
		}
		rep, err := onServer(t.Context(), r.First())
		if err != nil {
			t.Fatal(err)
		}
		logReport(t, rep)
		tried := ""
		for _, c := range rep.IfTried {
			tried += c.Name
		}
		if len(rep.Causes)+len(butNoise(rep.Unknown)) != 0 || tried != s.ifTried {
			bad("a fast server: %+v", rep)
		}
		return wrong
	}
	e, err := login.Explain(t.Context(), o, r, onServer)
	if err != nil {
		t.Fatal(err)
	}
	if e.Server != nil || slices.ContainsFunc(s.want, func(w string) bool { return strings.HasPrefix(w, "server ") }) {
		logReport(t, e.Server)
	}
	var got []string
	sum := 0.0
	for _, c := range e.Causes {
		got = append(got, c.On+" "+c.Name)
		sum += c.Seconds
		t.Logf("%s: %s: %.2f s\n\t%s", c.On, c.Name, c.Seconds, strings.Join(c.Evidence, "\n\t"))
	}
	slices.Sort(got)
	t.Logf("explained %.2f s of %.2f s, %.0f %%", e.Explained, e.Delay, 100*e.Share())
	if !slices.Equal(got, s.want) {
		bad("named %q, want %q", got, s.want)
	}
	if e.Share() < 0.9 || len(butNoise(e.Unknown)) != 0 {
		bad("explained %.2f s of %.2f s; unknown: %q", e.Explained, e.Delay, e.Unknown)
	}
	if s.evidence != "" && !strings.Contains(fmt.Sprint(e.Causes), s.evidence) {
		bad("no word of %q", s.evidence)
	}
	if sum > r.Total.Median+0.2 {
		bad("the causes add up to %.2f s of a login of %.2f s", sum, r.Total.Median)
	}
	return wrong
}

func logReport(t *testing.T, r *cause.Report) {
	t.Helper()
	if r == nil {
		t.Fatal("no report from the server")
	}
	for _, s := range r.Steps {
		t.Logf("%6.3f s  %s", s.Seconds, s.Name)
	}
	t.Logf("on the server: total %.3f s, floor %.3f s, without the causes %.3f s", r.Total, r.Floor, r.Without)
}

// inWorld runs play in a child with namespaces of its own: mounts, network,
// processes. What it starts ends with it.
func inWorld(t *testing.T, play func(*testing.T)) {
	t.Helper()
	if os.Getenv(inside) != "" {
		play(t)
		return
	}
	startWorld(t, t.Name(), make(chan struct{}, 1))(t)
}

// startWorld starts the test of this name in a child of that kind, when there
// is a place for it. The returned function waits for it and tells its result.
func startWorld(t *testing.T, test string, places chan struct{}) func(*testing.T) {
	t.Helper()
	means.Root(t)
	for _, tool := range []string{"ssh", "sshd", "ssh-keygen", "ip", "gcc", "getent"} {
		means.Tool(t, tool)
	}
	bin, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, "-test.run=^"+strings.ReplaceAll(test, "/", "$/^")+"$", "-test.v", "-test.timeout=180s")
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL,
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID}
	var out []byte
	done := make(chan struct{})
	go func() {
		places <- struct{}{}
		defer func() { <-places; close(done) }()
		runtime.LockOSThread() // Pdeathsig is of the thread
		out, err = cmd.CombinedOutput()
	}()
	return func(t *testing.T) {
		<-done
		t.Logf("%s", out)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(out), "--- PASS: "+test+" (") {
			t.Fatal("the child ran no test: ", fmt.Sprint(cmd.Args))
		}
	}
}

const inside = "FETTLE_LOGIN_WORLD"
