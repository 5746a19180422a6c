package supportconfig

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// laid is what the sections of one text file give.
func laid(name, text string, whole bool) *layout {
	l := newLayout()
	l.whole = whole
	for _, s := range sections(text) {
		l.add(name, s)
	}
	l.finish()
	return l
}

// TestLaidOut: which files a text file gives, globs of which all was taken, and what was not there.
func TestLaidOut(t *testing.T) {
	const conf, log, command = "#==[ Configuration File ]===#\n# ", "#==[ Log File ]===#\n# ", "#==[ Command ]===#\n# "
	const dmesg, messages = "/sos_commands/kernel/dmesg", "/var/log/messages"
	for _, c := range []struct {
		name, in, text string
		cut            bool // its beginning was not read
		files          map[string]string
		looked, absent []string
	}{
		{name: "a file and the empty lines after it",
			text: conf + "/etc/fstab\na\n\nb\n\n\n", files: map[string]string{"/etc/fstab": "a\n\nb\n"}},
		{name: "an empty file", text: conf + "/etc/fstab\n\n", files: map[string]string{"/etc/fstab": ""}},
		{name: "the longer of two", text: conf + "/etc/fstab\na\n" + conf + "/etc/fstab\na\nb\n" + conf + "/etc/fstab\nc\n",
			files: map[string]string{"/etc/fstab": "a\nb\n"}},
		{name: "the first of two that are as long", text: conf + "/etc/fstab\na\n" + conf + "/etc/fstab\nb\n",
			files: map[string]string{"/etc/fstab": "a\n"}},
		{name: "the last lines of a log beside the whole", text: log + messages + "\na\n" + log + messages + " - Last 500 Lines\nbb\ncc\n",
			files: map[string]string{messages: "a\n"}},
		{name: "the last lines of a log",
			text: log + messages + " - Last 500 Lines\nbb\n", files: map[string]string{messages: "bb\n"}},
		{name: "what was not there", text: conf + "/etc/mdadm.conf - File not found\n" + conf + "/etc/cron.d/* - File not found\n",
			looked: []string{"/etc/cron.d/*"}, absent: []string{"/etc/mdadm.conf"}},
		{name: "one of a folder", text: conf + "/etc/sysctl.d/a.conf\nx\n", files: map[string]string{"/etc/sysctl.d/a.conf": "x\n"},
			looked: []string{"/etc/sysctl.d/*.conf"}},
		{name: "a log in such a folder", text: log + "/etc/cron.d/a\nx\n", files: map[string]string{"/etc/cron.d/a": "x\n"}},
		{name: "all of /etc", in: "etc.txt", text: conf + "/etc/a.conf\nx\n" + conf + "/etc/b.conf\ny\n",
			files:  map[string]string{"/etc/a.conf": "x\n", "/etc/b.conf": "y\n"},
			looked: []string{"/etc/*.conf", "/etc/*/*.conf", "/etc/*/*/*.conf"}},
		{name: "all of /etc, cut", in: "etc.txt", cut: true, text: conf + "/etc/a.conf\nx\n", files: map[string]string{"/etc/a.conf": "x\n"}},
		{name: "a command", text: command + "/usr/bin/dmesg\na\n", files: map[string]string{dmesg: "a\n"}},
		{name: "the first of two", text: command + "/bin/dmesg\na\n" + command + "/bin/dmesg\nb\n", files: map[string]string{dmesg: "a\n"}},
		{name: "options that change nothing",
			text:  command + "/usr/bin/systemctl --no-pager --full 'list-unit-files' 2>&1\na\n",
			files: map[string]string{"/sos_commands/systemd/systemctl_list-unit-files": "a\n"}},
		{name: "sorted", text: command + "/sbin/lsmod | sort\na\n", files: map[string]string{"/sos_commands/kernel/lsmod": "a\n"}},
		{name: "filtered", text: command + "/sbin/lsmod | grep a\na\n"},
		{name: "no command at all", text: command + "--full\na\n"},
		{name: "one that was not there", text: command + "/bin/dmesg\nERROR: Command not found or not executable\n"},
		{name: "one that took too long", text: command + "/bin/dmesg\na\n# ERROR: Command did not complete within the timeout period.\n"},
		{name: "units' properties", text: command + "/bin/systemctl show a.service\nId=a\n\n" + command + "/bin/systemctl show b.service\nId=b\n",
			files: map[string]string{"/sos_commands/systemd/systemctl_show_service_--all": "Id=a\n\nId=b\n"}},
		{name: "systemctl itself", text: command + "/bin/systemctl show\nVersion=1\n"},
		{name: "the journal's last lines",
			text: command + "/usr/bin/journalctl --no-pager --lines=500\na\n", files: map[string]string{messages: "a\n"}},
		{name: "the journal", text: command + "/usr/bin/journalctl\na\n", files: map[string]string{messages: "a\n"}},
		{name: "the journal of this start", text: command + "/usr/bin/journalctl --boot=0\na\n",
			files: map[string]string{"/sos_commands/logs/journalctl_--no-pager_--boot": "a\n"}},
		{name: "the end of the journal of this start", cut: true, text: command + "/usr/bin/journalctl --boot=0\na\n",
			files: map[string]string{messages: "a\n"}},
		{name: "journalctl's other words", text: command + "/usr/bin/journalctl --disk-usage\na\n"},
		{name: "a clock that says UTC", text: command + "/usr/bin/timedatectl\n  Universal time: Thu\n", files: map[string]string{
			"/sos_commands/systemd/timedatectl": "  Universal time: Thu\n", "/sos_commands/date/date_--utc": "  Universal time: Thu\n"}},
		{name: "a clock that does not",
			text: command + "/usr/bin/timedatectl\nx\n", files: map[string]string{"/sos_commands/systemd/timedatectl": "x\n"}},
		{name: "a heading that is not at a line's beginning", text: conf + "/etc/fstab\na #==[ Command ]==#\n# /bin/dmesg\n",
			files: map[string]string{"/etc/fstab": "a #==[ Command ]==#\n# /bin/dmesg\n"}},
		{name: "a section without a label", text: "#==[ Command ]==#\n/bin/dmesg\na\n"},
	} {
		l := laid(c.in, c.text, !c.cut)
		files := map[string]string{}
		for name, b := range l.files {
			files[name] = string(b)
		}
		absent := slices.Sorted(maps.Keys(l.absent))
		if !maps.Equal(files, c.files) || !slices.Equal(l.looked, c.looked) || !slices.Equal(absent, c.absent) {
			t.Errorf("%s:\n%q, looked for all of %q, absent %q\nwant %q, %q, %q", c.name, files, l.looked, absent, c.files, c.looked, c.absent)
		}
	}
}

