package sshcontrolsockets

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/engine/trap/traptest"
	"fettle/host"
	"fettle/host/hosttest"
)

func mended(t *testing.T, a *txtar.Archive, p remedy.Plan) *txtar.Archive {
	t.Helper()
	out := &txtar.Archive{Comment: a.Comment, Files: slices.Clone(a.Files)}
	for _, s := range p.Steps {
		name, data := "", []byte(nil)
		switch s := s.(type) {
		case step.File:
			name, data = "root"+s.Path, s.Content
		case step.Perm:
			if s.Mode < 0 {
				continue
			}
			name, data = "stat"+s.Path, fmt.Appendf(nil, "mode %04o type dir\n", s.Mode)
		default:
			t.Fatalf("a step of kind %s", s.Kind())
		}
		if i := slices.IndexFunc(out.Files, func(f txtar.File) bool { return f.Name == name }); i >= 0 {
			out.Files[i].Data = data
		} else {
			out.Files = append(out.Files, txtar.File{Name: name, Data: data})
		}
	}
	return out
}

func hostOf(t *testing.T, a *txtar.Archive) *host.Host {
	t.Helper()
	src, _, err := hosttest.Parse(txtar.Format(a))
	if err != nil {
		t.Fatal(err)
	}
	return host.New(src)
}

// TestPlans applies each remedy; the finding is gone then, others stay.
func TestPlans(t *testing.T) {
	files, _ := filepath.Glob("testdata/trapped*.txtar")
	for _, f := range files {
		a, err := txtar.ParseFile(f)
		if err != nil {
			t.Fatal(err)
		}
		h := hostOf(t, a)
		for _, o := range traptest.Run(t, &Trap, h) {
			if o.Status != trap.Found {
				continue
			}
			if o, err = Trap.Choose(o, nil); err != nil {
				t.Fatal(err)
			}
			p, err := plan(t.Context(), h, o)
			if err != nil {
				t.Errorf("%s: %s: %v", f, o.Subject, err)
				continue
			}
			after := traptest.Run(t, &Trap, hostOf(t, mended(t, a, p)))
			i := slices.IndexFunc(after, func(x trap.Outcome) bool { return x.Subject == o.Subject })
			if i < 0 || after[i].Status != trap.Clear {
				t.Errorf("%s: %s after its remedy:\n%s\n%s", f, o.Subject, traptest.Lines(after), remedy.Text(p, remedy.TextOptions{Width: 80}))
			}
		}
	}
}

func TestChoices(t *testing.T) {
	a, err := txtar.ParseFile("testdata/trapped.txtar")
	if err != nil {
		t.Fatal(err)
	}
	h := hostOf(t, a)
	for given, want := range map[string]string{
		"host=*.example.net !x": "Host *.example.net !x\n",
		"persist=1h":            "ControlPersist 1h\n",
		"host=a\nProxyCommand":  "refused",
		"host=a#b":              "refused",
		"host=":                 "refused",
		"persist=soon":          "refused",
	} {
		f, err := Trap.Choose(trap.Finding{Subject: "alice"}, []string{given})
		if err != nil {
			t.Fatal(err)
		}
		p, err := plan(t.Context(), h, f)
		got := "refused"
		if err == nil {
			got = string(p.Steps[0].(step.File).Content)
		}
		if !strings.Contains(got, want) {
			t.Errorf("%q: %s %v", given, got, err)
		}
	}
}

// TestOneHost: one host after the other is set up for somebody who knows few, whom
// the check leaves in peace, and none twice.
func TestOneHost(t *testing.T) {
	a := txtar.Parse([]byte("-- root/etc/passwd --\nalice:x:1000:1000::/home/alice:/bin/bash\n-- root/etc/group --\nalice:x:1000:\n" +
		"-- root/home/alice/.ssh/known_hosts --\nweb1 ssh-ed25519 AAAA\n-- stat/home/alice/.ssh --\nmode 0700 type dir uid 1000\n"))
	for _, name := range []string{"web1", "web2", "web1"} {
		h := hostOf(t, a)
		if o := traptest.Run(t, &Trap, h); len(o) != 1 || o[0].Status != trap.Clear {
			t.Fatalf("%s: %+v", name, o)
		}
		f, err := Trap.Choose(trap.Finding{Subject: "alice"}, []string{"host=" + name})
		if err != nil {
			t.Fatal(err)
		}
		p, err := plan(t.Context(), h, f)
		if err != nil {
			if strings.Contains(err.Error(), "/home/alice/.ssh/config:4 already says ControlMaster auto for web1") {
				return
			}
			t.Fatalf("%s: %v", name, err)
		}
		if text := string(p.Steps[0].(step.File).Content); !strings.Contains(text, "\nHost "+name+"\n") {
			t.Errorf("%s: %s", name, text)
		}
		a = mended(t, a, p)
		for i := range a.Files { // made with the user's rights
			if strings.HasSuffix(a.Files[i].Name, ".ssh/config") {
				a.Files = append(a.Files, txtar.File{Name: "stat/home/alice/.ssh/config", Data: []byte("mode 0600 uid 1000\n")})
				break
			}
		}
	}
	t.Error("web1 was set up twice")
}

// TestLinks: root does not write where a user's links lead.
func TestLinks(t *testing.T) {
	const users = "-- root/etc/passwd --\nalice:x:1000:1000::/home/alice:/bin/bash\n-- root/etc/group --\nalice:x:1000:\n"
	for name, text := range map[string]string{
		"config is a link": "-- link/home/alice/.ssh/config --\n/etc/cron.d/x\n-- stat/home/alice/.ssh --\nmode 0700 type dir uid 1000\n",
		"config is hard-linked": "-- root/home/alice/.ssh/config --\nx\n-- stat/home/alice/.ssh/config --\nmode 0600 uid 1000 nlink 2\n-- " +
			"stat/home/alice/.ssh --\nmode 0700 type dir uid 1000\n",
		"the folder is a link": "-- link/home/alice/.ssh --\n/etc\n",
		"the folder is root's": "-- stat/home/alice/.ssh --\nmode 0700 type dir uid 0\n",
		"there is no folder":   "",
	} {
		if _, err := plan(t.Context(), hosttest.New(t, users+text), trap.Finding{Subject: "alice"}); err == nil ||
			!strings.Contains(err.Error(), "alice") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestClash(t *testing.T) {
	for name, want := range map[string]string{
		"/x/%C": "", "/x/%r@%h:%p": "", "/x/%h-%p": "all users", "/x/%r@%h": "all ports", "/x/%r-%p": "all hosts", "/x/%%C": "all hosts",
		"/x/${HOST}":  "",
		"/x/%n-%r-%p": "",
	} {
		if got := clash(name, false); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := clash("/x/web-%r", true); got != "" {
		t.Errorf("of one host: %q", got)
	}
}
