package confine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fettle/host"
	"fettle/internal/means"
)

// isolated runs a shell script as a validator is run.
func isolated(t *testing.T, abi int, script string, limit time.Duration) (host.Output, error) {
	t.Helper()
	spec := host.CommandSpec{Limit: limit, MaxOutput: 1 << 16, Isolated: true}
	return host.ExecIn(t.Context(), spec, []string{"/bin/sh", "-c", script}, func(run func()) (err error) {
		inThread(func() {
			if err = confineFor(spec, abi); err == nil {
				run()
			}
		})
		return err
	})
}

// TestIsolated: a validator writes to nothing that the host has, reaches no network and no
// process, finds the folders that run has, and what it leaves behind ends with it.
func TestIsolated(t *testing.T) {
	means.Root(t)
	dir, err := os.MkdirTemp("/var/lib", "fettle-isolated")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	kept := filepath.Join(dir, "kept")
	os.WriteFile(kept, []byte("kept"), 0o644)
	run, err := os.MkdirTemp("/run", "fettle-isolated")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(run)
	os.Mkdir(run+"/inner", 0o711)
	os.WriteFile(run+"/secret", nil, 0o600)
	shared, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o666)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.SysvShmCtl(shared, unix.IPC_RMID, nil)
	seen := fmt.Sprintf(`grep -q "^ *[0-9-]* *%d " /proc/sysvipc/shm`, shared)
	if out, err := exec.Command("/bin/sh", "-c", seen).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v, %s", seen, err, out)
	}
	abis := []int{ABI()}
	if ABI() > 0 {
		abis = append(abis, 0) // mounts alone keep it from writing
	}
	for _, abi := range abis {
		for _, try := range []string{
			"echo x >" + kept, "rm " + kept, "mkdir " + dir + "/new", "echo x >/etc/fettle-isolated", "cat " + run + "/secret",
			"kill -0 " + fmt.Sprint(os.Getpid()), "mount -o remount,rw /", "umount /run", seen,
		} {
			if out, err := isolated(t, abi, try, means.Patience); err != nil || out.Exit == 0 {
				t.Errorf("ABI %d: %s: worked, %v", abi, try, err)
			}
		}
		out, err := isolated(t, abi, "cat "+kept+" && stat -c %a "+run+"/inner && echo x >"+run+"/inner/x && echo y >/var/log/x && "+
			"cat /proc/sys/net/ipv4/ip_nonlocal_bind && grep -c : /proc/thread-self/net/dev", means.Patience)
		if want := "kept711\n1\n1\n"; err != nil || out.Exit != 0 || string(out.Stdout) != want {
			t.Errorf("ABI %d: exit %d, %q, %s, %v; want %q", abi, out.Exit, out.Stdout, out.Stderr, err, want)
		}
		if _, err := os.Stat(run + "/inner/x"); err == nil {
			t.Error("the host's own /run was written to")
		}
		// A daemon that leaves its process group and its session ends all the same.
		mark := fmt.Sprintf("31%d.125", os.Getpid())
		leave := "setsid sh -c 'sleep " + mark + " & sleep " + mark + " &' </dev/null >/dev/null 2>&1; sleep 0.2"
		if _, err := isolated(t, abi, leave, means.Patience); err != nil {
			t.Error(err)
		}
		means.Until(t, "the end of a process that the command left behind", func() bool { return !running(mark) })
		if _, err := isolated(t, abi, "trap '' TERM; sleep 60", 300*time.Millisecond); err == nil {
			t.Error("a validator that hangs is not cut off")
		}
	}
	var now, before unix.Statfs_t
	if unix.Statfs("/run", &now) != nil || unix.Statfs(run, &before) != nil || now.Fsid != before.Fsid {
		t.Error("this process's own /run is another one")
	}
}

// TestIsolatedKeepsFlags: a mount that the host has without programs, devices and set-user-ID is so for a validator too.
func TestIsolatedKeepsFlags(t *testing.T) {
	means.Root(t)
	dir, err := os.MkdirTemp("/var/lib", "fettle-isolated")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	const flags = unix.MS_NOEXEC | unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOATIME
	spec := host.CommandSpec{Limit: means.Patience, MaxOutput: 1 << 16, Isolated: true}
	out, err := host.ExecIn(t.Context(), spec, []string{"/bin/grep", " " + dir + " ", "/proc/self/mountinfo"}, func(run func()) (err error) {
		inThread(func() {
			err = errors.Join(unix.Unshare(unix.CLONE_NEWNS), unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
				unix.Mount("tmpfs", dir, "tmpfs", flags, ""))
			if err == nil {
				err = confineFor(spec, ABI())
			}
			if err == nil {
				run()
			}
		})
		return err
	})
	if err != nil || !strings.Contains(string(out.Stdout), " "+dir+" ro,nosuid,nodev,noexec,noatime ") {
		t.Errorf("%v, %s%s", err, out.Stdout, out.Stderr)
	}
}

// TestFoldersThatVanish: other programs make and remove folders while they are listed.
func TestFoldersThatVanish(t *testing.T) {
	dir := t.TempDir()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				name := filepath.Join(dir, fmt.Sprint(i%50))
				os.Mkdir(name, 0o700)
				os.Remove(name)
			}
		}
	})
	for range 3000 {
		skeleton(dir)
	}
	close(stop)
	wg.Wait()
}

func running(mark string) bool {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range all {
		if b, _ := os.ReadFile(name); strings.HasPrefix(string(b), "sleep\x00"+mark) {
			return true
		}
	}
	return false
}
