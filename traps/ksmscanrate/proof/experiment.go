package proof

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"fettle/chart"
	"fettle/lab"
)

// benchMiB is the memory that the experiment has ksmd scan, half of it equal;
// benchTime is for how long it watches each setting.
const (
	benchMiB  = 256
	benchTime = 60 * time.Second
	benchTick = 500 * time.Millisecond
)

var Experiments = []lab.Experiment{{
	Name: "saved-over-time", About: "Memory saved and CPU time of ksmd: the kernel's default pace, as fast as it can, the advisor",
	Long:  true,
	Needs: lab.Needs{Engine: "qemu", MemMiB: 768, Tools: []string{"cat"}, Limit: 6 * time.Minute},
	Run:   savedOverTime,
}}

// dir is where ksmd is set.
const dir = "/sys/kernel/mm/ksm/"

// file is one of dir's, and what is written to it.
type file struct{ name, value string }

// pace is a setting of ksmd: files and their values, in order.
type pace struct {
	name string
	set  []file
}

var paces = []pace{
	{"default (100 pages, 20 ms)", []file{{"pages_to_scan", "100"}, {"sleep_millisecs", "20"}}},
	{"pages_to_scan 1e9, 20 ms", []file{{"pages_to_scan", "1000000000"}, {"sleep_millisecs", "20"}}},
	{"advisor scan-time", []file{{"pages_to_scan", "100"}, {"sleep_millisecs", "20"}, {"advisor_mode", "scan-time"}}},
}

func savedOverTime(_ context.Context, b *lab.Bench) error {
	saved := chart.Plot{Name: "saved", Title: fmt.Sprintf("KSM: memory saved, of %d MiB that are half equal", benchMiB), X: "seconds since KSM was turned on", Y: "MiB saved"}
	cpu := chart.Plot{Name: "cpu", Title: "KSM: CPU time of ksmd", X: "seconds since KSM was turned on", Y: "CPU seconds"}
	b.Columns("Setting", "MiB at 5 s", "at 20 s", "at 60 s", "Half after", "ksmd CPU s", "Full scans")
	for _, p := range paces {
		if _, err := os.Stat(dir + "advisor_mode"); err != nil && p.set[len(p.set)-1].name == "advisor_mode" {
			b.Note("This kernel has no advisor: it came with Linux 6.8.")
			continue
		}
		r, err := p.watch(b)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		b.Row(p.name, r.mib(5*time.Second), r.mib(20*time.Second), r.mib(benchTime), r.halfAfter(), fmt.Sprintf("%.2f", r.cpu[len(r.cpu)-1]), r.scans)
		saved.Curves = append(saved.Curves, chart.Curve{Name: p.name, X: r.seconds, Y: r.saved})
		cpu.Curves = append(cpu.Curves, chart.Curve{Name: p.name, X: r.seconds, Y: r.cpu})
	}
	b.Plot(saved)
	b.Plot(cpu)
	b.Note("Half after: seconds until half of the %d MiB that can be saved was. An emulated CPU takes several times a real one's time.", benchMiB/2)
	return nil
}

// recording is one pace over time.
type recording struct {
	seconds, saved, cpu []float64 // saved in MiB, cpu in seconds
	scans               string    // full_scans at the end
}

func (r recording) mib(at time.Duration) string {
	for i, s := range r.seconds {
		if s >= at.Seconds()-benchTick.Seconds()/2 {
			return fmt.Sprintf("%.0f", r.saved[i])
		}
	}
	return "-"
}

func (r recording) halfAfter() string {
	for i, m := range r.saved {
		if m >= benchMiB/4 {
			return fmt.Sprintf("%.1f s", r.seconds[i])
		}
	}
	return "never"
}

// watch turns KSM on at a pace with fresh memory to merge, and takes everything
// back in the end.
func (p pace) watch(b *lab.Bench) (r recording, err error) {
	if err := os.Remove(lab.MergeableReady); err != nil && !os.IsNotExist(err) {
		return r, err
	}
	_, stop, err := b.Spawn([]string{"fettle-lab", lab.MergeableVerb, fmt.Sprint(benchMiB)})
	if err != nil {
		return r, err
	}
	defer func() {
		write("run", "2") // unmerge
		if _, err := os.Stat(dir + "advisor_mode"); err == nil {
			write("advisor_mode", "none")
		}
		stop()
	}()
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if _, err := os.Stat(lab.MergeableReady); err == nil {
			break
		}
		if time.Now().After(end) {
			return r, fmt.Errorf("%d MiB of memory were not written within a minute", benchMiB)
		}
	}
	for _, s := range p.set {
		if err := write(s.name, s.value); err != nil {
			return r, err
		}
	}
	cpu0, err := ksmdCPU()
	if err != nil {
		return r, err
	}
	scans0, err := value("full_scans")
	if err != nil {
		return r, err
	}
	start := time.Now()
	if err := write("run", "1"); err != nil {
		return r, err
	}
	for tick := time.Duration(0); tick <= benchTime; tick += benchTick {
		time.Sleep(time.Until(start.Add(tick)))
		pages, err := value("pages_sharing")
		if err != nil {
			return r, err
		}
		cpu, err := ksmdCPU()
		if err != nil {
			return r, err
		}
		r.seconds = append(r.seconds, time.Since(start).Seconds())
		r.saved = append(r.saved, float64(pages)*float64(os.Getpagesize())/(1<<20))
		r.cpu = append(r.cpu, cpu-cpu0)
	}
	scans, err := value("full_scans")
	r.scans = fmt.Sprint(scans - scans0)
	return r, err
}

func write(name, value string) error { return os.WriteFile(dir+name, []byte(value), 0) }

func value(name string) (int64, error) {
	b, err := os.ReadFile(dir + name)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
}

// ksmdCPU is the CPU time that ksmd has taken, in seconds: /proc/PID/stat's
// utime and stime, in hundredths.
func ksmdCPU() (float64, error) {
	all, err := os.ReadDir("/proc")
	if err != nil {
		return 0, err
	}
	for _, e := range all {
		b, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil || !bytes.Contains(b, []byte(" (ksmd) ")) {
			continue
		}
		f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
		if len(f) < 13 {
			break
		}
		user, err1 := strconv.ParseFloat(string(f[11]), 64)
		sys, err2 := strconv.ParseFloat(string(f[12]), 64)
		if err1 != nil || err2 != nil {
			break
		}
		return (user + sys) / 100, nil
	}
	return 0, fmt.Errorf("finding out the CPU time of ksmd in /proc: no such thread")
}
