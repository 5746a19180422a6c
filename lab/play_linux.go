package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// defaultMemMiB holds fettle, a few tools and the scenario's own files.
const defaultMemMiB = 320

// defaultLimit is how long a scenario may take, boot and slips included.
const defaultLimit = 5 * time.Minute

// Play boots a throwaway machine and plays one scenario of a trap on it. The
// verdict says how it went, also when the machine died; the error is for a
// machine that could not be built at all.
func Play(ctx context.Context, trap string, s Scenario, opt Options) (Verdict, error) {
	return play(ctx, Orders{Trap: trap, Scenario: s}, s.Name, s.Needs, opt)
}

// PlayExperiment is Play for an experiment, of a trap or of none: its table is
// in the verdict.
func PlayExperiment(ctx context.Context, trap string, e Experiment, opt Options) (Verdict, error) {
	return play(ctx, Orders{Trap: trap, Experiment: e.Name}, e.Name, e.Needs, opt)
}

func play(ctx context.Context, o Orders, name string, needs Needs, opt Options) (Verdict, error) {
	v := Verdict{Trap: o.Trap, Scenario: name, Engine: opt.Kernel.Engine}
	start := time.Now()
	if opt.OnStart != nil {
		opt.OnStart()
	}
	if err := opt.programs(); err != nil {
		return v, err
	}
	mem := needs.memory(opt)
	if free, all := availableMiB(), needs.allMemory(opt); free > 0 && free < all {
		return v, fmt.Errorf("%s needs %d MiB of memory for its machine, and %d MiB are available here", v.Name(), all, free)
	}
	opt.devices, opt.client, opt.acpi = needs.Devices, needs.Client, needs.ACPI
	opt.raid6 = needs.parity() || opt.Shell != ""
	if needs.Client != nil {
		needs.Modules = slices.Concat(needs.Modules, clientModules)
	}
	if needs.Systemd {
		opt.disk = diskMiB
	}
	img, err := buildImage(o, needs, opt)
	if err != nil {
		return v, fmt.Errorf("building the guest for %s: %w", v.Name(), err)
	}
	defer img.Close()
	if least := leastMiB(img); mem < least {
		return v, fmt.Errorf("%s does not fit into %d MiB of memory: it needs at least %d (see --mem)", v.Name(), mem, least)
	}
	emulated := opt.Kernel.Engine == "qemu" && !opt.KVM
	for v.Retries = 0; ; v.Retries++ {
		err := v.live(ctx, needs.limit(opt)+time.Duration(len(o.Spoilt))*spoiltLimit, img, mem, opt)
		v.Took = time.Since(start)
		if err != nil || v.Kernel != "" || !emulated || opt.Shell != "" || v.Retries == bootRetries {
			return v, err
		}
		v.Why, v.Console = "", ""
	}
}

// bootRetries is how often an emulated machine is started again that died or
// hung before its init, which has then shown nothing of the scenario. qemu
// 7.2's TCG now and then breaks Linux 6.12 while it boots.
const bootRetries = 2

// spoiltLimit is what each spoilt plan may take of a machine's time besides.
const spoiltLimit = time.Minute

// bootLimit is how long a machine may take to its init.
const bootLimit = 90 * time.Second

// live boots a machine and listens to it until it ends.
func (v *Verdict) live(ctx context.Context, limit time.Duration, img *os.File, mem int, opt Options) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	messages := make(chan message)
	booted := time.Now()
	m, err := boot(opt, img, mem, func(msg message) {
		select {
		case messages <- msg:
		case <-ctx.Done():
		}
	})
	if err != nil {
		return err
	}
	defer m.kill()
	done := false
	var ended error
	silence := time.After(bootLimit)
	for running := true; running; {
		select {
		case msg := <-messages:
			if msg.Hello != nil {
				v.Boot, silence = time.Since(booted), nil
			}
			done = v.hear(msg, opt) || done
		case ended = <-m.done:
			running = false
		case <-silence:
			ended, running = fmt.Errorf("it said nothing for %s and was stopped", bootLimit), false
		case <-ctx.Done():
			ended, running = fmt.Errorf("the machine was stopped after %s", limit), false
			if ctx.Err() == context.Canceled {
				return ctx.Err()
			}
		}
	}
	if !done {
		v.Console = m.console.lastWords(20)
		if v.Why == "" {
			v.Why = died(*v, ended)
		}
	}
	v.OK = done && v.Why == ""
	return nil
}

// hear takes one message of the guest and tells whether it was the last.
func (v *Verdict) hear(msg message, opt Options) (done bool) {
	var stage *Stage
	switch {
	case msg.Hello != nil:
		v.Kernel = msg.Hello.Kernel
	case msg.Stage != nil:
		stage = msg.Stage
		v.Stages = append(v.Stages, *stage)
		if !stage.OK && v.Why == "" && !strings.HasPrefix(stage.Name, SpoiltPrefix) {
			v.Why = stage.Name + ": " + stage.Said
		}
	case msg.Table != nil:
		v.Table = msg.Table
	case msg.Row != nil && v.Table != nil:
		v.Table.Rows = append(v.Table.Rows, msg.Row.Cells)
		if len(msg.Row.Cells) > 0 {
			stage = &Stage{Name: "row", OK: true, Said: msg.Row.Cells[0], Took: msg.Row.Took}
		}
	case msg.Fatal != "":
		v.Why = "the guest could not be made ready: " + msg.Fatal
	}
	if stage != nil && opt.OnStage != nil {
		opt.OnStage(*stage)
	}
	return msg.Done
}

