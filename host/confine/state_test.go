package confine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
)

var errBroken = errors.New("broken")

// TestWarning: what holds a process back, and what is said where that is not all.
func TestWarning(t *testing.T) {
	for s, want := range map[State][2]string{
		{Landlock: full, Filter: true}:     {"", "Landlock ABI 3, system call filter"},
		{Landlock: full + 4, Filter: true}: {"", "Landlock ABI 7, system call filter"},
		{Landlock: full - 1, Filter: true}: {"this kernel's Landlock is old (ABI 2)", "Landlock ABI 2, system call filter"},
		{Filter: true}:                     {"no Landlock here", "system call filter"},
		{Landlock: full}:                   {"no system call filter here: only Landlock (ABI 3)", "Landlock ABI 3"},
		{Landlock: 1}:                      {"no system call filter here: only Landlock (ABI 1)", "Landlock ABI 1"},
		{}:                                 {"this kernel has neither", "none"},
	} {
		if got := s.Warning(); (got == "") != (want[0] == "") || !strings.HasPrefix(got, want[0]) {
			t.Errorf("%+v: %q, not %q", s, got, want[0])
		}
		if got := s.String(); got != want[1] {
			t.Errorf("%+v: %q, not %q", s, got, want[1])
		}
	}
}

// failing takes so many writes, and fails at the next.
type failing struct {
	bytes.Buffer
	left   int
	writes int
}

func (w *failing) Write(p []byte) (int, error) {
	if w.left--; w.left < 0 {
		return 0, errBroken
	}
	w.writes++
	return w.Buffer.Write(p)
}

// TestFrames: frames of every size pass, whole or not at all, a small one in a single write.
func TestFrames(t *testing.T) {
	for _, c := range []struct{ size, writes int }{{0, 1}, {1, 1}, {largeBody - 1, 1}, {largeBody, 1}, {largeBody + 1, 2}} {
		in := frame{kind: kindMessage, num: 1<<32 - 2, body: bytes.Repeat([]byte{'x'}, c.size)}
		w := &failing{left: 9}
		if err := writeFrame(w, in); err != nil || w.writes != c.writes || w.Len() != headLen+c.size {
			t.Errorf("%d bytes: %d written by %d calls, %v", c.size, w.Len(), w.writes, err)
		}
		whole := w.Bytes()
		out, err := readFrame(bytes.NewReader(whole), ofChild)
		if err != nil || out.kind != in.kind || out.num != in.num || !bytes.Equal(out.body, in.body) {
			t.Errorf("%d bytes: %q %d %v", c.size, out.kind, out.num, err)
		}
		for n := range c.writes {
			if err := writeFrame(&failing{left: n}, in); !errors.Is(err, errBroken) {
				t.Errorf("%d bytes: write %d failed: %v", c.size, n, err)
			}
		}
		for _, n := range []int{0, 1, headLen - 1, headLen, headLen + c.size - 1} {
			_, err := readFrame(bytes.NewReader(whole[:min(n, len(whole)-1)]), ofChild)
			if want := map[bool]error{true: io.EOF, false: io.ErrUnexpectedEOF}[n == 0]; !errors.Is(err, want) &&
				!(n == headLen && errors.Is(err, io.EOF)) {
				t.Errorf("%d bytes, cut after %d: %v", c.size, n, err)
			}
		}
	}
}

// TestLimitsOfFrames: a frame is refused by its length, before memory is taken for it.
func TestLimitsOfFrames(t *testing.T) {
	for _, c := range []struct {
		kind  byte
		limit uint32
	}{{kindBeat, 0}, {kindAsk, 1 << 20}, {kindMessage, 32 << 20}, {'x', 0}, {kindJob, 0}, {kindAnswer, 0}} {
		for n, refused := range map[uint32]bool{c.limit: false, c.limit + 1: true, 1<<32 - 1: true} {
			if n > 1<<20 && !refused {
				continue // its body would be read
			}
			b := append(binary.LittleEndian.AppendUint32(nil, n), c.kind, 0, 0, 0, 0)
			_, err := readFrame(io.MultiReader(bytes.NewReader(b), bytes.NewReader(make([]byte, min(n, 2<<20)))), ofChild)
			if got := err != nil && strings.Contains(err.Error(), "unexpected frame"); got != refused || !refused && err != nil {
				t.Errorf("%q of %d bytes: %v", c.kind, n, err)
			}
		}
	}
	if ofChild(kindMessage) != MaxSaying || ofParent(kindJob) != 1<<30 {
		t.Error("limits")
	}
	if _, err := unpack([]byte("\x01no JSON")); err == nil || !strings.Contains(err.Error(), "reading an answer") {
		t.Error(err)
	}
}

// TestEntriesOfProc: what a parent reads, lists and follows of other processes, and what nobody does.
func TestEntriesOfProc(t *testing.T) {
	matches := map[string]lazyRegexp{"file": procFile, "secret": procSecret, "dir": procDir, "link": procLink}
	for name, want := range map[string]string{
		"/proc/0/maps": "file", "/proc/9/io": "file", "/proc/42/numa_maps": "file", "/proc/1/environ": "secret", "/proc/90/auxv": "secret",
		"/proc/1/mem": "secret", "/proc/1/fd": "dir", "/proc/1/fdinfo": "dir", "/proc/1/map_files": "dir", "/proc/1/exe": "link",
		"/proc/1/fd/0": "link", "/proc/1/ns/net": "link", "/proc/1/map_files/7f-80": "link", "/proc/1/status": "", "/proc/1/fd/": "",
		"/proc/":  "",
		"/proc/1": "", "/proc/:/maps": "", "/proc//maps": "", "/proc/1/root/etc": "", "/proc/1/cwd/x": "", "/prox/1/maps": "", "/proc/x/maps": "",
		"/proc/1/task/1/environ": "", "/proc/1/ns/../exe": "",
	} {
		for kind, m := range matches {
			if m.MatchString(name) != (kind == want) {
				t.Errorf("%s is a %s: %v", name, kind, kind != want)
			}
		}
	}
}
