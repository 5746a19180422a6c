package hub

import (
	"net"
	"path/filepath"
	"testing"
	"time"

	"fettle/internal/means"
)

// TestReady: systemd is told once, where it listens.
func TestReady(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	if err := ready(); err != nil {
		t.Error(err)
	}
	name := filepath.Join(t.TempDir(), "notify")
	t.Setenv("NOTIFY_SOCKET", name)
	if err := ready(); err == nil {
		t.Error("nobody listens, and it says nothing")
	}
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := ready(); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 100)
	_ = c.SetReadDeadline(time.Now().Add(means.Patience))
	if n, err := c.Read(b); err != nil || string(b[:n]) != "READY=1" {
		t.Errorf("%q, %v", b[:n], err)
	}
}
