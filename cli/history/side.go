package history

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"

	"fettle/cli/app"
	"fettle/engine/run"
	"fettle/engine/trap"
	"fettle/fleet/ssh"
	"fettle/host/capture"
	"fettle/internal/build"
	"fettle/internal/files"
	"fettle/report"
	"fettle/report/history"
)

// side is one of the two things that diff compares.
type side struct {
	doc    *report.Document // of a recorded run or a report
	host   string           // over SSH
	target *run.Target      // what checks can be run over; nil of a report
}

// named are the two sides that a command line means.
func named(ctx context.Context, a *app.App, o diffOptions, args []string) (out [2]*side, err error) {
	var sides []*side
	if len(args) == 0 && !o.fleet.Asked() {
		if args, err = lastTwo(); err != nil {
			return out, err
		}
	}
	for _, arg := range args {
		s, err := one(arg)
		if err != nil {
			return out, err
		}
		sides = append(sides, s)
	}
	if o.fleet.Asked() {
		hosts, err := o.fleet.List(ctx, a.Stdin)
		if err != nil {
			return out, err
		}
		for _, h := range hosts {
			sides = append(sides, &side{host: h})
		}
	}
	if len(sides) == 1 {
		sides = append(sides, &side{target: &run.Target{}})
	}
	if len(sides) != 2 {
		return out, app.Usagef("two are compared; %d are named", len(sides))
	}
	return [2]*side{sides[0], sides[1]}, nil
}

// lastTwo are the last two recorded runs.
func lastTwo() ([]string, error) {
	s, err := store()
	if err != nil {
		return nil, err
	}
	names, err := s.Names()
	if err != nil {
		return nil, app.Failf("%w", err)
	}
	if len(names) < 2 {
		return nil, app.Usagef(
			"expected two runs to compare: without arguments, the last two recorded ones; recorded: %d (fettle check --record records one)",
			len(names),
		)
	}
	return []string{names[1], names[0]}, nil
}

// one is a side by what the command line calls it.
func one(arg string) (*side, error) {
	if arg == "now" {
		return &side{target: &run.Target{}}, nil
	}
	s, err := store()
	if err != nil {
		return nil, err
	}
	name, err := s.Name(arg)
	switch {
	case err == nil:
		d, err := s.Read(name)
		if err != nil {
			return nil, app.Usagef("%w", err)
		}
		return &side{doc: d}, nil
	case !errors.Is(err, history.ErrNoRun):
		return nil, app.Failf("%w", err)
	}
	if _, _, serr := run.FromPath(arg); serr != nil {
		if strings.ContainsAny(arg, "/.") {
			return nil, app.Usagef("comparing %s: %w; it is neither a file nor a recorded run (fettle history lists those)", arg, unwrapped(serr))
		}
		if names, nerr := s.Names(); nerr == nil && len(names) == 0 {
			return nil, app.Usagef("comparing %s: no run is recorded yet; fettle check --record records one", arg)
		}
		return nil, app.Usagef("comparing %s: %w, and there is no such file", arg, err)
	}
	return file(arg)
}

// file is a report, or what checks can be run over.
func file(name string) (*side, error) {
	if st, err := os.Stat(name); err == nil && st.Mode().IsRegular() {
		b, err := head(name)
		if err != nil {
			return nil, app.Usagef("%w", err)
		}
		if strings.HasPrefix(strings.TrimLeft(string(b), " \n\r\t"), "{") {
			b, err := files.ReadAtMost(name, 64<<20)
			if err != nil {
				return nil, app.Usagef("%w", err)
			}
			d, err := history.Parse(bytes.NewReader(b))
			if err != nil {
				return nil, app.Usagef("%s: not a report of fettle check --format json: %w", name, err)
			}
			return &side{doc: d}, nil
		}
	}
	file, inside, err := run.FromPath(name)
	if err != nil {
		return nil, app.Usagef("%w", err)
	}
	return &side{target: &run.Target{From: file, Inside: inside}}, nil
}

func head(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, 64)
	n, _ := f.Read(b)
	return b[:n], nil
}

// look checks a side for traps. What runs (this host, and those over SSH) is
// captured, and the capture is checked: its facts then are those of the findings.
func (s *side) look(ctx context.Context, a *app.App, o diffOptions, dir string, traps []*trap.Trap) (*report.Document, error) {
	switch {
	case s.doc != nil:
		return s.doc, nil
	case s.host != "":
		if err := s.fetch(ctx, o, dir); err != nil {
			return nil, err
		}
	case s.target.From == "":
		f, err := recordingIn(dir, "this")
		if err != nil {
			return nil, err
		}
		defer f.Close()
		d, err := checked(ctx, a, run.Target{Record: &run.Recording{Out: f}}, traps)
		s.target = &run.Target{From: f.Name()}
		return d, err
	}
	return checked(ctx, a, *s.target, traps)
}

// fetch captures a host over SSH.
func (s *side) fetch(ctx context.Context, o diffOptions, dir string) error {
	f, err := ssh.Open(o.fleet.Options)
	if err != nil {
		return app.Usagef("%w", err)
	}
	defer f.Close()
	rec, err := recordingIn(dir, "host")
	if err != nil {
		return err
	}
	rec.Close()
	var ferr error
	f.Each(ctx, []string{s.host}, func(ctx context.Context, h string) {
		_, ferr = f.Capture(ctx, h, nil, rec.Name())
	})
	if ferr != nil {
		return app.Failf("%w", ferr)
	}
	s.target = &run.Target{From: rec.Name()}
	return nil
}

// recordingIn is a new file for a recording in dir, a folder of this process's own.
func recordingIn(dir, name string) (*os.File, error) {
	f, err := os.CreateTemp(dir, name+"-*.tar.zst")
	if err != nil {
		return nil, app.Failf("making a file for a capture: %w", err)
	}
	return f, nil
}

// checked runs checks over a target, and returns what they say.
func checked(ctx context.Context, a *app.App, tg run.Target, traps []*trap.Trap) (*report.Document, error) {
	started := time.Now()
	var m report.Meta
	var results []trap.Result
	err := a.Check(ctx, tg, traps, trap.Options{}, func(ab run.About) error {
		m = report.Meta{Host: ab.Name, Kind: ab.Kind, Identity: ab.Identity, Machine: ab.Machine, Version: build.Version(), Started: started}
		return nil
	}, func(r trap.Result) { results = append(results, r) })
	if err != nil {
		return nil, err
	}
	return report.NewDocument(m, traps, results, time.Since(started)), nil
}

// facts are what the checks of traps read of a side.
func (s *side) facts(ctx context.Context, a *app.App, dir string, traps []*trap.Trap) (*capture.Source, error) {
	tg := *s.target
	rec, err := recordingIn(dir, "facts")
	if err != nil {
		return nil, err
	}
	defer rec.Close()
	tg.Record = &run.Recording{Out: rec}
	if _, err := checked(ctx, a, tg, traps); err != nil {
		return nil, err
	}
	src, err := capture.Open(ctx, rec.Name())
	if err != nil {
		return nil, app.Failf("reading what the checks read: %w", err)
	}
	return src, nil
}

// unwrapped is an error without the system call and the path, which the message has.
func unwrapped(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
