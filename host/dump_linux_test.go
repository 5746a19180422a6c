package host

import (
	"errors"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"fettle/internal/means"
)

// ownNetwork moves the test, alone on its thread, into a network namespace of its own.
func ownNetwork(t *testing.T) *netlink.Handle {
	t.Helper()
	means.Root(t)
	runtime.LockOSThread() // for good: the thread stays in its namespace, and ends with the test
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Fatal(err)
	}
	h, err := netlink.NewHandle()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestLinksWhileOneFlaps: a link comes and goes; a dump that the kernel interrupts is read again. The
// plain dump beside it must be interrupted, or this proves nothing.
func TestLinksWhileOneFlaps(t *testing.T) {
	h := ownNetwork(t)
	for i := range 100 {
		v := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "v" + string(rune('a'+i/26)) + string(rune('a'+i%26))}}
		v.PeerName = "p" + v.Name
		if err := h.LinkAdd(v); err != nil {
			means.Missing(t, "needs veth: "+err.Error())
		}
	}
	var stop atomic.Bool
	ended := make(chan bool)
	go func() {
		defer close(ended)
		for !stop.Load() {
			flap := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "flap"}, PeerName: "pflap"}
			h.LinkAdd(flap)
			h.LinkDel(flap)
		}
	}()
	defer func() { stop.Store(true); <-ended }()
	interrupted := 0
	for try := 0; try < 1000 && interrupted < 5; try++ {
		if _, err := netlink.LinkList(); errors.Is(err, netlink.ErrDumpInterrupted) {
			interrupted++
		}
		if _, err := readLinks(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if interrupted == 0 {
		t.Error("no dump was interrupted: the test proves nothing")
	}
}
