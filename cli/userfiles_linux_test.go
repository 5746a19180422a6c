package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fettle/internal/means"
)

// attacks are what a user may put into a home so that root reads, and prints
// or keeps, what the user may not see. Each runs as root in that home, whose
// content is the user's afterwards.
var attacks = map[string]string{
	"config-link":      `ln -s /etc/shadow .ssh/config`,
	"config-include":   `printf 'Include /etc/shadow\nInclude /root/.ssh/id_ed25519\nInclude /home/config-link/.ssh/own\n' > .ssh/config`,
	"config-glob":      `printf 'Include /etc/shado*\n' > .ssh/config`,
	"config-relative":  `ln -s ../../../etc/shadow .ssh/config`,
	"folder-link":      `rmdir .ssh; ln -s /root/.ssh .ssh`,
	"control-folder":   `printf 'ControlPath /root/private/x/%%C\n' > .ssh/config`,
	"known-hosts":      `ln -s /etc/shadow .ssh/known_hosts`,
	"own-codes":        `echo PLANTED-codes > .google_authenticator; ln -s ../.google_authenticator .ssh/config`,
	"roots-codes":      `ln -s /root/.google_authenticator .ssh/config`,
	"own-key":          `printf -- '-----BEGIN OPENSSH PRIVATE KEY-----\nPLANTED-own-key\n' > k; ln -s ../k .ssh/config`,
	"ldaprc-link":      `ln -s /etc/shadow .ldaprc`,
	"ldaprc-cacert":    `printf 'URI ldaps://ldap.example.com\nTLS_CACERT /root/ca-and-key.pem\n' > .ldaprc`,
	"ldaprc-cacertdir": `printf 'URI ldaps://ldap.example.com\nTLS_CACERTDIR /root/private\n' > .ldaprc`,
	"ldaprc-foreign":   `printf 'UNPARSED-line\nURI http://UNPARSED-uri%%zz\nTLS_REQCERT UNPARSED-level\n' > .ldaprc`,
	"config-foreign":   `printf 'UNPARSED-word\nHost "UNPARSED-quote\n' > .ssh/config`,
	"notes":            `ln -s /root/notes .ssh/config`,
	"proc-environ":     `ln -s /proc/self/environ .ssh/config`,
}

// world makes a machine of such users in a mount namespace, and looks at it as
// an administrator does.
const world = `set -eu
dir=$1
cd "$dir"
mount --make-rprivate /
mkdir etc home root
cp -a /etc/. etc/ 2>/dev/null || :
mount --bind etc /etc
mount --bind home /home
mount --bind root /root
chmod 755 /home; chmod 700 /root
echo 'root:$6$PLANTED-hash:1::::::' > /etc/shadow; chmod 600 /etc/shadow
mkdir -m 700 /root/.ssh /root/private
printf 'Host x\n"UNPARSED-open\n' > /root/.ssh/config
printf -- '-----BEGIN OPENSSH PRIVATE KEY-----\nPLANTED-key\n' > /root/.ssh/id_ed25519
echo PLANTED-codes-of-root > /root/.google_authenticator
echo PLANTED-notes > /root/notes
cp /root/.ssh/id_ed25519 /root/ca-and-key.pem
cp /root/.ssh/id_ed25519 /root/private/00000000.0
sh ./users
export PLANTED=PLANTED-environment
for f in text json jsonl junit sarif; do
	"$dir/fettle" check ssh-control-sockets ldap-tls-verify -v --format $f > said.$f 2>&1 || :
	"$dir/fettle" check --root / ssh-control-sockets ldap-tls-verify -v --format $f > root.$f 2>&1 || :
done
"$dir/fettle" capture -o captured.tar.zst ssh-control-sockets ldap-tls-verify > capture.text 2>&1
zstd -qdc captured.tar.zst > captured.tar
echo THE END
`

// TestUsersFilesGiveNothingAway: whatever users put into their homes, no report
// and no capture that root makes holds a secret of root's, of another user's,
// or of one-time codes; nor a line that failed to parse.
func TestUsersFilesGiveNothingAway(t *testing.T) {
	means.Short(t, "takes seconds")
	means.Root(t)
	for _, tool := range []string{"unshare", "mount", "zstd", "chown"} {
		means.Tool(t, tool)
	}
	t.Parallel()
	dir := t.TempDir()
	exe, _ := os.Executable()
	users := "set -e\n"
	uid := 2000
	for name, attack := range attacks {
		uid++
		users += fmt.Sprintf(
			"echo %[1]s:x:%[2]d:%[2]d::/home/%[1]s:/bin/sh >> /etc/passwd; mkdir "+
				"-p /home/%[1]s/.ssh; cd /home/%[1]s\n%[3]s\nchown -hR %[2]d:%[2]d .\n",
			name,
			uid,
			attack,
		)
	}
	for name, err := range map[string]error{
		"users":  os.WriteFile(filepath.Join(dir, "users"), []byte(users), 0o600),
		"fettle": os.Symlink(exe, filepath.Join(dir, "fettle")),
	} {
		if err != nil {
			t.Fatal(name, err)
		}
	}
	// Users reach their homes on a real machine, whatever folder a test is in.
	for d := dir; d != "/"; d = filepath.Dir(d) {
		if st, err := os.Stat(d); err == nil && st.Mode().Perm()&0o055 != 0o055 && strings.HasPrefix(d, os.TempDir()+"/") {
			os.Chmod(d, 0o755)
		}
	}
	cmd := exec.Command("unshare", "-m", "sh", "-c", world, "sh", dir)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "THE END") {
		t.Fatalf("the world ended with %v\n%s", err, out)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.*"))
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"PLANTED", "UNPARSED"} {
			// A capture that is not redacted has what the users' own files say.
			if i := strings.Index(string(b), word); i >= 0 && (word == "PLANTED" || !strings.HasPrefix(filepath.Base(f), "captured")) {
				t.Errorf("%s: %.80q", filepath.Base(f), b[max(0, i-40):])
			}
		}
	}
	for file, want := range map[string]string{"said.text": "permission denied", "root.text": "permission denied",
		"captured.tar": "manifest.json", "said.junit": "<testsuite"} {
		if b, _ := os.ReadFile(filepath.Join(dir, file)); !strings.Contains(string(b), want) {
			t.Errorf("%s does not say %q:\n%s", file, want, b)
		}
	}
}
