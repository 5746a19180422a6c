// Package sks runs a real keyserver (SKS) for tests.
package sks

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"fettle/internal/means"
)

// Serve starts SKS on the loopback with these keys (binary keyrings), ends it
// with the test, and returns its port.
func Serve(t testing.TB, keys ...[]byte) (port int) {
	t.Helper()
	sks := means.Tool(t, "sks")
	dir := t.TempDir()
	// Debian's sks wants them below basedir
	for _, d := range []string{"var/log/sks", "var/lib/sks", "var/spool/sks", "var/run/sks", "etc/sks", "dump"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port = l.Addr().(*net.TCPAddr).Port
	l.Close()
	for name, text := range map[string][]byte{
		"dump/0.pgp":      bytes.Join(keys, nil),
		"etc/sks/sksconf": fmt.Appendf(nil, "hostname: localhost\nhkp_address: 127.0.0.1\nhkp_port: %d\ndisable_mailsync:\n", port),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command(sks, "build", "dump/0.pgp", "-basedir", dir)
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("sks build: %v\n%s", err, out)
	}
	ctx, cancel := context.WithCancel(context.Background())
	db := exec.CommandContext(ctx, sks, "db", "-basedir", dir)
	db.Dir = dir
	if err := db.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); db.Wait() })
	for range 200 {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			c.Close()
			return port
		}
		time.Sleep(50 * time.Millisecond)
	}
	log, _ := os.ReadFile(filepath.Join(dir, "db.log"))
	t.Fatalf("sks does not answer:\n%s", log)
	return 0
}
