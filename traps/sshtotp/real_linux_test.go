package sshtotp

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/host/fact/sshlogin"
	"fettle/host/format/pam"
	"fettle/host/format/sshd"
	"fettle/internal/means"
	"fettle/tools/totp"
)

// inside tells the test's own child that it is in namespaces of its own.
const inside = "FETTLE_TEST_TOTP_INSIDE"

// TestRealLogins (with FETTLE_LONG=1 all users and combinations of it) logs in to a real sshd with the real module, and compares with
// what the simulator says. It runs in mount, network and UTS namespaces of its
// own, with its own /etc, /home and /run.
func TestRealLogins(t *testing.T) {
	means.Short(t, "takes seconds")
	if os.Getenv(inside) == "" {
		inNamespaces(t)
		return
	}
	w := newWorld(t)
	t.Run("matrix", w.matrix)
	t.Run("codes", w.codes)
	t.Run("plans", w.plans)
}

func inNamespaces(t *testing.T) {
	means.Root(t)
	for _, tool := range []string{"sshd", "openssl", "ip"} {
		means.Tool(t, tool)
	}
	if m, _ := filepath.Glob("/lib/*/security/pam_google_authenticator.so"); len(m) == 0 {
		means.Missing(t, "needs libpam-google-authenticator")
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestRealLogins$", "-test.v")
	cmd.Env = append(os.Environ(), inside+"=yes")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS | syscall.CLONE_NEWPID,
		Pdeathsig:  syscall.SIGKILL,
	}
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(out), "--- PASS: TestRealLogins/matrix") {
		t.Error("the matrix did not run")
	}
}

const (
	stackHead  = "@include common-auth\n"
	stackGroup = "auth [success=1 default=ignore] pam_succeed_if.so quiet user notingroup totp\n"
	stackAsk   = "auth required pam_google_authenticator.so nullok\n"
	stackTail  = "@include common-account\n"
	allOn      = "UsePAM yes\nPasswordAuthentication yes\nKbdInteractiveAuthentication yes\n"
)

// matrix compares, for stacks, configurations and users, what the simulator
// says of each combination of means with what a login does.
func (w *world) matrix(t *testing.T) {
	strict := strings.Replace(stackAsk, " nullok", "", 1)
	total := 0
	for _, c := range []struct {
		name, config, stack string
		users               []string
	}{
		{"the note's own", allOn, stackHead + stackGroup + stackAsk + stackTail, []string{"alice", "bob", "carol", "dave"}},
		{"strict", allOn, stackHead + stackGroup + strict + stackTail, []string{"alice", "bob", "carol", "frank"}},
		{"dialog off", "UsePAM yes\nPasswordAuthentication " +
			"yes\nKbdInteractiveAuthentication no\n", stackHead + stackGroup + stackAsk + stackTail, []string{"alice", "bob"}},
		{"key and dialog", allOn + "AuthenticationMethods " +
			"publickey,keyboard-interactive\n", stackHead + stackGroup + stackAsk + stackTail, []string{"alice", "bob", "dave"}},
		{"nullok at the end", allOn, stackAsk + stackTail, []string{"alice", "bob"}},
		{"nullok, then permit", allOn, stackAsk + "auth required pam_permit.so\n" + stackTail, []string{"alice", "bob", "dave"}},
		{"jump too far", allOn, stackHead + strings.Replace(stackGroup, "success=1", "success=2", 1) + stackAsk + stackTail,
			[]string{"alice", "carol"}},
		{"sufficient before it", allOn, "auth sufficient pam_unix.so nodelay\n" + strict + stackTail, []string{"alice", "bob"}},
		{"password and code in one text", allOn, "auth required pam_google_authenticator.so forward_pass\nauth required pam_unix.so " +
			"use_first_pass nodelay\n" + stackTail, []string{"alice", "bob"}},
		{"unknown option", allOn, stackHead + strings.Replace(stackAsk, "nullok", "nulok", 1) + stackTail, []string{"alice"}},
		{"module is not there", allOn, stackHead + strings.ReplaceAll(strict, "google_authenticator", "gone") + stackTail, []string{"alice"}},
		{"substack", allOn, "auth substack common-auth\n" + stackGroup + stackAsk + stackTail, []string{"alice", "carol"}},
		{"include that is not there", allOn, "@include nothing\n" + stackTail, []string{"alice"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			users := c.users
			if os.Getenv("FETTLE_LONG") == "" {
				users = users[:min(2, len(users))]
			}
			w.serve(t, c.config, c.stack)
			total += w.compare(t, users)
		})
	}
	t.Logf("%d verdicts compared", total)
}

// compare tries every combination for each user.
func (w *world) compare(t *testing.T, users []string) (n int) {
	t.Helper()
	l, err := sshlogin.Read(t.Context(), live(t))
	must(t, err)
	for _, name := range users {
		u, _ := l.DB.User(name)
		a := l.For(pam.UserOf(l.DB, u))[0]
		for _, m := range sshlogin.All[1:] {
			if os.Getenv("FETTLE_LONG") == "" && m.Key && m.Password && !m.Code {
				continue
			}
			got := w.with(t, name, m)
			if want := a.Ways[m]; want == pam.Depends || got != (want == pam.Yes) {
				t.Errorf("%s with %s: simulated %s, really %v", name, m, want, got)
			}
			n++
		}
	}
	return n
}

