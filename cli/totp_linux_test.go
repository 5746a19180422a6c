package cli_test

import (
	"bytes"
	"fmt"
	"io/fs"
	mathrand "math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fettle/internal/means"
)

const insideTOTP = "FETTLE_TEST_TOTP"

// TestTOTP runs the verbs as root does, on a host of its own: mount, network
// and process namespaces with their own /etc, /home, /run and sshd.
func TestTOTP(t *testing.T) {
	means.Short(t, "takes seconds")
	if os.Getenv(insideTOTP) == "" {
		means.Root(t)
		for _, tool := range []string{"sshd", "oathtool", "zstd", "service", "getent", "strace"} {
			means.Tool(t, tool)
		}
		if m, _ := filepath.Glob("/lib/*/security/pam_google_authenticator.so"); len(m) == 0 {
			means.Missing(t, "needs libpam-google-authenticator")
		}
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestTOTP$", "-test.v")
		cmd.Env = append(os.Environ(), insideTOTP+"=yes")
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID,
			Pdeathsig:  syscall.SIGKILL,
		}
		out, err := cmd.CombinedOutput()
		t.Logf("%s", out)
		if err != nil || !strings.Contains(string(out), "--- PASS: TestTOTP/set-up") {
			t.Fatal("the inner test failed: ", err)
		}
		return
	}
	w := newTOTPWorld(t)
	t.Run("enrol", w.enrol)
	t.Run("input", w.input)
	t.Run("verify", w.verify)
	t.Run("group", w.group)
	t.Run("among-others", w.amongOthers)
	t.Run("set-up", w.setUp)
	t.Run("guard", w.guard)
	t.Run("silence", w.silence)
}

func (w *totpWorld) enrol(t *testing.T) {
	out := w.must(t, true, "", "totp", "enrol", "alice", "--issuer", "web1")
	first := w.learn(t, out)
	if !strings.Contains(out, "####") || strings.Contains(out, "█") {
		t.Errorf("the picture in the C locale:\n%s", out)
	}
	st, err := os.Lstat("/home/alice/.google_authenticator")
	if err != nil {
		t.Fatal(err)
	}
	if s := st.Sys().(*syscall.Stat_t); st.Mode() != 0o400 || s.Uid != 2000 || s.Gid != 1000 {
		t.Errorf("%v %d:%d", st.Mode(), s.Uid, s.Gid)
	}
	b, _ := os.ReadFile("/home/alice/.google_authenticator")
	if lines := strings.Split(string(b), "\n"); lines[0] != first || len(lines) != 10 || !strings.Contains(string(b), "\n\" TOTP_AUTH\n") {
		t.Errorf("%d lines", len(lines))
	}
	w.refused(t, 2, "already exists", "", "totp", "enrol", "alice")
	if second := w.learn(t, w.must(t, true, "", "totp", "enrol", "alice", "--replace", "--no-qr")); second == first {
		t.Error("the same secret twice")
	}
	if es, _ := os.ReadDir("/home/alice"); len(es) != 1 {
		t.Errorf("left in alice's home: %v", es)
	}
	if qr := w.must(t, true, "", "totp", "qr", "alice", "--no-qr"); !strings.Contains(qr, w.secrets[6]) {
		t.Error("qr shows another secret")
	}
}

