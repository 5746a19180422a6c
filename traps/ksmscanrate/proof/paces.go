package proof

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"fettle/internal/chart"
)

// dir is where ksmd is set.
const dir = "/sys/kernel/mm/ksm/"

// Place is a machine on which paces are compared.
type Place struct {
	Exec  func(argv []string) (out string, code int, err error)
	Spawn func(argv []string) (pid int, stop func(), err error)
	// StandIn is the command of a guest's stand-in, without its arguments. For
	// ksmtuned's sake it is called qemu-system.
	StandIn []string
	Dir     string // for small files
	Paces   []string
}

// Columns are those of the rows that Compare tells.
var Columns = []string{
	"Load",
	"Pace",
	"MiB at 10 s",
	"at 60 s",
	"at the end",
	"mean",
	"Half after",
	"ksmd CPU s",
	"Worst minute",
	"Passes",
}

// recording is a document of fettle measure ksm.
type recording struct {
	Runs []struct {
		Seconds     float64 `json:"seconds"`
		CPUSeconds  float64 `json:"cpu_seconds"`
		WorstMinute float64 `json:"worst_minute_share"`
		Passes      uint64  `json:"passes"`
		Readings    []struct {
			Seconds    float64 `json:"seconds"`
			SavedBytes float64 `json:"saved_bytes"`
			KnownBytes float64 `json:"known_bytes"`
			CPUSeconds float64 `json:"cpu_seconds"`
		} `json:"readings"`
	} `json:"runs"`
}

// pace is one pace over time.
type pace struct {
	name     string
	x, saved []float64 // seconds, MiB
	cpu      []float64 // seconds
	worst    float64   // share of one CPU
	passes   uint64
	length   float64
	mean     float64 // of saved
}

// Result is paces under one load.
type Result struct {
	load  Load
	paces []pace
}

// Compare lets each pace do with the load, each with guests of its own, and
// tells a row for each.
func (p Place) Compare(ctx context.Context, l Load, length time.Duration, row func(cells ...string)) (r Result, err error) {
	r.load = l
	for _, name := range p.Paces {
		if name == Ksmtuned {
			if _, err := os.Stat("/usr/sbin/ksmtuned"); err != nil {
				continue
			}
		}
		if _, err := os.Stat(dir + "advisor_mode"); err != nil && name == "advisor" {
			continue
		}
		rec, err := p.record(ctx, l, name, length)
		for again := 0; err == nil && rec.spoilt(l) && again < 5; again++ {
			row(l.Name, name, "spoilt by other memory: again", "-", "-", "-", "-", "-", "-", "-")
			rec, err = p.record(ctx, l, name, length)
		}
		if err == nil && rec.spoilt(l) {
			err = errors.New("other programs here offer memory for merging: the figures are spoilt")
		}
		if err != nil {
			return r, fmt.Errorf("%s: %w", name, err)
		}
		one, err := paceOf(name, rec)
		if err != nil {
			return r, err
		}
		r.paces = append(r.paces, one)
		row(
			l.Name,
			name,
			mib(one.at(10)),
			mib(one.at(60)),
			mib(one.at(one.length)),
			mib(one.mean),
			r.half(one),
			fmt.Sprintf("%.2f", one.cpu[len(one.cpu)-1]),
			fmt.Sprintf("%.1f %%", 100*one.worst),
			fmt.Sprint(one.passes),
		)
	}
	return r, nil
}

// spoilt tells whether ksmd had more to scan than the load: a virtual machine of
// somebody else's, say.
func (r recording) spoilt(l Load) bool {
	for _, s := range r.Runs[0].Readings {
		if s.KnownBytes > 1.02*float64(l.N*l.Each.MiB<<20) {
			return true
		}
	}
	return false
}

func mib(v float64) string { return fmt.Sprintf("%.0f", v) }

