package app

import (
	"strconv"
	"time"

	"fettle/internal/lazy"
)

var days = lazy.Regexp(`^([0-9]{1,5})d$`)

// LastDay reads --until: a date, or a number of days from today.
func LastDay(s string, now time.Time) (string, error) {
	if s == "" {
		return "", nil
	}
	if m := days().FindStringSubmatch(s); m != nil {
		n, _ := strconv.Atoi(m[1])
		return now.AddDate(0, 0, n).Format(time.DateOnly), nil
	}
	if _, err := time.Parse(time.DateOnly, s); err != nil {
		return "", Usagef("--until %s: expected a date such as 2027-01-31, or a number of days such as 90d", s)
	}
	if s < now.Format(time.DateOnly) {
		return "", Usagef("--until %s: that day has passed", s)
	}
	return s, nil
}
