package journald

import (
	"errors"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fettle/internal/means"
)

func TestWrite(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	if Write(socket, time.Second, Field{"MESSAGE", "x"}) == nil {
		t.Error("a journal that is not there takes an entry")
	}
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := Write(socket, time.Second, Field{"MESSAGE", "one\ntwo"}, Field{"PRIORITY", "4"}, Field{"PRIORITY", "\x1b5"}); err != nil {
		t.Fatal(err)
	}
	before := len(means.OpenFiles(t))
	err = Write(socket, time.Second, Field{"MESSAGE", strings.Repeat("x", 1<<18)})
	if after := len(means.OpenFiles(t)); !errors.Is(err, syscall.EMSGSIZE) || after != before {
		t.Errorf("of an entry that is too long: %v; %d files are open, before it was %d", err, after, before)
	}
	b := make([]byte, 1000)
	_ = l.SetReadDeadline(time.Now().Add(10 * time.Second))
	n, err := l.Read(b)
	const want = "MESSAGE=one\\ntwo\nPRIORITY=4\nPRIORITY=\\x1b5\nSYSLOG_IDENTIFIER=fettle\n"
	if err != nil || string(b[:n]) != want {
		t.Errorf("%q, %v", b[:n], err)
	}
}
