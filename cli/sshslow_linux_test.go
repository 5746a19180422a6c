package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fettle/internal/means"
)

// TestFixSlowLogin mends a real sshd in namespaces of its own: its resolver
// is silent, so that UseDNS yes costs three seconds a lookup. systemctl is a
// script, because no systemd runs there; it reloads sshd as the real one does.
func TestFixSlowLogin(t *testing.T) {
	means.Short(t, "takes seconds")
	means.Root(t)
	unshare := means.Tool(t, "unshare")
	for _, tool := range []string{"ssh", "sshd", "ssh-keygen", "ip", "systemctl"} {
		means.Tool(t, tool)
	}
	t.Parallel()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	copyTo(t, self, filepath.Join(dir, "fettle"), 0o755)
	for name, text := range map[string]string{"systemctl": slowSystemctl, "scenario": slowScenario} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(unshare, "-m", "-n", "-p", "--fork", "--kill-child", "--mount-proc", "/bin/sh", filepath.Join(dir, "scenario"), dir)
	cmd.Env = []string{
		"PATH=/usr/sbin:/usr/bin:/sbin:/bin",
		"FETTLE_STATE=" + dir + "/state",
		"FETTLE_UNIT_DIR=" + dir + "/units",
		"HOME=" + dir,
	}
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil || !strings.Contains(string(out), "THE END") {
		t.Fatalf("the scenario ended with %v", err)
	}
}

// copyTo copies a program. Nothing may be started meanwhile: the new process
// would hold the copy open for writing, and running it fail with ETXTBSY.
func copyTo(t *testing.T, from, to string, mode os.FileMode) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(to, b, mode); err != nil {
		t.Fatal(err)
	}
}

const slowSystemctl = `#!/bin/sh
act=$1; shift
case $act in
show)
	while [ $# -gt 0 ] && [ "$1" != -- ]; do shift; done
	shift
	for u; do
		case $u in
		ssh.service) printf 'Id=%s\nLoadState=loaded\nActiveState=active\nSubState=running\nUnitFileState=enabled\n\n' "$u" ;;
		*) printf 'Id=%s\nLoadState=not-found\nActiveState=inactive\nSubState=dead\nUnitFileState=\n\n' "$u" ;;
		esac
	done ;;
reload) echo "$1" >> /run/reloads; kill -HUP "$(cat /run/sshd.pid)" ;;
is-active) echo active ;;
*) exit 0 ;;
esac
`

