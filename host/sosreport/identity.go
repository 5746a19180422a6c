package sosreport

import (
	"context"
	"strings"
	"time"

	"fettle/host"
)

// identity reads who the host is and when it was looked at. sos runs as root.
func (s *Source) identity() host.Identity {
	id := host.Identity{Sysname: "Linux", EUID: 0, Collector: s.id.Collector}
	if text, err := s.output("sos_commands/kernel/uname_-a", "uname"); err == nil {
		parseUname(text, &id)
	}
	if text, err := s.output("sos_commands/host/hostname", "sos_commands/general/hostname", "hostname"); err == nil {
		id.Hostname = strings.TrimSpace(text)
	}
	if b, err := s.tree.ReadFile("/etc/hostname", 4096); id.Hostname == "" && err == nil {
		id.Hostname = strings.TrimSpace(string(b))
	}
	if b, err := s.ReadFile(context.Background(), "/proc/sys/kernel/random/boot_id", 4096); err == nil {
		id.BootID = strings.TrimSpace(string(b))
	}
	id.Time = s.when()
	return id
}

// parseUname reads `uname -a`: system, host name, release, version in several
// words, then the machine one to three times, then the operating system.
func parseUname(text string, id *host.Identity) {
	f := strings.Fields(text)
	if len(f) < 5 {
		return
	}
	id.Sysname, id.Hostname, id.Release = f[0], f[1], f[2]
	end := len(f)
	if f[end-1] == "GNU/Linux" {
		end--
	}
	id.Machine = f[end-1]
	for end > 4 && (f[end-1] == id.Machine || f[end-1] == "unknown") {
		end--
	}
	id.Version = strings.Join(f[3:end], " ")
}

// when is the host's clock as the report has it: date --utc, then date in
// whatever zone it names (only UTC is sure), then the manifest's start.
func (s *Source) when() time.Time {
	for _, f := range []string{"sos_commands/date/date_--utc", "sos_commands/date/date", "date", "sos_commands/general/date"} {
		text, err := s.output(f)
		if err != nil {
			continue
		}
		for line := range strings.Lines(text) {
			line = strings.Join(strings.Fields(line), " ")
			if v, ok := strings.CutPrefix(line, "Universal time: "); ok { // timedatectl, which newer sos links as date
				if t, err := time.Parse("Mon 2006-01-02 15:04:05 MST", v); err == nil {
					return t.UTC()
				}
				continue
			}
			for _, layout := range []string{"Mon Jan 2 15:04:05 MST 2006", "Mon Jan 2 03:04:05 PM MST 2006", "Mon 2 Jan 15:04:05 MST 2006",
				"Mon 02 Jan 2006 03:04:05 PM MST", "Mon 2 Jan 2006 03:04:05 PM MST"} {
				if t, err := time.Parse(layout, line); err == nil {
					return t.UTC()
				}
			}
		}
	}
	t, _ := time.Parse("2006-01-02 15:04:05.999999", s.man.Start)
	return t.UTC()
}
