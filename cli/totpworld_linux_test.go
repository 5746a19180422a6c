package cli_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"fettle/internal/means"
)

// totpWorld collects what was said, and which secrets may not be in it.
type totpWorld struct {
	secrets []string
	said    bytes.Buffer // by verbs that must not tell
}

func newTOTPWorld(t *testing.T) *totpWorld {
	run := func(args ...string) {
		t.Helper()
		if out, err := exec.Command(means.Tool(t, args[0]), args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	tmp := t.TempDir()
	run("mount", "--make-rprivate", "/")
	run("cp", "-a", "/etc", tmp+"/etc")
	run("mount", "--bind", tmp+"/etc", "/etc")
	for _, d := range []string{"/home", "/run", "/root"} {
		run("mount", "-t", "tmpfs", "none", d)
	}
	run("mount", "-t", "proc", "proc", "/proc")
	run("ip", "link", "set", "lo", "up")
	w := &totpWorld{}
	_, hostKey, _ := ed25519.GenerateKey(rand.Reader)
	block, err := ssh.MarshalPrivateKey(hostKey, "")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"/etc/nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\n",
		"/etc/passwd": "root:x:0:0:root:/root:/bin/bash\nsshd:x:100:65534::/run/sshd:/usr/sbin/nologin\nalice:x:2000:1000::/home/" +
			"alice:/bin/sh\nbob:x:2001:1000::/home/bob:/bin/sh\ncarol:x:2002:1000::/home/carol:/bin/sh\ndora:x:2003:1000::/home/dora:/bin/sh\n",
		"/etc/group":      "root:x:0:\nnogroup:x:65534:\nusers:x:1000:\ntotp:x:2000:alice,bob\nempty:x:2001:\n",
		"/etc/pam.d/sshd": "@include common-auth\n@include common-account\n",
		"/etc/ssh/sshd_config": "Include /etc/ssh/sshd_config.d/*.conf\nPort 2222\nHostKey /etc/ssh/test_host_key\nUsePAM yes\n" +
			"KbdInteractiveAuthentication no\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	os.RemoveAll("/etc/ssh/sshd_config.d")
	os.Mkdir("/etc/ssh/sshd_config.d", 0o755)
	os.WriteFile("/etc/ssh/test_host_key", pem.EncodeToMemory(block), 0o600)
	os.MkdirAll("/run/sshd", 0o755)
	for i, u := range []string{"alice", "bob", "carol"} {
		os.Mkdir("/home/"+u, 0o700)
		os.Chown("/home/"+u, 2000+i, 1000)
	}
	return w
}

// fettle runs one verb. Tells marks those whose output shows secrets.
func (w *totpWorld) fettle(t *testing.T, tells bool, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := &exec.Cmd{
		Path:   "/proc/self/exe",
		Args:   append([]string{"fettle"}, args...),
		Stdin:  strings.NewReader(stdin),
		Stdout: &out,
		Stderr: &errs,
		Env:    []string{"FETTLE_STATE=/root/state", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C"},
	}
	err := cmd.Run()
	var ee *exec.ExitError
	if err != nil && !errors.As(err, &ee) {
		t.Fatal(err)
	}
	fmt.Fprintf(&w.said, "%v\n%s", args, errs.String())
	if !tells {
		w.said.Write(out.Bytes())
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// must wants success.
func (w *totpWorld) must(t *testing.T, tells bool, stdin string, args ...string) string {
	t.Helper()
	out, errs, code := w.fettle(t, tells, stdin, args...)
	if code != 0 {
		t.Fatalf("fettle %v: status %d\n%s%s", args, code, out, errs)
	}
	return out
}

// refused wants an exit status and words, and alice's file as it is.
func (w *totpWorld) refused(t *testing.T, want int, words, stdin string, args ...string) {
	t.Helper()
	before, _ := os.ReadFile("/home/alice/.google_authenticator")
	out, errs, code := w.fettle(t, false, stdin, args...)
	after, _ := os.ReadFile("/home/alice/.google_authenticator")
	if code != want || !strings.Contains(errs, words) || !bytes.Equal(before, after) {
		t.Errorf("fettle %v: status %d, want %d, want %q\n%s%s", args, code, want, words, out, errs)
	}
	if n := strings.Count(strings.TrimSpace(errs), "\n"); n > 3 {
		t.Errorf("fettle %v: %d lines of error:\n%s", args, n+1, errs)
	}
}

var secretIn = regexp.MustCompile(`secret=([A-Z2-7]+)`)

// learn takes note of the secret and the scratch codes that out shows.
func (w *totpWorld) learn(t *testing.T, out string) string {
	t.Helper()
	m := secretIn.FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("no secret in %q", out)
	}
	w.secrets = append(w.secrets, m[1])
	for _, s := range regexp.MustCompile(`(?m)^    (\d{8})$`).FindAllStringSubmatch(out, -1) {
		w.secrets = append(w.secrets, s[1])
	}
	return m[1]
}