const slowScenario = `set -eu
dir=$1
die() { echo "FAILED: $*"; tail -5 "$dir/sshd.log"; exit 1; }
mount --make-rprivate /
ip link set lo up
# Nobody is at the other end: a resolver that never answers.
ip link add d0 type veth peer name d1
ip addr add 198.51.100.1/24 dev d0
ip link set d0 up
ip link set d1 up
ip neigh add 198.51.100.53 lladdr 02:00:00:00:00:53 dev d0
mount -t tmpfs tmpfs /run
mkdir -p -m 755 /run/sshd /run/systemd/system
mkdir "$dir/units" "$dir/ssh" "$dir/ssh/sshd_config.d"
mount --bind "$dir/systemctl" "$(readlink -f /usr/bin/systemctl)"
# Without a manager there are no timers: the guard is a process.
if [ -e /usr/bin/systemd-run ]; then mount --bind /bin/false /usr/bin/systemd-run; fi
printf 'nameserver 198.51.100.53\noptions timeout:3 attempts:1\n' > "$dir/resolv.conf"
printf 'passwd: files\ngroup: files\nhosts: files dns\n' > "$dir/nsswitch.conf"
for f in resolv.conf nsswitch.conf; do mount --bind "$dir/$f" "/etc/$f"; done
mount --bind "$dir/ssh" /etc/ssh
ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/ssh_host_ed25519_key
ssh-keygen -q -t ed25519 -N '' -f "$dir/key"
cp "$dir/key.pub" /etc/ssh/auth
cat > /etc/ssh/sshd_config <<C
Include /etc/ssh/sshd_config.d/*.conf
Port 2200
HostKey /etc/ssh/ssh_host_ed25519_key
AuthorizedKeysFile /etc/ssh/auth
StrictModes no
UsePAM no
PermitRootLogin yes
UseDNS yes
KbdInteractiveAuthentication yes
C
/usr/sbin/sshd -E "$dir/sshd.log"
n=0; until [ -s /run/sshd.pid ]; do n=$((n + 1)); [ $n -lt 100 ] || die "sshd does not start"; sleep 0.1; done
pid=$(cat /run/sshd.pid)
login() { # prints milliseconds; sshd that is reloaded does not listen for a moment
	n=0
	while a=$(date +%s%N); ! ssh -F none -i "$dir/key" -p 2200 -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -b 198.51.100.1 root@127.0.0.1 true 2> "$dir/err"; do
		n=$((n + 1))
		grep -q 'Connection refused' "$dir/err" && [ $n -lt 100 ] || die "login: $(cat "$dir/err")" >&2
		sleep 0.1
	done
	echo $((($(date +%s%N) - a) / 1000000))
}
# A busy machine may take that long once; a silent resolver does each time.
quick() {
	for try in 1 2 3; do
		t=$(login); echo "$1: $t ms"
		[ "$t" -ge 3000 ] || return 0
	done
	die "still slow"
}
usedns() { /usr/sbin/sshd -T | sed -n 's/^usedns //p'; }
t=$(login); echo "before: $t ms"; [ "$t" -ge 3000 ] || die "a silent resolver costs nothing"

"$dir/fettle" fix ssh-slow-login --on reverse-dns --yes --confirm-within 60s || die "fix"
[ -e /etc/ssh/sshd_config.d/00-fettle-slow-login.conf ] || die "no drop-in"
quick after
"$dir/fettle" confirm || die confirm
[ "$(cat /run/sshd.pid)" = "$pid" ] || die "sshd was restarted, not reloaded"
/usr/sbin/sshd -T | grep -q '^kbdinteractiveauthentication yes' || die "keyboard-interactive is gone"

"$dir/fettle" undo --yes || die undo
[ ! -e /etc/ssh/sshd_config.d/00-fettle-slow-login.conf ] || die "the drop-in stays"
[ "$(usedns)" = yes ] || die "UseDNS is not back"
[ "$(wc -l < /run/reloads)" = 2 ] || die "undo did not reload sshd"

"$dir/fettle" fix ssh-slow-login --on reverse-dns --yes --confirm-within 8s > "$dir/out" 2>&1 || { cat "$dir/out"; die "fix again"; }
n=0; while [ -e /etc/ssh/sshd_config.d/00-fettle-slow-login.conf ]; do n=$((n + 1)); [ $n -lt 400 ] || die "nobody confirmed, and it stays"; sleep 0.1; done
n=0; while [ "$(wc -l < /run/reloads)" -lt 4 ] && [ $n -lt 100 ]; do n=$((n + 1)); sleep 0.1; done
t=$(login); echo "unconfirmed: $t ms"; [ "$t" -ge 3000 ] || die "the rollback did not reload sshd"
[ "$(wc -l < /run/reloads)" = 4 ] || die "reloads: $(cat /run/reloads)"

# A configuration that sshd refuses for a reason of its own: nothing is touched.
echo 'Ciphers no-such-cipher' > /etc/ssh/sshd_config.d/50-broken.conf
if "$dir/fettle" fix ssh-slow-login --on reverse-dns --yes > "$dir/out" 2>&1; then die "mended beside a broken file"; fi
grep -Eq 'Bad SSH2 cipher spec|50-broken.conf:1' "$dir/out" || { cat "$dir/out"; die "does not say why"; }
[ ! -e /etc/ssh/sshd_config.d/00-fettle-slow-login.conf ] || die "left a drop-in"
[ "$(wc -l < /run/reloads)" = 4 ] || die "reloaded a broken configuration"
kill -0 "$pid" || die "sshd is gone"
kill "$pid"
echo THE END
`
