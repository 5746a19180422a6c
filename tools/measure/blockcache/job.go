package blockcache

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// DefaultJob is random reads whose hot spots a cache can hold: about nine in
// ten go to a tenth of the data.
const DefaultJob = `[load]
ioengine=libaio
direct=1
iodepth=8
numjobs=2
rw=randread
random_distribution=zipf:1.2
bs=4k
size=2g
runtime=15m
`

// Job is a load: a fio job file without what says where and how long.
type Job struct {
	Writes  bool
	Runtime time.Duration // 0 where the file says none
	parts   []part
}

type option struct{ key, value string }

// part is a section of a job file.
type part struct {
	name    string
	options []option
	size    int64
	jobs    int64
}

// Size is how much data the load reads, in bytes.
func (j Job) Size() (n int64) {
	for _, p := range j.parts {
		n += p.size * p.jobs
	}
	return n
}

// Jobs is how many processes work at it.
func (j Job) Jobs() (n int) {
	for _, p := range j.parts {
		n += int(p.jobs)
	}
	return n
}

// Resize sets the size of each job's data.
func (j *Job) Resize(bytes int64) {
	for i := range j.parts {
		j.parts[i].size = bytes
	}
}

// loadOptions are options that say what the load is: these alone are kept. An
// unknown one could run a program (exec_prerun), read a job elsewhere (include)
// or write to another file (verify_state_save, write_iolog).
var loadOptions = words(`ioengine direct buffered iodepth iodepth_batch iodepth_batch_submit iodepth_batch_complete
	iodepth_batch_complete_min iodepth_batch_complete_max iodepth_low numjobs rw readwrite rwmixread rwmixwrite
	random_distribution random_generator randrepeat allrandrepeat randseed norandommap softrandommap percentage_random
	bs blocksize bsrange blocksize_range bssplit blocksize_unaligned bs_unaligned ba blockalign size
	rate rate_iops rate_process thinktime thinktime_blocks invalidate fsync fdatasync sync refill_buffers scramble_buffers
	zero_buffers buffer_compress_percentage hipri registerfiles fixedbufs nonvectored sqthread_poll nice prio prioclass
	cpus_allowed cpus_allowed_policy ramp_time description`)

// ours are options that fettle sets itself; a file's own do not count.
var ours = words(`filename directory filename_format unlink runtime timeout time_based per_job_logs log_avg_msec
	write_iops_log write_lat_log write_bw_log write_hist_log log_hist_msec log_max_value group_reporting thread offset
	offset_increment disable_lat disable_clat disable_slat clat_percentiles lat_percentiles percentile_list readonly
	create_on_open create_only create_serialize fallocate overwrite eta eta_newline name loops log_unix_epoch`)

var engines = words("libaio io_uring sync psync vsync pvsync pvsync2 posixaio mmap")

func words(s string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(s) {
		m[w] = true
	}
	return m
}

