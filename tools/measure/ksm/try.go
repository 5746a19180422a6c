package ksm

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Setting is a pace of ksmd to try.
type Setting struct {
	Name   string
	Values []Value // in order
	// Run sets the pace over time, where one value does not; nil: nothing does.
	Run func(ctx context.Context, k *Kernel, l *Lease) error
}

// Value is one setting of the kernel's.
type Value struct{ Name, Value string }

// Settings that have names.
var (
	defaults = []Value{{"pages_to_scan", "100"}, {"sleep_millisecs", "20"}}
	advisor  = []Value{{"pages_to_scan", "100"}, {"sleep_millisecs", "20"}, {"advisor_mode", "scan-time"}}
)

// ParseSetting reads "as-is", "default", "advisor", or PAGES[/MS], as "1e9" or
// "1250/10"; MS is 20 unless given.
func ParseSetting(text string) (Setting, error) {
	switch text {
	case "as-is":
		return Setting{Name: text}, nil
	case "default":
		return Setting{Name: text, Values: defaults}, nil
	case "advisor":
		return Setting{Name: text, Values: advisor}, nil
	}
	pages, sleep, slept := strings.Cut(text, "/")
	n, err := strconv.ParseFloat(pages, 64)
	if err != nil || n < 1 || n > 1<<32-1 || n != float64(uint64(n)) {
		return Setting{}, fmt.Errorf("%q: expected as-is, default, advisor, tune, or PAGES/MS as 1250/10, with 1 to 4294967295 pages", text)
	}
	ms := uint64(20)
	if slept {
		if ms, err = strconv.ParseUint(sleep, 10, 32); err != nil {
			return Setting{}, fmt.Errorf("%q: %q is not a number of milliseconds", text, sleep)
		}
	}
	return Setting{
		Name:   text,
		Values: []Value{{"pages_to_scan", strconv.FormatUint(uint64(n), 10)}, {"sleep_millisecs", strconv.FormatUint(ms, 10)}},
	}, nil
}

// Trial is how settings are tried.
type Trial struct {
	Every, For time.Duration
	// Unmerge parts all merged pages before each setting, so that each begins
	// from nothing.
	Unmerge bool
}

// Try tries one setting. It restores all that it sets, also when ctx ends.
func (t Trial) Try(ctx context.Context, k *Kernel, dir string, s Setting, show func(Series)) (out Series, err error) {
	l, _, err := Take(k, dir)
	if err != nil {
		return out, err
	}
	defer func() {
		if _, rerr := l.Release(); err == nil {
			err = rerr
		}
	}()
	was, err := k.Value("run")
	if err != nil {
		return out, err
	}
	asIs := s.Values == nil && s.Run == nil
	if err := t.prepare(k, l, asIs); err != nil {
		return out, err
	}
	for _, v := range s.Values {
		if !k.Has(v.Name) {
			return out, fmt.Errorf("%s: this kernel has no %s/%s", s.Name, Dir, v.Name)
		}
		if err := l.Set(v.Name, v.Value); err != nil {
			return out, err
		}
	}
	inner, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	if s.Run != nil {
		own := *k // it remembers ksmd, which two must not do concurrently
		go func() { ended <- s.Run(inner, &own, l); stop() }()
	} else {
		ended <- nil
		on := "1"
		if asIs {
			on = was
		}
		if err := l.Set("run", on); err != nil {
			return out, err
		}
	}
	out, err = Watch(inner, k, t.Every, t.For, show)
	stop()
	if rerr := <-ended; err == nil {
		err = rerr
	}
	if err == nil && s.Run == nil {
		err = l.Check()
	}
	return out, err
}

// prepare stops the advisor, unless all stays as it is, and parts what is
// merged, where that is asked for and there is room.
func (t Trial) prepare(k *Kernel, l *Lease, asIs bool) error {
	if mode, err := k.Value("advisor_mode"); err == nil && mode != "none" && !asIs {
		if err := l.Set("advisor_mode", "none"); err != nil {
			return err
		}
	}
	if !t.Unmerge {
		return nil
	}
	s, err := k.Read()
	if err != nil {
		return err
	}
	if need := s.Saved() * k.PageSize; need+need/4 > s.Available {
		return fmt.Errorf("unmerging takes %d MiB, and %d MiB are available: nothing was unmerged", need>>20, s.Available>>20)
	}
	return l.Set("run", "2")
}
