package pack

import (
	"context"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/cli/app/apptest"
	"fettle/engine/pack"
	"fettle/engine/trap"
	"fettle/internal/means"
)

// varying are days and fingerprints, which differ from run to run.
var varying = regexp.MustCompile(`20\d\d-\d\d-\d\d|SHA256:[A-Za-z0-9+/]+|127\.0\.0\.1:\d+`)

func session(t *testing.T, file string, own ...*trap.Trap) {
	t.Helper()
	apptest.Session(t, file, func(ctx context.Context, args []string) (code int, out, errs string) {
		run := func() {
			code, out, errs = apptest.Run(ctx, app.App{Traps: own}, Cmd, append([]string{"pack"}, args...)...)
		}
		if args[0] == "user" {
			args = args[1:]
			means.AsNobody(t, run)
		} else {
			run()
		}
		out = varying.ReplaceAllString(out, "VARYING")
		return code, out, varying.ReplaceAllString(errs, "VARYING")
	})
}

// edit changes a file below /mnt.
func edit(t *testing.T, file, old, new string) {
	t.Helper()
	b, err := os.ReadFile("/mnt/" + file)
	if err == nil && !strings.Contains(string(b), old) {
		err = errors.New("it has no " + old)
	}
	if err := errors.Join(err, os.WriteFile("/mnt/"+file, []byte(strings.ReplaceAll(string(b), old, new)), 0o644)); err != nil {
		t.Fatal(file, err)
	}
}

// TestPacks: one is begun, built in three versions, verified, installed, compared, rolled back and removed.
func TestPacks(t *testing.T) {
	keygen := means.Tool(t, "ssh-keygen")
	if !apptest.Golden(t, map[string]string{"/etc/passwd": "root:x:0:0::/root:/bin/sh\n", "/etc/os-release": apptest.Release}) {
		return
	}
	sessions, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	at := func(file string) string { return filepath.Join(sessions, file) }
	t.Chdir("/mnt")
	t.Setenv("SSH_ASKPASS", "/bin/false") // nobody is asked for a passphrase
	t.Setenv("SSH_ASKPASS_REQUIRE", "force")
	for _, name := range []string{"key", "other", "locked"} {
		secret := map[string]string{"locked": "secret"}[name]
		if out, err := exec.Command(keygen, "-q", "-t", "ed25519", "-N", secret, "-C", "ops", "-f", name).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
	}
	session(t, at("new.txt"))
	if left, _ := filepath.Glob("/mnt/*.pack"); len(left) > 0 {
		t.Errorf("what was refused made %v", left)
	}
	session(t, at("build.txt"))
	edit(t, "acme/pack.yaml", "version: 1", "version: 2")
	edit(t, "acme/acme-first-trap/rule.yaml", "What is wrong", "What is very wrong")
	if err := os.CopyFS("/mnt/acme/acme-second-trap", os.DirFS("/mnt/acme/acme-first-trap")); err != nil {
		t.Fatal(err)
	}
	edit(t, "acme/acme-second-trap/rule.yaml", "acme-first-trap", "acme-second-trap")
	session(t, at("build-2.txt"))
	own := apptest.Says("acme-second-trap", "")
	session(t, at("build-own.txt"), own)
	edit(t, "acme/acme-first-trap/healthy.txtar", "clear", "unknown")
	session(t, at("build-failing.txt"))
	if _, err := os.Stat("/mnt/failing.pack"); err == nil {
		t.Error("a pack whose sample fails was written")
	}
	b, err := os.ReadFile("acme-1.pack")
	if err == nil {
		err = os.WriteFile("changed.pack", []byte(strings.ReplaceAll(string(b), "first-trap", "worst-trap")), 0o644)
	}
	if err := errors.Join(err, os.Mkdir("bin", 0o755), os.WriteFile("bin/fettle-agent", []byte(`#!/bin/sh
[ "$1" = pack ] && [ "$2" = acme ] && cat /mnt/acme-1.pack && exit
[ "$2" = zeta ] && cat /mnt/acme-1.pack && exit
echo "fettle-agent: the hub offers no pack $2" >&2
exit 7
`), 0o755)); err != nil {
		t.Fatal(err)
	}
	session(t, at("no-keys.txt"))
	key, err := os.ReadFile("key.pub")
	other, err2 := os.ReadFile("other.pub")
	if err := errors.Join(err, err2, os.MkdirAll("/etc/fettle", 0o755), os.WriteFile("/etc/fettle/pack-keys",
		[]byte("ops@example.org "+string(key)), 0o644), os.WriteFile("others", []byte("eve "+string(other)), 0o644)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", "/mnt/bin:"+os.Getenv("PATH"))
	session(t, at("verify.txt"))
	session(t, at("install.txt"))
	late := pack.Host()
	late.Now = func() time.Time { return time.Now().AddDate(1, 0, 0) }
	code, out, _ := apptest.Run(t.Context(), app.App{}, func(a *app.App) *cobra.Command { return cmd(a, late) }, "pack", "list")
	if code != 0 || !strings.Contains(out, "; EXPIRED 20") {
		t.Errorf("a year later: status %d, said %q", code, out)
	}
	if err := os.WriteFile("/var/lib/fettle/packs/bad.pack", []byte("bad\x1b"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, _ := apptest.Run(t.Context(), app.App{}, Cmd, "pack", "list"); code != 3 || !strings.Contains(out, "\nbad: ") ||
		!strings.HasPrefix(out, "pack acme 2, ") {
		t.Errorf("one that cannot be read: status %d, said %q", code, out)
	}
	os.Remove("/var/lib/fettle/packs/bad.pack")
	session(t, at("own-trap.txt"), own)
	session(t, at("remove.txt"))
	left, err := filepath.Glob("/var/lib/fettle/packs/*.p*")
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestFetched: a pack comes over https alone, and whole.
func TestFetched(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/acme.pack" {
			http.NotFound(w, r)
			return
		}
		w.Write([]byte("a pack"))
	}))
	defer s.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSL_CERT_FILE", file)
	b, err := read(t.Context(), &app.App{}, s.URL+"/acme.pack")
	if err != nil || string(b) != "a pack" {
		t.Errorf("%q, %v", b, err)
	}
	for _, url := range []string{s.URL + "/none", strings.Replace(s.URL, "https:", "http:", 1) + "/acme.pack", "https://127.0.0.1:1/x"} {
		var st *app.Status
		if b, err := read(t.Context(), &app.App{}, url); !errors.As(err, &st) || st.Code != app.ExitUsage || b != nil {
			t.Errorf("%s: %q, %v", url, b, err)
		}
	}
	if _, err := read(t.Context(), &app.App{}, s.URL+"/none"); err == nil || err.Error() != s.URL+"/none answers 404 Not Found" {
		t.Errorf("not there: %v", err)
	}
}