// codes tries what the simulator does not know of: codes themselves.
func (w *world) codes(t *testing.T) {
	w.serve(t, allOn, stackHead+stackGroup+stackAsk+stackTail)
	now := func(f *totp.File, steps int) string {
		return f.Secret.At(time.Now().Add(time.Duration(steps*totp.Step)*time.Second), totp.Step)
	}
	// So that no code ends within the test.
	if left := totp.Step - time.Now().Unix()%totp.Step; left < 8 {
		time.Sleep(time.Duration(left) * time.Second)
	}
	f := w.enrol(t, "alice", totp.Settings{NoLimit: true})
	try := func(what, code string, want bool) {
		t.Helper()
		if got := w.login(t, "alice", gives{password: password, code: code}); got != want {
			t.Errorf("%s: let in %v, want %v", what, got, want)
		}
	}
	code := now(f, 0)
	try("wrong code", "000000", false)
	try("right code", code, true)
	try("the same code again", code, false)
	if b, err := (totp.Place{Path: "/home/alice/" + totp.FileName, UID: 2000, GID: 1000}).Read(); err != nil ||
		!strings.Contains(string(b), "DISALLOW_REUSE "+fmt.Sprint(time.Now().Unix()/totp.Step)) {
		t.Errorf("the module has not noted the used code: %v", err)
	}
	try("a clock that is 30 s ahead", now(f, 1), true)
	try("a clock that is 10 min behind", now(f, -20), false)
	try("a scratch code", f.Scratch[2], true)
	try("the same scratch code", f.Scratch[2], false)
	try("another scratch code", f.Scratch[0], true)
	try("the code of another secret", now(w.files["dave"], 0), false)
	// What fettle parses is what the module left.
	b, err := totp.Place{Path: "/home/alice/" + totp.FileName, UID: 2000, GID: 1000}.Read()
	must(t, err)
	left, err := totp.Parse(b)
	if err != nil || len(left.Scratch) != 3 || left.Secret.Base32() != f.Secret.Base32() {
		t.Errorf("after the logins the file has %d scratch codes, %v", len(left.Scratch), err)
	}
	limited := w.enrol(t, "alice", totp.Settings{Reuse: true})
	for i := range 4 {
		try(fmt.Sprint("login ", i+1, " of 3 in 30 s"), now(limited, 0), i < 3)
	}
	w.enrol(t, "alice", totp.Settings{Reuse: true, NoLimit: true})
	// A home that cannot be written to: the code is right, and cannot be noted.
	if w.login(t, "erin", gives{password: password, code: now(w.files["erin"], 0)}) {
		t.Error("erin got in although her used code cannot be noted")
	}
	outcomes := map[string]trap.Outcome{}
	trap.Run(t.Context(), live(t), []*trap.Trap{&Trap}, trap.Options{}, func(r trap.Result) {
		for _, o := range r.Outcomes {
			outcomes[o.Subject] = o
		}
	})
	for subject, want := range map[string]string{"user erin": "mounted read-only", "user dave": "mode 0644", "user frank": "belongs to root"} {
		if o := outcomes[subject]; o.Status != trap.Found || !strings.Contains(o.Summary, want) {
			t.Errorf("%s: %s %s", subject, o.Status, o.Summary)
		}
	}
	if o := outcomes[whole]; o.Status != trap.Clear {
		t.Errorf("sshd: %s %s%s", o.Status, o.Summary, o.Reason)
	}
}

// plans sets codes up with fettle's own plans and logs in.
func (w *world) plans(t *testing.T) {
	for _, c := range []struct {
		name, config string
		with         []string
		want         map[string]string
	}{
		{"password and code", "UsePAM yes\nPasswordAuthentication yes\nKbdInteractiveAuthentication no\n", []string{"group=totp"},
			map[string]string{"alice": "key, or password+code", "bob": "key, or password", "carol": "key, or password"}},
		{"key and code", "UsePAM yes\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n", []string{"group=totp", "factors=key"},
			map[string]string{"alice": "key+code", "bob": "key", "carol": "key"}},
		{"key and code, passwords for others", allOn, []string{"group=totp", "factors=key"},
			map[string]string{"alice": "key+code", "bob": "key", "carol": "key, or password"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			const stack = stackHead + stackTail
			config := "Include /etc/ssh/sshd_config.d/*.conf\n" + c.config
			put(t, "/etc/pam.d/sshd", stack)
			put(t, sshd.Main, config)
			// dave, erin and frank have files that the module refuses: they would be locked out.
			put(t, "/etc/group", "root:x:0:\nnogroup:x:65534:\nusers:x:1000:\ntotp:x:2000:alice,bob\n")
			h := live(t)
			f, err := Trap.Choose(setup, c.with)
			must(t, err)
			p, err := Trap.Plan(context.WithoutCancel(t.Context()), h, f)
			must(t, err)
			for _, s := range p.Steps {
				if file, ok := s.(step.File); ok && file.Path != service {
					put(t, file.Path, string(file.Content))
					t.Cleanup(func() { os.Remove(file.Path) })
				}
			}
			b, err := os.ReadFile(sshd.Main)
			must(t, err)
			w.serve(t, string(b), after(p, service))
			if out, err := exec.Command("/usr/sbin/sshd", "-t", "-f", "/etc/ssh/test_config").CombinedOutput(); err != nil {
				t.Fatalf("sshd -t: %v\n%s", err, out)
			}
			users := []string{"alice", "carol", "bob"}
			if os.Getenv("FETTLE_LONG") == "" {
				users = users[:2]
			}
			w.compare(t, users)
			l, err := sshlogin.Read(t.Context(), live(t))
			must(t, err)
			for name, want := range c.want {
				u, _ := l.DB.User(name)
				a := l.For(pam.UserOf(l.DB, u))[0]
				if got := a.Words(); got != want {
					t.Errorf("%s: %s, want %s", name, got, want)
				}
			}
		})
	}
}
