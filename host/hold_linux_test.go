package host

import (
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The test binary is also the child that holds files: it does what the
// words in FETTLE_HOLD say, prints a line when done, and waits for its
// standard input to close.
func TestMain(m *testing.M) {
	if todo := os.Getenv("FETTLE_HOLD"); todo != "" {
		hold(todo)
		return
	}
	if dir := os.Getenv("FETTLE_FUSE"); dir != "" {
		besideFUSE(dir)
		return
	}
	os.Exit(m.Run())
}

func hold(todo string) {
	check := func(err error) {
		if err != nil {
			os.Stdout.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
	}
	var opened []int
	for _, t := range strings.Fields(todo) {
		verb, arg, _ := strings.Cut(t, "=")
		switch verb {
		case "deep": // make a path over PATH_MAX below arg, and go there
			check(os.MkdirAll(arg, 0o755))
			check(os.Chdir(arg))
			for range 25 {
				name := strings.Repeat("d", 200)
				check(os.Mkdir(name, 0o755))
				check(os.Chdir(name))
			}
		case "close": // every descriptor that was opened
			for _, fd := range opened {
				check(syscall.Close(fd))
			}
		case "rw", "ro":
			flags := syscall.O_RDONLY
			if verb == "rw" {
				flags = syscall.O_RDWR | syscall.O_CREAT
			}
			fd, err := syscall.Open(arg, flags, 0o644)
			check(err)
			opened = append(opened, fd)
		case "map", "mapdata":
			fd, err := syscall.Open(arg, syscall.O_RDONLY, 0)
			check(err)
			prot, flags := syscall.PROT_READ|syscall.PROT_EXEC, syscall.MAP_PRIVATE
			if verb == "mapdata" {
				prot, flags = syscall.PROT_READ, syscall.MAP_SHARED
			}
			_, err = syscall.Mmap(fd, 0, 4096, prot, flags)
			check(err)
			check(syscall.Close(fd))
		case "memfd":
			_, err := unix.MemfdCreate("noise", 0)
			check(err)
		case "rm":
			check(os.Remove(arg))
		case "mv":
			check(os.Rename(arg, arg+".1"))
		case "many":
			n, err := strconv.Atoi(arg)
			check(err)
			var most syscall.Rlimit
			check(syscall.Getrlimit(syscall.RLIMIT_NOFILE, &most))
			check(syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: most.Max, Max: most.Max}))
			for range n {
				_, err := syscall.Open(os.Args[0], syscall.O_RDONLY, 0)
				check(err)
			}
		case "chroot":
			check(syscall.Chroot(arg))
			check(syscall.Chdir("/"))
		}
	}
	os.Stdout.WriteString("ready\n")
	io.Copy(io.Discard, os.Stdin)
}

// start runs bin (this test binary, when empty) as a holder and returns its pid.
func start(t testing.TB, bin string, todo ...string) int {
	t.Helper()
	if bin == "" {
		bin = os.Args[0]
	}
	return startArgs(t, []string{bin}, todo...)
}

func startArgs(t testing.TB, argv []string, todo ...string) int {
	t.Helper()
	c := exec.Command(argv[0], argv[1:]...)
	c.Env = []string{"FETTLE_HOLD=" + strings.Join(append(todo, "done"), " ")}
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); c.Wait() })
	line := make([]byte, 200)
	n, _ := out.Read(line)
	if string(line[:n]) != "ready\n" {
		t.Fatalf("holder said %q", line[:n])
	}
	return c.Process.Pid
}
