package spool

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestNoFolder: where no messages can be kept, an agent hears it when it starts.
func TestNoFolder(t *testing.T) {
	file := filepath.Join(memory(t), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, file + "/spool"} {
		if s, err := Open(dir, 1<<20); err == nil {
			t.Errorf("%s: %+v", dir, s)
		}
	}
}

// TestOthersFiles: what is named otherwise is nobody's message, and stays; what is named
// as a message and can't be read goes.
func TestOthersFiles(t *testing.T) {
	dir := memory(t)
	add(t, opened(t, dir, 1<<20), "a", 1, 2, 10)
	whole, err := os.ReadFile(dir + "/0000000000000001.msg")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"0000000000000007", "x.msg", "8.msg.orig"} {
		if err := os.WriteFile(filepath.Join(dir, name), whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("nothing", dir+"/0000000000000003.msg"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir+"/0000000000000004.msg", 0o700); err != nil {
		t.Fatal(err)
	}
	s := opened(t, dir, 1<<20)
	if got := waiting(t, s, 10); !slices.Equal(got, []int64{1, 2}) || s.Dropped != 2 {
		t.Errorf("%v wait, %d dropped", got, s.Dropped)
	}
	want := []string{"0000000000000001.msg", "0000000000000002.msg", "0000000000000007", "8.msg.orig", "x.msg"}
	if left := names(t, dir); !slices.Equal(left, want) {
		t.Errorf("%v", left)
	}
	// The next message gets a number of its own.
	add(t, s, "a", 3, 3, 10)
	if got := waiting(t, opened(t, dir, 1<<20), 10); !slices.Equal(got, []int64{1, 2, 3}) {
		t.Errorf("after one more: %v", got)
	}
}

// TestSizeOfAFile: a message just as large as a file may be is kept, and one byte more is not.
func TestSizeOfAFile(t *testing.T) {
	dir := memory(t)
	s := opened(t, dir, 1<<30)
	add(t, s, "a", 1, 2, 10)
	frame := int(s.At(0).size) - 10
	for n, over := range []int{0, 1} {
		b := bytes.Repeat([]byte{'x'}, fileLimit+over)
		whole, err := os.ReadFile(s.file(int64(n + 1)))
		if err != nil {
			t.Fatal(err)
		}
		copy(b, whole[:frame])
		if err := os.WriteFile(s.file(int64(n+1)), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if s := opened(t, dir, 1<<30); s.Len() != 1 || s.At(0).Seq != 1 || s.Dropped != 1 {
		t.Errorf("%d wait, %d dropped", s.Len(), s.Dropped)
	}
}

// TestPayloadGone: a message whose file is gone or damaged is an error, and can be forgotten.
func TestPayloadGone(t *testing.T) {
	dir := memory(t)
	s := opened(t, dir, 1<<20)
	add(t, s, "a", 1, 3, 10)
	if err := os.Remove(s.file(1)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.file(2), []byte("no line"), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := s.Payload(s.At(0)); err == nil {
		t.Errorf("%q of a file that is gone", b)
	}
	if b, err := s.Payload(s.At(1)); err == nil || !strings.Contains(err.Error(), "is damaged") {
		t.Errorf("%q of a damaged file: %v", b, err)
	}
	s.Forget(0)
	s.Forget(0)
	if got := waiting(t, s, 10); !slices.Equal(got, []int64{3}) || s.Dropped != 2 || s.bytes != s.At(0).size {
		t.Errorf("%v wait, %d dropped, %d bytes", got, s.Dropped, s.bytes)
	}
}

// TestNoDate: a message whose head cannot be written is refused, and costs nothing.
func TestNoDate(t *testing.T) {
	s := opened(t, memory(t), 1<<20)
	if err := s.Add(Entry{Instance: "a", Seq: 1, Wall: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}, []byte("x")); err == nil {
		t.Error("kept")
	}
	if s.Len() != 0 || s.bytes != 0 || s.next != 1 {
		t.Errorf("%+v", s)
	}
}

// TestJustFits: messages that just fill the bound stay, and with a byte more the oldest goes.
func TestJustFits(t *testing.T) {
	s := opened(t, memory(t), 1<<20)
	add(t, s, "a", 1, 1, 10)
	each := s.At(0).size
	for over, want := range map[int64]int{0: 3, 1: 2} {
		s := opened(t, memory(t), 3*each-over)
		if add(t, s, "a", 1, 3, 10); s.Len() != want || s.Dropped != int64(3-want) {
			t.Errorf("a bound of %d bytes less: %d wait, %d dropped", over, s.Len(), s.Dropped)
		}
	}
}

// TestNothingWritten: where nothing could be written from the start, memory has the newest few.
func TestNothingWritten(t *testing.T) {
	dir := memory(t)
	s := opened(t, dir, 1<<20)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	for n := int64(1); n <= maxUnwritten+2; n++ {
		if err := s.Add(Entry{Instance: "a", Seq: n}, payload(n, 10)); err == nil {
			t.Fatal("written to a folder that is gone")
		}
		if want := min(n, maxUnwritten); int64(s.Len()) != want {
			t.Errorf("after %d messages %d wait, want %d", n, s.Len(), want)
		}
	}
	if got := waiting(t, s, 10); !slices.Equal(got, upTo(3, maxUnwritten+2)) {
		t.Errorf("%v wait", got)
	}
}

// TestDescriptors: a spool of many messages holds no file open.
func TestDescriptors(t *testing.T) {
	dir := memory(t)
	add(t, opened(t, dir, 1<<20), "a", 1, 200, 10)
	before := len(names(t, "/proc/self/fd"))
	opened(t, dir, 1<<20)
	if after := len(names(t, "/proc/self/fd")); after > before+50 {
		t.Errorf("%d open files, before %d", after, before)
	}
}

// TestDiskComesAndGoes: what memory has is bounded, also where some in between were written.
func TestDiskComesAndGoes(t *testing.T) {
	dir := filepath.Join(memory(t), "spool")
	s := opened(t, dir, 1<<20)
	move := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	move(dir, dir+".away")
	for n := int64(1); n <= maxUnwritten+3; n++ {
		there := n == maxUnwritten
		if there {
			move(dir+".away", dir)
		}
		if err := s.Add(Entry{Instance: "a", Seq: n}, payload(n, 10)); (err == nil) != there {
			t.Fatalf("message %d: %v", n, err)
		}
		if there {
			move(dir, dir+".away")
		}
	}
	if s.Len() != maxUnwritten+1 || s.Dropped != 2 {
		t.Errorf("%d wait, %d dropped", s.Len(), s.Dropped)
	}
}
