package openpgpkeyservers

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle/engine/remedy"
	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/engine/trap/traptest"
	"fettle/host"
	"fettle/internal/means"
	"fettle/internal/sks"
)

// A key that Debian's archive is signed with; gpg is on every Debian host, the
// key too.
const archiveKey = "/usr/share/keyrings/debian-archive-bookworm-stable.gpg"

// A real gpg with its dirmngr and a real keyserver (SKS) on the loopback: with
// the dead name the key does not come; after the remedy it does.
func TestRealKeyserver(t *testing.T) {
	gpg := means.Tool(t, "gpg")
	means.Tool(t, "dirmngr")
	key, err := os.ReadFile(archiveKey)
	if err != nil {
		means.Missing(t, "needs "+archiveKey)
	}
	port := sks.Serve(t, key)

	root, err := os.MkdirTemp("", "pgp") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(root, "root/.gnupg")
	t.Cleanup(func() {
		run(t, "/usr/bin/gpgconf", "--homedir", home, "--kill", "all")
		os.RemoveAll(root)
	})
	write(t, filepath.Join(root, "etc/passwd"), "root:x:0:0:root:/root:/bin/bash\n")
	write(t, filepath.Join(root, "etc/group"), "root:x:0:\n")
	conf := filepath.Join(home, "dirmngr.conf")
	before := fmt.Sprintf("disable-ipv6\nkeyserver hkp://subkeys.pgp.net:%d\n", port)
	write(t, conf, before)
	if err := os.Chmod(home, 0o700); err != nil {
		t.Fatal(err)
	}
	fetch := func() (string, error) {
		return run(t, gpg, "--homedir", home, "--batch", "--recv-keys", "0xF8D2585B8783D481")
	}
	if out, err := fetch(); err == nil {
		t.Fatalf("gpg got a key from a keyserver that is gone:\n%s", out)
	}

	h, subject := open(t, root), "/root/.gnupg/dirmngr.conf"
	if o := outcome(t, h, subject); o.Status != trap.Found {
		t.Fatalf("%+v", o)
	}
	chosen, err := Trap.Choose(trap.Finding{Subject: subject}, []string{fmt.Sprintf("keyserver=hkp://127.0.0.1:%d", port)})
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan(t.Context(), h, chosen)
	if err != nil {
		t.Fatal(err)
	}
	step := p.Steps[0].(step.File)
	step.Path = conf
	p.Steps[0] = step
	store, err := remedy.OpenStoreAt(filepath.Join(root, "journal"))
	if err != nil {
		t.Fatal(err)
	}
	e := &remedy.Engine{Store: store, Machine: machine.Linux{}, Who: "test"}
	change, err := e.Apply(t.Context(), remedy.Head{Trap: Trap.ID(), Subject: subject, Plan: p}, func(context.Context) error {
		if o := outcome(t, open(t, root), subject); o.Status != trap.Clear {
			return &remedy.StillFound{Summary: o.Summary}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	stopDirmngr(t, home)
	if out, err := fetch(); err != nil || !strings.Contains(out, "imported: 1") {
		t.Errorf("after the remedy: %v\n%s", err, out)
	}
	if _, err := e.Undo(t.Context(), change.ID, remedy.UndoOptions{}); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(conf); err != nil || string(b) != before {
		t.Errorf("after undo: %v %q", err, b)
	}
}

// stopDirmngr ends the dirmngr of a home, and waits until its socket is gone: while it
// ends, it still takes connections, and resets them.
func stopDirmngr(t *testing.T, home string) {
	t.Helper()
	socket, err := run(t, "/usr/bin/gpgconf", "--homedir", home, "--list-dirs", "dirmngr-socket")
	if err != nil {
		t.Fatalf("%v: %s", err, socket)
	}
	if out, err := run(t, "/usr/bin/gpgconf", "--homedir", home, "--kill", "dirmngr"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for range 200 {
		if _, err := os.Lstat(strings.TrimSpace(socket)); errors.Is(err, fs.ErrNotExist) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("dirmngr still has its socket %s", socket)
}

func outcome(t *testing.T, h *host.Host, subject string) trap.Outcome {
	t.Helper()
	for _, o := range traptest.Run(t, &Trap, h) {
		if o.Subject == subject {
			return o
		}
	}
	t.Fatalf("nothing is said of %s", subject)
	return trap.Outcome{}
}

func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if t.Context().Err() != nil { // at the end of the test
		ctx = context.Background()
	}
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	c.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}
	out, err := c.CombinedOutput()
	return string(out), err
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, root string) *host.Host {
	t.Helper()
	src, err := host.NewRoot(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	return host.New(src)
}
