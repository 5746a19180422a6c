package hooks

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fettle/internal/means"
)

func archive(t testing.TB, parts []Part) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, parts); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zipped(t testing.TB, n int) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(archive(t, nil))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for b.Len()%4 != n {
		b.WriteByte(0) // as initrds end
	}
	return b.Bytes()
}

func TestSameBytes(t *testing.T) {
	if !bytes.Equal(archive(t, Parts), archive(t, Parts)) {
		t.Error("two archives of the same parts differ")
	}
}

// Appended again it is the same; taken off, the initrd is as before, whatever
// its length.
func TestAppendAndRemove(t *testing.T) {
	for n := range 4 {
		plain := zipped(t, n)
		with, err := Append(plain, Parts)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := Append(with, Parts); err != nil || !bytes.Equal(again, with) {
			t.Errorf("appended twice: %d bytes, once: %d; %v", len(again), len(with), err)
		}
		only, err := Append(with, []Part{BBL})
		if err != nil {
			t.Fatal(err)
		}
		if found, err := Find(only); err != nil || len(found.Files) != 3 || found.Before != int64(len(plain)) {
			t.Errorf("after choosing bbl alone: %+v, %v", found, err)
		}
		if back, err := Remove(only); err != nil || !bytes.Equal(back, plain) {
			t.Errorf("removed: %d bytes, before: %d; %v", len(back), len(plain), err)
		}
	}
	if _, err := Remove(zipped(t, 0)); !errors.Is(err, ErrNotThere) {
		t.Error(err)
	}
}

func TestBadInitrds(t *testing.T) {
	with, err := Append(zipped(t, 0), Parts)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		initrd []byte
		want   string
	}{
		"nothing":       {nil, "not an initrd"},
		"a kernel":      {append([]byte("MZ"), make([]byte, 1000)...), "not an initrd"},
		"cut off":       {with[:len(with)-300], "damaged"},
		"appended to":   {append(bytes.Clone(with), zipped(t, 0)...), "after fettle's hooks"},
		"a wrong place": {append([]byte("\x1f\x8bxx"), with...), "damaged"},
	} {
		if _, err := Append(c.initrd, Parts); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, expected %q", name, err, c.want)
		}
	}
}

// cpio reads what was written, and the kernel's magic, alignment and folders
// are as GNU cpio has them.
func TestCpioReadsIt(t *testing.T) {
	cmd := exec.Command(means.Tool(t, "cpio"), "-idm", "--quiet")
	cmd.Dir = t.TempDir()
	cmd.Stdin = bytes.NewReader(archive(t, Parts))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, f := range Files(Parts) {
		st, err := os.Stat(filepath.Join(cmd.Dir, f.Name))
		if err != nil || st.Mode().Perm() != f.Mode || st.Size() != int64(len(f.Content)) {
			t.Errorf("%s: %v, %v", f.Name, st, err)
		}
	}
}

// The installer's shell is busybox's: nothing but POSIX.
func TestShellcheck(t *testing.T) {
	dir := t.TempDir()
	args := []string{"-s", "sh", "-x", "-e", "SC1091"}
	for _, f := range Files(Parts) {
		if !strings.HasPrefix(string(f.Content), "#!") {
			continue
		}
		name := filepath.Join(dir, filepath.Base(f.Name))
		if err := os.WriteFile(name, f.Content, 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, name)
	}
	// Sourced files set what others use.
	args = append([]string{"-e", "SC2034,SC2154"}, args...)
	if out, err := exec.Command(means.Tool(t, "shellcheck"), args...).CombinedOutput(); err != nil {
		t.Errorf("%s", out)
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

// FuzzFind: no initrd makes Find panic, and what it finds can be taken off.
func FuzzFind(f *testing.F) {
	with, err := Append(zipped(f, 0), []Part{BBL})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(with)
	f.Add(with[:len(with)-9])
	f.Fuzz(func(t *testing.T, initrd []byte) {
		found, err := Find(initrd)
		if err == nil && (found.Before < 0 || found.Before > int64(len(initrd))) {
			t.Errorf("%d bytes before, of %d", found.Before, len(initrd))
		}
	})
}
