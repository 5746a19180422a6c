package message

import (
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"fettle/internal/means"
)

// record is a journal's record as journalctl -o export writes it; a value with line breaks has its length before it.
func record(fields ...string) string {
	var b strings.Builder
	for _, f := range fields {
		name, value, _ := strings.Cut(f, "=")
		if strings.Contains(value, "\n") {
			b.WriteString(name + "\n" + string(binary.LittleEndian.AppendUint64(nil, uint64(len(value)))) + value + "\n")
		} else {
			b.WriteString(f + "\n")
		}
	}
	return b.String() + "\n"
}

// read is Read for tests: one that does not end fails.
func read(t *testing.T, s *Set, r io.Reader, do func(*Line, []Hit)) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- s.Read(r, do) }()
	select {
	case err := <-done:
		return err
	case <-time.After(means.Patience):
		t.Fatal("the log is read without end")
		return nil
	}
}

// TestReadAll: each line that has a message is given once, in order, whole, however it comes: with escape sequences and lists
// of bytes beside it, as records, in pieces of any size.
func TestReadAll(t *testing.T) {
	s := set(t, "app|it failed at last", "kernel|disk <n> is lost")
	const list = `{"MESSAGE":[105,116,32,102,97,105,108,101,100,32,97,116,32,108,97,115,116],"SYSLOG_IDENTIFIER":"app"}`
	for _, c := range []struct{ log, want string }{
		{"", ""}, {"\n", ""}, {"nothing\n", ""}, {"it failed at last", "it failed at last"},
		{"disk 1 is lost\ndisk 2 is lost\n\ndisk 3 is lost", "disk 1 is lost|disk 2 is lost|disk 3 is lost"},
		{"a\ndisk 1 is lost, disk 2 is lost\nb", "disk 1 is lost, disk 2 is lost"},
		{"\x1b[1mx\ndisk 1 is lost\nit \x1b[1mfailed\x1b[0m at last\ndisk 2 is lost\n\x1b", "disk 1 is lost|it failed at last|disk 2 is lost"},
		{"disk 1 is lost\n" + list + "\ndisk 2 is lost\n" + list + "\n",
			"disk 1 is lost|app it failed at last|disk 2 is lost|app it failed at last"},
		{list + "\n\x1b[1mdisk 1\x1b[0m is lost\n", "app it failed at last|disk 1 is lost"},
		{record("__CURSOR=1", "_HOSTNAME=a", "MESSAGE=disk 1 is lost") + record("__CURSOR=2", "_HOSTNAME=b", "MESSAGE=fine") +
			record("__CURSOR=3", "_HOSTNAME=c", "MESSAGE=disk 3 is lost"), "a disk 1 is lost|c disk 3 is lost"},
		{record("__REALTIME_TIMESTAMP=1", "MESSAGE=disk 1 is lost", "_HOSTNAME=a"), "a disk 1 is lost"},
		{record("__CURSOR=1", "MESSAGE=fine\ndisk 1 is lost\nit failed at last", "_HOSTNAME=a", "SYSLOG_IDENTIFIER=app"),
			"a app it failed at last"},
		{record("__CURSOR=1", "MESSAGE=disk 1 is lost", "_TRANSPORT=kernel", "SYSLOG_IDENTIFIER=x", "_HOSTNAME=a"), "a kernel disk 1 is lost"},
		{record("__CURSOR=1", "NOTE=a\n", "MESSAGE=disk 1 is lost",
			"_HOSTNAME=a") + "__CURSOR=2\nMESSAGE\n\xff\x00\x00\x00\x00\x00\x00\x00disk 2 is lost",
			"a disk 1 is lost|disk 2 is lost"},
	} {
		for name, r := range map[string]io.Reader{"whole": strings.NewReader(c.log),
			"byte by byte":      iotest.OneByteReader(strings.NewReader(c.log)),
			"data with the end": iotest.DataErrReader(strings.NewReader(c.log))} {
			var got []string
			err := read(t, s, r, func(l *Line, _ []Hit) {
				got = append(got, strings.Join(strings.Fields(l.Host+" "+l.By+" "+l.Text), " "))
			})
			if err != nil || !slices.Equal(got, slices.DeleteFunc(strings.Split(c.want, "|"), func(s string) bool { return s == "" })) {
				t.Errorf("%q, %s: %q, want %q; %v", c.log, name, got, c.want, err)
			}
		}
	}
}

// TestReadFails: what was read before a log cannot be read further is not taken for all of it.
func TestReadFails(t *testing.T) {
	broken := errors.New("the disk is broken")
	err := read(t, set(t, "any|it failed at last"), io.MultiReader(strings.NewReader("x\n"), iotest.ErrReader(broken)), func(*Line, []Hit) {})
	if !errors.Is(err, broken) {
		t.Error(err)
	}
}

// TestReadLong: a line that is longer than the buffer is judged in parts, and those behind it as ever; so are records.
func TestReadLong(t *testing.T) {
	s := set(t, "any|disk <n> is lost")
	for _, c := range []struct{ before, line, sep string }{
		{"", "disk 7 is lost", "\n"}, {"__CURSOR=0\nMESSAGE=x\n\n", "__CURSOR=1\nMESSAGE=disk 7 is lost", "\n\n"},
	} {
		for _, long := range []int{readSize/2 - 1, readSize / 2, readSize - 1, readSize, 2 * readSize} {
			log := c.before + c.line + c.sep + strings.Repeat("x", long) + c.sep + c.line + c.sep + c.line + c.sep
			n := 0
			if err := read(t, s, strings.NewReader(log), func(*Line, []Hit) { n++ }); err != nil || n != 3 {
				t.Errorf("%q beside a line of %d bytes: %d messages, %v", c.line, long, n, err)
			}
		}
	}
}