// record runs fettle measure ksm beside the load.
func (p Place) record(ctx context.Context, l Load, name string, length time.Duration) (rec recording, err error) {
	var stops []func()
	defer func() {
		for _, stop := range stops {
			stop()
		}
	}()
	start := func(i int) error {
		g := l.Each
		g.Ready = filepath.Join(p.Dir, "mergeable-"+strconv.Itoa(i))
		if err := os.Remove(g.Ready); err != nil && !os.IsNotExist(err) {
			return err
		}
		_, stop, err := p.Spawn(append(p.StandIn[:len(p.StandIn):len(p.StandIn)], g.Args()...))
		if err != nil {
			return err
		}
		stops = append(stops, stop)
		return nil
	}
	first := l.N
	if l.Every > 0 {
		first = 1
	}
	for i := range first {
		if err := start(i); err != nil {
			return rec, err
		}
	}
	if err := p.ready(first); err != nil {
		return rec, err
	}
	argv := []string{"fettle", "measure", "ksm", "--for", length.String(), "--interval", "250ms", "--format", "json"}
	if name == Ksmtuned {
		end, err := p.ksmtuned()
		if err != nil {
			return rec, err
		}
		defer end()
	} else {
		argv = append(argv, "--unmerge", "--try", name)
	}
	type answer struct {
		out  string
		code int
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		out, code, err := p.Exec(argv)
		done <- answer{out, code, err}
	}()
	for i := first; i < l.N; i++ {
		select {
		case a := <-done:
			return rec, fmt.Errorf("fettle measure ksm ended early: %s", a.out)
		case <-ctx.Done():
			return rec, ctx.Err()
		case <-time.After(l.Every):
		}
		if err := start(i); err != nil {
			return rec, err
		}
	}
	a := <-done
	if a.err != nil || a.code != 0 {
		return rec, errors.Join(a.err, fmt.Errorf("fettle measure ksm: status %d: %s", a.code, a.out))
	}
	if err := json.Unmarshal([]byte(a.out), &rec); err != nil {
		return rec, fmt.Errorf("what fettle measure ksm printed: %w", err)
	}
	if len(rec.Runs) != 1 || len(rec.Runs[0].Readings) == 0 {
		return rec, errors.New("fettle measure ksm printed no readings")
	}
	return rec, nil
}

// ready waits until so many stand-ins have written their memory.
func (p Place) ready(n int) error {
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		missing := 0
		for i := range n {
			if _, err := os.Stat(filepath.Join(p.Dir, "mergeable-"+strconv.Itoa(i))); err != nil {
				missing++
			}
		}
		if missing == 0 {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d of %d stand-ins have not written their memory within two minutes", missing, n)
		}
	}
}

// ksmtuned starts the script with KSM as the kernel has it after boot. end
// ends it and puts back what was there.
func (p Place) ksmtuned() (end func(), err error) {
	was := map[string]string{}
	for _, name := range []string{"pages_to_scan", "sleep_millisecs", "run"} {
		b, err := os.ReadFile(dir + name)
		if err != nil {
			return nil, err
		}
		was[name] = strings.TrimSpace(string(b))
	}
	pidFile := filepath.Join(p.Dir, "ksmtuned.pid")
	back := func() {
		for _, name := range []string{"pages_to_scan", "sleep_millisecs", "run"} {
			write(name, was[name])
		}
	}
	for _, s := range [][2]string{{"run", "2"}, {"run", "0"}, {"pages_to_scan", "100"}, {"sleep_millisecs", "20"}} {
		if err := write(s[0], s[1]); err != nil {
			return nil, err
		}
	}
	_, stop, err := p.Spawn([]string{"env", "KSM_THRES_COEF=100", "PIDFILE=" + pidFile, "/usr/sbin/ksmtuned"})
	if err != nil {
		back()
		return nil, err
	}
	return func() {
		stop()
		if b, err := os.ReadFile(pidFile); err == nil {
			if pid, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil && pid > 1 {
				syscall.Kill(pid, syscall.SIGKILL)
				for end := time.Now().Add(5 * time.Second); syscall.Kill(pid, 0) == nil && time.Now().Before(end); {
					time.Sleep(50 * time.Millisecond)
				}
			}
		}
		back()
	}, nil
}

