package sshconfig

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fettle/host"
	"fettle/host/hosttest"
	"fettle/internal/means"
)

const sample = `
ControlMaster no
Include conf.d/*.conf
Host web1 "db 2" *.example.net !bad.example.net
  ControlPath ~/.ssh/a-%C
  User=alice
Match host *.org
  User org
Match all
  User nobody
  ControlPath none
Host late
  ControlMaster yes
`

// TestLikeSSH compares with ssh -G for the names that the sample tells apart.
func TestLikeSSH(t *testing.T) {
	ssh := means.Tool(t, "ssh")
	dir := t.TempDir()
	for name, text := range map[string]string{"config": strings.Replace(sample, "conf.d", dir+"/conf.d", 1), "conf.d/1.conf": included,
		"conf.d/.x.conf": "User hidden\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h := hosttest.New(
		t,
		"-- root/home/a/.ssh/config --\n"+sample+"-- root/home/a/.ssh/conf.d/1.conf --\n"+included+"-- root/home/a/.ssh/conf.d/.x.conf "+
			"--\nUser hidden\n",
	)
	c, err := Read(t.Context(), h, "/home/a/.ssh/config", "/home/a/.ssh", "/home/a")
	if err != nil || len(c.Errors) > 0 || c.Unread != nil {
		t.Fatal(err, c.Errors, c.Unread)
	}
	for _, name := range []string{"web1", "x.example.net", "bad.example.net", "a.org", "inc", "late", "other", "10.0.0.1"} {
		out, err := exec.Command(ssh, "-G", "-F", filepath.Join(dir, "config"), name).Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range []string{"user", "controlmaster"} {
			l, ok := c.Get(name, k)
			if !ok {
				t.Errorf("%s: no %s", name, k)
				continue
			}
			got := strings.NewReplacer("no", "false", "yes", "true").Replace(l.Args[0])
			if k == "user" {
				got = l.Args[0]
			}
			if want := fmt.Sprintf("\n%s %s\n", k, got); !bytes.Contains(append([]byte("\n"), out...), []byte(want)) {
				t.Errorf("%s: %s is %q (%s), ssh -G says otherwise:\n%s", name, k, got, l.Place(), out)
			}
		}
	}
}

const included = "Host inc\n  User included\n"

// TestBounds: a file that includes itself, or too many others, or that is too long, ends, and says so.
func TestBounds(t *testing.T) {
	for text, want := range map[string]struct {
		lines  int
		errors string
		unread error
	}{
		"User x\nInclude c\n": {17, "[/c:2: too many levels of Include, or files]", nil},
		strings.Repeat("Include d\n", 501) + "-- root/d --\nUser x\n": {499, "[/c:500: too many levels of Include, or files " +
			"/c:501: too many levels of Include, or files]", nil},
		strings.Repeat("User x\n", 19_999):                                          {19_999, "[]", nil},
		strings.Repeat("User x\n", 20_003):                                          {20_000, "[]", host.ErrTooBig},
		"Include d/* e\n-- root/e --\nUser x\n-- denied/d --\n":                     {1, "[]", host.ErrDenied},
		"Include d/*\n-- link/d/1 --\n/none\n-- root/d/2 --\nUser x\n":              {1, "[]", nil},
		"Include d/*\n-- root/d/.1 --\nUser x\n-- root/d/2 --\nUser x\n":            {1, "[]", nil},
		"Include ~/.*\n-- root/d/.1 --\nUser x\n-- root/d/2 --\nUser x\n":           {1, "[]", nil},
		"Include d/*\n-- link/d/1 --\n/x\n-- denied/x --\n-- root/d/2 --\nUser x\n": {1, "[]", host.ErrDenied},
	} {
		c, err := Read(t.Context(), hosttest.New(t, "-- root/c --\n"+text), "/c", "/", "/d")
		if err != nil || len(c.Lines) != want.lines || fmt.Sprint(c.Errors) != want.errors || !errors.Is(c.Unread, want.unread) {
			t.Errorf("%.60q: %v, %d lines, %v, %v", text, err, len(c.Lines), c.Errors, c.Unread)
		}
		if want.unread == host.ErrTooBig && c.Unread.Error() != "/c: more than 20000 lines: "+host.ErrTooBig.Error() {
			t.Error(c.Unread)
		}
	}
	if _, err := Read(t.Context(), hosttest.New(t, ""), "/c", "/", "/"); !host.IsAbsent(err) {
		t.Errorf("of no file: %v", err)
	}
}

func TestNames(t *testing.T) {
	h := hosttest.New(t, "-- root/c --\nUser x\nHost a *.x !y b,c a\nuser y\nPort 22\nHost b a\n")
	c, err := Read(t.Context(), h, "/c", "/", "/")
	if err != nil || fmt.Sprint(c.Names) != "[a b]" || len(c.All("USER")) != 2 || len(c.All("port")) != 1 {
		t.Errorf("%v, %v, %v", err, c.Names, c.Lines)
	}
}

func TestUnsure(t *testing.T) {
	h := hosttest.New(t, "-- root/c --\nMatch exec \"true\"\nUser x\nHost one\nUser y\nHost\nUser\nUser \"z\n")
	c, err := Read(t.Context(), h, "/c", "/", "/")
	if err != nil {
		t.Fatal(err)
	}
	if _, sure := c.Lines[0].Block.Applies("a"); sure {
		t.Error("Match exec was judged")
	}
	if applies, sure := (&Block{Match: "canonical"}).Applies("a"); applies || sure {
		t.Error("Match canonical was judged")
	}
	if len(c.Errors) != 3 || c.Errors[0].Line != 5 {
		t.Errorf("%v", c.Errors)
	}
	if !c.Lines[1].Block.Single() || c.Lines[0].Block.Single() {
		t.Error("Single")
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzRead(f *testing.F) {
	f.Add(sample)
	f.Add("Include *\nInclude /c\nMatch\nHost \"")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "-- ") {
			return
		}
		c, err := Read(t.Context(), hosttest.New(t, "-- root/c --\n"+text+"\n"), "/c", "/", "/")
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range c.Lines {
			if l.Num < 1 || l.Keyword == "" {
				t.Errorf("%+v", l)
			}
			l.Block.Applies("x")
		}
		c.Get("x", "user")
	})
}
