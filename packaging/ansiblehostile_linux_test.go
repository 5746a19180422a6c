package packaging

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fettle/internal/means"
)

// said is a fettle that notes its arguments, a line each, and answers as fix or capture do.
const said = `#!/bin/sh
printf '%s\n' "$@" > DIR/args
case $1 in
fix) echo '{"format":"fettle-fix","schema":1,"result":"planned","findings":[],"refused":[],"plan":{"text":"x"}}' ;;
capture) : > "${2#--output=}" ;;
esac
`

// adHoc runs a module of the collection on this host, with that fettle.
func adHoc(t *testing.T, dir, module, args string) (string, error) {
	t.Helper()
	cmd := exec.Command("ansible", "localhost", "-c", "local", "-m", "fettle.fettle."+module, "-a", args)
	cmd.Env = append(os.Environ(), "ANSIBLE_COLLECTIONS_PATH="+dir, "ANSIBLE_HOME="+dir+"/home", "ANSIBLE_LOCAL_TEMP="+dir+"/tmp",
		"ANSIBLE_NOCOLOR=1", "LC_ALL=C.UTF-8", "FETTLE_TEST=expanded")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func collection(t *testing.T) string {
	t.Helper()
	means.Tool(t, "ansible")
	dir := t.TempDir()
	here, err := filepath.Abs("ansible")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir+"/ansible_collections/fettle", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(here, dir+"/ansible_collections/fettle/fettle"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/fettle", []byte(strings.ReplaceAll(said, "DIR", dir)), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestAnsibleArguments: what a host or a variable says reaches fettle as it stands: no shell
// reads it, no variable or home is put in, and none is taken for an option.
func TestAnsibleArguments(t *testing.T) {
	dir := collection(t)
	out, err := adHoc(t, dir, "fix", `{"trap": "~root", "executable": "`+dir+`/fettle", "on": ["$FETTLE_TEST", "~root", "br0; id", `+
		`"--yes-irreversible", "a\nb"], "options": {"a": "${FETTLE_TEST} `+"`id`"+`"}, "confirm_within": "$(id)"}`)
	if err != nil {
		t.Fatal(err, out)
	}
	b, err := os.ReadFile(dir + "/args")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"fix", "--format=json", "--yes", "--on=$FETTLE_TEST", "--on=~root", "--on=br0; id", "--on=--yes-irreversible",
		"--on=a", "b", "--with=a=${FETTLE_TEST} `id`", "--confirm-within=$(id)", "--", "~root"}
	if got := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n"); !slices.Equal(got, want) {
		t.Errorf("fettle was given\n%q, want\n%q", got, want)
	}
}

// TestAnsibleCapturePlanted: a file that somebody put where a capture is to be written is not
// taken for one, to be fetched: a link would lead to any file of root's.
func TestAnsibleCapturePlanted(t *testing.T) {
	means.Short(t, "takes seconds")
	dir := collection(t)
	for name, plant := range map[string]func(file string) error{
		"link":   func(file string) error { return os.Symlink("/etc/shadow", file) },
		"folder": func(file string) error { return os.Mkdir(file, 0o700) },
		"another's": func(file string) error {
			if err := os.WriteFile(file, []byte("his"), 0o644); err != nil {
				return err
			}
			return os.Chown(file, 1234, 1234)
		},
	} {
		if os.Geteuid() != 0 && name == "another's" {
			continue
		}
		file := filepath.Join(dir, name)
		if err := plant(file); err != nil {
			t.Fatal(err)
		}
		if out, err := adHoc(t, dir, "capture", `{"dest": "`+file+`", "executable": "`+dir+`/fettle"}`); err == nil {
			t.Errorf("%s is taken for a capture:\n%s", name, out)
		}
	}
	file := filepath.Join(dir, "new")
	for range 2 {
		if out, err := adHoc(t, dir, "capture", `{"dest": "`+file+`", "executable": "`+dir+`/fettle"}`); err != nil {
			t.Errorf("its own file: %v\n%s", err, out)
		}
	}
}