func (w *totpWorld) input(t *testing.T) {
	const known = "JBSWY3DPEHPK3PXPJBSWY3DP"
	w.secrets = append(w.secrets, known)
	w.refused(t, 2, "its character 25 is not A to Z", known+"1\n", "totp", "enrol", "alice", "--existing", "--replace")
	w.refused(t, 2, "nothing was read", "", "totp", "enrol", "alice", "--existing", "--replace")
	w.refused(t, 2, "8 digits", "otpauth://totp/x?digits=8&secret="+known, "totp", "enrol", "alice", "--existing", "--replace")
	w.refused(t, 2, "there is no user nobody-here", "", "totp", "enrol", "nobody-here")
	w.refused(t, 2, "there is no user nobody-here", "", "totp", "enrol", "alice", "nobody-here", "--replace", "--out", "/root")
	w.refused(t, 2, "there is no group nothing", "", "totp", "enrol", "--group", "nothing")
	w.refused(t, 2, "group empty has no members", "", "totp", "enrol", "--group", "empty")
	w.refused(t, 2, "for 2 users, name a folder", "", "totp", "enrol", "--group", "totp", "--replace")
	w.refused(t, 2, "1 to 100", "", "totp", "enrol", "alice", "--replace", "--window", "101")
	os.Mkdir("/root/none", 0o700)
	w.refused(t, 2, "mode 0700", "", "totp", "enrol", "alice", "--replace", "--out", "/run")
	w.refused(t, 3, "has no file of one-time codes", "123456", "totp", "verify", "bob")
	w.refused(t, 2, "a code has 6 digits", "12345", "totp", "verify", "alice")
	w.refused(t, 3, "bob", "", "totp", "disable", "alice", "bob")
	w.refused(t, 2, "there is no user x in /etc/passwd", "", "totp", "who", "x")
	w.refused(t, 3, "opening folder /home/dora: no such file", "", "totp", "enrol", "alice", "dora", "--replace", "--out", "/root/none")
	os.Symlink("/etc/shadow", "/home/carol/.google_authenticator")
	w.refused(t, 3, "symbolic link", "", "totp", "enrol", "carol", "--replace")
	os.Remove("/home/carol/.google_authenticator")
	os.WriteFile("/home/carol/.google_authenticator", []byte("not base32!\n"), 0o400)
	os.Chown("/home/carol/.google_authenticator", 2002, 1000)
	w.refused(t, 3, "/home/carol/.google_authenticator: line 1: the secret is not base32", "123456", "totp", "verify", "carol")
	os.Remove("/home/carol/.google_authenticator")

	// The secret of a web service, by way of standard input alone.
	trace := "/root/trace"
	cmd := &exec.Cmd{
		Path: means.Tool(t, "strace"),
		Args: []string{
			"strace",
			"-f",
			"-e",
			"trace=execve",
			"-s",
			"4096",
			"-v",
			"-o",
			trace,
			"/root/fettle",
			"totp",
			"enrol",
			"alice",
			"--existing",
			"--replace",
			"--no-qr",
		},
		Stdin: strings.NewReader("otpauth://totp/web:alice?secret=" + known + "&issuer=web\n"),
		Env:   []string{"FETTLE_STATE=/root/state"},
	}
	exe, _ := os.ReadFile("/proc/self/exe")
	os.WriteFile("/root/fettle", exe, 0o700)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), known) {
		t.Errorf("%v\n%s", err, out)
	}
	b, err := os.ReadFile(trace)
	if err != nil || !bytes.Contains(b, []byte("--existing")) || bytes.Contains(b, []byte(known)) {
		t.Errorf("arguments and environment of the processes: %v\n%s", err, b)
	}
	os.Remove("/root/fettle")
	if b, _ := os.ReadFile("/home/alice/.google_authenticator"); !strings.HasPrefix(string(b), known+"\n") {
		t.Error("another secret is in the file")
	}
}

