package ssh

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"fettle/internal/jsondoc"
	"fettle/report"
)

// Event is what comes back from one host: its report's lines as they come
// ("begin", "result", …, "end"), or an error, which is the last of a host.
type Event struct {
	Host string
	Line report.Line
	Err  error
}

// Bounds of what one host may say: of a line and of the whole report, in
// bytes, and in lines.
const (
	maxLine   = 16 << 20
	maxReport = 64 << 20
	maxLines  = 10_000
)

// Check runs `fettle check --format jsonl` with further arguments on the
// hosts, and calls emit with what comes back, never concurrently. Each host
// ends with a line of type "end" or with an error.
func (f *Fleet) Check(ctx context.Context, hosts []string, args []string, emit func(Event)) {
	events := make(chan Event)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e := range events {
			emit(e)
		}
	}()
	args = append([]string{"check", "--format", "jsonl"}, args...)
	f.Each(ctx, hosts, func(ctx context.Context, host string) {
		if err := f.checkOne(ctx, host, args, func(l report.Line) { events <- Event{Host: host, Line: l} }); err != nil {
			events <- Event{Host: host, Err: err}
		}
	})
	close(events)
	<-done
}

func (f *Fleet) checkOne(ctx context.Context, host string, args []string, line func(report.Line)) error {
	r, w := io.Pipe()
	read := make(chan error, 1)
	var s stream
	go func() {
		err := s.read(r, line)
		io.Copy(io.Discard, r) // let the sender finish
		read <- err
	}()
	exit, errs, err := f.Run(ctx, host, args, w)
	w.Close()
	rerr := <-read
	switch {
	case err != nil:
		var e *Error
		if errors.As(err, &e) && s.began {
			e.Reached = true
		}
		return err
	case s.ended:
		return nil
	case rerr != nil:
		return &Error{Host: host, Reached: true, Why: rerr.Error()}
	}
	why := words(errs)
	if why == "" {
		why = s.noise
	}
	what := "fettle ended there without a report"
	if s.began {
		what = "the report was cut off"
	}
	what = fmt.Sprintf("%s (exit status %d)", what, exit)
	if why != "" {
		what += ": " + why
	}
	return &Error{Host: host, Reached: true, Why: what}
}

// stream reads a report in jsonl. What login shells print before it is passed over.
type stream struct {
	began, ended bool
	noise        string // the last line before it began
}

func (s *stream) read(r io.Reader, line func(report.Line)) error {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 0, 64<<10), maxLine)
	said, lines := 0, 0
	for sc.Scan() {
		if said, lines = said+len(sc.Bytes()), lines+1; said > maxReport || lines > maxLines {
			return fmt.Errorf("the report is of more than %d MiB or %d lines", maxReport>>20, maxLines)
		}
		var l report.Line
		err := json.Unmarshal(sc.Bytes(), &l)
		switch {
		case s.ended:
			continue
		case !s.began && (err != nil || l.Type != "begin" || l.Format != "fettle-report" || l.Meta == nil):
			if len(sc.Bytes()) < 500 {
				s.noise = sc.Text()
			}
			continue
		case err != nil:
			return fmt.Errorf("a line of the report is no JSON: %w", err)
		case s.began && l.Type == "begin":
			return errors.New("the report begins twice")
		case l.Type == "begin" && l.Schema != jsondoc.Version:
			return fmt.Errorf("the report is of version %d; this fettle reads version %d", l.Schema, jsondoc.Version)
		case (l.Type == "result") != (l.Result != nil):
			return fmt.Errorf("a line of type %q: expected a result in those of type result, neither more nor less", l.Type)
		}
		s.began = true
		line(l)
		s.ended = l.Type == "end"
	}
	if err := sc.Err(); err != nil {
		return fmt.Errorf("reading the report: %w", err)
	}
	return nil
}
