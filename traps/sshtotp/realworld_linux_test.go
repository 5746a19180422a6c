package sshtotp

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"fettle/host"
	"fettle/host/fact/sshlogin"
	"fettle/internal/means"
	"fettle/tools/totp"
)

// world is the host that the test makes for itself.
type world struct {
	signer ssh.Signer
	files  map[string]*totp.File // of users
}

const password = "correct horse"

// people of the test: in the group with a file, without one, outside, with a
// wrong mode, with a home that is read-only, with a file of root's.
var realUsers = []string{"alice", "bob", "carol", "dave", "erin", "frank"}

func newWorld(t *testing.T) *world {
	w := &world{files: map[string]*totp.File{}}
	run := func(name string, args ...string) string {
		t.Helper()
		out, err := exec.Command(means.Tool(t, name), args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run("mount", "--make-rprivate", "/")
	tmp := t.TempDir()
	run("cp", "-a", "/etc", tmp+"/etc")
	run("mount", "--bind", tmp+"/etc", "/etc")
	for _, d := range []string{"/home", "/run", "/root"} {
		run("mount", "-t", "tmpfs", "none", d)
	}
	must(t, os.MkdirAll("/run/sshd", 0o755))
	run("ip", "link", "set", "lo", "up")
	must(t, os.RemoveAll("/etc/ssh/sshd_config.d"))
	must(t, os.MkdirAll("/etc/ssh/sshd_config.d", 0o755))
	must(t, os.RemoveAll("/etc/pam.d"))
	must(t, os.MkdirAll("/etc/pam.d", 0o755))
	put(t, "/etc/nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\n")
	put(
		t,
		"/etc/pam.d/common-auth",
		"auth [success=1 default=ignore] pam_unix.so nullok nodelay\nauth requisite pam_deny.so\nauth required pam_permit.so\n",
	)
	put(
		t,
		"/etc/pam.d/common-account",
		"account [success=1 new_authtok_reqd=done default=ignore] pam_unix.so\naccount requisite pam_deny.so\naccount required pam_permit.so\n",
	)
	put(t, "/etc/pam.d/other", "auth required pam_deny.so\naccount required pam_deny.so\n")
	hash := run("openssl", "passwd", "-6", password)
	pw, sh := "root:x:0:0:root:/root:/bin/bash\nsshd:x:100:65534::/run/sshd:/usr/sbin/nologin\n", "root:*:19000::::::\nsshd:*:19000::::::\n"
	for i, u := range realUsers {
		pw += fmt.Sprintf("%s:x:%d:1000::/home/%s:/bin/sh\n", u, 2000+i, u)
		sh += fmt.Sprintf("%s:%s:19000::::::\n", u, hash)
	}
	put(t, "/etc/passwd", pw)
	put(t, "/etc/group", "root:x:0:\nnogroup:x:65534:\nusers:x:1000:\ntotp:x:2000:alice,bob,dave,erin,frank\n")
	must(t, os.WriteFile("/etc/shadow", []byte(sh), 0o600))
	pub, key, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	w.signer, err = ssh.NewSignerFromKey(key)
	must(t, err)
	sshPub, err := ssh.NewPublicKey(pub)
	must(t, err)
	_, hostKey, _ := ed25519.GenerateKey(rand.Reader)
	block, err := ssh.MarshalPrivateKey(hostKey, "")
	must(t, err)
	must(t, os.WriteFile("/etc/ssh/test_host_key", pem.EncodeToMemory(block), 0o600))
	put(t, "/etc/ssh/authorized_keys", string(ssh.MarshalAuthorizedKey(sshPub)))
	for i, u := range realUsers {
		home := "/home/" + u
		must(t, os.Mkdir(home, 0o700))
		if u == "erin" {
			run("mount", "-t", "tmpfs", "-o", "mode=0700,uid="+fmt.Sprint(2000+i), "none", home)
		}
		must(t, os.Chown(home, 2000+i, 1000))
		if u == "bob" || u == "carol" {
			continue
		}
		w.enrol(t, u, totp.Settings{Reuse: u != "erin", NoLimit: true})
		switch u {
		case "dave":
			must(t, os.Chmod(home+"/"+totp.FileName, 0o644))
		case "frank":
			must(t, os.Chown(home+"/"+totp.FileName, 0, 0))
		case "erin":
			run("mount", "-o", "remount,ro", home)
		}
	}
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, name, text string) {
	t.Helper()
	must(t, os.WriteFile(name, []byte(text), 0o644))
}

func (w *world) enrol(t *testing.T, user string, set totp.Settings) *totp.File {
	t.Helper()
	s, err := totp.NewSecret()
	must(t, err)
	f, err := totp.New(s, set)
	must(t, err)
	i := slices.Index(realUsers, user)
	must(t, totp.Place{Path: "/home/" + user + "/" + totp.FileName, UID: uint32(2000 + i), GID: 1000}.Write(f.Bytes(), true))
	w.files[user] = f
	return f
}

const port = "2222"

// serve runs sshd with these files until the test is over.
func (w *world) serve(t *testing.T, config, stack string) {
	t.Helper()
	put(t, "/etc/pam.d/sshd", stack)
	put(t, "/etc/ssh/sshd_config", config+"Match all\n")
	put(
		t,
		"/etc/ssh/test_config",
		"Port "+port+"\nHostKey /etc/ssh/test_host_key\nAuthorizedKeysFile /etc/ssh/authorized_keys\nMaxStartups 100\nMaxAuthTries "+
			"20\nLogLevel VERBOSE\nUseDNS no\nInclude /etc/ssh/sshd_config\n",
	)
	cmd := exec.Command("/usr/sbin/sshd", "-D", "-e", "-f", "/etc/ssh/test_config")
	log, err := os.Create("/run/sshd.log")
	must(t, err)
	cmd.Stderr = log
	must(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		log.Close()
		if t.Failed() {
			b, _ := os.ReadFile("/run/sshd.log")
			t.Logf("sshd said:\n%s", b[max(0, len(b)-4000):])
		}
	})
	means.Dial(t, "tcp", "127.0.0.1:"+port).Close()
}

// gives is what a login brings.
type gives struct {
	key            bool
	password, code string // "" is something wrong
	text           string // of the method password; "" leaves it out
}

// login tells whether sshd lets in.
func (w *world) login(t *testing.T, user string, g gives) bool {
	t.Helper()
	answer := func(_, _ string, questions []string, _ []bool) ([]string, error) {
		var out []string
		for _, q := range questions {
			switch {
			case strings.Contains(q, "Password & verification"):
				out = append(out, g.password+g.code)
			case strings.Contains(q, "erification code"):
				out = append(out, or(g.code, "000000"))
			default:
				out = append(out, or(g.password, "wrong"))
			}
		}
		return out, nil
	}
	var auth []ssh.AuthMethod
	if g.key {
		auth = append(auth, ssh.PublicKeys(w.signer))
	}
	if g.text != "" {
		auth = append(auth, ssh.Password(g.text))
	} else {
		auth = append(auth, ssh.KeyboardInteractive(answer))
	}
	c, err := ssh.Dial(
		"tcp",
		"127.0.0.1:"+port,
		&ssh.ClientConfig{User: user, Auth: auth, HostKeyCallback: ssh.InsecureIgnoreHostKey(), Timeout: 20 * time.Second},
	)
	if err == nil {
		c.Close()
		return true
	}
	var refused *ssh.ServerAuthError
	if !errors.As(err, &refused) && !strings.Contains(err.Error(), "unable to authenticate") {
		t.Logf("%s: %v", user, err)
	}
	return false
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// with tells whether somebody who has m gets in, whichever way he tries.
func (w *world) with(t *testing.T, user string, m sshlogin.Means) bool {
	g := gives{key: m.Key}
	var texts []string
	if m.Password {
		g.password = password
		texts = append(texts, password)
	}
	if f := w.files[user]; m.Code && f != nil {
		g.code = f.Secret.At(time.Now(), totp.Step)
		texts = append(texts, g.code)
		if m.Password {
			texts = append(texts, password+g.code)
		}
	}
	if w.login(t, user, g) {
		return true
	}
	for _, text := range texts {
		g.text = text
		if w.login(t, user, g) {
			return true
		}
	}
	return false
}

// live is this namespace's host.
func live(t *testing.T) *host.Host {
	t.Helper()
	src, err := host.NewLive()
	must(t, err)
	t.Cleanup(func() { src.Close() })
	return host.New(src)
}
