package stories

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"fettle/internal/means"
)

// spaces are the namespaces of a story's host.
var spaces = []string{"--mount", "--net", "--pid", "--uts", "--ipc"}

// pid1 makes this machine's root a lower layer: whatever the story writes is in memory, and gone with
// the namespaces. It is process 1 of the host, and ends when the test does, which holds its input open.
const pid1 = `set -eu
exec 3<&0
top=$1
shift
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs "$top"
mkdir "$top/upper" "$top/work" "$top/root"
mount -t overlay -o "lowerdir=/,upperdir=$top/upper,workdir=$top/work" overlay "$top/root"
cd "$top/root"
mkdir -p proc sys dev run tmp "./$top"
rm -rf .dockerenv srv/* var/lib/fettle etc/fettle # as fettle finds a host
rm -f root/.bashrc root/.profile root/.bash_profile # a login may wait there, as for pyenv's lock: a minute
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t tmpfs -o mode=755 tmpfs dev
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=1777 tmpfs tmp
for node in null zero full random urandom tty; do : > dev/$node; mount --bind /dev/$node dev/$node; done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=666 devpts dev/pts
mount -t tmpfs -o mode=1777 tmpfs dev/shm
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
for dir; do mkdir -p "./$dir"; mount --bind "$dir" "./$dir"; done
mkdir run/lock run/old
pivot_root . run/old
umount -l /run/old
rmdir /run/old
hostname story
ip link set lo up
cat <&3 >/dev/null &
echo ready
exec >/dev/null 2>&1
while kill -0 $! 2>/dev/null; do sleep 0.2; done
`

// systemctl stands in for systemd's, which runs in no namespace: a unit is a folder of /run/units, and
// an act on it a script in that. The daemons are real.
const systemctl = `#!/bin/sh
act=$1
shift
case $act in
show)
	while [ $# -gt 0 ] && [ "$1" != -- ]; do shift; done
	shift
	for unit; do
		if [ -d "/run/units/$unit" ]; then set -- loaded active running enabled; else set -- not-found inactive dead ''; fi
		printf 'Id=%s\nLoadState=%s\nActiveState=%s\nSubState=%s\nUnitFileState=%s\n\n' "$unit" "$@"
	done ;;
is-active) echo active ;;
reload | restart | start | stop) [ ! -e "/run/units/$1/$act" ] || exec sh -e "/run/units/$1/$act" ;;
esac
`

// units gives the host that systemctl, and no timers: what has to wait is a process.
const units = `set -e
mkdir -p /run/units /run/systemd/system
ln -sf /bin/false /usr/bin/systemd-run
printf %s "$1" >/usr/bin/systemctl.new
chmod 755 /usr/bin/systemctl.new
mv -f /usr/bin/systemctl.new /usr/bin/systemctl
`

// host starts a host of its own for the story: this machine's programs, nothing of its network, its
// processes or its changes. The commands on, start and until work on it. With units it has a systemctl.
func host(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 1 || len(args) == 1 && args[0] != "units" {
		ts.Fatalf("usage: host [units]")
	}
	tb := ts.Value(testValue{}).(testing.TB)
	means.Root(tb)
	work := ts.Getenv("WORK")
	top := filepath.Join(filepath.Dir(work), filepath.Base(work)+"-host")
	ts.Check(os.Mkdir(top, 0o755))
	cmd := exec.Command(means.Tool(tb, "unshare"), append(append([]string{"--fork", "--kill-child"}, spaces...),
		"/bin/sh", "-c", pid1, "pid1", top, work, ts.Getenv("PROGRAMS"), ts.Getenv("SOURCE"))...)
	stay, err := cmd.StdinPipe()
	ts.Check(err)
	said, err := cmd.StdoutPipe()
	ts.Check(err)
	var errs strings.Builder
	cmd.Stderr = &errs
	ts.Check(cmd.Start())
	ts.Defer(func() {
		stay.Close()
		cmd.Process.Kill()
		cmd.Wait()
		os.Remove(top)
	})
	if _, err := io.ReadFull(said, make([]byte, len("ready\n"))); err != nil {
		cmd.Wait()
		means.Missing(tb, "needs namespaces with an overlay: "+errs.String())
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", cmd.Process.Pid))
	ts.Check(err)
	ts.Setenv("HOSTPID", strings.TrimSpace(string(children)))
	if len(args) == 1 {
		on(ts, false, []string{"sh", "-c", units, "units", systemctl})
	}
}

// inside is a command line that runs another on the story's host, in the script's folder.
func inside(ts *testscript.TestScript, args []string) []string {
	pid := ts.Getenv("HOSTPID")
	if pid == "" {
		ts.Fatalf("no host yet: the command host starts one")
	}
	return append(append([]string{"nsenter", "--target=" + pid}, spaces...), append([]string{"env", "-C", ts.MkAbs(".")}, args...)...)
}

// on [STATUS] COMMAND… runs a command on the host, which must end with this status, by default 0.
func on(ts *testscript.TestScript, neg bool, args []string) {
	want := 0
	if len(args) > 1 {
		if n, err := strconv.Atoi(args[0]); err == nil {
			want, args = n, args[1:]
		}
	}
	if neg || len(args) == 0 {
		ts.Fatalf("usage: on [STATUS] COMMAND...")
	}
	argv := inside(ts, args)
	if got := status(ts.Exec(argv[0], argv[1:]...)); got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// start LOG COMMAND… runs a daemon on the host until the story ends; what it says is in the file LOG.
func start(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: start LOG COMMAND...")
	}
	on(ts, false, append([]string{"sh", "-c", `log=$1; shift; setsid "$@" >"$log" 2>&1 </dev/null &`, "start"}, args...))
}

// patience is how long something may take that takes a second on an idle machine.
const patience = time.Minute

// until COMMAND… repeats a command on the host until it ends well.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: until COMMAND...")
	}
	argv := inside(ts, args)
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		err := ts.Exec(argv[0], argv[1:]...)
		if err == nil {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("%q after %v: %v", args, patience, err)
		}
	}
}

// status is a command's exit status; -1 where it has none.
func status(err error) int {
	if err == nil {
		return 0
	}
	n, perr := strconv.Atoi(strings.TrimPrefix(err.Error(), "exit status "))
	if perr != nil {
		return -1
	}
	return n
}
