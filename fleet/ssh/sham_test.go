package ssh

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle/internal/jsondoc"
	"fettle/internal/means"
	"fettle/report"
)

// sham is a fleet of which ssh is a few lines of shell; $cmd is the command, $host the host.
func sham(t *testing.T, sudo bool, says string) (f *Fleet, dir string) {
	t.Helper()
	dir = t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", "")
	t.Setenv("XDG_CACHE_HOME", dir)
	for name, text := range map[string]string{
		"self": "self", "fettle-linux-riscv64": "other",
		"ssh": "#!/bin/sh\nfor a; do host=$cmd; cmd=$a; done\nhere=" + dir + "\necho \"$cmd\" >> $here/commands\n" + says + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	f, err := Open(Options{SSH: filepath.Join(dir, "ssh"), Self: filepath.Join(dir, "self"), BinaryDir: dir, Sudo: sudo})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, dir
}

// TestRun: fettle's status and errors come back; what does not is an error that says whether the host
// was reached.
func TestRun(t *testing.T) {
	for _, c := range []struct {
		name, says string
		out        string
		exit       int
		why        string // empty: no error
		reached    bool
	}{
		{"found something", "echo out; echo err >&2; exit 1", "out\n", 1, "", true},
		{"not to be reached", "echo 'Connection refused' >&2; exit 255", "", 0, "Connection refused", false},
		{"copied", `case $cmd in *gzip*) cat > $here/copy;; *) [ -e $here/copy ] && echo ran && exit 0; ` +
			`echo "` + needed + ` Linux riscv64" >&2; exit 97;; esac`, "ran\n", 0, "", true},
		{"not to be copied", `case $cmd in *gzip*) echo 'disk full' >&2; exit 98;; *) echo "` + needed + ` Linux riscv64" >&2; exit 97;; esac`,
			"", 0, "copying fettle there: exit status 98: disk full", true},
		{"cut off while copying", `case $cmd in *gzip*) echo 'Broken pipe' >&2; exit 255;; *) echo "` + needed +
			` Linux riscv64" >&2; exit 97;; esac`, "", 0, "Broken pipe", true},
		{"another system", `echo "` + needed + ` FreeBSD amd64" >&2; exit 97`, "", 0, "fettle does not run on FreeBSD amd64", true},
		{"another machine", `echo "` + needed + ` Linux s390x" >&2; exit 97`, "", 0, "it is a s390x machine, and there is no ", true},
		{"97 of its own", "echo oops >&2; exit 97", "", 97, "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, dir := sham(t, false, c.says)
			var out bytes.Buffer
			exit, errs, err := f.Run(t.Context(), "web1", []string{"check"}, &out)
			var e *Error
			switch {
			case (err == nil) != (c.why == "") || exit != c.exit || out.String() != c.out:
				t.Errorf("%q %d %q %v", out.String(), exit, errs, err)
			case err != nil && (!errors.As(err, &e) || e.Host != "web1" || e.Reached != c.reached || !strings.Contains(e.Why, c.why)):
				t.Errorf("%+v, want %q", err, c.why)
			}
			if c.name == "copied" {
				packed, err := os.Open(filepath.Join(dir, "copy"))
				if err != nil {
					t.Fatal(err)
				}
				defer packed.Close()
				z, err := gzip.NewReader(packed)
				if err != nil {
					t.Fatal(err)
				}
				if b, err := io.ReadAll(z); err != nil || string(b) != "other" {
					t.Errorf("copied %q, %v", b, err)
				}
			}
		})
	}
	for _, sudo := range []bool{false, true} {
		f, dir := sham(t, sudo, "exit 0")
		for _, f := range []*Fleet{f, f.Anew(), f.Limited(1 << 40)} {
			if _, _, err := f.Run(t.Context(), "web1", []string{"check"}, io.Discard); err != nil {
				t.Fatal(err)
			}
		}
		b, err := os.ReadFile(filepath.Join(dir, "commands"))
		if n := strings.Count(string(b), "exec sudo -n"); err != nil || sudo && n != 3 || !sudo && n != 0 {
			t.Errorf("as root: %v, %d of three runs are: %s, %v", sudo, n, b, err)
		}
	}
	f, dir := sham(t, false, "exit 0")
	if _, _, err := f.Run(t.Context(), "web1", []string{"a b"}, io.Discard); err == nil {
		t.Error("an argument of two words was passed on")
	}
	if _, err := os.Stat(filepath.Join(dir, "commands")); err == nil {
		t.Error("ssh was run")
	}
	f, dir = sham(t, false, "exit 0")
	if err := os.Remove(filepath.Join(dir, "self")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.Run(t.Context(), "web1", []string{"check"}, io.Discard); err == nil {
		t.Error("without a binary it ran")
	}
	if _, err := os.Stat(filepath.Join(dir, "commands")); err == nil {
		t.Error("ssh was run")
	}
}

// TestCheckHosts: each host's lines come in their order, with its end or one error last.
func TestCheckHosts(t *testing.T) {
	f, dir := sham(t, false, `case $host in *good*) cat $here/good;; *half*) head -n 2 $here/good;; *) exit 255;; esac`)
	if err := os.WriteFile(filepath.Join(dir, "good"), []byte(strings.Join(lines(t), "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, done := map[string]string{}, make(chan struct{})
	go func() {
		defer close(done)
		f.Check(t.Context(), []string{"good", "half", "dead"}, []string{"--limit=1s"}, func(e Event) {
			said := e.Line.Type
			var why *Error
			if errors.As(e.Err, &why) {
				said = fmt.Sprint("error ", why.Reached)
			}
			got[e.Host] += said + " "
		})
	}()
	select {
	case <-done:
	case <-time.After(means.Patience):
		t.Fatal("a check of three hosts does not end")
	}
	want := map[string]string{"good": "begin result end ", "half": "begin result error true ", "dead": "error false "}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q, want %q", got, want)
	}
	b, err := os.ReadFile(filepath.Join(dir, "commands"))
	if err != nil || strings.Count(string(b), "check --format jsonl --limit=1s") != 3 {
		t.Errorf("%s, %v", b, err)
	}
	// A host that breaks off in the middle of its report was reached.
	f, dir = sham(t, false, "head -n 1 $here/good; exit 255")
	if err := os.WriteFile(filepath.Join(dir, "good"), []byte(strings.Join(lines(t), "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var e *Error
	if err := f.checkOne(t.Context(), "web1", []string{"check"}, func(report.Line) {}); !errors.As(err, &e) || !e.Reached {
		t.Errorf("%+v", err)
	}
	// What the shell said instead of a report is in the error, where nothing else was said.
	f, _ = sham(t, false, "echo 'no space left'; exit 1")
	err = f.checkOne(t.Context(), "web1", []string{"check"}, func(report.Line) {})
	if err == nil || !strings.HasSuffix(err.Error(), "fettle ended there without a report (exit status 1): no space left") {
		t.Error(err)
	}
	f, _ = sham(t, false, `echo '{"type":"begin","format":"fettle-report","schema":99,"meta":{}}'`)
	if err := f.checkOne(t.Context(), "web1", []string{"check"}, func(report.Line) {}); !errors.As(err, &e) || !e.Reached ||
		e.Why != fmt.Sprintf("the report is of version 99; this fettle reads version %d", jsondoc.Version) {
		t.Errorf("%+v", err)
	}
}

// TestCapture: what comes back is the file, for its owner alone; a host that fails leaves what was
// there before.
func TestCapture(t *testing.T) {
	magic := `printf '\050\265\057\375'; `
	for _, c := range []struct{ name, says, want, why string }{
		{"good", "echo Welcome; " + magic + "printf rest", "\x28\xb5\x2f\xfdrest", ""},
		{"that fails", magic + "echo no >&2; echo '  root' >&2; exit 3", "before", "web1: capturing there: exit status 3: no root"},
		{"empty", "echo Welcome", "before", "web1: no capture came back"},
		{"dead", "exit 255", "before", "could not reach web1"},
		{"chatty", "head -c 70000 /dev/zero", "before", "web1: what came back is no capture"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, dir := sham(t, false, c.says)
			name := filepath.Join(dir, "web1.tar.zst")
			if err := os.WriteFile(name, []byte("before"), 0o644); err != nil {
				t.Fatal(err)
			}
			size, err := f.Capture(t.Context(), "web1", []string{"--redact"}, name)
			b, rerr := os.ReadFile(name)
			if string(b) != c.want || rerr != nil || (err == nil) != (c.why == "") || err != nil && !strings.HasPrefix(err.Error(), c.why) {
				t.Errorf("%q, %v; %v, want %q", b, rerr, err, c.why)
			}
			if st, serr := os.Stat(name); err == nil && (serr != nil || st.Mode().Perm() != 0o600 || size != int64(len(c.want))) {
				t.Errorf("%v, %v, %d bytes", st.Mode(), serr, size)
			}
			if b, err := os.ReadFile(filepath.Join(dir, "commands")); err != nil || !strings.Contains(string(b), "capture --output=- --redact") {
				t.Errorf("%s, %v", b, err)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "*web1*")); len(left) != 1 {
				t.Errorf("left over: %q", left)
			}
		})
	}
	f, dir := sham(t, false, "exit 0")
	if _, err := f.Capture(t.Context(), "web1", nil, filepath.Join(dir, "no", "folder")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

// TestArchiveWriter: noise before the stream is dropped, up to a bound; the stream is passed on, up to
// another.
func TestArchiveWriter(t *testing.T) {
	const magic = "\x28\xb5\x2f\xfd"
	noise := func(n int) string { return strings.Repeat("x", n) }
	for _, c := range []struct {
		name   string
		writes []string
		want   string
		fails  bool
	}{
		{"alone", []string{magic + "a", "b"}, magic + "ab", false},
		{"in pieces", []string{"hi\n\x28\xb5", "\x2f", "\xfda", magic}, magic + "a" + magic, false},
		{"after much noise", []string{noise(60_000), noise(64<<10 - 60_000), magic}, magic, false},
		{"after too much", []string{noise(64<<10 + 1), magic}, "", true},
	} {
		var out bytes.Buffer
		a := &archiveWriter{w: &out}
		var err error
		for _, s := range c.writes {
			n, werr := a.Write([]byte(s))
			if err = errors.Join(err, werr); werr == nil && n != len(s) {
				t.Errorf("%s: %d of %d bytes are taken", c.name, n, len(s))
			}
		}
		if out.String() != c.want || (err != nil) != c.fails || !c.fails && a.n != int64(len(c.want)) {
			t.Errorf("%s: %q, %d, %v", c.name, out.String(), a.n, err)
		}
	}
	a := &archiveWriter{w: io.Discard, n: maxCapture - 2}
	if _, err := a.Write([]byte("ab")); err != nil {
		t.Errorf("as much as may be: %v", err)
	}
	if _, err := a.Write([]byte("c")); err == nil {
		t.Error("more than may be")
	}
	a = &archiveWriter{w: full{}}
	for range 2 {
		if n, err := a.Write([]byte(magic)); n != 0 || err == nil || err.Error() != "disk full" {
			t.Errorf("%d, %v", n, err)
		}
	}
}

// TestStreamBounds: how much one host may say.
func TestStreamBounds(t *testing.T) {
	read := func(r ...io.Reader) (*stream, error) {
		s := &stream{}
		return s, s.read(io.MultiReader(r...), func(report.Line) {})
	}
	if _, err := read(strings.NewReader(strings.Repeat("x\n", maxLines))); err != nil {
		t.Errorf("as many lines as may be: %v", err)
	}
	eight := strings.Repeat("x", 8<<20) + "\n"
	var most []io.Reader
	for range 8 {
		most = append(most, strings.NewReader(eight))
	}
	if _, err := read(append(most, strings.NewReader("x"))...); err == nil || !strings.Contains(err.Error(), "more than 64 MiB") {
		t.Errorf("one byte too many: %v", err)
	}
	if _, err := read(strings.NewReader(eight), strings.NewReader(eight[:8<<20]+eight)); err == nil ||
		!strings.Contains(err.Error(), "reading the report: ") {
		t.Errorf("a line of 16 MiB: %v", err)
	}
	for n, want := range map[int]string{499: strings.Repeat("x", 499), 500: "short"} {
		if s, err := read(strings.NewReader("short\n" + strings.Repeat("x", n))); err != nil || s.noise != want {
			t.Errorf("a line of %d bytes: %.20q, %v", n, s.noise, err)
		}
	}
}

// TestBinaries: which build a machine gets, and from where.
func TestBinaries(t *testing.T) {
	for machine, want := range map[string]string{
		"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64", "armv6l": "arm", "i386": "386", "i586": "386", "i86": "",
		"x686": "", "i6860": "", "i687": "", "ppc64le": "ppc64le", "ppc64": "", "riscv64": "riscv64", "s390x": "s390x", "": "", "arm": "",
	} {
		if got := goarch(machine); got != want {
			t.Errorf("%q: %q, want %q", machine, got, want)
		}
	}
	dir := t.TempDir()
	self := filepath.Join(dir, "fettle")
	if err := os.WriteFile(self, []byte("self"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{self, dir + "x"} {
		if _, err := newBinaries(self, bad); err == nil {
			t.Errorf("%s is taken for a folder", bad)
		}
	}
	b, err := newBinaries(self, "")
	if err != nil || b.dir != dir || b.first().path != self {
		t.Fatalf("%+v, %v", b, err)
	}
	if usual, err := newBinaries("", ""); err != nil || !filepath.IsAbs(usual.self.path) {
		t.Errorf("%+v, %v", usual, err)
	}
	machine := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	if machine == "" {
		machine = runtime.GOARCH
	}
	if got, err := b.lookup("Linux", machine); err != nil || got != b.first() {
		t.Errorf("%+v, %v: want this program's file", got, err)
	}
	for _, c := range [][2]string{{"Darwin", machine}, {"Linux", "vax"}, {"Linux", ""}} {
		if _, err := b.lookup(c[0], c[1]); err == nil || !strings.Contains(err.Error(), "does not run on "+c[0]+" "+c[1]) {
			t.Errorf("%v: %v", c, err)
		}
	}
	if _, err := b.lookup("Linux", "s390x"); err == nil || !strings.Contains(err.Error(), "--binary-dir") {
		t.Error(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "fettle-linux-ppc64le"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := b.lookup("Linux", "ppc64le"); err == nil || strings.Contains(err.Error(), "--binary-dir") {
		t.Errorf("a folder: %v", err)
	}
	if _, err := b.self.load(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(self, []byte("another"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := b.self.pack(); err == nil || !strings.Contains(err.Error(), "was replaced meanwhile") {
		t.Error(err)
	}
	if b, err = newBinaries(self, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := b.self.load(); err != nil || os.Remove(self) != nil {
		t.Fatal(err)
	}
	if _, err := b.self.pack(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is gone: %v", err)
	}
}

// TestParseInventory: which hosts are in which groups, and how ssh reaches them.
func TestParseInventory(t *testing.T) {
	const all = `{"_meta":{"hostvars":{"w2":{"ansible_host":"192.0.2.2"},"w3":{"ansible_user":"u","ansible_port":"22"},` +
		`"d1":{"ansible_port":2222},"d2":{"ansible_host":"2001:db8::1","ansible_user":"u","ansible_port":"2200"},"d3":{"ansible_port":22}}},` +
		`"all":{"children":["ungrouped","web","db"]},"web":{"hosts":["w3","w1"],"children":["web","old","more"]},` +
		`"more":{"hosts":["w2"]},"db":{"hosts":["d1","d2","d3","w1"]}}`
	web, db := []string{"w1", "192.0.2.2", "u@w3"}, []string{"ssh://d1:2222", "ssh://u@[2001:db8::1]:2200", "d3", "w1"}
	for _, c := range []struct {
		text   string
		groups []string
		want   []string
		why    string
	}{
		{all, nil, append(slices.Clone(db), web[1:]...), ""},
		{all, []string{"web"}, web, ""},
		{all, []string{"db"}, db, ""},
		{all, []string{"db", "web", "db"}, append(slices.Clone(db), web[1:]...), ""},
		{all, []string{"old"}, nil, ""},
		{all, []string{"ungrouped"}, nil, ""},
		{all, []string{"olds"}, nil, `the inventory has no group "olds"`},
		{`{"_meta":{}}`, nil, nil, ""},
		{"x", nil, nil, "is not JSON"},
		{`{"_meta":[]}`, nil, nil, "for hosts"},
		{`{"_meta":{},"all":[]}`, nil, nil, `for group "all"`},
		{`{"_meta":{},"all":{"hosts":["-x"]}}`, nil, nil, "inventory host -x"},
	} {
		got, err := parseInventory([]byte(c.text), c.groups)
		if !slices.Equal(got, c.want) || (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) {
			t.Errorf("%.40s %v: %q, %v; want %q, %q", c.text, c.groups, got, err, c.want, c.why)
		}
	}
}

// TestAnsibleFails: what ansible-inventory says is in the error; how much it prints is bounded.
func TestAnsibleFails(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if _, err := Inventory(t.Context(), "hosts", nil); err == nil || !strings.Contains(err.Error(), "needs the program ansible-inventory") {
		t.Error(err)
	}
	for _, c := range []struct{ says, want, why string }{
		{`echo "{\"_meta\":{},\"all\":{\"hosts\":[\"h$#$1$2$3\"]}}"`, "h3--list-ihosts", ""},
		{`echo '{"_meta":{},"all":{}}'; echo 'no file' >&2`, "", "hosts: no host: no file"},
		{`echo '{"_meta":{},"all":{"hosts":["a"]}}'; echo broken >&2; exit 4`, "", "ansible-inventory -i hosts: exit status 4: broken"},
		{`exec /usr/bin/yes`, "", "prints more than 64 MiB"},
	} {
		means.Script(t, filepath.Join(dir, "ansible-inventory"), c.says+"\n")
		got, err := Inventory(context.Background(), "hosts", nil)
		if strings.Join(got, " ") != c.want || (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %q, %v", c.says, got, err)
		}
	}
}

// TestWords: what a host says, without what is said to fettle.
func TestWords(t *testing.T) {
	if got := words("a\n " + needed + " Linux x86_64\nb\n"); got != "a; b" {
		t.Errorf("%q", got)
	}
	for _, c := range []struct {
		exit int
		errs string
		ok   bool
	}{{97, needed + " Linux x86_64", true}, {97, needed + " Linux", false}, {97, "x Linux x86_64", false}, {97, "", false},
		{96, needed + " Linux x86_64", false}} {
		if _, _, ok := need(c.exit, c.errs); ok != c.ok {
			t.Errorf("%d %q: %v", c.exit, c.errs, ok)
		}
	}
}

// TestInterruptedRunHangsUp: who gives up on a host leaves no connection to it that hangs.
func TestInterruptedRunHangsUp(t *testing.T) {
	f, dir := sham(t, false, `case "$*" in "-O exit "*) echo "$*" >> $here/hung-up; exit;; esac; exec sleep 1000`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, _, err := f.Run(ctx, "web1", []string{"check"}, io.Discard)
		ended <- err
	}()
	means.Until(t, "ssh to be called", func() bool {
		_, err := os.Stat(filepath.Join(dir, "commands"))
		return err == nil
	})
	cancel()
	means.Within(t, "an interrupted run", func() {
		if err := <-ended; err == nil {
			t.Error("an interrupted run succeeded")
		}
	})
	if b, err := os.ReadFile(filepath.Join(dir, "hung-up")); err != nil || !strings.HasSuffix(string(b), " web1\n") {
		t.Errorf("the connection was left: %q, %v", b, err)
	}
}
