package agent

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
	"golang.org/x/crypto/ssh"

	"fettle/cli/app"
	"fettle/cli/app/apptest"
	"fettle/fleet/agent"
	"fettle/fleet/hub/join"
	"fettle/internal/means"
)

// run runs one command line in this process, as fettle-agent is called.
func run(ctx context.Context, stdin string, args ...string) (code int, out, errs string) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	var o, e bytes.Buffer
	p := &program{App: &app.App{Program: Name, Stdin: strings.NewReader(stdin), Stdout: &o, Stderr: &e}}
	code = p.Execute(ctx, args, p.root)
	return code, o.String(), e.String()
}

// user is somebody whom no hub knows: what NATS is shown, and the key.
func user(t *testing.T) (text string, creds []byte) {
	t.Helper()
	account, err := nkeys.CreateAccount()
	if err != nil {
		t.Fatal(err)
	}
	user, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	public, err := user.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	text, err = jwt.NewUserClaims(public).Encode(account)
	if err != nil {
		t.Fatal(err)
	}
	seed, err := user.Seed()
	if err == nil {
		creds, err = jwt.FormatUserConfig(text, seed)
	}
	if err != nil {
		t.Fatal(err)
	}
	return text, creds
}

// invitation is a line of a hub that is not there.
func invitation(t *testing.T, token string) string {
	t.Helper()
	text, _ := user(t)
	return join.Invite{URLs: []string{"nats://127.0.0.1:1"}, Token: token, JWT: text}.String()
}

func TestAgent(t *testing.T) {
	if !apptest.Golden(t, map[string]string{"/mnt/bin/fettle": "#!/bin/sh\necho \"$*\" >> /mnt/asked\nexit 2\n", "/mnt/text": "hello\n"}) {
		return
	}
	_, key, _ := ed25519.GenerateKey(rand.Reader)
	block, err := ssh.MarshalPrivateKey(key, "")
	if err := errors.Join(err, os.WriteFile("/mnt/key", pem.EncodeToMemory(block), 0o600), os.Chmod("/mnt/bin/fettle", 0o755),
		os.WriteFile("/etc/machine-id", []byte("0123456789abcdef0123456789abcdef\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	self, _ := os.Executable()
	byToken, byKey := invitation(t, "token"), invitation(t, "")
	apptest.Session(t, "agent.txt", func(ctx context.Context, args []string) (int, string, string) {
		stdin := ""
		for i, s := range args {
			switch s {
			case "BY-TOKEN":
				args[i] = byToken
			case "BY-KEY":
				args[i] = byKey
			case "<TYPED":
				args, stdin = args[:i], "  fettle-agent join "+byToken+"\n"
			}
		}
		code, out, errs := run(ctx, stdin, append([]string{"--state", "/mnt/state"}, args...)...)
		return code, out, strings.ReplaceAll(errs, self, "FETTLE-AGENT")
	})
	if _, err := os.Stat("/mnt/state"); err == nil {
		t.Error("what failed left credentials behind")
	}
	// An agent that joined runs fettle check soon, with the flags that it was given, until it is told to end.
	_, creds := user(t)
	admitted := join.Admitted{Agent: "aaaaaaaaaaaa", URLs: []string{"nats://127.0.0.1:1"}, Creds: creds}
	if err := agent.Save("/mnt/state", "golden", true, &admitted); err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithTimeout(t.Context(), means.Patience)
	defer end()
	go func() {
		for ctx.Err() == nil {
			if b, _ := os.ReadFile("/mnt/asked"); strings.Contains(string(b), "check ") {
				end()
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	code, out, errs := run(ctx, "", "--state", "/mnt/state", "run", "--fettle", "/mnt/bin/fettle", "--soon", "0s", "--every", "1m",
		"--keep", "1",
		"--events=false", "--restarts=false", "--", "--limit", "7s")
	b, err := os.ReadFile("/mnt/asked")
	if code != 0 || out != "" || err != nil || !strings.Contains(string(b), "check --format") || !strings.Contains(string(b), "--limit 7s") {
		t.Errorf("status %d, said %q and %q; fettle was asked %s, %v", code, out, errs, b, err)
	}
	if code, out, errs := run(t.Context(), "", "--state", "/mnt/state", "pack", "acme"); code != 3 || out != "" || !strings.Contains(errs,
		"the hub: ") {
		t.Errorf("no hub: status %d, said %q and %q", code, out, errs)
	}
	if err := os.WriteFile("/etc/machine-id", []byte("1123456789abcdef0123456789abcdef\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"run --fettle /mnt/bin/fettle", "pack acme"} {
		if code, _, errs := run(t.Context(), "", append([]string{"--state", "/mnt/state"}, strings.Fields(args)...)...); code != 2 ||
			!strings.Contains(errs, "join again") {
			t.Errorf("%s in a copied folder: status %d, said %q", args, code, errs)
		}
	}
}

// TestWhichFettle: the program is absolute, and nobody else's.
func TestWhichFettle(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("fettle", []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := findFettle("fettle"); err != nil || got != filepath.Join(dir, "fettle") {
		t.Errorf("%q, %v", got, err)
	}
	for _, given := range []string{"none", "fettle/below"} {
		if got, err := findFettle(given); err == nil {
			t.Errorf("%s: %q", given, got)
		}
	}
	if err := os.Chmod("fettle", 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := findFettle("fettle"); err == nil {
		t.Error("one that others can write to is run")
	}
	t.Setenv("PATH", "/nowhere")
	if _, err := findFettle(""); err == nil || errors.Is(err, exec.ErrNotFound) {
		t.Errorf("none on PATH: %v", err)
	}
}
