package proof

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"fettle/lab"
	"fettle/tools/measure/blockcache/cachesim"
	"fettle/tools/measure/blockcache/trace"
)

// modelBench is the guest with its disks: loop devices on memory, and a slow one.
type modelBench struct {
	*lab.Bench
	origin string // the slow device
	iolog  string
}

// benchNeeds are those of a guest with so much memory.
func benchNeeds(memMiB int) lab.Needs {
	return lab.Needs{
		Engine: "uml", MemMiB: memMiB, Limit: 20 * time.Minute,
		Modules: []string{"loop", "dm-mod", "dm-delay", "dm-cache", "dm-cache-smq"},
		Tools:   []string{"losetup", "dmsetup", "fio"},
	}
}

// delay is the device-mapper table of a slow device over a quick one, of so many bytes.
func delay(bytes int, over string) string {
	return fmt.Sprintf("0 %d delay %s 0 %s", bytes/512, over, modelDelay)
}

func (l *modelBench) prepare(fine *trace.Trace) error {
	slow, err := l.loop("origin", modelOrigin)
	if err != nil {
		return err
	}
	if l.origin, err = l.dm("slow", delay(modelOrigin, slow)); err != nil {
		return err
	}
	l.iolog = "/run/iolog"
	f, err := os.Create(l.iolog)
	if err != nil {
		return err
	}
	if err := trace.WriteIolog(f, fine, "/dev/mapper/cached", 4096); err != nil {
		return err
	}
	return f.Close()
}

// loop makes a disk of memory.
func (l *modelBench) loop(name string, size int64) (string, error) {
	file := "/run/" + name
	f, err := os.Create(file)
	if err != nil {
		return "", err
	}
	err = f.Truncate(size)
	f.Close()
	if err != nil {
		return "", err
	}
	out, err := l.Run("losetup", "-f", "--show", file)
	return strings.TrimSpace(out), err
}

// dm makes a device; without udev its node is made by hand.
func (l *modelBench) dm(name, table string) (string, error) {
	if _, err := l.Run("dmsetup", "create", "--noudevrules", "--noudevsync", name, "--table", table); err != nil {
		return "", err
	}
	_, err := l.Run("dmsetup", "mknodes", name)
	return "/dev/mapper/" + name, err
}

// cached makes the cache of smq over the slow device, of so many bytes.
func (l *modelBench) cached(origin int, meta, fast string) (string, error) {
	return l.dm("cached", fmt.Sprintf("0 %d cache %s %s %s %d 1 writeback smq 0", origin/512, meta, fast, l.origin, modelBlock/512))
}

// count asks the kernel what the cache did since it was made.
func (l *modelBench) count() (counted, error) {
	out, err := l.Run("dmsetup", "status", "--noflush", "cached")
	if err != nil {
		return counted{}, err
	}
	return parseCounted(out)
}

// timings measures how long requests take here, for the model's clock.
func (l *modelBench) timings() (conf cachesim.SMQ, err error) {
	fast, err := l.loop("fast", 64<<20)
	if err != nil {
		return conf, err
	}
	defer l.Run("losetup", "-d", fast)
	conf = cachesim.SMQ{Depth: modelDepth, OriginBlocks: modelOrigin / modelBlock}
	for _, m := range []struct {
		into *time.Duration
		dev  string
		args []string
	}{
		{&conf.Hit, fast, []string{"--rw=randread", "--bs=4k", fmt.Sprint("--iodepth=", modelDepth)}},
		{&conf.Miss, l.origin, []string{"--rw=randread", "--bs=4k", fmt.Sprint("--iodepth=", modelDepth)}},
		{&conf.Copy, l.origin, []string{"--rw=randread", "--bs=64k", fmt.Sprint("--iodepth=", modelDepth)}},
		{&conf.Commit, fast, []string{"--rw=randwrite", "--bs=4k", "--fsync=1"}},
	} {
		if *m.into, err = l.latency(m.dev, m.args...); err != nil {
			return conf, err
		}
	}
	return conf, nil
}

// latency is the mean one of fio's requests over two seconds.
func (l *modelBench) latency(dev string, args ...string) (time.Duration, error) {
	out, err := l.Run(
		append([]string{"fio", "--name=t", "--filename=" + dev, "--direct=1", "--ioengine=libaio", "--time_based", "--runtime=2",
			"--output-format=json"}, args...)...)
	if err != nil {
		return 0, err
	}
	type latencies struct {
		Lat struct {
			Mean float64 `json:"mean"`
		} `json:"lat_ns"`
	}
	var said struct {
		Jobs []struct {
			Read, Write, Sync latencies
		} `json:"jobs"`
	}
	if i := strings.IndexByte(out, '{'); i >= 0 {
		out = out[i:]
	}
	if err := json.NewDecoder(strings.NewReader(out)).Decode(&said); err != nil || len(said.Jobs) != 1 {
		return 0, fmt.Errorf("reading fio's JSON: %v: %q", err, out[:min(len(out), 200)])
	}
	j := said.Jobs[0]
	return time.Duration(j.Read.Lat.Mean + j.Write.Lat.Mean + j.Sync.Lat.Mean), nil
}

// play has fio replay the requests on a cache of this size, and looks at the
// kernel's counters meanwhile.
func (l *modelBench) play(mib int) (history, error) {
	fast, err := l.loop("cache", int64(mib)<<20)
	if err != nil {
		return nil, err
	}
	defer l.Run("losetup", "-d", fast)
	meta, err := l.loop("meta", 4<<20)
	if err != nil {
		return nil, err
	}
	defer l.Run("losetup", "-d", meta)
	if _, err := l.cached(modelOrigin, meta, fast); err != nil {
		return nil, err
	}
	defer l.Run("dmsetup", "remove", "--noudevsync", "cached")
	var done atomic.Bool
	ended := make(chan error, 1)
	go func() {
		_, err := l.Run(
			"fio",
			"--name=replay",
			"--read_iolog="+l.iolog,
			"--replay_no_stall=1",
			"--ioengine=libaio",
			"--direct=1",
			fmt.Sprint("--iodepth=", modelDepth),
		)
		done.Store(true)
		ended <- err
	}()
	var h history
	for stop := false; !stop; time.Sleep(500 * time.Millisecond) {
		stop = done.Load()
		c, err := l.count()
		if err != nil {
			return nil, err
		}
		if len(h) == 0 || c.requests > h.last().requests {
			h = append(h, c)
		}
	}
	if err := <-ended; err != nil {
		return nil, err
	}
	if n := h.last().requests; n < modelRequests || n > modelRequests*101/100 {
		return nil, fmt.Errorf("the kernel counts %d requests; %d were replayed", n, modelRequests)
	}
	return h, nil
}

// parseCounted reads the one line that dmsetup status CACHE prints: its fields
// are in Documentation/admin-guide/device-mapper/cache.rst.
func parseCounted(line string) (c counted, err error) {
	f := strings.Fields(line)
	if len(f) < 13 || f[2] != "cache" {
		return c, fmt.Errorf("dmsetup status says %q of a cache", strings.TrimSpace(line))
	}
	var n [6]int64 // read hits and misses, write hits and misses, demotions, promotions
	for i := range n {
		if n[i], err = strconv.ParseInt(f[7+i], 10, 64); err != nil {
			return c, fmt.Errorf("dmsetup status says %q: %w", strings.TrimSpace(line), err)
		}
	}
	return counted{requests: n[0] + n[1] + n[2] + n[3], hits: n[0] + n[2], promotions: n[5], demotions: n[4]}, nil
}
