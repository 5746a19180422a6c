package blockcache

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// on does the runs on one target.
func (m *Measurement) on(
	ctx context.Context,
	fio Fio,
	p *site,
	tell func(kind, doing string, left time.Duration),
	ended func(*Run),
) (err error) {
	if !p.Device {
		var release func() error
		if p.dir, release, err = filesDir(p.Path); err != nil {
			return fmt.Errorf("making a folder for the files: %w", err)
		}
		defer func() {
			if rerr := release(); err == nil && rerr != nil {
				err = fmt.Errorf("removing the measurement's files: %w", rerr)
			}
		}()
	}
	for _, kind := range p.kinds {
		r, err := m.one(ctx, fio, p, kind, func(doing string, left time.Duration) { tell(kind, doing, left) })
		if err != nil {
			os.RemoveAll(filepath.Join(m.Out, kind))
			if errors.Is(err, context.Canceled) {
				return err
			}
			return fmt.Errorf("%s (%s): %w", About(kind), p.Path, err)
		}
		ended(r)
	}
	return nil
}

// one does one run.
func (m *Measurement) one(ctx context.Context, fio Fio, p *site, kind string, tell func(doing string, left time.Duration)) (*Run, error) {
	dir := filepath.Join(m.Out, kind)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	// fio takes colons, backslashes and $ in paths for its own: it is given
	// names beside its job file alone.
	link := filepath.Join(dir, "target")
	to := p.Path
	if !p.Device {
		to = filepath.Join(p.dir, "data")
		if kind == "other" {
			to = filepath.Join(p.dir, "other")
		}
		if err := os.MkdirAll(to, 0o700); err != nil {
			return nil, err
		}
	}
	to, err := filepath.Abs(to)
	if err != nil {
		return nil, err
	}
	if err := os.Symlink(to, link); err != nil {
		return nil, err
	}
	defer os.Remove(link)
	text := m.jobText(p.Device, kind == "other")
	if err := os.WriteFile(filepath.Join(dir, "job.fio"), []byte(text), 0o644); err != nil {
		return nil, err
	}
	if !p.Device && kind != "same" {
		tell("making files: ", m.Runtime)
		if err := fio.run(ctx, dir, "--create_only=1", "--eta=never", "--output=layout.txt", "job.fio"); err != nil {
			return nil, err
		}
		os.Remove(filepath.Join(dir, "layout.txt"))
		for _, log := range m.logs(dir, "*") {
			os.Remove(log)
		}
	}
	r := &Run{Format: runFormat, Schema: 1, Kind: kind, Started: time.Now().UTC().Truncate(time.Second), Runtime: m.Runtime, Job: text,
		Conditions: p.conditions(ctx)}
	r.Conditions.Fio = fio.Version
	args := []string{"--eta=never", "--output-format=json", "--output=fio.json"}
	if !m.Job.Writes {
		args = append(args, "--readonly")
	}
	stop := every(time.Second, func(gone time.Duration) { tell("", max(m.Runtime-gone, 0)) })
	// fio that hangs on a dead disk must not hang fettle.
	limit, cancel := context.WithTimeout(ctx, 2*m.Runtime+2*time.Minute)
	err = fio.run(limit, dir, append(args, "job.fio")...)
	late := limit.Err() != nil
	cancel()
	stop()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case late:
		return nil, fmt.Errorf("fio did not end within %v: does the disk still answer?", 2*m.Runtime+2*time.Minute)
	}
	if err != nil {
		return nil, err
	}
	p.after(ctx, &r.Conditions)
	if err := r.read(dir, m.logs(dir, "iops"), m.logs(dir, "lat"), m.Interval); err != nil {
		return nil, err
	}
	return r, r.store(dir)
}

// every calls f at once and then again and again, until stop.
func every(d time.Duration, f func(gone time.Duration)) (stop func()) {
	start := time.Now()
	end, ended := make(chan struct{}), make(chan struct{})
	f(0)
	go func() {
		defer close(ended)
		t := time.NewTicker(d)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				f(time.Since(start))
			case <-end:
				return
			}
		}
	}()
	return func() { close(end); <-ended }
}

// jobText is fio's job file for a run; its paths are relative to the run's folder.
func (m *Measurement) jobText(device, other bool) string {
	global := []option{
		{"thread", "1"}, {"group_reporting", "1"}, {"per_job_logs", "1"},
		{"time_based", "1"}, {"runtime", fmt.Sprintf("%dms", m.Runtime.Milliseconds())},
		{"log_avg_msec", fmt.Sprint(m.Interval.Milliseconds())},
		{"write_iops_log", "log"}, {"write_lat_log", "log"}, {"disable_slat", "1"},
		{"percentile_list", "50:90:95:99:99.9"},
	}
	if device {
		global = append(global, option{"filename", "target"})
	} else { // fio takes no symbolic link for a directory
		global = append(global, option{"directory", "target/."}, option{"filename_format", "$jobname.$jobnum"})
	}
	return m.Job.text(global, func(p part, before int64) []option {
		if !device {
			return nil
		}
		if other {
			before += m.Job.Size()
		}
		return []option{{"offset", fmt.Sprint(before)}, {"offset_increment", fmt.Sprint(p.size)}}
	})
}

// logs are a run's logs of one kind, in the jobs' order.
func (m *Measurement) logs(dir, kind string) []string {
	found, _ := filepath.Glob(filepath.Join(dir, "log_"+kind+".*.log"))
	slices.SortFunc(found, func(a, b string) int {
		if len(a) != len(b) { // log_iops.2.log before log_iops.10.log
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	return found
}
