package cli_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle/internal/means"
)

// fixFleet are hosts that an ssh reaches which runs things here: each has a home, a
// demo/ beside its copy of fettle-fix, and a journal of its own.
type fixFleet struct {
	*fixHost
	hash string
}

// farSSH logs what it was asked for. A host without a file "up" cannot be reached
// anew, only over its control socket; before a change, the script "meanwhile" is run.
const farSSH = `#!/bin/sh
cd "${0%/bin/ssh}/hosts" || exit 255
anew=
while [ "$1" != -- ]; do case $1 in ControlPath=none) anew=anew;; esac; shift; done
case $3 in *gzip*) what=copy;; *--plan*) what=plan;; *--yes*) what=apply;; *confirm*) what=confirm;; esac
echo "$2 $what $anew" >> ../log
[ -d "$2" ] || { echo "ssh: connect to host $2: No route to host" >&2; exit 255; }
[ "$anew" ] && [ ! -e "$2/up" ] && { echo "ssh: connect to host $2: Connection refused" >&2; exit 255; }
[ "$what" = apply ] && [ -e "$2/meanwhile" ] && sh "$2/meanwhile"
[ -e "$2/chatty" ] && echo 'Welcome {"to": "this host"}'
export HOME="$PWD/$2" FETTLE_STATE="$PWD/$2/state" FETTLE_UNIT_DIR="$PWD/$2/units"
exec /bin/sh -c "$3"
`

