package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// defaultMemMiB holds fettle, a few tools and the scenario's own files.
const defaultMemMiB = 256

// defaultLimit is how long a scenario may take, boot included.
const defaultLimit = 2 * time.Minute

// Play boots a throwaway machine and plays one scenario of a trap on it. The
// verdict says how it went, also when the machine died; the error is for a
// machine that could not be built at all.
func Play(ctx context.Context, trap string, s Scenario, opt Options) (Verdict, error) {
	v := Verdict{Trap: trap, Scenario: s.Name, Engine: opt.Kernel.Engine}
	start := time.Now()
	if opt.Binary == "" {
		self, err := os.Executable()
		if err != nil {
			return v, err
		}
		opt.Binary = self
	}
	img, err := buildImage(trap, s, opt)
	if err != nil {
		return v, fmt.Errorf("building the guest for %s/%s: %w", trap, s.Name, err)
	}
	defer img.Close()
	mem := max(opt.MemMiB, s.Needs.MemMiB)
	if mem == 0 {
		mem = defaultMemMiB
	}
	limit := s.Needs.Limit
	if limit == 0 {
		limit = defaultLimit
	}
	if opt.Kernel.Engine == "qemu" && !opt.KVM {
		limit *= 3 // emulation of every instruction
	}
	if opt.Shell != "" {
		limit = 24 * time.Hour
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	messages := make(chan message, 64)
	booted := time.Now()
	m, err := boot(opt, img, mem, func(msg message) { messages <- msg })
	if err != nil {
		return v, err
	}
	defer m.kill()
	done := false
	var ended error
	for running := true; running || len(messages) > 0; {
		select {
		case msg := <-messages:
			switch {
			case msg.Hello != nil:
				v.Kernel, v.Boot = msg.Hello.Kernel, time.Since(booted)
			case msg.Stage != nil:
				v.Stages = append(v.Stages, *msg.Stage)
				if !msg.Stage.OK && v.Why == "" {
					v.Why = msg.Stage.Name + ": " + msg.Stage.Said
				}
				if opt.OnStage != nil {
					opt.OnStage(*msg.Stage)
				}
			case msg.Fatal != "":
				v.Why = "the guest could not be made ready: " + msg.Fatal
			case msg.Done:
				done = true
			}
		case ended = <-m.done:
			running = false
		case <-ctx.Done():
			m.kill()
			ended, running = fmt.Errorf("the machine was stopped after %s", limit), false
			if ctx.Err() == context.Canceled {
				return v, ctx.Err()
			}
		}
	}
	v.Took = time.Since(start)
	if !done {
		v.Console = m.console.lastWords(20)
		if v.Why == "" {
			v.Why = died(v, ended)
		}
	}
	v.OK = done && v.Why == ""
	return v, nil
}

// died puts into words how a machine ended that did not say goodbye.
func died(v Verdict, ended error) string {
	console := []byte(v.Console)
	what := "the machine ended without a word"
	switch {
	case v.Kernel == "" && len(v.Stages) == 0:
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

// buildImage makes the guest's root in memory: fettle as /init, the orders,
// tools with their libraries, modules.
func buildImage(trap string, s Scenario, opt Options) (*os.File, error) {
	return memoryFile("guest", func(w io.Writer) error {
		im := newImage(w)
		if err := im.skeleton(); err != nil {
			return err
		}
		if err := im.copyAs(opt.Binary, "/init"); err != nil {
			return err
		}
		for name, text := range accounts {
			if err := im.file(name, 0o644, int64(len(text)), strings.NewReader(text)); err != nil {
				return err
			}
		}
		tools := append([]string{"ip", "sleep"}, s.Needs.Tools...)
		if opt.Shell != "" {
			tools = append(tools, shellTools...)
		}
		for _, t := range tools {
			if err := im.tool(t); err != nil {
				return err
			}
		}
		for _, f := range s.Needs.Files {
			if err := im.copy(filepath.Clean(f)); err != nil {
				return err
			}
		}
		mods, err := im.modules(opt.Kernel.Modules, s.Needs.Modules)
		if err != nil {
			return err
		}
		b, err := json.Marshal(Orders{Trap: trap, Scenario: s, Channel: opt.Kernel.channel(), Modules: mods, Shell: opt.Shell})
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
var shellTools = []string{"bash", "ls", "cat", "grep", "ps", "dmesg", "mount", "stat", "find", "tail"}
