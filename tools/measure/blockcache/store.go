package blockcache

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"fettle/internal/files"
)

const runFormat = "fettle-blockcache-run"

// Run is one run and what it was measured under, as it is kept in run.json
// beside fio's job file, logs and JSON.
type Run struct {
	Format     string        `json:"format"`
	Schema     int           `json:"schema"`
	Kind       string        `json:"kind"`
	Started    time.Time     `json:"started"`
	Runtime    time.Duration `json:"runtime_ns"`
	Conditions Conditions    `json:"conditions"`
	Series     Series        `json:"series"`
	Latency    Latency       `json:"latency_ms"`
	Totals     Totals        `json:"totals"`
	Job        string        `json:"job"`
}

// read reads what fio left in a run's folder.
func (r *Run) read(dir string, iopsLogs, latLogs []string, interval time.Duration) error {
	var iops, lat []Log
	for _, x := range []struct {
		files []string
		into  *[]Log
	}{{iopsLogs, &iops}, {latLogs, &lat}} {
		for _, file := range x.files {
			l, err := OpenLog(file)
			if err != nil {
				return err
			}
			*x.into = append(*x.into, l)
		}
	}
	var err error
	if r.Series, err = Sum(iops, interval); err != nil {
		return err
	}
	if r.Latency, err = Mean(lat, iops, interval); err != nil {
		return err
	}
	name := filepath.Join(dir, "fio.json")
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	r.Totals, err = ReadTotals(name, b)
	return err
}

func (r *Run) store(dir string) error {
	b, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return files.WriteFile(filepath.Join(dir, "run.json"), append(b, '\n'), 0o644)
}

// Load reads the stored runs of a measurement's folder, or of one run.
func Load(dir string) ([]*Run, error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, err
	}
	if r, err := loadRun(dir); err == nil {
		return []*Run{r}, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var out []*Run
	for _, k := range Kinds {
		r, err := loadRun(filepath.Join(dir, k.Name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s holds no run: neither run.json nor a folder slow, fast, empty, same or other with one", dir)
	}
	return out, nil
}

func loadRun(dir string) (*Run, error) {
	name := filepath.Join(dir, "run.json")
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 256<<20))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	r, err := parseRun(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

func parseRun(b []byte) (*Run, error) {
	var r Run
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, err
	}
	switch {
	case r.Format != runFormat || r.Schema != 1:
		return nil, fmt.Errorf("format %q, schema %d: expected %s, 1", r.Format, r.Schema, runFormat)
	case About(r.Kind) == r.Kind:
		return nil, fmt.Errorf("kind %q: expected slow, fast, empty, same or other", r.Kind)
	case r.Series.Interval <= 0 || len(r.Series.IOPS) == 0:
		return nil, errors.New("the run has no readings")
	case len(r.Latency.X) != len(r.Latency.Y):
		return nil, errors.New("the latencies do not fit their times")
	}
	for _, v := range r.Series.IOPS {
		if !(v >= 0 && v < math.MaxFloat32) {
			return nil, fmt.Errorf("%g is no reading of requests a second", v)
		}
	}
	return &r, nil
}

// Notes say where a run is not what its kind promises (whether the cache was
// empty, or full, is known of dm-cache alone), and whether the host was busy.
func (r *Run) Notes() []string {
	var out []string
	if c := &r.Conditions; c.busy() {
		out = append(
			out,
			fmt.Sprintf(
				"the host was busy before: a load of %s on %d processors; what it did then may have slowed this run",
				c.load(),
				c.Processors,
			),
		)
	}
	return append(out, r.filled()...)
}

// load is the load average of the minute before, "" where it is not known.
func (c *Conditions) load() string {
	one, _, _ := strings.Cut(c.Load, " ")
	return one
}

// busy tells whether as much waited as half of the processors can do.
func (c *Conditions) busy() bool {
	load, err := strconv.ParseFloat(c.load(), 64)
	return err == nil && c.Processors > 0 && load > float64(c.Processors)/2
}

// filled says where the cache was not what the run's kind promises.
func (r *Run) filled() []string {
	used, all, ok := fill(r.Conditions.Before)
	switch {
	case r.Kind == "slow" || r.Kind == "fast":
		return nil
	case !ok:
		return []string{"how full the cache was is not known: dmsetup shows no cache there"}
	case r.Kind == "empty" && used*20 > all:
		return []string{fmt.Sprintf("the cache was not empty: %d of its %d blocks were used", used, all)}
	case r.Kind != "empty" && used*10 < all*9:
		return []string{fmt.Sprintf("the cache was not full: %d of its %d blocks were used", used, all)}
	}
	return nil
}