func newFixFleet(t *testing.T) *fixFleet {
	f := &fixFleet{fixHost: newFixHost(t)}
	b, err := os.ReadFile(f.dir + "/fettle-fix")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(b)
	f.hash = hex.EncodeToString(sum[:])
	for _, d := range []string{"/bin", "/hosts", "/me"} {
		if err := os.Mkdir(f.dir+d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(f.dir+"/bin/ssh", []byte(farSSH), 0o755); err != nil {
		t.Fatal(err)
	}
	return f
}

// host makes a host; demo are files beside its fettle, or "!NAME" in its home.
func (f *fixFleet) host(name string, demo ...string) {
	f.t.Helper()
	cache := filepath.Join(f.dir, "hosts", name, ".cache", "fettle", f.hash)
	if err := os.MkdirAll(cache+"/demo", 0o700); err != nil {
		f.t.Fatal(err)
	}
	// No link to one file: each further link would change what tells that a copy was verified.
	copyTo(f.t, f.dir+"/fettle-fix", cache+"/fettle", 0o700)
	os.Mkdir(filepath.Join(f.dir, "hosts", name, "units"), 0o755)
	f.put(filepath.Join("hosts", name, ".cache", "fettle", f.hash, "is-fettle-fix"), "")
	f.put(filepath.Join("hosts", name, "up"), "")
	f.put(f.demo(name, "a.conf"), "bad\n")
	for _, d := range demo {
		if home, ok := strings.CutPrefix(d, "!"); ok {
			f.put(filepath.Join("hosts", name, home), "")
			continue
		}
		f.put(f.demo(name, d), "")
	}
}

func (f *fixFleet) demo(host, name string) string {
	return filepath.Join("hosts", host, ".cache", "fettle", f.hash, "demo", name)
}

// fix runs fix on hosts and wants this exit status.
func (f *fixFleet) fix(status int, args ...string) string {
	f.t.Helper()
	return f.over(status, append([]string{"fix", "demo"}, args...)...)
}

func (f *fixFleet) over(status int, args ...string) string {
	f.t.Helper()
	os.Remove(f.dir + "/log")
	cmd := f.command(args...)
	cmd.Env = append(cmd.Env, "COLUMNS=200", "HOME="+f.dir+"/me")
	cmd.Env[len(cmd.Env)-3] = "PATH=" + f.dir + "/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	out, err := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); got != status {
		f.t.Fatalf("%v: exit status %d, want %d (%v)\n%s", args, got, status, err, out)
	}
	return string(out)
}

func (f *fixFleet) says(host, want string) {
	f.t.Helper()
	if got := strings.TrimSpace(f.read(f.demo(host, "a.conf"))); got != want {
		f.t.Errorf("%s: a.conf says %q, want %q", host, got, want)
	}
}

// TestFixManyHosts: plans are shown, and those applied that were; what goes wrong on
// one host keeps the others from being begun.
func TestFixManyHosts(t *testing.T) {
	means.Short(t, "takes seconds")
	t.Parallel()
	f := newFixFleet(t)
	f.host("one")
	f.host("two", "!chatty")
	f.host("three")
	f.host("fine")
	f.put(f.demo("fine", "a.conf"), "good\n")

	out := f.fix(4, "--host", "one,two,fine,dead", "--plan")
	wants(
		t,
		out,
		"== one\ndemo:a: a is bad\n\nmake a good\n",
		"== two\n",
		"== fine\ndemo is not found: there is nothing to fix.\n",
		"== dead\nNO REPORT ssh: connect to host dead: No route to host\n",
	)
	f.says("one", "bad")

	wants(t, f.fix(2, "--host", "one"), "no terminal to ask on")
	f.says("one", "bad")
	wants(t, f.fix(2, "--host", "one", "--yes", "--batch", "0"), "--batch 0: must be at least 1")
	wants(t, f.fix(2, "--host", "one", "--plan", "--format", "sh"), "does not go with --host")
	wants(t, f.fix(2, "--yes", "--batch", "2"), "--batch is about many hosts")

	// The host that cannot be reached is told by the status; the others are mended.
	out = f.fix(4, "--host", "one,two,fine,dead", "--yes", "--batch", "2")
	wants(t, out, "one: fixed, change 0001\n", "two: fixed, change 0001\n")
	f.says("one", "good")
	f.says("two", "good")
	if log := f.read("log"); strings.Contains(log, "fine apply") || strings.Count(log, "one apply") != 1 {
		t.Errorf("asked for:\n%s", log)
	}

	wants(
		t,
		f.over(4, "changes", "--host", "one,fine,dead"),
		"== one\n0001 ",
		"== fine\nfettle has changed nothing on this host.\n",
		"== dead\nNO REPORT ",
	)
	wants(t, f.over(2, "undo", "--host", "one", "--yes"), "with --host name the change")
	wants(t, f.over(0, "undo", "0001", "--host", "one,two", "--plan"), "+bad")
	f.says("one", "good")
	out = f.over(0, "undo", "0001", "--host", "one,two", "--yes")
	wants(t, out, "Change 0001 is undone; everything is restored.\n")
	if n := strings.Count(out, "+bad"); n != 2 {
		t.Errorf("the plan of two hosts is shown %d times:\n%s", n, out)
	}
	f.says("one", "bad")
	f.says("two", "bad")
	f.fix(0, "--host", "one,two", "--yes", "--batch", "2")

	// The second of three fails: the third is not begun.
	f.put(f.demo("one", "a.conf"), "bad\n")
	f.put(f.demo("two", "a.conf"), "bad\n")
	f.put(f.demo("two", "useless"), "")
	out = f.fix(6, "--host", "one,two,three", "--yes")
	wants(t, out, "one: fixed, change 0003\n", "two: rolled-back: ", "stopped: 1 host is fixed, 1 host not started: three\n")
	f.says("one", "good")
	f.says("two", "bad")
	f.says("three", "bad")
	if log := f.read("log"); strings.Contains(log, "three apply") {
		t.Errorf("asked for:\n%s", log)
	}

	// What cannot be undone is not covered by --yes.
	f.put(f.demo("three", "for-ever"), "")
	wants(t, f.fix(5, "--host", "three", "--yes"), "--yes-irreversible does")
	f.says("three", "bad")
	f.fix(0, "--host", "three", "--yes", "--yes-irreversible")
	f.says("three", "good")
}

// TestFixAnotherPlan: a host that changed since its plan was shown is left alone.
func TestFixAnotherPlan(t *testing.T) {
	t.Parallel()
	f := newFixFleet(t)
	f.host("one")
	f.put("hosts/one/meanwhile", "echo 'bad, and more' > "+filepath.Join(f.dir, f.demo("one", "a.conf"))+"\n")
	wants(t, f.fix(5, "--host", "one", "--yes"), "one: refused: the plan is no longer the one that was shown")
	f.says("one", "bad, and more")
	if _, err := os.Stat(f.dir + "/hosts/one/state/changes/0001"); err == nil {
		t.Error("a change was made")
	}
}

// TestFixConfirmsAnew: what can cut the connection is confirmed over a new one, and
// where there is none, the host rolls it back.
func TestFixConfirmsAnew(t *testing.T) {
	means.Short(t, "takes seconds")
	t.Parallel()
	f := newFixFleet(t)
	f.host("open", "cuts")
	f.host("shut", "cuts")
	f.host("next")
	if err := os.Remove(f.dir + "/hosts/shut/up"); err != nil {
		t.Fatal(err)
	}
	out := f.fix(6, "--host", "open,shut,next", "--yes", "--confirm-within", "12s")
	wants(t, out, "open: fixed and confirmed over a new connection, change 0001\n",
		"shut: change 0001 was made, and could not be confirmed from here: ssh: connect to", "Connection refused", "1 host not started: next\n")
	f.says("open", "good")
	f.says("next", "bad")
	f.within(30*time.Second, "shut takes it back", func() bool { return strings.TrimSpace(f.read(f.demo("shut", "a.conf"))) == "bad" })
	log := f.read("log")
	for _, want := range []string{"open confirm anew\n", "shut confirm anew\n"} {
		if !strings.Contains(log, want) {
			t.Errorf("no %q in\n%s", want, log)
		}
	}
	time.Sleep(time.Second)
	f.says("open", "good") // it stays
}

// TestFixDocument: the outcome as an object, and only the plan that was shown.
func TestFixDocument(t *testing.T) {
	t.Parallel()
	h := newFixHost(t)
	type outcome struct {
		Format, Trap, Result, Error string
		Status                      int
		Findings                    []struct{ Subject, Severity, Summary string }
		Plan                        *struct {
			Digest, Text string
			Irreversible int
		}
		Change *struct{ ID string }
	}
	said := func(status int, args ...string) outcome {
		t.Helper()
		cmd := h.command(append([]string{"fix", "--format", "json"}, args...)...)
		b, _ := cmd.Output()
		var o outcome
		if err := json.Unmarshal(b, &o); err != nil || cmd.ProcessState.ExitCode() != status || o.Status != status || o.Format != "fettle-fix" {
			t.Fatalf("%v: exit status %d, want %d: %v\n%s", args, cmd.ProcessState.ExitCode(), status, err, b)
		}
		return o
	}
	if out, err := exec.Command(h.dir+"/fettle-fix", "fix", "demo", "--format", "json").CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "cannot ask") {
		t.Errorf("%v: %s", err, out)
	}
	o := said(0, "demo", "--plan")
	if o.Result != "planned" || len(o.Findings) != 1 || o.Findings[0].Severity != "warning" || o.Plan == nil ||
		!strings.Contains(o.Plan.Text, "+good") {
		t.Errorf("planned: %+v", o)
	}
	if o := said(5, "demo", "--yes", "--as-planned", "0"); o.Result != "refused" || o.Change != nil {
		t.Errorf("another plan: %+v", o)
	}
	if o := said(0, "demo", "--yes", "--as-planned", o.Plan.Digest); o.Result != "mended" || o.Change == nil || o.Change.ID != "0001" {
		t.Errorf("applied: %+v", o)
	}
	if o := said(0, "demo", "--yes"); o.Result != "nothing-to-mend" || o.Plan != nil {
		t.Errorf("again: %+v", o)
	}
	h.put("demo/a.conf", "bad\n")
	if o := said(5, "demo-by-hand", "--plan"); o.Result != "refused" || o.Error == "" {
		t.Errorf("by hand: %+v", o)
	}
	if o := said(4, "demo-hidden", "--yes"); o.Result != "unknown" {
		t.Errorf("hidden: %+v", o)
	}
	if o := said(2, "nosuch", "--plan"); o.Result != "failed" {
		t.Errorf("no such trap: %+v", o)
	}
}
