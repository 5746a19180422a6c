package capture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"fettle/before/snapshot"
	"fettle/cli/app"
	"fettle/cli/app/apptest"
	"fettle/engine/run"
	"fettle/engine/trap"
	"fettle/host"
	packed "fettle/host/capture"
	"fettle/internal/means"
)

var traps = []*trap.Trap{
	reads("hosts-file", trap.Instant, "/etc/hosts"), reads("motd", trap.Instant, "/etc/motd"), reads("slow", trap.Sampled, "/etc/slow"),
	{Lore: "---\nid: patient\ntitle: Takes its time\n---\n", Check: func(ctx context.Context, _ *host.Host, r *trap.Report) error {
		<-ctx.Done()
		return ctx.Err()
	}},
}

// reads is a check that reads a file.
func reads(id string, cost trap.Cost, file string) *trap.Trap {
	return &trap.Trap{Lore: trap.Lore("---\nid: " + id + "\ntitle: Reads a file\n---\n"), Cost: cost,
		Check: func(ctx context.Context, h *host.Host, r *trap.Report) error {
			if _, err := h.ReadFile(ctx, file); err != nil && !host.IsAbsent(err) {
				return err
			}
			r.Clear("", "read")
			return nil
		}}
}

func TestMain(m *testing.M) {
	if code, ok := run.Child(os.Args[1:], append(slices.Clip(traps), snapshot.Probe), nil, os.Stderr); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

func captured(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	return apptest.Run(t.Context(), app.App{Traps: traps[:3]}, Cmd, append([]string{"capture"}, args...)...)
}

// hostFolder is the current folder from now on, and has a root folder in it.
func hostFolder(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	write := func(name, text string) error { return os.WriteFile(name, []byte(text), 0o644) }
	if err := errors.Join(os.MkdirAll("root/etc/motd", 0o755), os.MkdirAll("root/usr", 0o755), write("root/etc/hostname", "golden\n"),
		write("root/etc/hosts", "127.0.1.1 golden.example.org golden\n192.0.2.7 web1\n"), write("root/etc/os-release", "ID=debian\n"),
		write("root/etc/slow", "slow\n"), write("text", "hello\n")); err != nil {
		t.Fatal(err)
	}
}

// content is a file of a capture.
func content(t *testing.T, file, name string) (string, error) {
	t.Helper()
	src, err := packed.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	b, err := src.ReadFile(t.Context(), name, 1<<20)
	return string(b), err
}

func TestRootFolder(t *testing.T) {
	hostFolder(t)
	code, out, errs := captured(t, "--root", "root", "-o", "c.tar.zst")
	wrote := regexp.MustCompile(`^wrote c\.tar\.zst: [0-9.]+ (bytes|KiB), [0-9]+ items\ncould not be read \(unknown when the capture is checked\):\n  .*/etc/motd.*\n$`)
	if code != 0 || !wrote.MatchString(out) || errs != "" {
		t.Errorf("status %d, said %q and %q", code, out, errs)
	}
	if st, err := os.Stat("c.tar.zst"); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", st, err)
	}
	if text, err := content(t, "c.tar.zst", "/etc/hosts"); err != nil || !strings.Contains(text, "192.0.2.7 web1") {
		t.Errorf("/etc/hosts: %q, %v", text, err)
	}
	if text, err := content(t, "c.tar.zst", "/etc/slow"); err == nil {
		t.Errorf("what a sampled check reads is there, too: %q", text)
	}
	if code, out, _ := captured(t, "hosts-file", "--root", "root", "-o", "d.tar.zst"); code != 0 ||
		strings.Contains(out, "could not be read") {
		t.Errorf("of one trap: %d, %q", code, out)
	}
	if es, _ := filepath.Glob(".fettle*"); len(es) > 0 {
		t.Errorf("left behind: %v", es)
	}
}

func TestNameOfItsOwn(t *testing.T) {
	hostFolder(t)
	code, out, errs := captured(t, "hosts-file", "--root", "root")
	es, _ := filepath.Glob("golden-20*Z.tar.zst")
	if code != 0 || errs != "" || len(es) != 1 || !strings.HasPrefix(out, "wrote "+es[0]+": ") {
		t.Errorf("status %d, said %q and %q; there is %v", code, out, errs, es)
	}
	if code, out, errs := captured(t, "hosts-file", "-o", "live.tar.zst"); code != 0 || errs != "" ||
		!strings.HasPrefix(out, "wrote live.tar.zst: ") {
		t.Errorf("of this host: %d, %q, %q", code, out, errs)
	}
}

