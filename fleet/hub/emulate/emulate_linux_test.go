package emulate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fettle/fleet/hub/bus"
	"fettle/fleet/hub/ingest"
	"fettle/fleet/hub/message"
	"fettle/fleet/hub/store"
	"fettle/fleet/hub/store/storetest"
	"fettle/fleet/hub/synthetic"
	"fettle/internal/means"
)

// The test's own binary is the hub, too: a process whose memory is measured. So are the hubs and the agents of a cluster.
func TestMain(m *testing.M) {
	for part, run := range map[string]func(dir string) error{"EMULATE_HUB": serve, "EMULATE_ONE_HUB": oneHub, "EMULATE_MANY": many} {
		if dir := os.Getenv(part); dir != "" {
			if err := run(dir); err != nil {
				log.Fatal(err)
			}
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

func serve(dir string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	debug.SetGCPercent(50)
	keys, err := bus.LoadKeys(dir)
	if err != nil {
		return err
	}
	var conf *tls.Config
	if os.Getenv("EMULATE_TLS") != "" {
		cert, err := bus.OwnCertificate(dir, []string{"127.0.0.1"})
		if err != nil {
			return err
		}
		conf = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	}
	s, err := bus.Start(
		bus.Config{Dir: dir, Listen: os.Getenv("EMULATE_LISTEN"), TLS: conf, MaxStore: 4 << 30, Log: func(s string) { log.Print(s) }},
		keys,
	)
	if err != nil {
		return err
	}
	db, err := store.Open(ctx, filepath.Join(dir, "hub.db"))
	if err != nil {
		return err
	}
	nc, err := s.Connect()
	if err != nil {
		return err
	}
	c, err := bus.OpenStream(ctx, nc, 4<<30, 1)
	if err != nil {
		return err
	}
	// The test asks by a file: it is no part of what is measured.
	go func() {
		for n := 1; ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
			if _, err := os.Stat(filepath.Join(dir, fmt.Sprintf("ask%d", n))); err == nil {
				profile(fmt.Sprintf("before-ask%d", n))
				if err := bus.Ask(nc, "", message.NewAsk(fmt.Sprintf("q%d", n), false, 0)); err != nil {
					log.Print(err)
				}
				n++
			}
		}
	}()
	if to := os.Getenv("EMULATE_PROFILE"); to != "" {
		f, err := os.Create(filepath.Join(to, "cpu"))
		if err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer profile("end")
		defer pprof.StopCPUProfile()
	}
	ingest.Run(ctx, ingest.Config{DB: db, Conn: nc, Consumer: c, Holder: "one", Log: func(s string) { log.Print(s) }})
	nc.Close()
	s.Shutdown()
	return db.Close()
}

// profile writes what is in memory into the folder EMULATE_PROFILE, if it is set.
func profile(name string) {
	to := os.Getenv("EMULATE_PROFILE")
	if to == "" {
		return
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	log.Printf(
		"%s: %d MiB of heap in use, %d idle, %d of stacks, %d in all",
		name,
		m.HeapInuse>>20,
		(m.HeapIdle-m.HeapReleased)>>20,
		m.StackInuse>>20,
		(m.Sys-m.HeapReleased)>>20,
	)
	f, err := os.Create(filepath.Join(to, "heap-"+name))
	if err == nil {
		err = errors.Join(pprof.WriteHeapProfile(f), f.Close())
	}
	if err != nil {
		log.Print(err)
	}
}

// TestCheckNow measures "check now" of EMULATE_AGENTS agents (default 300).
func TestCheckNow(t *testing.T) {
	n := 300
	if s := os.Getenv("EMULATE_AGENTS"); s != "" {
		means.Long(t, "measures a hub with many agents")
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
		_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 1 << 18, Max: 1 << 18})
	}
	for _, secured := range []bool{false, true} {
		t.Run(fmt.Sprintf("tls=%v", secured), func(t *testing.T) {
			if secured {
				means.Long(t, "measures again, with TLS")
			}
			checkNow(t, n, secured)
		})
	}
}

func checkNow(t *testing.T, n int, secured bool) {
	dir := t.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "EMULATE_HUB="+dir, "EMULATE_LISTEN="+addr)
	if secured {
		c.Env = append(c.Env, "EMULATE_TLS=1")
	}
	c.Stderr = os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Process.Signal(syscall.SIGTERM); _ = c.Wait() }()
	means.Dial(t, "tcp", addr).Close()
	f := &Fleet{Fleet: synthetic.Fleet{Seed: 1, Hosts: n, Start: time.Now().Add(-60 * 24 * time.Hour)}, Addr: addr, Changed: 0.05}
	if f.Keys, err = bus.LoadKeys(dir); err != nil {
		t.Fatal(err)
	}
	if secured {
		b, err := bus.CA(dir)
		if err != nil {
			t.Fatal(err)
		}
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(b)
		f.TLS = &tls.Config{RootCAs: pool, ServerName: "127.0.0.1"}
	}
	defer f.Close()
	step := time.Now()
	used := 0.0
	lap := func(what string) {
		now := processor(c.Process.Pid)
		t.Logf(
			"%d agents, tls %v: %s: %.1f s, of the hub's CPU %.1f s; its memory %s",
			n,
			secured,
			what,
			time.Since(step).Seconds(),
			now-used,
			memory(c.Process.Pid),
		)
		step, used = time.Now(), now
	}
	means.Within(t, "connecting", func() {
		if err := f.Connect(n, 16); err != nil {
			t.Error(err)
		}
	})
	if t.Failed() {
		return
	}
	lap("connected")
	for from := 0; from < n; from += 1000 {
		to := min(n, from+1000)
		if err := f.Report(from, to); err != nil {
			t.Fatal(err)
		}
		if err := f.wait(to - from); err != nil {
			t.Fatal(err)
		}
	}
	lap("first whole reports stored")
	for round := 1; round <= 2; round++ {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("ask%d", round)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := f.wait(n); err != nil {
			t.Fatal(err)
		}
		lap("check now, all answered and stored")
	}
	db := storetest.Open(t, filepath.Join(dir, "hub.db"))
	for _, i := range []int{0, n / 2, n - 1} {
		h, err := db.HostByAgent(t.Context(), f.Agent(i))
		if err != nil || h.LastAsk != "q2" {
			t.Errorf("host %d: %+v, %v", i, h, err)
		}
	}
}

// wait waits until the hub has answered that number of agents.
func (f *Fleet) wait(n int) error {
	patience := means.Patience
	if os.Getenv("FETTLE_LONG") != "" {
		patience = 5 * time.Minute
	}
	limit := time.After(patience)
	for i := range n {
		select {
		case <-f.Acked:
		case err := <-f.Failed:
			return err
		case <-limit:
			return fmt.Errorf("after %s only %d agents were answered", patience, i)
		}
	}
	return nil
}

// processor is the time, in seconds, that a process has computed: on a machine
// with other work it tells more than how long that took.
func processor(pid int) float64 {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(b), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 15 {
		return 0
	}
	sum := 0
	for _, f := range fields[11:15] { // by itself and in the kernel, and of its children that ended
		n, _ := strconv.Atoi(f)
		sum += n
	}
	const hertz = 100 // USER_HZ
	return float64(sum) / hertz
}

func memory(pid int) string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	var out []string
	for line := range strings.Lines(string(b)) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && (k == "VmRSS" || k == "VmHWM") {
			out = append(out, k+" "+strings.TrimSpace(v))
		}
	}
	return strings.Join(out, ", ")
}
