package host

import (
	"bytes"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Actions of syslog(2).
const (
	ringRead = 3  // SYSLOG_ACTION_READ_ALL
	ringSize = 10 // SYSLOG_ACTION_SIZE_BUFFER
)

// ringLimit is the largest ring that is read, in bytes; the kernel's default is 2^17 to
// 2^18 (CONFIG_LOG_BUF_SHIFT), more on hosts with many processors.
const ringLimit = 16 << 20

// errUnstamped: the kernel leaves the time away (printk.time=0).
var errUnstamped = errors.New("lines without a time")

// kernelRing reads the kernel's ring of messages as dmesg prints it in the C locale,
// "[   12.345678] text", by one call of syslog(2). Without printk.time the lines have no
// time there; /dev/kmsg, which dmesg reads, has it.
func kernelRing() ([]byte, error) {
	size, err := unix.Klogctl(ringSize, nil)
	if err != nil {
		return nil, err
	}
	// The ring keeps texts and their times apart; written out, the priority and the time stand
	// before each line, and what does not fit into the buffer is left out from the oldest on.
	buf := make([]byte, min(4*size, ringLimit))
	n, err := unix.Klogctl(ringRead, buf)
	if err != nil {
		return nil, err
	}
	return ringText(buf[:n])
}

// ringText takes the priorities off the lines, "<6>[   12.345678] text", and writes as
// \xNN what is no printable ASCII, as in the name of an interface.
func ringText(raw []byte) ([]byte, error) {
	out := make([]byte, 0, len(raw))
	for line := range bytes.Lines(raw) {
		if line[0] == '<' {
			if end := bytes.IndexByte(line[:min(len(line), len("<2047>"))], '>'); end > 0 {
				line = line[end+1:]
			}
		}
		if len(line) == 0 || line[0] != '[' {
			return nil, errUnstamped
		}
		for _, c := range line {
			if c >= ' ' && c <= '~' || c >= '\t' && c <= '\r' {
				out = append(out, c)
			} else {
				out = fmt.Appendf(out, `\x%02x`, c)
			}
		}
	}
	return out, nil
}