// ParseJob reads a job file (fio(1), JOB FILE FORMAT). Errors name file and line.
func ParseJob(file string, r io.Reader) (Job, error) {
	var j Job
	var global []option // of all global sections so far
	at := -1            // the section in j.parts, or -1 for global
	began := false
	names := map[string]bool{}
	sc := bufio.NewScanner(io.LimitReader(r, 1<<20))
	line := 0
	bad := func(format string, args ...any) (Job, error) {
		return Job{}, fmt.Errorf("%s:%d: %s", file, line, fmt.Sprintf(format, args...))
	}
	for sc.Scan() {
		line++
		text := strings.TrimSpace(sc.Text())
		if text == "" || text[0] == '#' || text[0] == ';' {
			continue
		}
		if name, ok := strings.CutPrefix(text, "["); ok {
			name, ok = strings.CutSuffix(name, "]")
			began = true
			switch {
			case !ok || name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") != "":
				return bad("%q: a section is a name of letters, digits, _, - and . in brackets", text)
			case name == "global":
				at = -1
				continue
			case names[name]:
				return bad("a second section [%s]", name)
			}
			names[name] = true
			at = len(j.parts)
			j.parts = append(j.parts, part{name: name, options: append([]option(nil), global...), jobs: 1})
			continue
		}
		key, value, _ := strings.Cut(text, "=")
		o := option{strings.TrimSpace(key), strings.TrimSpace(value)}
		switch {
		case !began:
			return bad("%q is before the first section", text)
		case o.key == "stonewall" || o.key == "wait_for_previous" || o.key == "new_group" || o.key == "wait_for":
			return bad("%s: all jobs must run in parallel, as one load", o.key)
		case strings.ContainsAny(o.value, "$`\"'\\") && !ours[o.key]:
			return bad("%s=%s: variables and quotes are not taken over; write the value itself", o.key, o.value)
		case o.key == "ioengine" && !engines[o.value]:
			return bad("ioengine=%s: expected one that works on files and devices: libaio, io_uring, psync …", o.value)
		case o.key == "runtime" || o.key == "timeout":
			d, err := parseFioTime(o.value)
			if err != nil {
				return bad("%s=%s: %v", o.key, o.value, err)
			}
			j.Runtime = max(j.Runtime, d)
		case !loadOptions[o.key] && !ours[o.key]:
			return bad("the option %q is not one that fettle lets through: it could work on other files than those of the measurement", o.key)
		case o.key == "rw" || o.key == "readwrite":
			kind, _, _ := strings.Cut(o.value, ":")
			switch kind {
			case "read", "randread":
			case "write", "randwrite", "rw", "readwrite", "randrw":
				j.Writes = true
			default:
				return bad("%s=%s: expected read, randread, write, randwrite, rw or randrw", o.key, o.value)
			}
		case o.key == "size":
			if _, err := parseFioSize(o.value); err != nil {
				return bad("size=%s: %v", o.value, err)
			}
		case o.key == "numjobs":
			if n, err := strconv.Atoi(o.value); err != nil || n < 1 || n > 4096 {
				return bad("numjobs=%s: expected 1 to 4096", o.value)
			}
		}
		if !loadOptions[o.key] {
			continue
		}
		if at < 0 {
			global = append(global, o)
		} else {
			j.parts[at].options = append(j.parts[at].options, o)
		}
	}
	if sc.Err() == bufio.ErrTooLong {
		line++
		return bad("longer than a line of a job file")
	}
	if err := sc.Err(); err != nil {
		return Job{}, fmt.Errorf("reading %s: line %d: %w", file, line+1, err)
	}
	if len(j.parts) == 0 {
		line++
		return bad("no job: a section such as [load] is missing")
	}
	for i := range j.parts {
		p := &j.parts[i]
		kept := p.options[:0]
		for _, o := range p.options {
			switch o.key {
			case "size":
				p.size, _ = parseFioSize(o.value)
			case "numjobs":
				p.jobs, _ = strconv.ParseInt(o.value, 10, 64)
			default:
				kept = append(kept, o)
			}
		}
		p.options = kept
	}
	if j.Size() > math.MaxInt64/8 || j.Size() < 0 {
		return bad("the jobs' sizes come to more than there is")
	}
	return j, nil
}

// missingSize names a section that does not say how much data it has.
func (j Job) missingSize() string {
	for _, p := range j.parts {
		if p.size == 0 {
			return p.name
		}
	}
	return ""
}

// tooSmall names a section whose data is less than a request.
func (j Job) tooSmall() string {
	for _, p := range j.parts {
		if p.size < 4096 {
			return p.name
		}
	}
	return ""
}

// text is the job file for one run.
func (j Job) text(global []option, place func(p part, before int64) []option) string {
	var b strings.Builder
	section := func(name string, lists ...[]option) {
		fmt.Fprintf(&b, "[%s]\n", name)
		for _, list := range lists {
			for _, o := range list {
				fmt.Fprintf(&b, "%s=%s\n", o.key, o.value)
			}
		}
	}
	section("global", global)
	before := int64(0)
	for _, p := range j.parts {
		section(p.name, p.options, []option{{"numjobs", fmt.Sprint(p.jobs)}, {"size", fmt.Sprint(p.size)}}, place(p, before))
		before += p.size * p.jobs
	}
	return b.String()
}

// parseFioSize reads 4k, 2g, 512MiB; fio counts in powers of 1024 (kb_base).
func parseFioSize(s string) (int64, error) {
	t := strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(s), "b"), "i")
	shift := 0
	if t != "" {
		if i := strings.IndexByte("kmgtp", t[len(t)-1]); i >= 0 {
			shift, t = 10*(i+1), t[:len(t)-1]
		}
	}
	n, err := strconv.ParseInt(t, 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt64>>shift>>4 {
		return 0, fmt.Errorf("expected a size in bytes, such as 512m or 2g")
	}
	return n << shift, nil
}

// parseFioTime reads 90, 90s, 15m, 2h, 1d; a bare number is seconds.
func parseFioTime(s string) (time.Duration, error) {
	unit := time.Second
	t := strings.ToLower(s)
	for suffix, u := range map[string]time.Duration{"ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour,
		"d": 24 * time.Hour} {
		if n, ok := strings.CutSuffix(t, suffix); ok && n != "" && n[len(n)-1] <= '9' {
			t, unit = n, u
			break
		}
	}
	n, err := strconv.ParseInt(t, 10, 32)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("expected a time such as 90s or 15m")
	}
	return time.Duration(n) * unit, nil
}
