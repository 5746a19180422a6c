package proving

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/internal/chart/draw"
	"fettle/internal/ui"
	"fettle/tools/measure/blockcache/cachesim"
	"fettle/tools/measure/blockcache/trace"
	"fettle/tools/measure/render"
	"fettle/tools/measure/render/caches"
)

// cachesimFlags are what a simulation is asked for, as it is given.
type cachesimFlags struct {
	workload, origin, block, traceFormat, device, action string
	columns, policies, sizes                             []string
	requests, maxRequests                                string
	seed                                                 uint64
	writes                                               float64
	warmup                                               string
	smq                                                  cachesim.SMQ
	format, plots                                        string
	cores                                                int
}

func (a program) measureCachesimCmd() *cobra.Command {
	var f cachesimFlags
	c := &cobra.Command{
		Use:   "cachesim [TRACE]...",
		Short: "Simulate a block cache: how many requests would miss",
		Long: `cachesim simulates caches of many sizes and policies with the same requests, to
answer questions such as "what if the hot tenth is larger than the cache?" It
measures nothing on this host and needs no root.

The requests are generated (--workload), or come from a recorded trace:
blkparse's text, blktrace's binary files (one per CPU), fio's iolog, a CSV, or
libCacheSim's oracleGeneral; each may be compressed with zstd.

Workloads: zipf:1.2 is fio's zipf with theta 1.2; hot:10:90 gives the first 10 %
of the device 90 % of the requests (fio's zoned:90/10:10/90); moved:10:90 is the
same, but half-way the hot part moves to the other end; uniform.

` + ui.Wrap("Policies: "+strings.Join(policyNames(), ", ")+". smq's rules before and after May 2017 can be switched one by one: "+
			"smq-4.11+enter-top=on. Switches: "+
			strings.Join(cachesim.Switches(), ", ")+".", app.HelpWidth, "", "") + `
smq depends on time: on the number of requests in flight (--depth) and their
duration (--hit, --miss, --copy, --commit), or their --rate, or the times in the
trace.

Exit status:
  0  simulated
  2  usage error or unreadable trace
  3  failed`,
		Example: `  fettle measure cachesim --workload hot:10:90 --origin 100GiB --size 5GiB,10GiB
  fettle measure cachesim --workload zipf:1.2 --policy smq,smq-4.11 --plots .
  blktrace -d /dev/vg/data -w 600 && fettle measure cachesim data.blktrace.*
  fettle measure cachesim --policy smq,lru,belady-bypass --warmup 50% job.iolog`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.cachesim(cmd, f, args) },
	}
	fl := c.Flags()
	fl.StringVar(
		&f.workload,
		"workload",
		"",
		"generate requests by this `LAW`: zipf:THETA, uniform, hot:BLOCKS:REQUESTS or moved:BLOCKS:REQUESTS (percent)",
	)
	fl.StringVar(&f.origin, "origin", "", "`SIZE` of the slow device (default 64GiB; of a trace, as far as it reaches)")
	fl.StringVar(&f.block, "block-size", "64KiB", "`SIZE` of a cache block")
	fl.StringVar(&f.requests, "requests", "5M", "`NUMBER` of requests to generate")
	fl.Uint64Var(&f.seed, "seed", 1, "the same seed generates the same requests")
	fl.Float64Var(&f.writes, "writes", 0, "share of writes among generated requests, in percent")
	fl.StringVar(&f.traceFormat, "trace-format", "", "`FORMAT` of the traces, if it is not recognised: "+strings.Join(trace.Formats, ", "))
	fl.StringVar(&f.device, "device", "", "the `DEVICE` of the trace (8,16), or the file of an iolog")
	fl.StringVar(&f.action, "action", "", "blktrace's `EVENT` that counts: Q (queued, the default), D or C")
	fl.StringSliceVar(&f.columns, "columns", nil, "what the `COLUMNS` of a CSV without a header are: "+trace.ColumnNames)
	fl.StringVar(&f.maxRequests, "max-requests", "256M", "read or generate at most this `NUMBER` of requests")
	fl.StringSliceVar(&f.policies, "policy", []string{"smq", "lru", "arc", "s3fifo", "belady-bypass"}, "the `POLICIES` to simulate")
	fl.StringSliceVar(
		&f.sizes,
		"size",
		nil,
		"the caches: `SIZE`s, percents of the origin, or a number of them (default 16, from 0.1 % to all of it)",
	)
	fl.StringVar(&f.warmup, "warmup", "0", "`REQUESTS` at the start that do not count: a number, or a percentage")
	fl.Float64Var(&f.smq.Rate, "rate", 0, "smq: requests a second (default: the trace's times, or --depth)")
	fl.IntVar(&f.smq.Depth, "depth", 8, "smq: requests in flight")
	fl.DurationVar(&f.smq.Hit, "hit", 100*time.Microsecond, "smq: duration of a request to the fast device")
	fl.DurationVar(&f.smq.Miss, "miss", 5*time.Millisecond, "smq: duration of a request to the slow device")
	fl.DurationVar(&f.smq.Copy, "copy", 0, "smq: time to copy a block (default: --miss)")
	fl.DurationVar(&f.smq.Commit, "commit", time.Millisecond, "smq: time until a change of the mapping is on disk")
	fl.Int64Var(&f.smq.MigrationThreshold, "migration-threshold", 2048, "smq: migration_threshold of dm-cache's table, in sectors")
	fl.BoolVar(&f.smq.Writethrough, "writethrough", false, "smq: no block is ever dirty")
	fl.BoolVar(&f.smq.WholeBlocks, "whole-blocks", false, "smq: every write covers a whole block")
	fl.IntVar(&f.cores, "cores", 0, "number of cores to simulate on (default: all)")
	fl.StringVar(&f.plots, "plots", "", "write the curves as SVG and PNG into this `FOLDER`")
	app.FormatFlag(c, &f.format, "text", "json")
	c.RegisterFlagCompletionFunc("policy", cobra.FixedCompletions(policyNames(), cobra.ShellCompDirectiveNoFileComp))
	c.RegisterFlagCompletionFunc("trace-format", cobra.FixedCompletions(trace.Formats, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func policyNames() []string {
	var names []string
	for _, k := range cachesim.Kinds {
		names = append(names, k.Name)
	}
	return names
}

func (a program) cachesim(cmd *cobra.Command, f cachesimFlags, traces []string) error {
	if f.format != "text" && f.format != "json" {
		return app.Usagef("--format %s: it is text or json", f.format)
	}
	for _, name := range []string{"requests", "seed", "writes"} {
		if len(traces) > 0 && cmd.Flags().Changed(name) {
			return app.Usagef("--%s is of made-up requests: it goes with --workload", name)
		}
	}
	switch {
	case f.smq.Depth < 1:
		return app.Usagef("--depth %d: 1 to 4096 requests are in flight", f.smq.Depth)
	case f.smq.MigrationThreshold < 1:
		return app.Usagef("--migration-threshold %d: a number of sectors, 1 or more", f.smq.MigrationThreshold)
	case f.cores < 0:
		return app.Usagef("--cores %d: 1 or more, or 0 for all", f.cores)
	}
	if err := plotsFit(f.plots); err != nil {
		return err
	}
	var kinds []cachesim.Kind
	for _, name := range f.policies {
		k, err := cachesim.Find(strings.TrimSpace(name))
		if err != nil {
			return app.Usagef("--policy: %w", err)
		}
		kinds = append(kinds, k)
	}
	wanted, err := parseCacheSizes(f.sizes)
	if err != nil {
		return err
	}
	warm, err := parseWarmup(f.warmup)
	if err != nil {
		return err
	}
	var origin int64
	if f.origin != "" {
		if origin, err = parseBytes(f.origin); err != nil {
			return app.Usagef("--origin: %w", err)
		}
	}
	t, err := f.trace(wanted.inBytes(), traces)
	if err != nil {
		return err
	}
	if origin > 0 && t.BlockSize > 0 {
		f.smq.OriginBlocks = origin / t.BlockSize
	}
	sizes, err := wanted.blocks(t, max(t.Span, f.smq.OriginBlocks))
	if err != nil {
		return err
	}
	warmup, err := warm.of(t.Len())
	if err != nil {
		return err
	}
	p := a.newSimProgress()
	sweep := cachesim.Sweep{Kinds: kinds, Sizes: sizes, SMQ: f.smq, Warmup: warmup, Cores: f.cores, Progress: p.at}
	curves, took, err := sweep.Run(cmd.Context(), t)
	p.clear()
	if cmd.Context().Err() != nil {
		return app.Failf("simulating: stopped; nothing was written")
	}
	if err != nil {
		return app.Usagef("%w", err)
	}
	result := caches.Cachesim{Trace: t, Warmup: warmup, SMQ: f.smq, Curves: curves, Cost: took}
	if f.plots != "" {
		made, err := draw.Files(f.plots, "cachesim", result.Plot())
		if err != nil {
			return app.Failf("--plots: %w", err)
		}
		defer func() { fmt.Fprintf(a.Stderr, "wrote %s\n", strings.Join(made, ", ")) }()
	}
	return render.Write(a.Stdout, f.format, result, render.TerminalOf(a.Stdout))
}

// trace reads the traces, or makes up the workload. A size in bytes, if there is
// one, is what the trace's requests must have, too.
func (f cachesimFlags) trace(inBytes string, files []string) (*trace.Trace, error) {
	block, err := parseBytes(f.block)
	if err != nil {
		return nil, app.Usagef("--block-size: %w", err)
	}
	switch {
	case len(files) > 0 && f.workload != "":
		return nil, app.Usagef("a trace and --workload do not go together")
	case len(files) == 0 && f.workload == "":
		return nil, app.Usagef("which requests? give a recorded trace, or --workload zipf:1.2")
	case len(files) > 0:
		limit, err := parseCount(f.maxRequests)
		if err != nil {
			return nil, app.Usagef("--max-requests: %w", err)
		}
		t, err := trace.Open(
			f.traceFormat,
			trace.Options{BlockSize: block, Device: f.device, Action: f.action, Columns: f.columns, MaxRequests: limit, Addresses: inBytes != ""},
			files...)
		if errors.Is(err, trace.ErrObjects) {
			return nil, app.Usagef("--size %s: %w; give percents, or a number of sizes", inBytes, trace.ErrObjects)
		}
		if err != nil {
			var pe *fs.PathError
			if errors.As(err, &pe) {
				return nil, app.Unread(err, "a recorded trace")
			}
			return nil, app.Usagef("%w", err)
		}
		return t, nil
	}
	if f.origin == "" {
		f.origin = "64GiB"
	}
	origin, err := parseBytes(f.origin)
	if err != nil {
		return nil, app.Usagef("--origin: %w", err)
	}
	n, err := parseCount(f.requests)
	if err != nil {
		return nil, app.Usagef("--requests: %w", err)
	}
	limit, err := parseCount(f.maxRequests)
	if err != nil {
		return nil, app.Usagef("--max-requests: %w", err)
	}
	if n > limit {
		return nil, app.Usagef("--requests %s: more than %s; raise --max-requests, 4 bytes of memory and more each", f.requests, f.maxRequests)
	}
	if block < 512 || origin < block {
		return nil, app.Usagef("--block-size %s of --origin %s: a block has 512 bytes or more, and the device has one", f.block, f.origin)
	}
	t, err := trace.Workload{
		Pattern:   f.workload,
		Blocks:    origin / block,
		Requests:  n,
		Seed:      f.seed,
		WritePct:  f.writes,
		BlockSize: block,
	}.Make()
	if err != nil {
		return nil, app.Usagef("--workload: %w", err)
	}
	return t, nil
}

// cacheSizes is --size as it was written: a number of sizes, or sizes of which
// each is a part of the origin or a number of bytes. A trace says what they
// come to, and may take minutes to read.
type cacheSizes struct {
	number int
	each   []cacheSize
}

type cacheSize struct {
	said    string
	percent float64 // or
	bytes   int64
}

func parseCacheSizes(all []string) (cacheSizes, error) {
	if len(all) == 0 {
		return cacheSizes{number: 16}, nil
	}
	if n, err := strconv.Atoi(all[0]); err == nil && len(all) == 1 {
		if n < 1 || n > 200 {
			return cacheSizes{}, app.Usagef("--size %d: 1 to 200 sizes can be chosen for you; a size itself has a unit (%dMiB)", n, n)
		}
		return cacheSizes{number: n}, nil
	}
	var out cacheSizes
	for _, s := range all {
		size := cacheSize{said: s}
		var err error
		if pct, ok := strings.CutSuffix(s, "%"); ok {
			if size.percent, err = strconv.ParseFloat(pct, 64); err != nil || !(size.percent > 0 && size.percent <= 100) {
				return out, app.Usagef("--size %s: above 0 %%, up to 100 %%", s)
			}
		} else if size.bytes, err = parseBytes(s); err != nil {
			return out, app.Usagef("--size: %w", err)
		}
		out.each = append(out.each, size)
	}
	return out, nil
}

// inBytes is the first size that is a number of bytes, as it was written; "" without one.
func (c cacheSizes) inBytes() string {
	for _, s := range c.each {
		if s.percent == 0 {
			return s.said
		}
	}
	return ""
}

// blocks are the sizes of caches in front of an origin of span blocks.
func (c cacheSizes) blocks(t *trace.Trace, span int64) ([]int, error) {
	if c.each == nil {
		return cachesim.Sizes(span, c.number), nil
	}
	var out []int
	for _, s := range c.each {
		blocks := math.Round(s.percent / 100 * float64(span))
		if s.percent == 0 {
			blocks = float64(s.bytes / t.BlockSize)
		}
		if blocks < 1 || blocks > 1<<29 {
			return nil, app.Usagef("--size %s is %.0f blocks: a cache has 1 to %d", s.said, blocks, 1<<29)
		}
		out = append(out, int(blocks))
	}
	return out, nil
}

// warmup is --warmup as it was written: a part of the requests, or a number.
type warmup struct {
	said    string
	percent float64
	number  int
}

func parseWarmup(s string) (w warmup, err error) {
	w.said = s
	if pct, ok := strings.CutSuffix(s, "%"); ok {
		if w.percent, err = strconv.ParseFloat(pct, 64); err != nil || !(w.percent >= 0 && w.percent < 100) {
			return w, app.Usagef("--warmup %s: 0 %% to below 100 %%", s)
		}
		return w, nil
	}
	if w.number, err = parseCount(s); err != nil {
		return w, app.Usagef("--warmup: %w", err)
	}
	return w, nil
}

func (w warmup) of(requests int) (int, error) {
	n := w.number + int(w.percent/100*float64(requests))
	if n >= requests {
		return 0, app.Usagef("--warmup %s: the trace has %d requests, and some must count", w.said, requests)
	}
	return n, nil
}