// code is oathtool's.
func code(t *testing.T, secret string, off time.Duration) string {
	t.Helper()
	out, err := exec.Command(means.Tool(t, "oathtool"), "--totp", "-b", "-N", fmt.Sprintf("@%d", time.Now().Add(off).Unix()), secret).
		Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func (w *totpWorld) verify(t *testing.T) {
	const known = "JBSWY3DPEHPK3PXPJBSWY3DP"
	for _, c := range []struct {
		off  time.Duration
		code int
		want string
	}{
		{0, 0, "It would be taken"},
		{30 * time.Second, 0, "ahead of this host's"},
		{-10 * time.Minute, 3, "is slower than this host's; the module takes 30 s before to 30 s after"},
		{11 * time.Hour, 3, "ahead of this host's"},
		{48 * time.Hour, 3, "it is no code of alice's secret within 12h30m0s of now"},
	} {
		out, errs, status := w.fettle(t, false, code(t, known, c.off)+"\n", "totp", "verify", "alice")
		if status != c.code || !strings.Contains(out+errs, c.want) {
			t.Errorf("%s: status %d\n%s%s", c.off, status, out, errs)
		}
	}
	b, _ := os.ReadFile("/home/alice/.google_authenticator")
	scratch := strings.Split(strings.TrimSpace(string(b)), "\n")
	w.secrets = append(w.secrets, scratch[4:]...)
	if out := w.must(t, false, scratch[5], "totp", "verify", "alice"); !strings.Contains(out, "one of alice's 5 scratch codes") {
		t.Error(out)
	}
	if after, _ := os.ReadFile("/home/alice/.google_authenticator"); !bytes.Equal(b, after) {
		t.Error("verify changed the file")
	}
	w.must(t, false, "", "totp", "disable", "alice")
	if _, err := os.Stat("/home/alice/.google_authenticator.disabled"); err != nil {
		t.Error(err)
	}
	os.Rename("/home/alice/.google_authenticator.disabled", "/home/alice/.google_authenticator")
}

func (w *totpWorld) group(t *testing.T) {
	os.Mkdir("/root/sheets", 0o700)
	out := w.must(t, false, "", "totp", "enrol", "--group", "totp", "--replace", "--out", "/root/sheets")
	if out != "" {
		t.Errorf("printed: %q", out)
	}
	for _, u := range []string{"alice", "bob"} {
		b, err := os.ReadFile("/root/sheets/" + u + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		secret := w.learn(t, string(b))
		if st, _ := os.Stat("/root/sheets/" + u + ".txt"); st.Mode() != 0o600 {
			t.Errorf("mode %v", st.Mode())
		}
		if f, _ := os.ReadFile("/home/" + u + "/.google_authenticator"); !strings.HasPrefix(string(f), secret+"\n") {
			t.Errorf("%s has another secret", u)
		}
	}
	w.refused(t, 2, "is there already", "", "totp", "enrol", "--group", "totp", "--replace", "--out", "/root/sheets")
	os.RemoveAll("/root/sheets")
}

// amongOthers: somebody who may write around the folder for the sheets exchanges it,
// and the one that it is in, for links to a folder of root's own. A sheet lies where
// root made a folder for it, or nowhere; and a secret that has no sheet is nobody's.
func (w *totpWorld) amongOthers(t *testing.T) {
	shared, sub := "/home/shared", "/home/shared/sub"
	for _, d := range []string{shared, "/home/roots", "/home/roots/in"} {
		os.Mkdir(d, 0o700)
	}
	os.Chown(shared, 0, means.Staff)
	os.Chmod(shared, 0o2775)
	os.Mkdir(sub, 0o777)
	os.Chown(sub, 0, means.Staff)
	os.Chmod(sub, 0o2775)
	os.Mkdir(sub+"/in", 0o700)
	os.Chmod(sub+"/in", 0o700)
	own, err := os.OpenRoot(sub + "/in")
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	swap := func(name, to string) {
		if os.Rename(name, name+"-away") == nil {
			os.Symlink(to, name)
			time.Sleep(mathrand.N(5 * time.Millisecond))
			os.Remove(name)
			os.Rename(name+"-away", name)
		}
		time.Sleep(mathrand.N(20 * time.Millisecond))
	}
	stop := means.Attacker(t, func() {
		swap(sub+"/in", "/home/roots/in")
		swap(sub, "/home/roots")
		if os.Rename(sub+"/in", sub+"/in-away") == nil { // a folder that he can read
			os.Mkdir(sub+"/in", 0o700)
			time.Sleep(mathrand.N(5 * time.Millisecond))
			os.RemoveAll(sub + "/in")
			os.Rename(sub+"/in-away", sub+"/in")
		}
	})
	done := 0
	const rounds = 60
	for i := range rounds {
		before, _ := os.ReadFile("/home/alice/.google_authenticator")
		_, errs, code := w.fettle(t, false, "", "totp", "enrol", "alice", "--replace", "--no-qr", "--out",
			sub+"/in"+[]string{"", "/", "/."}[i%3])
		after, _ := os.ReadFile("/home/alice/.google_authenticator")
		text, err := own.ReadFile("alice.txt")
		if code == 0 {
			done++
			if err != nil || !strings.HasPrefix(string(after), w.learn(t, string(text))+"\n") {
				t.Errorf("round %d: enrolled, and the sheet has another secret, or is not there: %v", i, err)
			}
			if st, err := own.Stat("alice.txt"); err != nil || st.Mode() != 0o600 || st.Sys().(*syscall.Stat_t).Uid != 0 {
				t.Errorf("round %d: the sheet: %v, %v", i, st, err)
			}
			own.Remove("alice.txt")
		} else if code > 3 || err == nil || !bytes.Equal(before, after) {
			t.Errorf("round %d: status %d, a sheet: %v, a new secret: %v\n%s", i, code, err == nil, !bytes.Equal(before, after), errs)
		}
		if es, _ := os.ReadDir("/home/roots/in"); len(es) != 0 {
			t.Fatalf("round %d: in root's own folder: %v", i, es)
		}
	}
	t.Logf("%d of %d sheets were written beside %d rounds of the attack", done, rounds, stop())
	filepath.WalkDir(shared, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			t.Errorf("left: %s", p)
		}
		return nil
	})
}

