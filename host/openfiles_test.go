package host

import "testing"

func TestRotatedName(t *testing.T) {
	for _, c := range []struct{ name, before string }{
		{"/var/log/syslog.1", "/var/log/syslog"},
		{"/var/log/app.log.0", "/var/log/app.log"},
		{"/var/log/app.log.12", "/var/log/app.log"},
		{"/var/log/app.log.old", "/var/log/app.log"},
		{"/var/log/messages-20260102", "/var/log/messages"},
		{"/var/log/messages-2026010213", "/var/log/messages"},
		{"/var/log/messages-20260102-1767312000", "/var/log/messages"},
		{"/var/log/messages-2026-01-02", "/var/log/messages"},
		{"/var/log/messages.2026-01-02", "/var/log/messages"},
		{"/var/log/app-20260102.log", "/var/log/app.log"},
		{"/var/log/app.1.log", "/var/log/app.log"},
		{"/var/log/app.log", ""},
		{"/var/log/mysql/mysql-bin.000123", ""},
		{"/var/log/.1", ""},
		{"/var/log/app-1", ""},
		{"/var/log/app-20261302", ""},
		{"/var/log/app-20260102-", ""},
		{"/var/log/app-19990101", "/var/log/app"},
		{"/var/log/app-20261231", "/var/log/app"},
		{"/var/log/app-18261231", ""},
		{"/var/log/app-21000101", ""},
		{"/var/log/app-20260002", ""},
		{"/var/log/app-20260100", ""},
		{"/var/log/app-20260132", ""},
		{"/var/log/app-2026013", ""},
		{"/var/log/app-20260102030405123456", "/var/log/app"},
		{"/var/log/app-202601020304051234567", ""},
		{"/var/log/app.123", "/var/log/app"},
		{"/var/log/app.1234", ""},
		{"/var/log/app.1-2", ""},
		{"/var/log/.old", ""},
		{"/var/log/-20260102", ""},
		{"/var/log/.20260102", ""},
		{"/var/log/journal/x/system@0005f-1.journal", ""},
		{"/var/log/python3.11", "/var/log/python3"},
		{"", ""},
	} {
		if got, ok := RotatedName(c.name); got != c.before || ok != (c.before != "") {
			t.Errorf("RotatedName(%q) = %q, %v; want %q", c.name, got, ok, c.before)
		}
	}
}

func TestLogPath(t *testing.T) {
	for name, want := range map[string]bool{"/var/log/a": true, "/var/log": false, "/opt/x/logs/y/z.log": true,
		"/opt/log": false, "/home/blog/x": false, "/opt/login/x": false,
		"/opt/login/logs/x": true, "/opt/logs": false, "/log/x": true, "": false} {
		if LogPath(name) != want {
			t.Errorf("LogPath(%q) = %v", name, !want)
		}
	}
}

func FuzzRotatedName(f *testing.F) {
	for _, s := range []string{"/var/log/syslog.1", "a-20260102", "a-2026-01-02.log", "-", ".", "x.old", "x.1.log", "-20260102"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		LogPath(s)
		if b, ok := RotatedName(s); ok && (b == "" || len(b) >= len(s)) {
			t.Errorf("RotatedName(%q) = %q", s, b)
		}
	})
}
