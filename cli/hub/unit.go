package hub

import (
	"net"
	"os"
	"strconv"

	"fettle/cli/app"
	"fettle/internal/files"
)

// What systemd hands to the service: credentials (LoadCredential=) and sockets that listen
// already (fettle-hub-web.socket), so that it needs neither root's files nor capabilities.

// credentials replaces credential:NAME by the file that systemd made of it.
func credentials(names ...*string) error {
	for _, n := range names {
		file, err := files.Credential(*n)
		if err != nil {
			return app.Usagef("%w", err)
		}
		*n = file
	}
	return nil
}

// firstPassed is the first descriptor of a passed socket (sd_listen_fds(3)).
const firstPassed = 3

// listen listens at an address, or takes the socket that systemd passed with this port.
func listen(addr string) (net.Listener, error) {
	_, port, err := net.SplitHostPort(addr)
	if n, _ := strconv.Atoi(os.Getenv("LISTEN_FDS")); err == nil && os.Getenv("LISTEN_PID") == strconv.Itoa(os.Getpid()) {
		for fd := firstPassed; fd < firstPassed+min(n, 16); fd++ {
			f := os.NewFile(uintptr(fd), "passed")
			l, err := net.FileListener(f)
			f.Close() // l has one of its own
			if err != nil {
				continue
			}
			if t, ok := l.Addr().(*net.TCPAddr); ok && strconv.Itoa(t.Port) == port {
				return l, nil
			}
			l.Close()
		}
	}
	return net.Listen("tcp", addr)
}

// ready tells systemd that the service has started (sd_notify(3), Type=notify): who starts it waits until the folder,
// the database and the agents' port are there, so that the next command finds them.
func ready() error {
	name := os.Getenv("NOTIFY_SOCKET")
	if name == "" {
		return nil
	}
	c, err := net.Dial("unixgram", name) // a name that begins with @ is abstract
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Write([]byte("READY=1"))
	return err
}
