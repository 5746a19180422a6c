package sshcontrolsockets

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/host/hosttest"
	"fettle/internal/means"
)

// TestRealSSH gives a real ssh the block that the remedy writes: five commands
// make one login instead of five. It prints what that saves. And it shows what
// the check says of names that are too long, and of folders that are missing.
func TestRealSSH(t *testing.T) {
	means.Short(t, "takes seconds")
	means.Root(t)
	unshare := means.Tool(t, "unshare")
	for _, tool := range []string{"ssh", "sshd", "ssh-keygen", "ip"} {
		means.Tool(t, tool)
	}
	t.Parallel()
	dir := t.TempDir()
	h := hosttest.New(
		t,
		"-- root/etc/passwd --\nroot:x:0:0:root:/root:/bin/sh\n-- root/etc/group --\nroot:x:0:\n-- stat/root/.ssh --\nmode 0700 type dir\n",
	)
	f, err := Trap.Choose(trap.Finding{Subject: "root"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan(t.Context(), h, f)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "block"), p.Steps[0].(step.File).Content, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(unshare, "-m", "-n", "-p", "--fork", "--kill-child", "--mount-proc", "/bin/sh", "-c", scenario, "sh", dir)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil || !strings.Contains(string(out), "THE END") {
		t.Fatalf("the scenario ended with %v", err)
	}
}

const scenario = `set -eu
dir=$1
die() { echo "FAILED: $*"; tail -5 "$dir/log"; exit 1; }
mount --make-rprivate /
ip link set lo up
mount -t tmpfs tmpfs /run
mount -t tmpfs -o mode=700 tmpfs /root
mkdir -p -m 755 /run/sshd
mkdir -m 700 /root/.ssh
ssh-keygen -q -t ed25519 -N '' -f "$dir/hostkey"
ssh-keygen -q -t ed25519 -N '' -f /root/.ssh/id_ed25519
cp /root/.ssh/id_ed25519.pub "$dir/auth"
printf 'Port 2200\nListenAddress 127.0.0.1\nHostKey %s/hostkey\nAuthorizedKeysFile %s/auth\nStrictModes no\nUsePAM no\nPermitRootLogin yes\n' "$dir" "$dir" > "$dir/sshd_config"
/usr/sbin/sshd -f "$dir/sshd_config" -E "$dir/log"
for i in 1 2 3 4 5 6 7 8 9 10; do [ -e "$dir/pid" ] && break; ssh-keyscan -p 2200 127.0.0.1 > "$dir/known" 2> /dev/null && [ -s "$dir/known" ] && break; sleep 0.2; done
printf 'Host srv\n    HostName 127.0.0.1\n    Port 2200\n    UserKnownHostsFile %s/known\n    BatchMode yes\n' "$dir" > "$dir/base"
login() { ssh -F /root/.ssh/config srv true; }
five() {
	for i in 1 2 3 4 5; do
		a=$(date +%s%N); login || die "login $i"
		printf '%s: command %d took %d ms\n' "$1" $i $((($(date +%s%N) - a) / 1000000))
	done
}
logins() { grep -c 'Accepted publickey' "$dir/log" || :; }
cp "$dir/base" /root/.ssh/config
five before
[ "$(logins)" = 5 ] || die "$(logins) logins before"
cat "$dir/base" "$dir/block" > /root/.ssh/config
five after
[ "$(logins)" = 6 ] || die "$(logins) logins in all: 5 before, and 1 after"
[ -n "$(find /root/.ssh -name 'control-*' -type s)" ] || die "no socket"
ssh -F /root/.ssh/config -O exit srv
long=$(printf '%060d' 0)
status() { s=0; login 2> "$dir/err" || s=$?; echo "$1: status $s: $(tail -1 "$dir/err")"; [ $s = 255 ] || die "$1: ssh went on"; }
{ cat "$dir/base"; echo "    ControlMaster auto"; echo "    ControlPath ~/.ssh/$long-$long"; } > /root/.ssh/config
status "too long"
{ cat "$dir/base"; echo "    ControlMaster auto"; echo "    ControlPath ~/.ssh/no/%C"; } > /root/.ssh/config
status "missing folder"
# With the temporary name: 91 bytes are too many, 90 are not.
for n in 90 91; do
	name=/root/.ssh/; while [ ${#name} -lt $n ]; do name=${name}x; done
	{ cat "$dir/base"; echo "    ControlMaster auto"; echo "    ControlPath $name"; } > /root/.ssh/config
	s=0; login 2> /dev/null || s=$?; echo "$n bytes: status $s"
	[ $n = 90 ] && want=0 || want=255
	[ $s = $want ] || die "a name of $n bytes"
done
echo THE END
`
