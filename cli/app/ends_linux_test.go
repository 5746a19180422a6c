package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"fettle/internal/chart"
	"fettle/internal/means"
	"fettle/internal/ui"
)

// TestSignals: a signal ends what goes on, at once where it listens, after the time of grace where it does not, and never amid a
// change; a second signal ends it on the spot.
func TestSignals(t *testing.T) {
	const env = "FETTLE_TEST_SIGNALS"
	hit := func() { syscall.Kill(os.Getpid(), syscall.SIGTERM) }
	acts := map[string]struct {
		act  func()
		said string
		code int // -1: a signal ended it
	}{
		"listens": {func() {
			ctx, stop := Interruptible(t.Context())
			hit()
			<-ctx.Done()
			stop()
			stop()
			fmt.Println("heard")
		}, "heard", 0},
		"ends without": {func() {
			ctx, stop := Interruptible(t.Context())
			stop()
			fmt.Println(ctx.Err())
			for {
				hit()
			}
		}, "context canceled", -1},
		"a second": {func() {
			ctx, _ := Interruptible(t.Context())
			hit()
			<-ctx.Done()
			for {
				hit()
			}
		}, "", -1},
		"does not listen": {func() { late(t, 1499*time.Millisecond, 1501*time.Millisecond) }, "still there", 128 + 15},
		"changes the host": {func() {
			a := new(App)
			a.Act()
			go func() { time.Sleep(time.Minute); changing.Store(!a.Acted) }()
			late(t, time.Minute-time.Millisecond, time.Minute+160*time.Millisecond)
		}, "still there", 128 + 15},
	}
	if c, ok := acts[os.Getenv(env)]; ok {
		time.AfterFunc(means.Patience, func() { fmt.Println("it never ended"); os.Exit(99) })
		if strings.Contains(c.said, "still") {
			synctest.Test(t, func(*testing.T) { c.act() })
		}
		c.act()
		os.Exit(0)
	}
	for name, c := range acts {
		cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestSignals$")
		cmd.Env = append(os.Environ(), env+"="+name)
		out, _ := cmd.Output()
		if code := cmd.ProcessState.ExitCode(); code != c.code || strings.TrimSpace(string(out)) != c.said {
			t.Errorf("%s: %s, and said %q; expected status %d, and %q", name, cmd.ProcessState, out, c.code, c.said)
		}
	}
}

// late is a verb that does not end, after a signal: it is still there after a time, and not after another.
func late(t *testing.T, there, gone time.Duration) {
	time.AfterFunc(there, func() { fmt.Println("still there") })
	time.AfterFunc(gone, func() { fmt.Println("too late"); os.Exit(98) })
	cutOff(make(chan struct{}), syscall.SIGTERM)
}

// TestEndsInTime: what ends by itself is not cut off.
func TestEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		time.AfterFunc(time.Second, func() { close(ended) })
		start := time.Now()
		if cutOff(ended, syscall.SIGTERM); time.Since(start) != time.Second {
			t.Errorf("after %s", time.Since(start))
		}
	})
}

// TestKeeper: what gives KSM's settings back has a session of its own, and ends well when its input does.
func TestKeeper(t *testing.T) {
	means.Within(t, "the keeper", func() {
		k, err := KeepKSM()
		if err != nil {
			t.Error(err)
		} else if err := k.Close(); err != nil {
			t.Errorf("it is not as it should be: %v", err)
		}
	})
}

// TestServesMetrics: on the loopback alone, until it is stopped.
func TestServesMetrics(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := taken.Addr().String()
	var page atomic.Value
	page.Store([]byte("fettle_up 1\n"))
	for given, want := range map[string]string{
		"0.0.0.0:0": "an address of the loopback", "localhost:0": "an address of the loopback", "127.0.0.1": "an address of the loopback",
		"192.0.2.1:80": "an address of the loopback", "127.0.0.1:65536": "a port is 0 to 65535", "127.0.0.1:http": "a port is 0 to 65535",
		"127.0.0.1:-1": "a port is 0 to 65535", address: "serving the metrics: ",
	} {
		code := ExitUsage
		if given == address {
			code = ExitFailed
		}
		var s *Status
		stop, err := ServeMetrics(given, &page)
		if !errors.As(err, &s) || s.Code != code || !strings.Contains(err.Error(), want) || stop != nil {
			t.Errorf("%s: %v; expected status %d: %s", given, err, code, want)
		}
	}
	taken.Close()
	stop, err := ServeMetrics(address, &page)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r.Body)
	r.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	if string(b) != "fettle_up 1\n" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	stop()
	if _, err := net.Dial("tcp", address); err == nil {
		t.Error("it still listens")
	}
}

// TestPicturesDrawn: fettle-lab is handed what is drawn and the format; where it fails, that is said, and no file is left.
func TestPicturesDrawn(t *testing.T) {
	bin, dir := t.TempDir(), t.TempDir()
	script := "#!/bin/sh\nif [ \"$2\" = pdf ]; then echo ' no ink' >&2; exit 3; fi\necho \"$@\"; cat\n"
	if err := os.WriteFile(filepath.Join(bin, labProgram), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	what := chart.Picture{}
	drawn := Pictures{"svg": filepath.Join(dir, "a.svg"), "png": ""}
	if err := drawn.Write(what); err != nil {
		t.Fatal(err)
	}
	j, err := json.Marshal(what)
	b, err2 := os.ReadFile(drawn["svg"])
	if want := chart.DrawVerb + " svg\n" + string(j); err != nil || err2 != nil || string(b) != want {
		t.Errorf("%q, %v, %v; expected %q", b, err, err2, want)
	}
	var s *Status
	err = Pictures{"pdf": filepath.Join(dir, "a.pdf")}.Write(what)
	want := "--pdf " + dir + "/a.pdf: fettle-lab: exit status 3: no ink"
	if !errors.As(err, &s) || s.Code != ExitFailed || err.Error() != want {
		t.Errorf("%v; expected %s", err, want)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left %v", left)
	}
	if err := (Pictures{"svg": "/dev/full"}).Writable(); err != nil {
		t.Error(err)
	}
}

// TestTerminal: a secret is asked for, and not shown; a table is as wide as a terminal, and elsewhere a line a row.
func TestTerminal(t *testing.T) {
	master, tty := means.OpenTerminal(t)
	var out, errs bytes.Buffer
	a := &App{Stdin: tty, Stdout: &out, Stderr: &errs}
	type read struct {
		line string
		err  error
	}
	said := make(chan read, 1)
	go func() {
		line, err := a.Line("code? ", true)
		said <- read{line, err}
	}()
	if _, err := io.WriteString(master, " 123456 \n"); err != nil {
		t.Fatal(err)
	}
	means.Within(t, "the line", func() {
		if r := <-said; r.line != "123456" || r.err != nil || errs.String() != "code? \n" {
			t.Errorf("%q, %v, after %q", r.line, r.err, errs.String())
		}
	})
	row := strings.Repeat("long ", 50)
	table := &ui.Table{Rows: [][]string{{"a", row}}}
	if a.Table(table); strings.Count(out.String(), "\n") != 1 {
		t.Errorf("not one line:\n%s", &out)
	}
}