func write(name, value string) error { return os.WriteFile(dir+name, []byte(value), 0) }

func paceOf(name string, rec recording) (pace, error) {
	r := rec.Runs[0]
	one := pace{name: name, worst: r.WorstMinute, passes: r.Passes, length: r.Seconds}
	for _, s := range r.Readings {
		one.x = append(one.x, s.Seconds)
		one.saved = append(one.saved, s.SavedBytes/(1<<20))
		one.cpu = append(one.cpu, s.CPUSeconds)
		one.mean += s.SavedBytes / (1 << 20) / float64(len(r.Readings))
	}
	return one, nil
}

// at is what is saved at a time; the last reading where it is later.
func (p pace) at(second float64) float64 {
	out := 0.0
	for i, x := range p.x {
		if x <= second+0.15 {
			out = p.saved[i]
		}
	}
	return out
}

// reaches is when so much is saved; false: never.
func (p pace) reaches(mib float64) (float64, bool) {
	for i, s := range p.saved {
		if s >= mib {
			return p.x[i], true
		}
	}
	return p.length, false
}

func (r Result) pace(name string) (pace, bool) {
	for _, p := range r.paces {
		if p.name == name {
			return p, true
		}
	}
	return pace{}, false
}

// half is when a pace had half of what the fastest one has at the end.
func (r Result) half(p pace) string {
	fast, ok := r.pace(Fastest)
	if !ok {
		return "-" // not yet measured
	}
	if x, ok := p.reaches(fast.at(fast.length) / 2); ok {
		return fmt.Sprintf("%.1f s", x)
	}
	return "never"
}

// Promises are those of fettle tune ksm that were not kept: 95 % of what the
// fastest pace saves for half of its CPU time; ten times sooner than the
// advisor (or the advisor never gets there); the budget, in every minute.
func (r Result) Promises(budget float64) (broken []error) {
	breach := func(format string, args ...any) {
		broken = append(broken, fmt.Errorf("%s: %s", r.load.Name, fmt.Sprintf(format, args...)))
	}
	tuned, ok1 := r.pace(Tuned)
	fast, ok2 := r.pace(Fastest)
	if !ok1 || !ok2 {
		return []error{fmt.Errorf("%s: not measured: %s or %s", r.load.Name, Tuned, Fastest)}
	}
	if have, want := tuned.at(tuned.length), fast.at(fast.length); have < 0.95*want {
		breach("tune saved %.0f MiB, %s %.0f: expected 95 %% of that", have, Fastest, want)
	}
	if have, want := tuned.cpu[len(tuned.cpu)-1], fast.cpu[len(fast.cpu)-1]; 2*have > want {
		breach("tune took %.2f s of CPU, %s %.2f: expected half of that", have, Fastest, want)
	}
	if tuned.worst > budget {
		breach("tune took %.1f %% of a CPU in its busiest minute: the budget is %.0f %%", 100*tuned.worst, 100*budget)
	}
	if advisor, ok := r.pace("advisor"); ok && r.load.Every == 0 {
		half := fast.at(fast.length) / 2
		mine, reached := tuned.reaches(half)
		its, did := advisor.reaches(half)
		if !reached || did && its < 10*mine {
			breach("tune had half of it after %.1f s, the advisor after %.1f: expected a tenth", mine, its)
		}
	}
	return broken
}

// Plot is "saved" or "cpu" over time.
func (r Result) Plot(what string) chart.Plot {
	p := chart.Plot{Name: what + "-" + r.load.fileName(),
		X: "seconds since the pace was set", Title: "KSM, " + r.load.Name + ": memory saved", Y: "MiB"}
	if what == "cpu" {
		p.Title, p.Y = "KSM, "+r.load.Name+": ksmd's CPU time", "seconds"
	}
	for _, one := range r.paces {
		c := chart.Curve{Name: one.name, X: one.x, Y: one.saved}
		if what == "cpu" {
			c.Y = one.cpu
		}
		p.Curves = append(p.Curves, c)
	}
	return p
}
