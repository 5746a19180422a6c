package spool

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fettle/internal/means"
)

// TestMain: the test's own binary is the writer, too, that TestKilled kills.
func TestMain(m *testing.M) {
	if dir := os.Getenv("SPOOL_DIR"); dir != "" {
		s, err := Open(dir, 1<<30)
		for n := int64(1); err == nil; n++ {
			err = s.Add(Entry{Instance: "a", Seq: n}, payload(n, 64<<10))
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// payload is of a size, and tells by each byte whose it is.
func payload(n int64, size int) []byte { return bytes.Repeat([]byte{byte(n)}, size) }

func opened(t *testing.T, dir string, maxBytes int64) *Spool {
	t.Helper()
	s, err := Open(dir, maxBytes)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func add(t *testing.T, s *Spool, instance string, from, to int64, size int) {
	t.Helper()
	for n := from; n <= to; n++ {
		if err := s.Add(Entry{Instance: instance, Seq: n}, payload(n, size)); err != nil {
			t.Fatal(err)
		}
	}
}

// waiting is what waits, in its order, after a look at each message.
func waiting(t *testing.T, s *Spool, size int) []int64 {
	t.Helper()
	var out []int64
	for i := range s.Len() {
		e := s.At(i)
		b, err := s.Payload(e)
		if err != nil || !bytes.Equal(b, payload(e.Seq, size)) {
			t.Errorf("message %d: %d bytes, %v", e.Seq, len(b), err)
		}
		out = append(out, e.Seq)
	}
	return out
}

func upTo(from, to int64) (out []int64) {
	for n := from; n <= to; n++ {
		out = append(out, n)
	}
	return out
}

// TestBounds: the oldest go when bytes or number are over, and what is left is
// in order, also after a restart.
func TestBounds(t *testing.T) {
	const size = 100
	for name, c := range map[string]struct {
		maxBytes int64
		added    int64
		atLeast  int
		atMost   int
	}{
		"all have place": {1 << 20, 30, 30, 30},
		"bytes":          {10_000, 300, 30, 99},
		"number":         {1 << 30, maxEntries + 7, maxEntries, maxEntries},
		"less than one":  {10, 5, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			dir := memory(t)
			s := opened(t, dir, c.maxBytes)
			add(t, s, "a", 1, c.added, size)
			if n := s.Len(); n < c.atLeast || n > c.atMost || s.Dropped != c.added-int64(n) {
				t.Errorf("%d wait, %d dropped", n, s.Dropped)
			}
			want := upTo(c.added-int64(s.Len())+1, c.added)
			for _, s := range []*Spool{s, opened(t, dir, c.maxBytes)} {
				if got := waiting(t, s, size); !slices.Equal(got, want) {
					t.Errorf("%v, not %v", got, want)
				}
			}
			if on := onDisk(t, dir); c.atMost > 1 && on > c.maxBytes {
				t.Errorf("%d bytes on the disk", on)
			}
		})
	}
}

// memory is a folder where nothing waits for a disk.
func memory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "fettle-spool-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func onDisk(t *testing.T, dir string) (sum int64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if st, err := os.Stat(f); err == nil {
			sum += st.Size()
		}
	}
	return sum
}

// TestDone: what the hub has goes, of that instance alone; what comes after a
// restart comes after what waits.
func TestDone(t *testing.T) {
	dir := memory(t)
	s := opened(t, dir, 1<<20)
	add(t, s, "a", 1, 5, 10)
	add(t, s, "b", 1, 3, 10)
	s.Done("a", 4)
	s = opened(t, dir, 1<<20)
	add(t, s, "c", 9, 9, 10)
	s.Done("b", 2)
	for _, s := range []*Spool{s, opened(t, dir, 1<<20)} {
		if got := waiting(t, s, 10); !slices.Equal(got, []int64{5, 3, 9}) || s.Dropped != 0 {
			t.Errorf("%v, %d dropped", got, s.Dropped)
		}
	}
	s.Done("a", 9)
	s.Done("b", 9)
	s.Done("c", 9)
	if s.Len() != 0 || s.bytes != 0 || onDisk(t, dir) != 0 {
		t.Errorf("%d wait, %d bytes, %d on the disk", s.Len(), s.bytes, onDisk(t, dir))
	}
}