func TestStandardOutput(t *testing.T) {
	hostFolder(t)
	code, out, errs := captured(t, "hosts-file", "--root", "root", "-o", "-")
	if err := os.WriteFile("piped.tar.zst", []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	if code != 0 || !strings.HasPrefix(errs, "wrote standard output: ") {
		t.Errorf("status %d, said %q", code, errs)
	}
	if text, err := content(t, "piped.tar.zst", "/etc/hosts"); err != nil || !strings.Contains(text, "web1") {
		t.Errorf("%q, %v", text, err)
	}
	_, tty := means.OpenTerminal(t)
	a := &app.App{Program: "fettle", Stdout: tty, Stderr: io.Discard, Traps: traps[:3]}
	err := verb(t, a, "-o", "-")
	if err == nil || !strings.Contains(err.Error(), "standard output is a terminal") {
		t.Errorf("to a terminal: %v", err)
	}
	if err := verb(t, a, "hosts-file", "--root", "root", "-o", "x.tar.zst"); err != nil {
		t.Errorf("to a file, from a terminal: %v", err)
	}
}

// verb calls the verb with standard output as it is.
func verb(t *testing.T, a *app.App, args ...string) error {
	t.Helper()
	c := Cmd(a)
	c.SetArgs(args)
	c.SilenceErrors, c.SilenceUsage = true, true
	return c.ExecuteContext(t.Context())
}

func TestRedacted(t *testing.T) {
	hostFolder(t)
	var texts []string
	for _, args := range []string{"-o a --redact-key key", "-o b --redact-key key --redact", "-o c --redact", "-o d --redact-key other"} {
		code, out, errs := captured(t, append([]string{"hosts-file", "--root", "root"}, strings.Fields(args)...)...)
		if code != 0 || errs != "" || !strings.HasSuffix(out, "\nredacted: names and addresses are replaced\n  nothing was left out\n") {
			t.Errorf("%s: status %d, said %q and %q", args, code, out, errs)
		}
		text, err := content(t, strings.Fields(args)[1], "/etc/hosts")
		if err != nil || strings.Contains(text, "golden") || strings.Contains(text, "192.0.2.7") {
			t.Errorf("%s: %q, %v", args, text, err)
		}
		texts = append(texts, text)
	}
	if texts[0] != texts[1] || texts[0] == texts[2] || texts[0] == texts[3] || texts[2] == texts[3] {
		t.Errorf("with the same key, the same, with none or another one, others: %q", texts)
	}
	key, err := os.ReadFile("key")
	st, _ := os.Stat("key")
	if err != nil || !regexp.MustCompile(`^[0-9a-f]{64}\n$`).Match(key) || st.Mode().Perm() != 0o600 {
		t.Errorf("the key: %q, %v, %v", key, st, err)
	}
}

func TestKeys(t *testing.T) {
	t.Chdir(t.TempDir())
	for text, good := range map[string]bool{
		strings.Repeat("0f", 16): true, strings.Repeat("0F", 16) + "\n": true, strings.Repeat("0f", 15): false,
		strings.Repeat("xy", 16): false, "": false,
		strings.Repeat("0f", 16) + "0": false, strings.Repeat("0f", 3000): false,
	} {
		if err := os.WriteFile("key", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		key, err := redactKey("key")
		if good && (err != nil || len(key) != 16 || key[0] != 15) || !good && err == nil {
			t.Errorf("%q: %x, %v", text, key, err)
		}
	}
	for file, want := range map[string]int{".": app.ExitUsage, "none/key": app.ExitFailed, "key/below": app.ExitUsage} {
		var s *app.Status
		if _, err := redactKey(file); !errors.As(err, &s) || s.Code != want || !strings.HasPrefix(err.Error(), "--redact-key: ") {
			t.Errorf("%s: %v, %+v", file, err, s)
		}
	}
	before := means.OpenFiles(t)
	if err := os.WriteFile("key", []byte(strings.Repeat("0f", 16)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := redactKey("key"); err != nil || len(means.OpenFiles(t)) != len(before) {
		t.Errorf("%v; open are %v, before %v", err, means.OpenFiles(t), before)
	}
	one, err := redactKey("")
	other, err2 := redactKey("")
	if err != nil || err2 != nil || len(one) != 32 || string(one) == string(other) {
		t.Errorf("%x, %x: %v, %v", one, other, err, err2)
	}
}

func TestRefusals(t *testing.T) {
	hostFolder(t)
	if err := syscall.Mkfifo("pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"--limit -1s": "--limit -1s: must not be negative", "no-such-trap": "no trap is called",
		"slow":    "slow is a sampled check; a capture holds what instant checks read",
		"./c.tar": `"./c.tar" is not a trap's name; to write the capture there: -o ./c.tar`, "a.b": "is not a trap's name",
		"-o root": "-o root: it is a folder; name a file", "-o pipe": "-o pipe: it is no regular file; for a pipe, use -o -",
		"-o none/c":   "making a file for the capture: ",
		"--root none": "none does not exist: expected the folder that holds a root file system",
		"--root text": "--root text: not a folder", "--redact-key text": "--redact-key text: not a key",
		"--redact-key pipe":    "not a regular file",
		"--host a --root root": "it does not go with --root", "--host a --redact-key k": "--redact-key cannot be used with --host",
		"--host a -o none": "-o none: with --host this is a folder that is there", "--host a -o text": "with --host this is a folder",
		"--host a no-such-trap": "no trap is called", "--host -x": "begins with -", "--hosts-file none": "none does not exist",
		"--host a --forks -1": "must not be negative",
	} {
		code, out, errs := captured(t, strings.Fields(args)...)
		if said := strings.Join(strings.Fields(errs), " "); code != 2 || !strings.Contains(said, want) || out != "" {
			t.Errorf("%s: status %d, said %q and %q; want %q", args, code, out, errs, want)
		}
	}
	if es, _ := filepath.Glob("*.zst"); len(es) > 0 {
		t.Errorf("what was refused made %v", es)
	}
	t.Setenv("TMPDIR", "/dev/null/none")
	if code, _, errs := captured(t, "hosts-file", "--root", "root", "-o", "-"); code != 2 ||
		!strings.Contains(strings.Join(strings.Fields(errs), " "), "set TMPDIR to a folder") {
		t.Errorf("no folder for what is temporary: %d, %q", code, errs)
	}
}

// TestLimit: a check that takes longer is unknown, not a failure of the capture.
func TestLimit(t *testing.T) {
	hostFolder(t)
	ctx, end := context.WithTimeout(t.Context(), means.Patience)
	defer end()
	code, out, errs := apptest.Run(ctx, app.App{Traps: traps}, Cmd, "capture", "patient", "--limit", "20ms", "--root", "root", "-o", "c")
	if code != 0 || !strings.HasPrefix(out, "wrote c: ") || errs != "" || ctx.Err() != nil {
		t.Errorf("status %d, said %q and %q", code, out, errs)
	}
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestWhatIsSaidOfACapture(t *testing.T) {
	var twenty, more []string
	for i := range 22 {
		more = append(more, fmt.Sprintf("/etc/%d: denied", i))
	}
	twenty = more[:20]
	list := "could not be read (unknown when the capture is checked):\n  " + strings.Join(twenty, "\n  ") + "\n"
	for _, c := range []struct {
		sum  run.Recorded
		key  []byte
		root string
		euid int
		want string
	}{
		{sum: run.Recorded{Answers: 1}, want: "1 item\n"},
		{sum: run.Recorded{Answers: 2}, want: "2 items\n"},
		{sum: run.Recorded{}, key: []byte("k"), want: "0 items\nredacted: names and addresses are replaced\n  nothing was left out\n"},
		{sum: run.Recorded{Dropped: []string{"a"}}, key: []byte("k"),
			want: "0 items\nredacted: names and addresses are replaced\n  1 item left out: fettle does not know how to redact them\n"},
		{sum: run.Recorded{Dropped: []string{"a", "b"}}, key: []byte("k"),
			want: "0 items\nredacted: names and addresses are replaced\n  2 items left out: fettle does not know how to redact them\n"},
		{sum: run.Recorded{Unread: twenty}, want: "0 items\n" + list},
		{sum: run.Recorded{Unread: more}, want: "0 items\n" + list + "  and 2 more\n"},
		{euid: 7, want: "0 items\nmade without root: run as root for a complete capture\n"},
		{euid: 7, root: "/x", want: "0 items\n"},
		{euid: 7, root: "/x", sum: run.Recorded{Denied: true}, want: "0 items\nmade without root: run as root for a complete capture\n"},
		{sum: run.Recorded{Denied: true}, want: "0 items\n"},
	} {
		out, err := os.Create(filepath.Join(t.TempDir(), "c"))
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		if _, err := out.WriteString("capture"); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr strings.Builder
		rec := &run.Recording{Out: out, Key: c.key, Sum: &c.sum}
		o := captureOptions{file: "-", root: c.root}
		err = deliver(&app.App{Stdout: &stdout, Stderr: &stderr}, o, nil, rec, host.Identity{EUID: c.euid})
		if want := "wrote standard output: 7 bytes, " + c.want; err != nil || stdout.String() != "capture" || stderr.String() != want {
			t.Errorf("%+v: %v, said %q, want %q", c.sum, err, stderr.String(), want)
		}
		err = deliver(&app.App{Stdout: full{}, Stderr: &stderr}, o, nil, rec, host.Identity{})
		if err == nil || !strings.HasPrefix(err.Error(), "writing the capture: ") {
			t.Errorf("to a full disk: %v", err)
		}
	}
}

func TestNames(t *testing.T) {
	at := time.Date(2026, 11, 30, 9, 5, 6, 0, time.FixedZone("", 2*3600))
	for in, want := range map[string]string{
		"web1.example.org": "web1.example.org", "azAZ09-._": "azAZ09-._", "../../etc/passwd": "etcpasswd", "-rf": "rf", "": "host",
		"...": "host", "a b\x1b\n/": "ab",
		"büro": "bro", strings.Repeat("x", 70): strings.Repeat("x", 64), strings.Repeat("y", 64): strings.Repeat("y", 64), "`{@[/:": "host",
	} {
		if got := captureName(in, at); got != want+"-20261130T070506Z.tar.zst" {
			t.Errorf("%q: %s", in, got)
		}
	}
	for in, want := range map[string]string{"root@web1": "root@web1", "ssh://x@[2001:db8::1]:22": "ssh_x@_2001_db8_1_22", "../a": "_a",
		".hidden": "hidden"} {
		if got := fileName(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

// TestOtherHosts: ssh is a script that answers for three hosts.
func TestOtherHosts(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	script := `#!/bin/sh
echo "$*" >> ` + dir + `/asked
for word; do host=$command; command=$word; done
case $host in
	bad) echo "no route to host" >&2; exit 255 ;;
	poor) echo "disk full" >&2; exit 3 ;;
esac
printf '\050\265\057\375of '$host
`
	if err := errors.Join(os.Mkdir("bin", 0o755), os.WriteFile("bin/ssh", []byte(script), 0o755), os.Mkdir("out", 0o755)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+"/bin:"+os.Getenv("PATH"))
	t.Setenv("XDG_RUNTIME_DIR", dir)
	code, out, errs := captured(t, "hosts-file", "motd", "--host", "web1,me@web2", "-o", "out", "--network", "--limit", "90s", "--redact")
	one, _ := filepath.Glob("out/web1-20*Z.tar.zst")
	two, _ := filepath.Glob("out/me@web2-20*Z.tar.zst")
	if len(one) != 1 || len(two) != 1 {
		t.Fatalf("status %d, said %q and %q; there are %v and %v", code, out, errs, one, two)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	slices.Sort(lines)
	if want := []string{"me@web2: wrote " + two[0] + ": 14 bytes", "web1: wrote " + one[0] + ": 11 bytes"}; code != 0 || errs != "" ||
		!slices.Equal(lines, want) {
		t.Errorf("status %d, said %q and %q; want %q", code, out, errs, want)
	}
	if b, err := os.ReadFile(one[0]); string(b) != "\x28\xb5\x2f\xfdof web1" {
		t.Errorf("%q, %v", b, err)
	}
	asked, err := os.ReadFile("asked")
	if err != nil || strings.Count(string(asked), " capture --output=- hosts-file motd --network --limit=1m30s --redact") != 2 {
		t.Errorf("asked %s, %v", asked, err)
	}

	if err := os.Remove("asked"); err != nil {
		t.Fatal(err)
	}
	code, out, errs = captured(t, "--host", "bad,web1,poor")
	if code != 3 || strings.Count(out, "\n") != 1 || !strings.HasPrefix(out, "web1: wrote web1-20") ||
		!strings.Contains(errs, "fettle: could not reach bad: no route to host\n") || !strings.Contains(errs,
		"fettle: poor: capturing there: exit status 3: disk full\n") ||
		!strings.HasSuffix(errs, "fettle: 2 of 3 hosts gave no capture\n") {
		t.Errorf("status %d, said %q and %q", code, out, errs)
	}
	if es, _ := filepath.Glob("*-20*"); len(es) != 1 {
		t.Errorf("there are %v", es)
	}
	asked, err = os.ReadFile("asked")
	if err != nil || strings.Contains(string(asked), "--network") || strings.Contains(string(asked), "--limit") ||
		strings.Contains(string(asked), "--redact") {
		t.Errorf("asked %s, %v", asked, err)
	}
}
