package nameservice

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fettle/internal/means"
)

// switches are texts in which the service files does or does not get to answer
// for passwd. No module is called nosuch: glibc takes it as unavailable.
var switches = []string{
	"passwd: files\n", "passwd: nosuch\n", "passwd: nosuch files\n", "passwd: files\npasswd: nosuch\n", "passwd: nosuch\npasswd: files\n",
	"passwd:files\n", "  passwd:\tfiles\n", "passwd : files\n", "passwd junk: files\n", "PASSWD: files\n", "group: nosuch\n", "",
	"# passwd: nosuch\n",
	"passwd: # files\n", "passwd: nosuch # files\n", "passwd: nosuch #files\n", "passwd: nosuch # for now " +
		"[UNAVAIL=return] files\n", "#passwd: files\npasswd: nosuch\n", " # passwd: nosuch\n", "passwd: nosuch [UNAVAIL=return] files\n",
	"passwd: nosuch [unavail=RETURN] files\n",
	"passwd: nosuch [!SUCCESS=return] files\n", "passwd: nosuch [!UNAVAIL=return] files\n", "passwd: nosuch [NOTFOUND=return] files\n",
	"passwd: nosuch [NOTFOUND=return UNAVAIL=continue] files\n", "passwd: nosuch [ UNAVAIL = return ] files\n",
	"passwd: nosuch[UNAVAIL=return]files\n",
	"passwd: files [SUCCESS=continue] nosuch\n", "passwd: files [SUCCESS=return] nosuch\n", "passwd: files [!NOTFOUND=continue] nosuch\n",
	"passwd: nosuch [UNAVAIL=return] [UNAVAIL=continue] files\n", "passwd: nosuch\\\n files\n", "passwd: nosuch files",
	"passwd files\n", ": files\n", "passwd: nosuch\n: files\n",
	"passwd: nosuch [UNAVAIL=return files\n", "passwd: nosuch ] files\n", "passwd:\n", "passwd: \n passwd: nosuch\n",
}

// answers reports whether the service files gets to answer: root is in it, and
// no other service knows anybody.
func answers(s *Switch) bool {
	found := false
	for _, src := range s.Sources("passwd") {
		status := "UNAVAIL"
		if src.Name == "files" {
			found, status = true, "SUCCESS"
		}
		if src.Returns(status) {
			break
		}
	}
	return found
}

// TestSwitchAsGlibc: getent, with each of the texts in the place of
// nsswitch.conf, is the judge.
func TestSwitchAsGlibc(t *testing.T) {
	means.Root(t)
	getent, unshare := means.Tool(t, "getent"), means.Tool(t, "unshare")
	if _, err := os.Stat(SwitchFile); err != nil {
		means.Missing(t, SwitchFile)
	}
	dir := t.TempDir()
	for i, text := range switches {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%03d", i)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const script = `for f in "$1"/*; do mount --bind "$f" /etc/nsswitch.conf && { "$2" passwd root >/dev/null; echo $?; }; umount ` +
		`/etc/nsswitch.conf; done`
	out, err := exec.Command(unshare, "--mount", "sh", "-c", script, "sh", dir, getent).Output()
	if err != nil {
		t.Fatal(err)
	}
	said := strings.Fields(string(out))
	if len(said) != len(switches) {
		t.Fatalf("%d answers to %d texts", len(said), len(switches))
	}
	for i, text := range switches {
		if got, glibc := answers(ParseSwitch(text)), said[i] == "0"; got != glibc {
			t.Errorf("%q: files answers: glibc %v, here %v", text, glibc, got)
		}
	}
}
