package serialname

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// speeds are the rates of termios(3).
var speeds = map[int]uint32{300: unix.B300, 600: unix.B600, 1200: unix.B1200, 2400: unix.B2400, 4800: unix.B4800, 9600: unix.B9600,
	19200: unix.B19200, 38400: unix.B38400, 57600: unix.B57600, 115200: unix.B115200, 230400: unix.B230400, 460800: unix.B460800,
	921600: unix.B921600}

// Speeds are the rates that a profile may name, in baud.
func Speeds() []int { return slices.Sorted(maps.Keys(speeds)) }

// maxHeard bounds what is kept of a device that talks without end, in bytes.
const maxHeard = 8 << 10

// Heard is what a probe found.
type Heard struct {
	Profile string
	Speed   int    // baud
	Said    []byte // what the profile expected
}

// ErrNoAnswer: nothing that the profile expects was said in time.
var ErrNoAnswer = errors.New("did not say what the profile expects")

// Probe asks the device at path by a profile. It writes only what the profile
// sends, takes no longer than Profile.Limit and a second, and leaves the line's
// settings as they were. Opening a serial line raises DTR, at which some boards
// begin again; that cannot be avoided.
func Probe(ctx context.Context, path string, p *Profile) (Heard, error) {
	ctx, cancel := context.WithTimeout(ctx, p.Limit())
	defer cancel()
	l, err := open(path, p.Writes())
	if err != nil {
		return Heard{}, err
	}
	defer l.close()
	for _, speed := range p.Speed {
		said, err := l.ask(ctx, p, speed)
		if err == nil {
			return Heard{p.Name, speed, said}, nil
		}
		if !errors.Is(err, ErrNoAnswer) {
			return Heard{}, fmt.Errorf("probing %s: %w", path, err)
		}
	}
	return Heard{}, fmt.Errorf("%s %w %s", path, ErrNoAnswer, p.Name)
}

// line is an open serial line.
type line struct {
	fd  int
	was unix.Termios
}

// open opens a serial line for this process alone, without waiting for a carrier.
func open(path string, write bool) (*line, error) {
	mode := unix.O_RDONLY
	if write {
		mode = unix.O_RDWR
	}
	fd, err := unix.Open(path, mode|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "opening", Path: path, Err: err}
	}
	l := &line{fd: fd}
	t, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("%s is not a serial line: %w", path, err)
	}
	l.was = *t
	// Nobody else opens it meanwhile, but root.
	if err := unix.IoctlSetInt(fd, unix.TIOCEXCL, 0); err != nil {
		unix.Close(fd)
		return nil, &fs.PathError{Op: "locking", Path: path, Err: err}
	}
	return l, nil
}

// close puts the settings back and forgets what was not sent yet: closing would
// wait for it, up to 30 s (closing_wait of setserial(8)).
func (l *line) close() {
	unix.IoctlSetInt(l.fd, unix.TCFLSH, unix.TCIOFLUSH)
	unix.IoctlSetTermios(l.fd, unix.TCSETS, &l.was)
	unix.IoctlSetInt(l.fd, unix.TIOCNXCL, 0)
	unix.Close(l.fd)
}

// raw sets a speed, and hands bytes through as they are.
func (l *line) raw(speed int) error {
	t := l.was
	t.Iflag, t.Oflag, t.Lflag = 0, 0, 0
	t.Cflag = unix.CS8 | unix.CREAD | unix.CLOCAL | unix.HUPCL | speeds[speed]
	t.Cc[unix.VMIN], t.Cc[unix.VTIME] = 0, 0
	if err := unix.IoctlSetTermios(l.fd, unix.TCSETS, &t); err != nil {
		return fmt.Errorf("setting %d baud: %w", speed, err)
	}
	return unix.IoctlSetInt(l.fd, unix.TCFLSH, unix.TCIFLUSH)
}

// ask listens at one speed, after each request where there are some.
func (l *line) ask(ctx context.Context, p *Profile, speed int) ([]byte, error) {
	if err := l.raw(speed); err != nil {
		return nil, err
	}
	if !p.Writes() {
		return l.listen(ctx, p)
	}
	for _, request := range p.Send {
		if n, err := unix.Write(l.fd, request); err != nil || n != len(request) {
			return nil, errors.Join(fmt.Errorf("sending %d bytes, of which %d went", len(request), max(n, 0)), err)
		}
		said, err := l.listen(ctx, p)
		if !errors.Is(err, ErrNoAnswer) {
			return said, err
		}
	}
	return nil, ErrNoAnswer
}

// listen reads until the profile recognises what it heard, or its time is over.
func (l *line) listen(ctx context.Context, p *Profile) ([]byte, error) {
	end := time.Now().Add(p.Listen)
	var heard []byte
	buf := make([]byte, 4096)
	for {
		left := time.Until(end)
		if err := ctx.Err(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return nil, err
		} else if left <= 0 || err != nil {
			return nil, ErrNoAnswer
		}
		fds := []unix.PollFd{{Fd: int32(l.fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, int(min(left, 100*time.Millisecond)/time.Millisecond)+1)
		if errors.Is(err, syscall.EINTR) || err == nil && n == 0 {
			continue
		}
		if err != nil {
			return nil, err
		}
		n, err = unix.Read(l.fd, buf)
		switch {
		case errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			return nil, fmt.Errorf("the device went away: %w", err)
		case n == 0:
			if fds[0].Revents&unix.POLLHUP != 0 {
				return nil, fmt.Errorf("the device went away: %w", os.ErrClosed)
			}
			time.Sleep(10 * time.Millisecond) // VMIN 0: nothing there after all
			continue
		}
		heard = append(heard, buf[:n]...)
		if said, ok := p.Recognise(heard); ok {
			return said, nil
		}
		if over := len(heard) - maxHeard; over > 0 {
			heard = heard[over:]
		}
	}
}
