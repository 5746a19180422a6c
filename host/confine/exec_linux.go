package confine

import (
	"context"
	"io"

	"fettle/host"
)

// Command runs one of host.Commands in a confinement of its own: it may read
// and execute everywhere, and write only to what its CommandSpec lists. A
// thread takes that confinement and becomes the command's parent; a copy of
// fettle that does would cost ten milliseconds of start.
func Command(ctx context.Context, c host.Command) (out host.Output, err error) {
	if err := c.Allowed(); err != nil {
		return host.Output{}, err
	}
	spec := host.Commands[c.Name].For(c.Args)
	file, err := spec.Path()
	if err != nil {
		return host.Output{}, err
	}
	keepDescriptors()
	return host.ExecIn(ctx, spec, append([]string{file}, c.Args...), func(run func()) error {
		var err error
		inThread(func() {
			if err = confineFor(spec, ABI()); err == nil {
				run()
			}
		})
		return err
	})
}

// confineFor confines the calling thread as the command needs it.
func confineFor(spec host.CommandSpec, abi int) error {
	write := spec.Write
	if spec.Isolated {
		own, err := isolate(abi)
		if err != nil {
			return err
		}
		write = append(own, write...)
	}
	return confineThread(Rules{Write: write, Program: true}, abi)
}

// Live is the running machine with confined commands: for verbs that check in
// this process, as capture does. Its reading is not confined.
func Live() (host.Source, error) {
	l, err := host.NewLive()
	if err != nil {
		return nil, err
	}
	return &live{l}, nil
}

type live struct{ host.Source }

// Extract reads the file itself.
func (l *live) Extract(ctx context.Context, kind, name string, of func(io.Reader) ([]byte, error)) ([]byte, error) {
	return host.ExtractOf(ctx, l.Source, kind, name, of)
}

// Table has those tables that commands tell come from confined ones.
func (l *live) Table(ctx context.Context, t host.Table) ([]byte, error) {
	if t == host.TableJournal {
		return host.ReadJournal(ctx, Command)
	}
	return l.Source.Table(ctx, t)
}

func (l *live) Command(ctx context.Context, c host.Command) (host.Output, error) {
	return Command(ctx, c)
}
