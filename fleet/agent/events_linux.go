package agent

import (
	"context"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"fettle/internal/netdump"
)

// settle is how long an agent waits after something happened: until the package
// manager is done, and the link has its addresses.
const settle = 30 * time.Second

// atMostEach keeps a link that goes up and down from a check a second. What
// happens in that time is reported at its end: a package run may take long.
var atMostEach = 5 * time.Minute

// linkCounts are the flags of a link that count.
const linkCounts = unix.IFF_UP | unix.IFF_RUNNING

// linkStates is how links are now: all else is news.
func linkStates(ctx context.Context) map[int]uint32 {
	out := map[int]uint32{}
	links, _ := netdump.Links(ctx) // what is not known is news when it changes
	for _, l := range links {
		out[l.Attrs().Index] = l.Attrs().RawFlags & linkCounts
	}
	return out
}

// watched are the folders in which package managers write when they did something.
var watched = []string{"/var/lib/dpkg", "/var/lib/rpm", "/usr/lib/sysimage/rpm", "/lib/apk/db", "/var/lib/pacman/local", "/etc/fettle"}

// watch tells of events: links, package runs, clocks that were set.
func (a *Agent) watch(ctx context.Context, out chan<- string) {
	links := make(chan netlink.LinkUpdate, 16)
	done := make(chan struct{})
	defer close(done)
	if err := netlink.LinkSubscribe(links, done); err != nil {
		a.Log("links are not watched: " + err.Error())
		links = nil
	}
	touched := make(chan string, 1)
	go a.watchFolders(ctx, touched)
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	s := &seen{links: linkStates(ctx), wall: time.Now().Round(0), up: uptime(), told: true}
	quiet := time.NewTimer(0) // until the next event may be reported
	defer quiet.Stop()
	for {
		event := ""
		select {
		case <-ctx.Done():
			return
		case l, ok := <-links:
			if !ok {
				a.Log("links are watched no longer")
				links = nil
				break
			}
			event = s.link(int(l.Index), l.Flags)
		case event = <-touched:
		case <-quiet.C:
			s.told = false
		case <-tick.C:
			event = s.clock(time.Now().Round(0), uptime())
		}
		if event = s.tell(event); event == "" {
			continue
		}
		select {
		case out <- event:
		default:
		}
		quiet.Reset(atMostEach)
	}
}

// seen is how links and clocks were at the last look, and what is still to be told.
type seen struct {
	links   map[int]uint32
	wall    time.Time
	up      time.Duration
	pending string
	told    bool // of late: what happens now is told later
}

// link is an event where a link is up, or running, otherwise than before.
func (s *seen) link(index int, flags uint32) string {
	was, known := s.links[index]
	s.links[index] = flags & linkCounts
	if known && was == s.links[index] {
		return ""
	}
	return "link"
}

// clock is an event where the host's clock was set.
func (s *seen) clock(wall time.Time, up time.Duration) string {
	off := wall.Sub(s.wall) - (up - s.up)
	s.wall, s.up = wall, up
	if off.Abs() > 30*time.Second {
		return "clock"
	}
	return ""
}

// tell is what is to be told once this has happened, if anything; empty: nothing, or not yet.
func (s *seen) tell(event string) string {
	if event != "" {
		s.pending = event
	}
	if s.told {
		return ""
	}
	event, s.pending = s.pending, ""
	s.told = event != ""
	return event
}

// watchFolders tells when a package manager has replaced a file.
func (a *Agent) watchFolders(ctx context.Context, out chan<- string) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		a.Log("package runs are not watched: " + err.Error())
		return
	}
	defer unix.Close(fd)
	for _, dir := range watched {
		_, _ = unix.InotifyAddWatch(fd, dir, unix.IN_MOVED_TO|unix.IN_CLOSE_WRITE|unix.IN_ONLYDIR) // not every host has each
	}
	buf := make([]byte, 4096)
	for ctx.Err() == nil {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		if n, err := unix.Poll(fds, 60_000); n <= 0 || err != nil {
			continue
		}
		if n, _ := unix.Read(fd, buf); n > 0 {
			select {
			case out <- "packages":
			default:
			}
			time.Sleep(time.Second) // a run writes thousands of files
		}
	}
}