// TestOnHost: only a path in a folder that hosts have is one of the host.
func TestOnHost(t *testing.T) {
	long := "/etc/" + strings.Repeat("a", 4096-len("/etc/"))
	for label, want := range map[string]string{
		"/etc/fstab": "/etc/fstab", "/etc//ssh/../fstab": "/etc/fstab", "/srv/a": "/srv/a", long: long, long + "a": "",
		"etc/fstab": "", "/etc": "", "/": "", "/home/a": "", "/etc/../home/a": "",
		"/etc/a*": "", "/etc/a?": "", "/etc/[a]": "", "/etc/a\x00b": "",
	} {
		if got, ok := onHost(label); got != want && ok || ok != (want != "") {
			t.Errorf("%.40q: %.40q, %v", label, got, ok)
		}
	}
}

// TestOpen: what is no supportconfig is refused by name; a text file that cannot be read hides no other one.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(t.Context(), filepath.Join(dir, "gone")); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Error(err)
	}
	if _, err := Open(t.Context(), dir); err == nil || !strings.Contains(err.Error(), dir+": not a supportconfig (no basic-environment.txt)") {
		t.Error(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "basic-environment.txt"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), dir); err == nil {
		t.Error("a folder was taken for the basic environment")
	}
	dir = unpacked(t)
	if err := os.Symlink("nothing", filepath.Join(dir, "aaa.txt")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "aab.log"), []byte("#==[ Command ]==#\n# /bin/hostname\nother\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := opened(t, dir).Identity().Hostname; got != "db7" {
		t.Errorf("host name %q", got)
	}
}
