package ksm

import (
	"context"
	"time"

	"fettle/internal/chart"
)

// Series is readings in the order of time, at least one.
type Series struct {
	Page   uint64  // bytes
	States []State // the first one is before anything was done
}

// Watch reads every interval for some time, or until ctx ends: what was read
// until then is returned. show is given each reading.
func Watch(ctx context.Context, k *Kernel, every, length time.Duration, show func(Series)) (Series, error) {
	s := Series{Page: k.PageSize}
	begin := time.Now()
	for n := time.Duration(0); ; n++ {
		now, err := k.Read()
		if err != nil {
			return s, err
		}
		s.States = append(s.States, now)
		show(s)
		if n*every >= length {
			return s, nil
		}
		select {
		case <-ctx.Done():
			return s, nil
		case <-time.After(time.Until(begin.Add((n + 1) * every))):
		}
	}
}

// First and Last are the ends.
func (s Series) First() State { return s.States[0] }
func (s Series) Last() State  { return s.States[len(s.States)-1] }

// Took is the time between the ends.
func (s Series) Took() time.Duration { return s.Last().At.Sub(s.First().At) }

// CPU is ksmd's CPU time between the ends.
func (s Series) CPU() time.Duration { return s.Last().CPU - s.First().CPU }

// Saved is how many bytes more are saved at the end than at the beginning.
func (s Series) Saved() int64 {
	return (int64(s.Last().Saved()) - int64(s.First().Saved())) * int64(s.Page)
}

// At is the last reading that is not after some time from the beginning.
func (s Series) At(after time.Duration) State {
	out := s.First()
	for _, x := range s.States {
		if x.At.Sub(s.First().At) <= after+50*time.Millisecond {
			out = x
		}
	}
	return out
}

// WorstMinute is the most CPU time that ksmd took in any minute.
func (s Series) WorstMinute() (most time.Duration) {
	from := 0
	for _, x := range s.States {
		for x.At.Sub(s.States[from].At) > time.Minute {
			from++
		}
		most = max(most, x.CPU-s.States[from].CPU)
	}
	return most
}

// Reaches is when so many bytes were saved first; false: never.
func (s Series) Reaches(bytes uint64) (time.Duration, bool) {
	for _, x := range s.States {
		if x.Saved()*s.Page >= bytes {
			return x.At.Sub(s.First().At), true
		}
	}
	return 0, false
}

// SavedCurve is the memory saved over time, in MiB and seconds.
func (s Series) SavedCurve(name string) chart.Curve {
	return s.curve(name, func(x State) float64 { return float64(x.Saved()*s.Page) / (1 << 20) })
}

func (s Series) curve(name string, y func(State) float64) chart.Curve {
	c := chart.Curve{Name: name}
	for _, x := range s.States {
		c.X = append(c.X, x.At.Sub(s.First().At).Seconds())
		c.Y = append(c.Y, y(x))
	}
	return c
}
