package sosreport

import (
	"encoding/json"
	"errors"
	"testing"

	"fettle/host"
)

// manifestOf is a manifest of sos 4.2 whose plugin copied files by a specification.
func manifestOf(t *testing.T, spec string, copied ...string) string {
	t.Helper()
	b, err := json.Marshal(map[string]any{"version": "4.2", "policy": "Ubuntu", "components": map[string]any{"report": map[string]any{
		"sysroot": "/", "plugins": map[string]any{"networking": map[string]any{"timeout_hit": false, "commands": []any{},
			"files": []any{map[string]any{"specification": spec, "files_copied": copied}}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestTrimmed: of a report that was cut down before it was passed on, what sos copied and
// what is gone is not absent on the host.
func TestTrimmed(t *testing.T) {
	s := made(t, map[string]string{
		"sos_commands/kernel/uname_-a": "Linux db1 6.1.0 #1 SMP x x86_64 GNU/Linux\n",
		"proc/net/dev":                 "Inter-|\n",
		"proc/net/stat/rt_cache":       "x\n",
		"sos_reports/manifest.json": manifestOf(t, "/proc/net/", "proc/net/arp", "proc/net/dev", "proc/net/stat/rt_cache",
			"proc/net/netstat/deep/file"),
	})
	for name, want := range map[string]error{
		"/proc/net/arp":               host.ErrNotCollected, // copied, and cut away
		"/proc/net/netstat":           host.ErrNotCollected, // a folder of such
		"/proc/net/netstat/deep":      host.ErrNotCollected,
		"/proc/net/netstat/deep/file": host.ErrNotCollected,
		"/proc/net/ar":                host.ErrAbsent, // sos went there, and found none
		"/proc/net/netstat/deep/fil":  host.ErrAbsent,
		"/proc/net/dev":               nil,
	} {
		if _, err := s.ReadFile(t.Context(), name, 100); !errors.Is(err, want) || want == host.ErrNotCollected && host.IsAbsent(err) {
			t.Errorf("%s: %v, expected %v", name, err, want)
		}
	}
	if _, err := s.ReadDir(t.Context(), "/proc/net"); !errors.Is(err, host.ErrNotCollected) {
		t.Errorf("a folder that was cut down: %v", err)
	}
	if es, err := s.ReadDir(t.Context(), "/proc/net/stat"); err != nil || len(es) != 1 {
		t.Errorf("a folder that was not: %v, %v", es, err)
	}
}

// TestClockOfHardware: whether it runs in local time, timedatectl says.
func TestClockOfHardware(t *testing.T) {
	for text, want := range map[string]string{
		"          RTC in local TZ: no\n":  "0.0 0 0.0\n0\nUTC\n",
		"          RTC in local TZ: yes\n": "0.0 0 0.0\n0\nLOCAL\n",
		"          RTC time: n/a\n":        "",
	} {
		for _, file := range []string{"sos_commands/systemd/timedatectl", "date"} {
			s := made(t, map[string]string{"sos_commands/kernel/uname_-a": "x\n", file: text})
			b, err := s.ReadFile(t.Context(), "/etc/adjtime", 100)
			if string(b) != want || (err == nil) != (want != "") {
				t.Errorf("%s, %q: %q, %v", file, text, b, err)
			}
		}
	}
}
