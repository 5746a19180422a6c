package app

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync/atomic"

	"fettle/tools/watch"
)

// ServeMetrics serves a page at an address until stop is called. It listens on
// the loopback alone: what is there is for this host's own collector.
func ServeMetrics(address string, metrics *atomic.Value) (stop func(), err error) {
	hostname, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(hostname); err != nil || ip == nil || !ip.IsLoopback() {
		return nil, Usagef("--listen %s: expected an address of the loopback with a port, as 127.0.0.1:9797", address)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return nil, Usagef("--listen %s: a port is 0 to 65535", address)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, Failf("serving the metrics: %w", err)
	}
	page := func() ([]byte, bool) { b, ok := metrics.Load().([]byte); return b, ok }
	go func() {
		if err := watch.Serve(l, page); err != nil && !errors.Is(err, net.ErrClosed) {
			fmt.Fprintln(os.Stderr, "fettle: serving the metrics:", err)
		}
	}()
	return func() { l.Close() }, nil
}