// parity tells whether the guest may compute RAID6's second parity: the module of
// RAID4, 5 and 6 calls it. A kernel that has it built in tries at each boot which way
// is fastest, and spends half of the time to its init on that (lib/raid6/algos.c, 6.1).
func (n Needs) parity() bool {
	return slices.ContainsFunc([]string{"raid456", "dm-raid"}, func(m string) bool {
		return slices.Contains(n.Modules, m) || slices.Contains(n.MayModules, m)
	})
}

// memory is that of the machine, in MiB.
func (n Needs) memory(opt Options) int {
	switch {
	case opt.MemMiB != 0:
		return opt.MemMiB
	case n.MemMiB != 0:
		return n.MemMiB
	}
	return defaultMemMiB
}

// allMemory is that of the machine and of its client.
func (n Needs) allMemory(opt Options) int {
	mem := n.memory(opt)
	if n.Client != nil {
		mem += n.Client.memory()
	}
	return mem
}

// leastMiB is the least memory that a machine with this root can boot in: the
// kernel holds the archive and its content for a moment, and itself.
func leastMiB(img *os.File) int {
	st, err := img.Stat()
	if err != nil {
		return 0
	}
	return int(2*st.Size()>>20) + 48
}

// limit is how long the machine may take, boot included.
func (n Needs) limit(opt Options) time.Duration {
	limit := n.Limit
	if limit == 0 {
		limit = defaultLimit
	}
	if opt.Kernel.Engine == "qemu" && !opt.KVM {
		limit *= 3 // emulation of every instruction
	}
	if opt.Shell != "" {
		limit = 24 * time.Hour
	}
	return limit
}

// died puts into words how a machine ended that did not say goodbye.
func died(v Verdict, ended error) string {
	console := []byte(v.Console)
	if f := new(frameError); errors.As(ended, &f) {
		return "the guest's channel to the host broke: " + f.Error()
	}
	what := "the machine ended without a word"
	switch {
	case v.Kernel == "" && len(v.Stages) == 0 && v.Table == nil:
		what = "the machine did not reach its init"
	case bytes.Contains(console, []byte("Out of memory")) || bytes.Contains(console, []byte("oom-kill")):
		what = "the machine ran out of memory"
	case bytes.Contains(console, []byte("Kernel panic")):
		what = "the machine's kernel panicked"
	}
	if ended != nil {
		what += ": " + ended.Error()
	}
	return what
}

// buildImage makes the guest's root in memory: fettle-lab as /init, fettle, the
// orders, tools with their libraries, modules.
func buildImage(o Orders, needs Needs, opt Options) (*os.File, error) {
	return memoryFile("guest", func(w io.Writer) error {
		im := newImage(w)
		if err := im.skeleton(); err != nil {
			return err
		}
		if err := errors.Join(im.copyAs(opt.Init, "/init"), im.copyAs(opt.Fettle, GuestFettle)); err != nil {
			return err
		}
		for name, text := range accounts {
			if err := im.file(name, 0o644, int64(len(text)), strings.NewReader(text)); err != nil {
				return err
			}
		}
		for _, t := range needs.BuiltTools {
			if err := im.rootTool(opt.Kernel.Root, t); err != nil {
				return err
			}
		}
		tools := append([]string{"ip", "sleep"}, needs.Tools...)
		for _, t := range needs.MayTools {
			if _, err := FindTool(t); err == nil {
				tools = append(tools, t)
			}
		}
		if opt.Shell != "" {
			tools = append(tools, shellTools...)
		}
		for _, t := range tools {
			if err := im.tool(t); err != nil {
				return err
			}
		}
		for _, l := range needs.Libs {
			if err := im.library(l); err != nil {
				return err
			}
		}
		for _, f := range needs.Files {
			if err := im.copy(filepath.Clean(f)); err != nil {
				return err
			}
		}
		if needs.Systemd {
			if err := im.systemd(); err != nil {
				return err
			}
			o.Disk = opt.Kernel.disk()
			needs.Modules = append(slices.Clone(needs.Modules), opt.Kernel.diskModules()...)
		}
		var err error
		if o.Modules, err = im.modules(opt.Kernel.Modules, needs.Modules, needs.MayModules); err != nil {
			return err
		}
		o.Channel, o.Console, o.Shell, o.Slips = opt.Kernel.channel(), opt.Kernel.console(), opt.Shell, opt.Slips
		b, err := json.Marshal(o)
		if err != nil {
			return err
		}
		if err := im.file(OrdersFile, 0o600, int64(len(b)), bytes.NewReader(b)); err != nil {
			return err
		}
		return im.close()
	})
}

// accounts are the guest's: an ordinary user of the group adm among them.
var accounts = map[string]string{
	"/etc/passwd":        "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/:/bin/false\nana:x:1000:1000::/:/bin/sh\n",
	"/etc/group":         "root:x:0:\nadm:x:4:ana\nnogroup:x:65534:\nana:x:1000:\nsystemd-journal:x:999:\n",
	"/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}

// shellTools are for those who look around inside.
var shellTools = []string{
	"bash",
	"uname",
	"id",
	"sysctl",
	"which",
	"cut",
	"tr",
	"wc",
	"cp",
	"mv",
	"ln",
	"dd",
	"date",
	"env",
	"ls",
	"cat",
	"grep",
	"ps",
	"dmesg",
	"mount",
	"stat",
	"find",
	"tail",
	"head",
	"sed",
	"sort",
	"rm",
	"touch",
	"mkdir",
}
