package confine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fettle/host"
	"fettle/internal/means"
)

// TestHanded: a child finds the files that it is handed, in order, and no other.
func TestHanded(t *testing.T) {
	var files []*os.File
	for _, text := range []string{"one", "two"} {
		name := filepath.Join(t.TempDir(), text)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files = append(files, f)
	}
	c, err := Start(t.Context(), Job{Body: []byte("handed"), Messages: 1, Files: files})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if b, err := c.Receive(t.Context()); string(b) != "one|two" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if f, err := Handed(1000); err == nil {
		t.Error(f.Name())
	}
	c = start(t, "unfit")
	if b, err := c.Receive(t.Context()); err != nil || !strings.Contains(string(b), "what may be read: stat /nosuch") {
		t.Errorf("%q, %v", b, err)
	}
	c = start(t, "diverged")
	if b, err := c.Receive(t.Context()); err != nil ||
		auditArch != 0 && !strings.Contains(string(b), "a thread already has a filter of its own") {
		t.Errorf("%q, %v", b, err)
	}
	if _, _, err := Join(); err == nil {
		t.Error("this process is somebody's child")
	}
}

// TestNoDescriptorsLeft: without descriptors no child is started, and that is said.
func TestNoDescriptorsLeft(t *testing.T) {
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	free, err := unix.Dup(0)
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(free)
	for _, more := range []int{0, 1, 2} {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(free + more), Max: was.Max}); err != nil {
			t.Fatal(err)
		}
		c, err := Start(t.Context(), Job{Body: []byte("speak"), Messages: 1})
		if err2 := unix.Setrlimit(unix.RLIMIT_NOFILE, &was); err2 != nil {
			t.Fatal(err2)
		}
		if err == nil || c != nil || !errors.Is(err, unix.EMFILE) {
			t.Errorf("%d descriptors: %v, %v", more, c, err)
		}
	}
}

// TestKeepEachDescriptor: what is not standard input, output or error is closed in what is started.
func TestKeepEachDescriptor(t *testing.T) {
	var fds []int
	for range 2 {
		fd, err := unix.Dup(0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		fds = append(fds, fd)
	}
	closes := func(fd int) bool {
		n, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		return err == nil && n == unix.FD_CLOEXEC
	}
	for _, keep := range []func(){keepEachDescriptor, keepDescriptors} {
		for _, fd := range fds {
			unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0)
		}
		keep()
		for _, fd := range fds {
			if !closes(fd) {
				t.Errorf("descriptor %d is passed on", fd)
			}
		}
		for fd := range 3 {
			if closes(fd) {
				t.Errorf("descriptor %d is not passed on", fd)
			}
		}
	}
}