// TestDamaged: what is damaged goes, and nothing else.
func TestDamaged(t *testing.T) {
	for name, spoil := range map[string]func(dir string) error{
		"empty":    func(dir string) error { return os.WriteFile(dir+"/0000000000000002.msg", nil, 0o600) },
		"cut head": func(dir string) error { return os.Truncate(dir+"/0000000000000002.msg", 20) },
		"no head":  func(dir string) error { return os.WriteFile(dir+"/0000000000000002.msg", []byte("x\ny"), 0o600) },
		"head alone": func(dir string) error {
			return os.WriteFile(dir+"/0000000000000002.msg", bytes.Repeat([]byte("x"), 4096), 0o600)
		},
		"too large": func(dir string) error { return os.Truncate(dir+"/0000000000000002.msg", fileLimit+1) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := memory(t)
			add(t, opened(t, dir, 1<<20), "a", 1, 3, 10)
			for _, err := range []error{spoil(dir), os.WriteFile(dir+"/.0000000000000004.msg1234", []byte("half"), 0o600),
				os.WriteFile(dir+"/note", []byte("an admin's"), 0o600)} {
				if err != nil {
					t.Fatal(err)
				}
			}
			s := opened(t, dir, 1<<20)
			if got := waiting(t, s, 10); !slices.Equal(got, []int64{1, 3}) || s.Dropped != 1 {
				t.Errorf("%v, %d dropped", got, s.Dropped)
			}
			if left := names(t, dir); len(left) != 3 || left[2] != "note" {
				t.Errorf("%v", left)
			}
		})
	}
}

// TestKilled: who is killed while it writes leaves whole messages, without a gap.
func TestKilled(t *testing.T) {
	dir := memory(t)
	for range 5 {
		for _, name := range names(t, dir) {
			_ = os.Remove(filepath.Join(dir, name))
		}
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), "SPOOL_DIR="+dir)
		c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		for len(names(t, dir)) < 20 {
			time.Sleep(time.Millisecond)
		}
		_ = c.Process.Kill()
		_ = c.Wait()
		s := opened(t, dir, 1<<30)
		got := waiting(t, s, 64<<10)
		if len(got) < 19 || !slices.Equal(got, upTo(1, int64(len(got)))) || s.Dropped != 0 {
			t.Errorf("%v, %d dropped", got, s.Dropped)
		}
		if left := names(t, dir); len(left) != len(got) {
			t.Errorf("%d files of %d messages", len(left), len(got))
		}
	}
}

func names(t *testing.T, dir string) (out []string) {
	t.Helper()
	es, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range es {
		out = append(out, e.Name())
	}
	return out
}

// TestFull: on a full disk memory has the newest few, in order; once there is
// place again, the disk has what comes then.
func TestFull(t *testing.T) {
	means.Root(t)
	dir := t.TempDir()
	if err := unix.Mount("fettle-test", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	const size = 10_000
	s := opened(t, filepath.Join(dir, "spool"), 1<<20)
	written := int64(0)
	for n := int64(1); n <= 60; n++ {
		err := s.Add(Entry{Instance: "a", Seq: n}, payload(n, size))
		switch {
		case err == nil && written == n-1:
			written = n
		case !errors.Is(err, unix.ENOSPC):
			t.Fatalf("message %d: %v", n, err)
		}
	}
	want := append(upTo(1, written), upTo(60-maxUnwritten+1, 60)...)
	if got := waiting(t, s, size); written < 5 || !slices.Equal(got, want) || s.Dropped != 60-int64(len(want)) {
		t.Errorf("%d written: %v, %d dropped", written, got, s.Dropped)
	}
	s.Done("a", written)
	add(t, s, "a", 61, 61, size)
	if got := waiting(t, s, size); !slices.Equal(got, append(upTo(60-maxUnwritten+1, 60), 61)) {
		t.Errorf("%v", got)
	}
	if got := waiting(t, opened(t, filepath.Join(dir, "spool"), 1<<20), size); !slices.Equal(got, []int64{61}) {
		t.Errorf("after a restart: %v", got)
	}
	s.Done("a", 61)
	if s.Len() != 0 || s.bytes != 0 {
		t.Errorf("%d wait, %d bytes", s.Len(), s.bytes)
	}
}
