package files

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"fettle/internal/means"
)

// What is no regular file is written to and stays what it is.
func TestDevice(t *testing.T) {
	means.Ends(t)
	dir := t.TempDir()
	fifo, link, file := dir+"/fifo", dir+"/link", dir+"/file"
	if err := errors.Join(unix.Mkfifo(fifo, 0o600), os.Symlink("fifo", link), os.WriteFile(file, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{fifo, link} {
		got := make(chan string)
		go func() {
			b, _ := os.ReadFile(fifo)
			got <- string(b)
		}()
		if err := Replace(name, func(w io.Writer) error { _, err := io.WriteString(w, "text"); return err }); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if s := <-got; s != "text" {
			t.Errorf("%s: the reader got %q", name, s)
		}
	}
	for name, special := range map[string]bool{"/dev/null": true, file: false, dir + "/none": false} {
		f, err := Device(name)
		if err != nil || (f != nil) != special {
			t.Errorf("%s: %v, %v", name, f, err)
		}
		if f != nil {
			f.Close()
		}
	}
	if _, err := Device(dir); err == nil {
		t.Error("a folder was opened to be written to")
	}
}

// /dev/stdout is a link to whatever the caller gave, a regular file too, and stays one.
func TestStandardOutputStaysALink(t *testing.T) {
	if out := os.Getenv("FETTLE_TEST_OUT"); out != "" {
		err := Replace(out, func(w io.Writer) error { _, err := io.WriteString(w, "and text"); return err })
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	dir := t.TempDir()
	link := dir + "/stdout" // as /dev/stdout is
	if err := os.Symlink("/proc/self/fd/1", link); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(dir + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	io.WriteString(f, "before ")
	c := exec.Command(os.Args[0], "-test.run", "^TestStandardOutputStaysALink$")
	c.Env, c.Stdout = append(os.Environ(), "FETTLE_TEST_OUT="+link), f
	if err := c.Run(); err != nil {
		t.Error(err)
	}
	if to, err := os.Readlink(link); to != "/proc/self/fd/1" {
		t.Errorf("the link was replaced: %q, %v", to, err)
	}
	if b, _ := os.ReadFile(dir + "/file"); !strings.HasPrefix(string(b), "before and text") {
		t.Errorf("the file holds %q", b)
	}
}

// Who may write to a folder does not have root write to a device through a link of his.
func TestDeviceBehindSomebodysLink(t *testing.T) {
	shared, _ := ground(t)
	link := shared + "/out"
	if err := errors.Join(os.Symlink("/dev/null", link), os.Lchown(link, means.Nobody, means.Staff)); err != nil {
		t.Fatal(err)
	}
	var led *Led
	if err := Replace(link, func(io.Writer) error { return nil }); !errors.As(err, &led) {
		t.Errorf("written through somebody's link: %v", err)
	}
}

// A pipe that becomes a link to a file of root's between the look and the opening.
func TestDeviceExchanged(t *testing.T) {
	shared, roots := ground(t)
	victim, name := roots+"/victim", shared+"/out"
	if err := os.WriteFile(victim, []byte("root's"), 0o600); err != nil {
		t.Fatal(err)
	}
	stop := means.Attacker(t, func() {
		unix.Mkfifo(name, 0o666)
		if fd, err := unix.Open(name, unix.O_RDONLY|unix.O_NONBLOCK, 0); err == nil {
			os.Remove(name)
			os.Symlink(victim, name)
			os.Remove(name)
			unix.Close(fd)
		}
	})
	defer stop()
	for range 2000 {
		if f, err := Device(name); err == nil && f != nil {
			io.WriteString(f, "his")
			f.Close()
		}
	}
	if b, _ := os.ReadFile(victim); string(b) != "root's" {
		t.Errorf("root's file holds %q", b)
	}
}

// Folders are made below what was opened: never where somebody's link leads.
func TestMakeFolder(t *testing.T) {
	shared, roots := ground(t)
	deep := filepath.Join(roots, "a", "b", "c")
	root, err := MakeFolder(deep, 0o700)
	if err != nil {
		t.Fatal(err)
	}
	root.Close()
	if st, err := os.Stat(deep); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", st, err)
	}
	again, err := MakeFolder(deep, 0o700)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
	if err := errors.Join(os.Symlink(roots, shared+"/his"), os.Lchown(shared+"/his", means.Nobody, means.Staff)); err != nil {
		t.Fatal(err)
	}
	var led *Led
	if root, err := MakeFolder(shared+"/his/made", 0o700); !errors.As(err, &led) {
		root.Close()
		t.Errorf("made behind somebody's link: %v", err)
	}
	if _, err := os.Stat(roots + "/made"); err == nil {
		t.Error("a folder of root's got another one")
	}
	if err := os.Symlink("nowhere", roots+"/dangling"); err != nil {
		t.Fatal(err)
	}
	if root, err := MakeFolder(roots+"/dangling/x", 0o700); err == nil {
		root.Close()
		t.Error("made behind a link that leads nowhere")
	}
}
