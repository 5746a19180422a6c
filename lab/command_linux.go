package lab

import (
	"context"
	"debug/elf"
	"errors"
)

// Said is what a command said that was run on a throwaway machine.
type Said struct {
	Output string // both streams together
	Status int    // exit status; -1: it was killed by a signal, or never started
}

// RunCommand boots a throwaway machine, runs a command of it to its end, and
// brings home what it printed. An error: nothing can be said of the command.
func RunCommand(ctx context.Context, argv []string, needs Needs, opt Options) (Said, error) {
	needs.Tools = append(append([]string{"sh"}, shellTools...), needs.Tools...)
	v, err := play(ctx, Orders{Command: argv}, "the command", needs, opt)
	if err != nil {
		return Said{}, err
	}
	for _, s := range v.Stages {
		if s.Name == commandStage {
			return Said{s.Said, s.Status}, nil
		}
	}
	err = errors.New(v.Why)
	if v.Console != "" {
		err = errors.New(v.Why + "\nlast words of its console:\n" + v.Console)
	}
	return Said{}, err
}

const commandStage = "command"

// maxSaid bounds what a command brings home.
const maxSaid = 1 << 20

// CommandStage is what the guest tells of a command.
func CommandStage(out string, status int, err error) Stage {
	if len(out) > maxSaid {
		out = out[len(out)-maxSaid:]
	}
	if err != nil {
		out += err.Error() + "\n"
	}
	return Stage{Name: commandStage, OK: true, Said: out, Status: status}
}

// KernelFile is a kernel that somebody has built: User-Mode Linux where it is a
// program of this machine, else a bzImage for qemu.
func KernelFile(file string) (Kernel, error) {
	if f, err := elf.Open(file); err == nil {
		defer f.Close()
		if f.Type == elf.ET_EXEC || f.Type == elf.ET_DYN {
			return Kernel{Engine: "uml", File: file}, nil
		}
	}
	return QEMU(file)
}