// TestRulesAreGranted: what Landlock is told of files and folders, and of those that are not there.
func TestRulesAreGranted(t *testing.T) {
	dir := t.TempDir()
	file := dir + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	execute := readAll | 1<<0 // LANDLOCK_ACCESS_FS_EXECUTE
	for name, c := range map[string]struct {
		r    Rules
		want map[string]uint64
		err  error
	}{
		"everything":     {Rules{}, map[string]uint64{"/": readAll}, nil},
		"a folder":       {Rules{Read: []string{dir}}, map[string]uint64{dir: readAll}, nil},
		"a file":         {Rules{Read: []string{file}}, map[string]uint64{file: readFile}, nil},
		"what is not":    {Rules{Read: []string{dir + "/no"}}, nil, fs.ErrNotExist},
		"write a folder": {Rules{Write: []string{dir}}, map[string]uint64{"/": readAll, dir: write}, nil},
		"write a file":   {Rules{Write: []string{file}}, map[string]uint64{"/": readAll, file: writeFile}, nil},
		"write what not": {Rules{Write: []string{dir + "/no"}}, map[string]uint64{"/": readAll}, nil},
		"write below":    {Rules{Write: []string{file + "/no"}}, nil, unix.ENOTDIR},
	} {
		got, err := c.r.grants()
		if !errors.Is(err, c.err) || len(got) != len(c.want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		for _, g := range got {
			if uint64(g.access) != c.want[g.path] {
				t.Errorf("%s: %s: %#x, not %#x", name, g.path, g.access, c.want[g.path])
			}
		}
	}
	if got, err := (Rules{Program: true}).grants(); err != nil || len(got) != 2 || got[0].path != "/dev/null" ||
		uint64(got[1].access)&uint64(execute) != uint64(execute) {
		t.Errorf("a program: %v, %v", got, err)
	}
	for abi := 1; abi <= newestABI+2; abi++ {
		check, program, network := Rules{}.handled(abi), Rules{Program: true}.handled(abi), Rules{Network: true}.handled(abi)
		if knows := check.HandledAccessFS&(1<<14) != 0; knows != (abi >= 3) { // truncate
			t.Errorf("ABI %d knows of truncate: %v", abi, knows)
		}
		if (check.HandledAccessNet != 0) != (abi >= 4) || program.HandledAccessNet != 0 || network.HandledAccessNet != check.HandledAccessNet&1 {
			t.Errorf("ABI %d: network %v %v %v", abi, check.HandledAccessNet, program.HandledAccessNet, network.HandledAccessNet)
		}
		if ioctl := uint64(1 << 15); (uint64(check.HandledAccessFS)&ioctl != 0) != (abi >= 5) || uint64(program.HandledAccessFS)&ioctl != 0 ||
			program.HandledAccessFS|1<<15 != check.HandledAccessFS|1<<15 {
			t.Errorf("ABI %d: %v, %v", abi, check.HandledAccessFS, program.HandledAccessFS)
		}
	}
	if err := restrict(Rules{Read: []string{dir + "/no"}}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	inThread(func() {
		if err := confineThread(Rules{Read: []string{dir + "/no"}}, full); !errors.Is(err, fs.ErrNotExist) ||
			!strings.HasPrefix(err.Error(), "restricting with Landlock: ") {
			t.Error(err)
		}
	})
	if err := (grant{path: dir + "/no"}).add(-1, 0); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := (grant{path: dir, access: readAll}).add(-1, readAll); err == nil { // it is no rule set
		t.Error(err)
	}
	if err := installFilter(nil, 0); !errors.Is(err, errNoFilter) {
		t.Error(err)
	}
}

// TestSkeleton: folders are made again as they are, to a depth and number.
func TestSkeleton(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"a": 0o751, "a/b": 0o700, "a/b/c": 0o755 | fs.ModeSetgid, "a/b/c/d": 0o755,
		"s": 0o777 | fs.ModeSticky} {
		if err := errors.Join(os.MkdirAll(dir+"/"+name, 0o755), os.Chmod(dir+"/"+name, mode)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.WriteFile(dir+"/file", nil, 0o600), os.Symlink("a", dir+"/link")); err != nil {
		t.Fatal(err)
	}
	var said []string
	to := t.TempDir()
	for _, f := range skeleton(dir) {
		name := strings.TrimPrefix(f.name, dir)
		said = append(said, name+" "+f.mode.String())
		f.name = to + name
		f.make()
		if st, err := os.Stat(f.name); err != nil || st.Mode().Type() != fs.ModeDir || st.Mode()&^fs.ModeDir != f.mode {
			t.Errorf("%s: %v, %v", name, st, err)
		}
		if f.uid != os.Getuid() {
			t.Errorf("%s belongs to %d", name, f.uid)
		}
	}
	if got := strings.Join(said, ", "); got != "/a -rwxr-x--x, /a/b -rwx------, /a/b/c grwxr-xr-x, /s trwxrwxrwx" {
		t.Error(got)
	}
	if got := skeleton(dir + "/nosuch"); got != nil {
		t.Errorf("%v", got)
	}
	many := t.TempDir()
	for i := range ownFolders + 2 {
		if err := os.Mkdir(fmt.Sprintf("%s/%d", many, i), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(skeleton(many)); got != ownFolders {
		t.Errorf("%d folders", got)
	}
}

// TestCommandsOnly: no command but the listed ones, and not where it is not installed.
func TestCommandsOnly(t *testing.T) {
	live, err := Live()
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range []func(context.Context, host.Command) (host.Output, error){Command, live.Command} {
		if out, err := run(t.Context(), host.Command{Name: "rm", Args: []string{"-rf", "/nosuch"}}); err == nil {
			t.Errorf("rm: %+v", out)
		}
	}
	host.Commands["nosuch"] = host.CommandSpec{Paths: []string{"/nosuch/nosuch"}}
	host.Commands["echo"] = host.CommandSpec{Paths: []string{"/nosuch/echo", "/bin/echo"}, Limit: means.Patience, MaxOutput: 1 << 10}
	host.Commands["unfit"] = host.CommandSpec{Paths: []string{"/bin/echo"}, Limit: means.Patience, MaxOutput: 1 << 10,
		Write: []string{"/proc/version/x"}}
	defer func() {
		for _, n := range []string{"nosuch", "echo", "unfit"} {
			delete(host.Commands, n)
		}
	}()
	if out, err := Command(t.Context(), host.Command{Name: "nosuch"}); !errors.Is(err, host.ErrNoCommand) {
		t.Errorf("a command that is not installed: %+v, %v", out, err)
	}
	if out, err := Command(t.Context(), host.Command{Name: "echo", Args: []string{"a", "b"}}); err != nil || string(out.Stdout) != "a b\n" {
		t.Errorf("%+v, %v", out, err)
	}
	if ABI() == 0 {
		return
	}
	if out, err := Command(t.Context(), host.Command{Name: "unfit"}); !errors.Is(err, unix.ENOTDIR) || len(out.Stdout) > 0 {
		t.Errorf("a command that cannot be confined: %+v, %v", out, err)
	}
}

// TestNoJob: a child whose first frame is no job, or that gets none, does nothing.
func TestNoJob(t *testing.T) {
	for name, f := range map[string]*frame{"another frame": {kind: kindAnswer, body: []byte("speak")}, "none": nil} {
		ours, theirs := pair(t)
		var said strings.Builder
		cmd := exec.Command("/proc/self/exe", CheckVerb)
		cmd.ExtraFiles, cmd.Stderr = []*os.File{theirs}, &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		theirs.Close()
		if f != nil {
			if err := writeFrame(ours, *f); err != nil {
				t.Error(err)
			}
			ours.SetReadDeadline(time.Now().Add(means.Patience))
			if got, err := readFrame(ours, ofChild); err == nil {
				t.Errorf("%s: it answers %q", name, got.body)
			}
		}
		ours.Close()
		if err := cmd.Wait(); err == nil || !strings.Contains(said.String(), "reading the job") {
			t.Errorf("%s: %v, %s", name, err, said.String())
		}
	}
}

// A process that somebody else starts, with a socket or a file in the place of the parent's, is no child.
func TestNoParent(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	datagrams, other := os.NewFile(uintptr(fds[0]), "datagrams"), os.NewFile(uintptr(fds[1]), "other")
	defer datagrams.Close()
	defer other.Close()
	file, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, f := range []*os.File{datagrams, file} {
		cmd := exec.Command("/proc/self/exe", CheckVerb)
		cmd.ExtraFiles = []*os.File{f}
		if said, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(said), "only fettle itself starts this") {
			t.Errorf("%s: %s, %v", f.Name(), said, err)
		}
	}
}
