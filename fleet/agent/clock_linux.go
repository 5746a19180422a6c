package agent

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"fettle/fleet/agent/spool"
)

// uptime is the time since the machine started, sleep included: a clock that
// nobody sets.
func uptime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

// bootID tells starts of the machine apart.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// age is how long ago a message was made: by the clock that nobody sets, if it
// was since the machine started; else by the host's, where that can be: a
// message of an earlier start is older than this one, and younger than the host's
// joining, at which its clock was right enough for the hub's certificate.
func (a *Agent) age(e *spool.Entry) time.Duration {
	up := uptime()
	if b := bootID(); b != "" && b == e.Boot {
		return max(0, up-time.Duration(e.Uptime)*time.Millisecond)
	}
	if e.Wall.Before(a.member.joined) {
		return up
	}
	return max(up, a.Now().Round(0).Sub(e.Wall.Round(0)))
}
