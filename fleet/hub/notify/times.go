package notify

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"fettle/engine/trap"
	"fettle/internal/config"
)

// Quiet are the hours in which a channel gets only the most severe findings; what is
// still true when they end is sent then.
type Quiet struct {
	From   string       `yaml:"from"` // 22:00, in the hub's time zone
	To     string       `yaml:"to"`
	Days   config.Words `yaml:"days"`
	Except string       `yaml:"except"` // findings of this severity are sent anyway

	span span
	rank int
}

// Window is when changes on some hosts are expected: nothing new or resolved there
// is sent until it ends.
type Window struct {
	Match `yaml:",inline"`
	// Name is what people call it: "patch night web".
	Name string `yaml:"name"`
	// From and To: 22:00, or 2026-12-01 22:00, in the hub's time zone.
	From string       `yaml:"from"`
	To   string       `yaml:"to"`
	Days config.Words `yaml:"days"`

	span        span
	begins, end time.Time // of a window that comes once
}

const dateTime = "2006-01-02 15:04"

func (q *Quiet) valid() (err error) {
	if q.Except != "" {
		s, ok := trap.ParseSeverity(q.Except)
		if !ok {
			return fmt.Errorf("quiet: except %q: expected notice, warning or critical", q.Except)
		}
		q.rank = int(s)
	}
	q.span, err = parseSpan(q.From, q.To, q.Days)
	return err
}

func (w *Window) valid() (err error) {
	if err := w.Match.valid(); err != nil {
		return err
	}
	begins, berr := time.ParseInLocation(dateTime, w.From, time.Local)
	end, eerr := time.ParseInLocation(dateTime, w.To, time.Local)
	if berr == nil && eerr == nil {
		w.begins, w.end = begins, end
		if !end.After(begins) || len(w.Days) > 0 {
			return errors.New("to must be after from; days go with hours alone")
		}
		return nil
	}
	w.span, err = parseSpan(w.From, w.To, w.Days)
	return err
}

func (w *Window) open(now time.Time) bool {
	if !w.end.IsZero() {
		return !now.Before(w.begins) && now.Before(w.end)
	}
	return w.span.holds(now)
}

// last is the window's last time that had ended at t; zero where there was none.
func (w *Window) last(t time.Time) (from, to time.Time) {
	if !w.end.IsZero() {
		if w.end.After(t) {
			return time.Time{}, time.Time{}
		}
		return w.begins, w.end
	}
	y, m, d := t.In(time.Local).Date()
	for back := 0; ; back++ { // a week and a day at most
		from = time.Date(y, m, d-back, w.span.from/60, w.span.from%60, 0, 0, time.Local)
		to = time.Date(y, m, d-back, w.span.to/60, w.span.to%60, 0, 0, time.Local)
		if w.span.to < w.span.from {
			to = time.Date(y, m, d-back+1, w.span.to/60, w.span.to%60, 0, 0, time.Local)
		}
		if !to.After(t) && (len(w.span.days) == 0 || slices.Contains(w.span.days, from.Weekday())) {
			return from, to
		}
	}
}

// span is a time of some days; the days are those on which it begins.
type span struct {
	from, to int // minutes of a day
	days     []time.Weekday
}

func parseSpan(from, to string, days []string) (s span, err error) {
	if s.from, err = minutes(from); err != nil {
		return s, err
	}
	if s.to, err = minutes(to); err != nil {
		return s, err
	}
	if s.from == s.to {
		return s, errors.New("from and to are the same")
	}
	for _, d := range days {
		w, err := weekday(d)
		if err != nil {
			return s, err
		}
		s.days = append(s.days, w)
	}
	return s, nil
}

func (s *span) holds(now time.Time) bool {
	now = now.In(time.Local)
	m, day := now.Hour()*60+now.Minute(), now.Weekday()
	in := m >= s.from && m < s.to
	if s.to < s.from { // over midnight
		in = m >= s.from || m < s.to
		if m < s.to {
			day = (day + 6) % 7
		}
	}
	return in && (len(s.days) == 0 || slices.Contains(s.days, day))
}

func minutes(s string) (int, error) {
	t, err := time.Parse("15:04", s)
	if err != nil {
		return 0, fmt.Errorf("%q: expected a time such as 22:00, or for maintenance 2026-12-01 22:00", s)
	}
	return t.Hour()*60 + t.Minute(), nil
}

func weekday(s string) (time.Weekday, error) {
	for d := time.Sunday; d <= time.Saturday; d++ {
		if strings.EqualFold(s, d.String()[:3]) || strings.EqualFold(s, d.String()) {
			return d, nil
		}
	}
	return 0, fmt.Errorf("%q: expected a day such as mon", s)
}

// schedule is when a digest is due.
type schedule struct {
	weekly bool
	day    time.Weekday
	at     int // minutes of a day
}

func parseSchedule(how, at string) (s schedule, err error) {
	s = schedule{weekly: how == "weekly", day: time.Monday, at: 7 * 60}
	fields := strings.Fields(at)
	if s.weekly && len(fields) == 2 {
		if s.day, err = weekday(fields[0]); err != nil {
			return s, err
		}
		fields = fields[1:]
	}
	switch len(fields) {
	case 0:
		return s, nil
	case 1:
		s.at, err = minutes(fields[0])
		return s, err
	}
	return s, fmt.Errorf("at %q: expected 07:00, or for a weekly digest mon 07:00", at)
}

// last is the last moment, not after now, at which it was due.
func (s schedule) last(now time.Time) time.Time {
	now = now.In(time.Local)
	y, m, d := now.Date()
	for back := 0; ; back++ {
		t := time.Date(y, m, d-back, s.at/60, s.at%60, 0, 0, time.Local)
		if !t.After(now) && (!s.weekly || t.Weekday() == s.day) {
			return t
		}
	}
}
