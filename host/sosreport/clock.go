package sosreport

import (
	"strings"

	"fettle/host"
)

// timedatectl is what it says of the clock; newer sos links it as date.
func (s *Source) timedatectl() (map[string]string, error) {
	text, err := s.output("sos_commands/systemd/timedatectl", "sos_commands/date/timedatectl", "date", "sos_commands/date/date")
	if err != nil {
		return nil, err
	}
	values := map[string]string{}
	for line := range strings.Lines(text) {
		k, v, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if ok {
			values[k] = strings.TrimSpace(v)
		}
	}
	return values, nil
}

// clockAnswered: timedatectl asks the kernel whether the clock is synchronized, which
// systemd-timesyncd tells it when it touches the file.
func (s *Source) clockAnswered(name string) error {
	values, err := s.timedatectl()
	if err != nil {
		return err
	}
	for _, label := range []string{"System clock synchronized", "NTP synchronized"} { // the latter up to systemd 238
		switch values[label] {
		case "yes":
			return nil
		case "no":
			return &pathError{Op: "read", Path: name, Err: host.ErrAbsent}
		}
	}
	return notCollected("read", name)
}

// adjtime is the one line that matters of /etc/adjtime: timedatectl says whether it
// is LOCAL (systemd, src/basic/time-util.c and src/shared/clock-util.c, clock_is_localtime).
func (s *Source) adjtime() ([]byte, error) {
	values, err := s.timedatectl()
	if err != nil {
		return nil, err
	}
	switch values["RTC in local TZ"] {
	case "yes":
		return []byte("0.0 0 0.0\n0\nLOCAL\n"), nil
	case "no":
		return []byte("0.0 0 0.0\n0\nUTC\n"), nil
	}
	return nil, notCollected("read", "/etc/adjtime")
}
