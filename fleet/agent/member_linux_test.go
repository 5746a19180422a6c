package agent

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fettle/fleet/hub/join"
	"fettle/fleet/hub/message"
	"fettle/internal/folded"
	"fettle/internal/means"
	"fettle/report/onhub"
)

// says wants an error that begins so, and is whole.
func says(t *testing.T, what string, err error, begins string) {
	t.Helper()
	if err == nil || !strings.HasPrefix(err.Error(), begins) || strings.Contains(err.Error(), "%!") {
		t.Errorf("%s: %v, want %q", what, err, begins)
	}
}

// admitted is what a host got by joining.
var admitted = join.Admitted{
	Agent: "aaaaaaaaaaaaaaaa", URLs: []string{"tls://hub.example:4222"}, CA: []byte("an authority"), Creds: []byte("secret"),
}

// A host that joins keeps what it got where root alone reads it, and forgets what waited for another hub.
func TestSave(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	if _, err := Load(dir); !errors.Is(err, ErrNotJoined) {
		t.Errorf("before: %v", err)
	}
	for range 2 {
		if err := Save(dir, "web1", true, &admitted); err != nil {
			t.Fatal(err)
		}
		m, err := Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		if m.Agent != admitted.Agent || m.Name != "web1" || !m.OwnName || !slices.Equal(m.URLs, admitted.URLs) || m.CA != "an authority" ||
			time.Since(m.joined).Abs() > time.Minute || len(m.Machine) != 32 {
			t.Errorf("%+v", m)
		}
		if err := m.sameMachine(); err != nil {
			t.Error(err)
		}
		for _, name := range []string{memberFile, credsFile} {
			if st, err := os.Stat(filepath.Join(dir, name)); err != nil || st.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, name := range []string{spoolDir, onhub.File} {
			if _, err := os.Stat(filepath.Join(dir, name)); !os.IsNotExist(err) {
				t.Errorf("%s is left: %v", name, err)
			}
		}
		if err := errors.Join(os.Mkdir(filepath.Join(dir, spoolDir), 0o700),
			os.WriteFile(filepath.Join(dir, spoolDir, "x"), nil, 0o600), os.WriteFile(filepath.Join(dir, onhub.File), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	m := &Member{Machine: "another"}
	if err := m.sameMachine(); err != ErrCopied {
		t.Errorf("on another machine: %v", err)
	}
}

// What cannot be written or read when a host joins is an error, not half a member.
func TestSaveTroubles(t *testing.T) {
	for what, c := range map[string]struct{ folder, says string }{
		"a file for a folder":             {"", "mkdir "},
		"a folder for the list":           {onhub.File + "/x", "remove "},
		"a folder for credentials":        {credsFile + "/x", ""},
		"a folder for what the agent is":  {memberFile + "/x", ""},
		"a file where it should have one": {"", "mkdir "},
	} {
		dir := filepath.Join(t.TempDir(), "agent")
		if c.folder == "" {
			if err := os.WriteFile(dir, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		} else if err := os.MkdirAll(filepath.Join(dir, c.folder), 0o700); err != nil {
			t.Fatal(err)
		}
		says(t, what, Save(dir, "web1", false, &admitted), c.says)
		if strings.HasPrefix(c.folder, memberFile) {
			_, err := Load(dir)
			says(t, what, err, "read ")
		} else if _, err := Load(dir); err == nil {
			t.Errorf("%s: joined nevertheless", what)
		}
	}
	dir := t.TempDir()
	file := filepath.Join(dir, memberFile)
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Load(dir)
	says(t, "damaged", err, file+": ")
	_, err = publicKey(filepath.Join(dir, "none"))
	says(t, "no credentials", err, "open ")
	_, err = publicKey(file)
	says(t, "no credentials", err, file+": ")
	creds := filepath.Join(dir, credsFile)
	writeCreds(t, creds)
	if key, err := publicKey(creds); err != nil || len(key) != 56 || key[0] != 'U' {
		t.Errorf("%q, %v", key, err)
	}
}

// A machine is who its machine-id says, which not every host has; and a host whose old messages cannot be removed joins
// no other hub. In a file system of the test's own.
func TestMachine(t *testing.T) {
	if !means.Inside(t, syscall.CLONE_NEWNS, soon) {
		return
	}
	mount := func(dir string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(dir, 0o700), unix.Mount("fettle-test", dir, "tmpfs", 0, "")); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	mount(filepath.Join(dir, spoolDir))
	t.Cleanup(func() { _ = unix.Unmount(filepath.Join(dir, spoolDir), 0) })
	says(t, "a spool that stays", Save(dir, "web1", false, &admitted), "unlinkat ")
	if _, err := Load(dir); err != ErrNotJoined {
		t.Errorf("joined nevertheless: %v", err)
	}
	mount("/etc")
	was := map[string]string{}
	for _, id := range []string{"", "0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"} {
		if id != "" {
			if err := os.WriteFile("/etc/machine-id", []byte(id+"\n"), 0o444); err != nil {
				t.Fatal(err)
			}
		}
		is, err := machineHash()
		if err != nil || len(is) != 32 || was[is] != "" || strings.Contains(id, is) {
			t.Errorf("%q: %q, as %q, %v", id, is, was[is], err)
		}
		was[is] = id + "."
	}
}

// The list of what is accepted on the hub is kept and named, and goes when it is empty.
func TestAccepts(t *testing.T) {
	var said []string
	dir := t.TempDir()
	a := &Agent{Config: Config{Dir: dir}, hub: folded.Log{To: func(s string) { said = append(said, s) }}}
	if got := hasAccepts(dir); got != message.NoAccepts {
		t.Errorf("none: %q", got)
	}
	a.keepAccepts(&onhub.List{Digest: "none"})
	if a.accepts != "none" || hasAccepts(dir) != message.NoAccepts {
		t.Errorf("an empty list where there was none: %q, %q", a.accepts, said)
	}
	a.keepAccepts(&onhub.List{Digest: "d1", Entries: []onhub.Entry{{Trap: "a"}}})
	if a.accepts != "d1" || hasAccepts(dir) != "d1" {
		t.Errorf("%q, %q", a.accepts, said)
	}
	if err := os.WriteFile(filepath.Join(dir, onhub.File), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := hasAccepts(dir); got != message.NoAccepts {
		t.Errorf("without a name: %q", got)
	}
	if err := os.WriteFile(filepath.Join(dir, onhub.File), []byte(`{"digest":"x"`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := hasAccepts(dir); got != message.NoAccepts {
		t.Errorf("damaged: %q", got)
	}
	if a.keepAccepts(&onhub.List{Digest: "empty"}); a.accepts != "empty" || len(said) != 0 {
		t.Errorf("%q, %q", a.accepts, said)
	}
	if _, err := os.Stat(filepath.Join(dir, onhub.File)); !os.IsNotExist(err) {
		t.Errorf("an empty list is kept: %v", err)
	}
	if err := os.MkdirAll(filepath.Join(dir, onhub.File, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	a.keepAccepts(&onhub.List{Digest: "d2"})
	a.keepAccepts(&onhub.List{Digest: "d3", Entries: []onhub.Entry{{Trap: "a"}}})
	if a.accepts != "empty" || len(said) != 1 || !strings.HasPrefix(said[0], "keeping what is accepted on the hub: ") {
		t.Errorf("where it cannot be kept: %q, %q", a.accepts, said)
	}
}

// What is known of a start is kept; where it cannot be, that is said.
func TestRemember(t *testing.T) {
	r := newRestarted(t)
	r.restart.was = started{Boot: "b", Lost: []string{"x"}}
	r.remember()
	var got started
	b, err := os.ReadFile(filepath.Join(r.Dir, startedFile))
	if err != nil || json.Unmarshal(b, &got) != nil || got.Boot != "b" || got.Lost[0] != "x" {
		t.Errorf("%+v, %v", got, err)
	}
	if len(r.said) != 0 {
		t.Errorf("%q", r.said)
	}
	r.Dir = filepath.Join(r.Dir, "none")
	if r.remember(); len(r.said) != 1 || !strings.HasPrefix(r.said[0], "keeping what is known of this start: ") {
		t.Errorf("%q", r.said)
	}
}
