package emulate

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fettle/fleet/hub"
	"fettle/fleet/hub/bus"
	"fettle/fleet/hub/synthetic"
	"fettle/fleet/hub/web"
	"fettle/fleet/hub/web/login"
	"fettle/traps"
)

// perServer is how many agents at most connect to one of three servers: a process opens 20,000 files where the hard
// limit is no higher.
const perServer = 17_000

// visitor is the header by which the measurement is somebody on the page.
const visitor = "X-Remote-User"

// oneHub is one hub of a cluster, as fettle-hub serve is, with its page.
func oneHub(dir string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	debug.SetGCPercent(50) // as cli/hub/serve.go does
	h, err := hub.Start(ctx, hub.Config{Dir: dir, NATS: os.Getenv("EMULATE_NATS"), CA: os.Getenv("EMULATE_CA"), Replicas: 3,
		Database: os.Getenv("EMULATE_DATABASE"), MaxStore: 2 << 30, Keep: 365 * 24 * time.Hour, Silent: time.Hour,
		Log: func(s string) { log.Print(s) }})
	if err != nil {
		return err
	}
	defer func() { _ = h.Close() }()
	l, err := net.Listen("tcp", os.Getenv("EMULATE_WEB"))
	if err != nil {
		return err
	}
	page, err := web.New(ctx, web.Config{DB: h.DB, Traps: traps.All(), SilentAfter: time.Hour, Queue: h.Queue, Storing: h.Storing,
		Login: login.Config{Proxy: &login.Proxy{From: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Header: visitor}}})
	if err != nil {
		return err
	}
	go func() { _ = web.Serve(ctx, l, page) }()
	defer profiled(filepath.Base(dir))()
	go func() { // says when it takes messages
		for {
			if _, err := h.Queue(ctx); err == nil || ctx.Err() != nil {
				fmt.Println("ok")
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	}()
	for err = h.Run(ctx); err != nil && ctx.Err() == nil; err = h.Run(ctx) { // until the servers have elected a leader
		log.Print(err)
		time.Sleep(time.Second)
	}
	return err
}

// profiled writes profiles into the folder EMULATE_PROFILE, if it is set: of the memory now and then, of the processor
// until the function that it returns is called.
func profiled(name string) (end func()) {
	to := os.Getenv("EMULATE_PROFILE")
	if to == "" {
		return func() {}
	}
	f, err := os.Create(filepath.Join(to, "cpu-"+name))
	if err == nil {
		err = pprof.StartCPUProfile(f)
	}
	if err != nil {
		log.Print(err)
		return func() {}
	}
	go func() {
		for range time.Tick(10 * time.Second) {
			profile(name)
		}
	}()
	return func() { pprof.StopCPUProfile(); f.Close() }
}

// many is a part of the agents. It does what its standard input says, a line at a time, and says "ok" after each:
// "connect N", "report FROM TO", "answered N".
func many(dir string) error {
	keys, err := bus.LoadKeys(dir)
	if err != nil {
		return err
	}
	pool, err := hub.Pool(os.Getenv("EMULATE_CA"))
	if err != nil {
		return err
	}
	first, err := strconv.Atoi(os.Getenv("EMULATE_FIRST"))
	if err != nil {
		return err
	}
	f := &Fleet{Fleet: synthetic.Fleet{Seed: 1, Hosts: perServer, Start: time.Now().Add(-60 * 24 * time.Hour)}, First: first,
		Addr: os.Getenv("EMULATE_NATS"), TLS: &tls.Config{RootCAs: pool, ServerName: "127.0.0.1"}, Keys: keys, Changed: 0.05}
	defer profiled("many" + os.Getenv("EMULATE_FIRST"))()
	for in := bufio.NewScanner(os.Stdin); in.Scan(); fmt.Println("ok") {
		var to, from int
		switch verb, rest, _ := strings.Cut(in.Text(), " "); verb {
		case "connect":
			if _, err := fmt.Sscan(rest, &to); err != nil {
				return err
			}
			if err := f.Connect(to, 8); err != nil {
				return err
			}
		case "report":
			if _, err := fmt.Sscan(rest, &from, &to); err != nil {
				return err
			}
			for ; from < to; from += 500 {
				some := min(500, to-from)
				if err := errors.Join(f.Report(from, from+some), f.wait(some)); err != nil {
					return err
				}
			}
		case "answered":
			if _, err := fmt.Sscan(rest, &to); err != nil {
				return err
			}
			if err := f.wait(to); err != nil {
				return err
			}
		}
	}
	return nil
}

// part is a process that is measured.
type part struct {
	*exec.Cmd
	in  io.Writer
	out *bufio.Reader
}

// newPart starts the test's own binary as something else.
func newPart(t *testing.T, env ...string) *part {
	p := &part{Cmd: exec.Command(os.Args[0])}
	p.Env = append(os.Environ(), env...)
	p.Stderr = os.Stderr
	p.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.in, p.out = in, bufio.NewReader(out)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = p.Process.Signal(syscall.SIGTERM); _ = p.Wait() })
	return p
}

// do lets parts do something each, all at a time, until all have.
func do(t *testing.T, parts []*part, what func(i int) string) {
	t.Helper()
	for i, p := range parts {
		if _, err := fmt.Fprintln(p.in, what(i)); err != nil {
			t.Fatal(err)
		}
	}
	heard(t, parts)
}

// heard waits until all parts have said "ok".
func heard(t *testing.T, parts []*part) {
	t.Helper()
	for i, p := range parts {
		if line, err := p.out.ReadString('\n'); err != nil || line != "ok\n" {
			t.Fatalf("%d: %q, %v", i, line, err)
		}
	}
}

// resident is the memory of processes, in MB: what several share, once.
func resident(pids ...int) float64 {
	kB := 0
	for _, pid := range pids {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
		for line := range strings.Lines(string(b)) {
			if rest, ok := strings.CutPrefix(line, "Pss:"); ok {
				n, _ := strconv.Atoi(strings.Fields(rest)[0])
				kB += n
			}
		}
	}
	return float64(kB) * 1024 / 1e6
}

// family is a process and its children.
func family(pid int) []int {
	out := []int{pid}
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for _, f := range strings.Fields(string(b)) {
		if n, err := strconv.Atoi(f); err == nil {
			out = append(out, n)
		}
	}
	return out
}
