// Command figures measures what BENCHMARKS.md says first of fettle, as whole
// processes on this machine, and prints it as a table in Markdown. It builds
// nothing: give it the folder with fettle.
//
// Of each command it runs several in turn after one that does not count, and gives
// the median, and the least and largest in brackets. CPU is user and system time of
// the process and the children that it waited for; memory is the largest process'
// (getrusage(2), RUSAGE_CHILDREN as wait4(2) returns it).
package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	dir := flag.String("programs", ".", "folder with fettle")
	runs := flag.Int("n", 21, "how often each command is run")
	size := flag.Int("log", 256, "MiB of the log that why reads")
	flag.Parse()
	if err := measure(os.Stdout, *dir, *runs, *size); err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(1)
	}
}

// command is one that is measured.
type command struct {
	what  string
	argv  []string
	stdin string // a file
	bytes int64  // that it reads there
}

func measure(w io.Writer, dir string, runs, mib int) error {
	fettle, err := filepath.Abs(filepath.Join(dir, "fettle"))
	if err != nil {
		return err
	}
	st, err := os.Stat(fettle)
	if err != nil {
		return fmt.Errorf("%w; make builds it", err)
	}
	tmp, err := os.MkdirTemp("", "figures")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	log := filepath.Join(tmp, "syslog")
	n, err := writeLog(log, int64(mib)<<20)
	if err != nil {
		return err
	}
	alone := []string{"unshare", "-npf", "--mount-proc", fettle}
	fmt.Fprintf(w, "%s, Linux %s, %d CPUs, load %s; %s, %.1f MB\n\n", time.Now().Format(time.DateOnly),
		first("/proc/sys/kernel/osrelease"), runtime.NumCPU(), first("/proc/loadavg"), version(fettle), float64(st.Size())/1e6)
	fmt.Fprintln(w, "| what | CPU | wall | memory |\n|---|---|---|---|")
	for _, c := range []command{
		{what: "start-up alone", argv: []string{fettle, "--version"}},
		{what: "`list`", argv: []string{fettle, "list"}},
		{what: "`check`, no other processes", argv: append(alone, "check")},
		{what: "`check`, this host", argv: []string{fettle, "check"}},
		{what: "`explain bridge-mtu`", argv: []string{fettle, "explain", "bridge-mtu"}},
		{what: "`why`, a line", argv: []string{fettle, "why", "--no-check", "br-lan: mtu less than device minimum"}},
		{what: fmt.Sprintf("`why`, a syslog of %d MiB", mib), argv: []string{fettle, "why", "--no-check"}, stdin: log, bytes: n},
	} {
		if err := c.table(w, runs); err != nil {
			return fmt.Errorf("%s: %w", c.what, err)
		}
	}
	return nil
}

// table writes the command's row.
func (c command) table(w io.Writer, runs int) error {
	if c.bytes > 0 {
		runs = min(runs, 7)
	}
	var cpu, wall []time.Duration
	var memory []int64
	for i := range runs + 1 {
		u, took, err := c.run()
		switch {
		case err != nil:
			return err
		case i == 0:
			continue // the page cache
		}
		cpu = append(cpu, time.Duration(u.Utime.Nano()+u.Stime.Nano()))
		wall = append(wall, took)
		memory = append(memory, u.Maxrss)
	}
	slices.Sort(cpu)
	slices.Sort(wall)
	slices.Sort(memory)
	pace := ""
	if c.bytes > 0 {
		pace = fmt.Sprintf(", %.0f MB/s", float64(c.bytes)/1e6/cpu[runs/2].Seconds())
	}
	_, err := fmt.Fprintf(w, "| %s | %s%s | %s | %.1f MiB |\n", c.what, spread(cpu), pace, spread(wall), float64(memory[runs/2])/1024)
	return err
}

func (c command) run() (*syscall.Rusage, time.Duration, error) {
	cmd := exec.Command(c.argv[0], c.argv[1:]...)
	var said bytes.Buffer
	cmd.Stderr = &said
	if c.stdin != "" {
		f, err := os.Open(c.stdin)
		if err != nil {
			return nil, 0, err
		}
		defer f.Close()
		cmd.Stdin = f
	}
	start := time.Now()
	err := cmd.Run()
	took := time.Since(start)
	// 1 says that something was found, or nothing recognised.
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() < 0 || cmd.ProcessState.ExitCode() > 1 {
		return nil, 0, fmt.Errorf("%w: %s", err, bytes.TrimSpace(said.Bytes()))
	}
	return cmd.ProcessState.SysUsage().(*syscall.Rusage), took, nil
}

// spread is the median, and the least and the largest.
func spread(d []time.Duration) string {
	ms := func(t time.Duration) float64 { return float64(t.Microseconds()) / 1000 }
	return fmt.Sprintf("%.1f ms (%.1f to %.1f)", ms(d[len(d)/2]), ms(d[0]), ms(d[len(d)-1]))
}

// ordinary are lines as any host's log has them; no trap is named in them.
var ordinary = []string{
	"web1 sshd[%d]: Accepted publickey for deploy from 192.0.2.%d port %d ssh2: ED25519 SHA256:k3o8pX",
	"web1 systemd[1]: Started session-%d.scope - Session %d of user deploy (%d).",
	"web1 CRON[%d]: (root) CMD (test -x /usr/sbin/anacron || run-parts /etc/cron.hourly) %d %d",
	"web1 nginx[%d]: 198.51.100.%d - - \"GET /static/app.%d.js HTTP/1.1\" 200 5121",
	"web1 kernel: [%d.%06d] IPv6: ADDRCONF(NETDEV_CHANGE): veth%d: link becomes ready",
	"web1 postfix/smtpd[%d]: connect from mail.example.org[203.0.113.%d] (%d)",
	"web1 dhclient[%d]: DHCPREQUEST for 192.0.2.%d on eth0 to 255.255.255.255 port 67 xid=%d",
}

// writeLog writes a syslog of some size.
func writeLog(name string, size int64) (int64, error) {
	f, err := os.Create(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	n := int64(0)
	for i := 0; n < size; i++ {
		at = at.Add(37 * time.Millisecond)
		m, err := fmt.Fprintf(w, at.Format(time.Stamp)+" "+ordinary[i%len(ordinary)]+"\n", 1000+i%30000, i%250, i%65000)
		if err != nil {
			return 0, err
		}
		n += int64(m)
	}
	return n, w.Flush()
}

// first is the first word of a file in /proc.
func first(name string) string {
	b, err := os.ReadFile(name)
	if f := strings.Fields(string(b)); err == nil && len(f) > 0 {
		return f[0]
	}
	return "unknown"
}

func version(fettle string) string {
	b, err := exec.Command(fettle, "--version").Output()
	if err != nil {
		return "fettle"
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return strings.TrimSpace(line)
}