// startSSHD runs sshd as its init script knows it.
func startSSHD(t *testing.T) {
	cmd := exec.Command("/usr/sbin/sshd", "-D")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	means.Dial(t, "tcp", "127.0.0.1:2222").Close()
}

// methods are what sshd offers alice.
func methods(t *testing.T) string {
	t.Helper()
	var out []byte
	for range 20 { // the signal to reload takes a moment
		out, _ = exec.Command(means.Tool(t, "ssh"), "-F", "/dev/null", "-p", "2222", "-o", "StrictHostKeyChecking=no", "-o",
			"UserKnownHostsFile=/dev/null",
			"-o", "PreferredAuthentications=none", "-o", "LogLevel=ERROR", "alice@127.0.0.1").
			CombinedOutput()
		if strings.Contains(string(out), "Permission denied") {
			time.Sleep(300 * time.Millisecond)
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	out, _ = exec.Command(means.Tool(t, "ssh"), "-F", "/dev/null", "-p", "2222", "-o", "StrictHostKeyChecking=no", "-o",
		"UserKnownHostsFile=/dev/null",
		"-o", "PreferredAuthentications=none", "-o", "LogLevel=ERROR", "alice@127.0.0.1").
		CombinedOutput()
	return strings.TrimSpace(string(out))
}

// config is all that a set-up may change.
func config(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, dir := range []string{"/etc/pam.d", "/etc/ssh"} {
		err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				text, _ := os.ReadFile(p)
				fmt.Fprintf(&b, "%s %s\n", p, text)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

func (w *totpWorld) setUp(t *testing.T) {
	startSSHD(t)
	before := config(t)
	w.refused(t, 2, "there is no terminal", "", "totp", "setup", "--group", "totp")
	w.refused(t, 5, "name the users who need a code", "", "totp", "setup", "--plan")
	w.refused(t, 5, "there is no group nothing", "", "totp", "setup", "--group", "nothing", "--yes")
	w.refused(t, 2, "expected nullok or strict", "", "totp", "setup", "--group", "totp", "--mode", "lax")
	plan := w.must(t, false, "", "totp", "setup", "--group", "totp", "--plan")
	for _, want := range []string{"+auth required pam_googl" +
		"e_authenticator.so nullok", "+    KbdInteractiveAuthentication yes", "alice: now key, or " +
		"password; then key, or password+code"} {
		if !strings.Contains(plan, want) {
			t.Errorf("the plan lacks %q:\n%s", want, plan)
		}
	}
	if config(t) != before {
		t.Fatal("--plan or a refusal changed something")
	}
	out := w.must(t, false, "", "totp", "setup", "--group", "totp", "--yes")
	if !strings.Contains(out, "fettle confirm") {
		t.Errorf("not guarded:\n%s", out)
	}
	if m := methods(t); !strings.Contains(m, "keyboard-interactive") {
		t.Errorf("sshd offers %s", m)
	}
	w.must(t, false, "", "confirm")
	who := w.must(t, false, "", "totp", "who")
	for _, want := range []string{"alice  key, or password+code\n", "bob    key, or password+code\n", "carol  key, or password\n",
		"root   key\n"} {
		if !strings.Contains(who, want) {
			t.Errorf("who lacks %q:\n%s", want, who)
		}
	}
	if out, errs, code := w.fettle(t, false, "", "check", "ssh-totp", "-v", "--format", "json"); code > 1 ||
		!strings.Contains(out, "every user who needs a code is asked for it") {
		t.Errorf("status %d\n%s%s", code, out, errs)
	}
	w.must(t, false, "", "undo", "--yes")
	if m := methods(t); strings.Contains(m, "keyboard-interactive") {
		t.Errorf("after undo sshd offers %s", m)
	}
	if got := config(t); got != before {
		t.Errorf("after undo:\n%s\nwas:\n%s", got, before)
	}
}

// guard: a set-up that nobody confirms takes itself back.
func (w *totpWorld) guard(t *testing.T) {
	startSSHD(t)
	before := config(t)
	back := func(within time.Duration) bool {
		for end := time.Now().Add(within + 30*time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			if config(t) == before {
				return true
			}
		}
		t.Fatalf("not taken back:\n%s", config(t))
		return false
	}
	// A busy machine may need longer to set up than it has to confirm: then
	// that, too, is taken back, and it is given more time.
	for within := 6 * time.Second; ; within *= 2 {
		out, errs, code := w.fettle(
			t,
			false,
			"",
			"totp",
			"setup",
			"--group",
			"totp",
			"--factors",
			"key",
			"--yes",
			"--confirm-within",
			within.String(),
		)
		set := code == 0 && config(t) != before
		switch {
		case back(within) && set:
			return
		case within > time.Minute:
			t.Fatalf("nothing was set up: status %d\n%s%s", code, out, errs)
		}
	}
}

// silence: no secret is in what fettle keeps, captures and says.
func (w *totpWorld) silence(t *testing.T) {
	if len(w.secrets) < 20 {
		t.Fatalf("only %d secrets to look for", len(w.secrets))
	}
	stack := "@include common-auth\nauth required pam_google_authenticator.so\n@include common-account\n"
	if err := os.WriteFile("/etc/pam.d/sshd", []byte(stack), 0o644); err != nil {
		t.Fatal(err)
	}
	w.must(t, false, "", "capture", "--output", "/root/host.tar.zst")
	plain, err := exec.Command(means.Tool(t, "zstd"), "-dc", "/root/host.tar.zst").Output()
	if err != nil || !bytes.Contains(plain, []byte(".google_authenticator")) {
		t.Errorf("the capture knows nothing of the files, which it should have looked at: %v", err)
	}
	places := map[string][]byte{"what the verbs said": w.said.Bytes(), "the capture": plain}
	filepath.WalkDir("/root/state", func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && d.Name() != "fettle" { // the guard's copy of the program
			places[p], _ = os.ReadFile(p)
		}
		return nil
	})
	if len(places) < 6 {
		t.Errorf("only %d places to look into", len(places))
	}
	for where, b := range places {
		for _, s := range w.secrets {
			if bytes.Contains(b, []byte(s)) {
				t.Errorf("%s holds a secret", where)
			}
		}
	}
}
