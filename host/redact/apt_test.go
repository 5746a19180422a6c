package redact

import (
	"strings"
	"testing"
	"time"
)

// TestDeepApt: settings that stand in each other without end cost no more than others.
func TestDeepApt(t *testing.T) {
	r := redactor(t)
	begun := time.Now()
	deep := strings.Repeat("Dir {\n", 50_000) + "x \"battery\";\n" + strings.Repeat("};\n", 50_001)
	out, ok := r.File("/etc/apt/apt.conf", []byte(deep))
	if d := time.Since(begun); !ok || d > time.Minute || strings.Count(string(out), "\n") != strings.Count(deep, "\n") {
		t.Errorf("%v, %s, %d lines", ok, d, strings.Count(string(out), "\n"))
	}
}

// TestJoinedLinesStay: lines that are read as one are given back as they were.
func TestJoinedLinesStay(t *testing.T) {
	r := redactor(t)
	for _, c := range []struct{ name, in, out string }{
		{"/etc/systemd/system/a.service", "[Service]\nExecStart=/usr/bin/test \\\n  -e /x\nType=simple\n",
			"[Service]\nExecStart=/usr/bin/test \\\n  -e /x\nType=simple\n"},
		{"/etc/systemd/system/a.service", "ExecStart=/usr/bin/test \\\n# a remark\n  -e\nType=simple\n",
			"ExecStart=/usr/bin/test \\\n\\\n  -e\nType=simple\n"},
		{"/etc/hosts.allow", "ALL: ALL \\\n", "ALL: ALL \\\n"}, {"/etc/systemd/system/a.service", "Type=simple\\", "Type=simple\\"},
	} {
		if out, ok := r.File(c.name, []byte(c.in)); !ok || string(out) != c.out {
			t.Errorf("%s: %q became %q", c.name, c.in, out)
		}
	}
}
