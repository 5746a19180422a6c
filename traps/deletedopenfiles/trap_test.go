package deletedopenfiles

import (
	"fmt"
	"strings"
	"testing"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/engine/trap/traptest"
	"fettle/host/hosttest"
	"fettle/internal/means"
	"fettle/traps/deletedopenfiles/steps"
)

func TestGolden(t *testing.T) { traptest.Golden(t, &Trap) }

func TestLore(t *testing.T) {
	a, err := Trap.Lore.Article()
	if err != nil {
		t.Fatal(err)
	}
	if a.ID != "deleted-open-files" || len(a.Symptoms) < 5 || a.Body == "" {
		t.Errorf("%+v", a)
	}
}

const show = "command/systemctl show --property=Id,LoadState,ActiveState,SubState,UnitFileState,FragmentPath,Type,MainPID,CanReload," +
	"RefuseManualStart,RefuseManualStop,NeedDaemonReload -- "

func TestPlan(t *testing.T) {
	booted := "-- stat/run/systemd/system --\ntype dir\n"
	const fss = "-- table/filesystems " +
		"--\n[{\"device\":\"/dev/vda1\",\"mount\":\"/\",\"type\":\"ext4\",\"options\":\"rw\",\"dev\":1,\"size\":20000000000,\"free\":" +
		"9000000000,\"avail\":8000000000,\"files\":1000000,\"ffree\":900000}," +
		"{\"device\":\"/dev/vdb1\",\"mount\":\"/full\",\"type\":\"ext4\",\"options\":\"rw\",\"dev\":2,\"size\":20000000000,\"free\":9000," +
		"\"avail\":8000,\"files\":1000000,\"ffree\":900000}]\n"
	// open is a table of open files; a file is PID, unit, descriptor, path, blocks.
	open := func(files ...string) string {
		return "-- table/openfiles --\n{\"looked\": 9, \"files\": [" + strings.Join(files, ",") + "]}\n"
	}
	file := func(pid int, unit, path string, ino, blocks int) string {
		return fmt.Sprintf(
			`{"pid":%d,"comm":"x","unit":%q,"fd":5,"path":%q,"deleted":true,"write":true,"dev":1,"ino":%d,"size":%d,"blocks":%d}`,
			pid,
			unit,
			path,
			ino,
			blocks*512,
			blocks,
		)
	}
	copied := "copy-out /var/lib/fettle/rescued/20260102-030405/app.service-app.log.7-5\n"
	unit := func(name, more string) string {
		return "-- " + show + name + " --\nId=" + name + "\nLoadState=loaded\nActiveState=active\n" + more
	}
	app := "-- root/etc/logrotate.d/app --\n/var/log/app.log {\n\tpostrotate\n\t\tsystemctl reload app\n\tendscript\n}\n"
	for _, c := range []struct {
		name, host string
		f          trap.Finding
		steps      string // one a line
		says       string // part of the notes or of the refusal
	}{
		{"a deleted log is copied out first", unit("app.service", "") + open(file(7, "app.service", "/var/log/app.log", 3, 8)),
			trap.Finding{Subject: "/var/log/app.log",
				Facts: trap.FactsOf(facts{Kind: kindLog, Units: []string{"app.service"}})}, copied + "unit restart app.service !4 KiB in deleted " +
				"files (/var/log/app.log) is gone then; only the copies in /var/lib/fettle/rescued/20260102-030405 remain", "--with copy=no"},
		{"a reload ends it too", unit("app.service", "CanReload=yes\n") + app + open(file(7, "app.service", "/var/log/app.log", 3, 8)),
			trap.Finding{Subject: "/var/log/app.log",
				Facts: trap.FactsOf(facts{Kind: kindLog, Units: []string{"app.service"}})}, copied + "unit reload app.service !4 KiB in deleted " +
				"files (/var/log/app.log) is gone then; only the " +
				"copies in /var/lib/fettle/rescued/20260102-030405 remain", "between the copy and the reload"},
		{"another holder keeps it", unit("app.service", "") + open(file(7, "app.service", "/var/log/app.log", 3, 8),
			file(8, "tail.service", "/var/log/app.log", 3, 8)), trap.Finding{Subject: "/var/log/app.log",
			Facts: trap.FactsOf(facts{Kind: kindLog, Units: []string{"app.service"}})}, "unit restart app.service", "disconnects its clients"},
		{"two holders, one copy", unit("app.service", "") + open(file(7, "app.service", "/var/log/app.log", 3, 8),
			file(9, "app.service", "/var/log/app.log", 3, 8)), trap.Finding{Subject: "/var/log/app.log",
			Facts: trap.FactsOf(facts{Kind: kindLog, Units: []string{"app.service"}})}, copied + "unit restart app.service !4 KiB in deleted " +
			"files (/var/log/app.log) is gone then; only the copies in /var/lib/fettle/rescued/20260102-030405 remain", ""},
		{"a temporary file of its own", unit("app.service", "") + open(file(7, "app.service", "/tmp/ibX", 3, 8)),
			trap.Finding{Subject: "app.service",
				Facts: trap.FactsOf(facts{Kind: kindProgram, Units: []string{"app.service"}})}, "unit restart app.service", "disconnects its clients"},
		{"a large file of a program", unit("app.service", "") + open(file(7, "app.service", "/srv/db", 3, 1<<20)),
			trap.Finding{Subject: "app.service",
				Facts: trap.FactsOf(facts{Kind: kindProgram, Units: []string{"app.service"}})}, "copy-out /var/lib/fettle/rescued/20260102-030405/" +
				"app.service-db.7-5\nunit restart app.service !512 MiB in deleted files (/srv/db) is gone then; only the copies in " +
				"/var/lib/fettle/rescued/20260102-030405 remain", ""},
		{"no room for a copy", unit("app.service", "") + open(file(7, "app.service", "/srv/db", 3, 1<<24)), trap.Finding{Subject: "app.service",
			Facts: trap.FactsOf(facts{Kind: kindProgram, Units: []string{"app.service"}})}, "", "name another folder (--with copy=/FOLDER), or " +
			"lose the content (--with copy=no)"},
		{"program", unit("cron.service", ""), trap.Finding{Subject: "cron.service",
			Facts: trap.FactsOf(facts{Kind: kindProgram, Units: []string{"cron.service"}})}, "unit restart cron.service", "disconnects its clients"},
		{"program of a service that can reload", unit("cron.service", "CanReload=yes\n"), trap.Finding{Subject: "cron.service",
			Facts: trap.FactsOf(facts{Kind: kindProgram, Units: []string{"cron.service"}})}, "unit restart cron.service", "disconnects its clients"},
		{"may not be started by hand", unit("cron.service", "RefuseManualStart=yes\n"), trap.Finding{Subject: "cron.service",
			Facts: trap.FactsOf(facts{Kind: kindProgram, Units: []string{"cron.service"}})}, "", "RefuseManualStart"},
		{"may not be stopped by hand", unit("cron.service", "RefuseManualStop=yes\n"), trap.Finding{Subject: "cron.service",
			Facts: trap.FactsOf(facts{Kind: kindProgram, Units: []string{"cron.service"}})}, "", "RefuseManualStop"},
		{"changed unit file", unit("cron.service", "NeedDaemonReload=yes\n"), trap.Finding{Subject: "cron.service",
			Facts: trap.FactsOf(facts{Kind: kindProgram, Units: []string{"cron.service"}})}, "unit daemon-reload \nunit restart cron.service",
			"read first"},
		{"sshd", unit("ssh.service", ""), trap.Finding{Subject: "ssh.service",
			Facts: trap.FactsOf(facts{Kind: kindProgram, Units: []string{"ssh.service"}})}, "unit restart ssh.service", "sshd -t"},
		{"space", unit("a.service b.service", "\nId=b.service\nLoadState=loaded\n"), trap.Finding{Subject: "/var",
			Facts: trap.FactsOf(facts{Kind: kindSpace, Units: []string{"a.service", "b.service"}})},
			"unit restart a.service\nunit restart b.service", "disconnects its clients"},
		{"log that is reloaded", unit("app.service", "CanReload=yes\n") + app, trap.Finding{Subject: "/var/log/app.log",
			Facts: trap.FactsOf(facts{Kind: kindLog, Units: []string{"app.service"}})}, "unit reload app.service", "/etc/logrotate.d/app:1"},
		{"log of a service that cannot reload", unit("app.service", "CanReload=no\n") + app, trap.Finding{Subject: "/var/log/app.log",
			Facts: trap.FactsOf(facts{Kind: kindLog, Units: []string{"app.service"}})}, "unit restart app.service", "disconnects its clients"},
		{"log that nobody is told of", unit("app.service", "CanReload=yes\n"), trap.Finding{Subject: "/var/log/app.log",
			Facts: trap.FactsOf(facts{Kind: kindLog, Units: []string{"app.service"}})}, "unit restart app.service", "No block of logrotate"},

		{"process 1", "", trap.Finding{Subject: "init.scope", Facts: trap.FactsOf(facts{Kind: kindProgram})}, "", "daemon-reexec"},
		{"D-Bus", unit("dbus.service", ""), trap.Finding{Subject: "dbus.service",
			Facts: trap.FactsOf(facts{Kind: kindProgram, Units: []string{"dbus.service"}})}, "", "reboot"},
		{"console", unit("getty@tty1.service", ""), trap.Finding{Subject: "getty@tty1.service",
			Facts: trap.FactsOf(facts{Kind: kindProgram, Units: []string{"getty@tty1.service"}})}, "", "log out there"},
		{"session", "", trap.Finding{Subject: userSessions, Facts: trap.FactsOf(facts{Kind: kindProgram, Loose: []string{"520 (bash)"}})},
			"", "log out and in"},
		{"container", "", trap.Finding{Subject: containers, Facts: trap.FactsOf(facts{Kind: kindProgram, Loose: []string{"540 (web)"}})},
			"", "containers"},
		{"no unit", "", trap.Finding{Subject: "/var", Facts: trap.FactsOf(facts{Kind: kindSpace, Loose: []string{"9 (x, descriptor 3)"}})},
			"", ": > /proc/PID/fd/N"},
		{"unit file gone", "-- " + show + "x.service --\nId=x.service\nLoadState=not-found\n", trap.Finding{Subject: "x.service",
			Facts: trap.FactsOf(facts{Kind: kindProgram, Units: []string{"x.service"}})}, "", "would only stop it"},
		{"not by hand", unit("x.service", "RefuseManualStop=yes\n"), trap.Finding{Subject: "x.service",
			Facts: trap.FactsOf(facts{Kind: kindProgram, Units: []string{"x.service"}})}, "", "may not be restarted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := booted + c.host
			if !strings.Contains(text, "table/openfiles") {
				text += open()
			}
			p, err := Trap.Plan(t.Context(), hosttest.New(t, text+fss), c.f)
			var steps []string
			for _, s := range p.Steps {
				steps = append(steps, said(s))
			}
			if got := strings.Join(steps, "\n"); got != c.steps {
				t.Errorf("steps %q, want %q; error %v", got, c.steps, err)
			}
			notes := strings.Join(p.Notes, "\n")
			if _, refused := err.(*remedy.Refusal); c.steps == "" && refused {
				notes = err.Error()
			}
			if !strings.Contains(notes, c.says) {
				t.Errorf("said %q, error %v; want %q in it", notes, err, c.says)
			}
		})
	}
	t.Run("no systemd", func(t *testing.T) {
		_, err := Trap.Plan(t.Context(), hosttest.New(t, ""), trap.Finding{Subject: "x.service",
			Facts: trap.FactsOf(facts{Kind: kindProgram, Units: []string{"x.service"}})})
		if _, ok := err.(*remedy.Refusal); !ok {
			t.Errorf("want a refusal, got %v", err)
		}
	})
}

// said is a step in a line; what it destroys stands after a "!".
func said(s step.Step) string {
	switch s := s.(type) {
	case steps.CopyOut:
		return "copy-out " + s.To
	case step.Unit:
		out := "unit " + s.Act + " " + s.Name
		if s.Destroys != "" {
			out += " !" + s.Destroys
		}
		return out
	}
	return s.Describe()
}

// The admin may name another folder, or do without.
func TestCopyChoice(t *testing.T) {
	const host = "-- stat/run/systemd/system --\ntype dir\n-- " + show + "app.service --\nId=app.service\nLoadState=loaded\n" +
		"-- table/filesystems " +
		"--\n[{\"device\":\"/dev/vda1\",\"mount\":\"/\",\"type\":\"ext4\",\"options\":\"rw\",\"dev\":1,\"size\":20000000000,\"free\":" +
		"9000000000,\"avail\":8000000000,\"files\":1,\"ffree\":1}]\n" +
		"-- table/openfiles --\n{\"looked\": 9, \"files\": " +
		"[{\"pid\":7,\"comm\":\"x\",\"unit\":\"app.service\",\"fd\":5,\"path\":\"/var/log/a " +
		"b.log\",\"deleted\":true,\"write\":true,\"dev\":1,\"ino\":3,\"size\":4096,\"blocks\":8}]}\n"
	for choice, want := range map[string]string{
		"copy=no": "unit restart app.service !4 KiB in deleted files (/var/log/a b.log) is gone then, and there is no copy",
		"copy=/mnt/usb": "copy-out /mnt/usb/app.service-a_b.log.7-5\nunit restart app.service !4 KiB in deleted files (/var/log/a b.log) is " +
			"gone then; only the copies in /mnt/usb remain",
		"copy=usb": "error --with copy=usb: expected the absolute path of a folder, or no",
	} {
		f, err := Trap.Choose(
			trap.Finding{Subject: "/var/log/a b.log", Facts: trap.FactsOf(facts{Kind: kindLog, Units: []string{"app.service"}})},
			[]string{choice},
		)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Trap.Plan(t.Context(), hosttest.New(t, host), f)
		var got []string
		for _, s := range p.Steps {
			got = append(got, said(s))
		}
		if err != nil {
			got = append(got, "error "+err.Error())
		}
		if strings.Join(got, "\n") != want {
			t.Errorf("%s:\n%s\nwant\n%s", choice, strings.Join(got, "\n"), want)
		}
	}
}

func TestLogrotate(t *testing.T) {
	blocks := parseLogrotate("f", `weekly
include /etc/logrotate.d
# /var/log/comment {
/var/log/a.log /var/log/"b".log
"/var/log/c d.log"
{
	prerotate
		echo HUP }
	endscript
	postrotate
		/usr/lib/rsyslog/rsyslog-rotate
	endscript
}
/var/log/t/*.log { copytruncate }
/var/log/u.log {
	daily
}
`)
	var got []string
	for _, b := range blocks {
		got = append(got, b.where()+" "+strings.Join(b.patterns, ",")+" "+b.says())
	}
	want := "f:4 /var/log/a.log,/var/log/b.log,/var/log/c d.log postrotate /usr/lib/rsyslog/rsyslog-rotate\n" +
		"f:14 /var/log/t/*.log copytruncate\nf:15 /var/log/u.log no postrotate, no copytruncate"
	if s := strings.Join(got, "\n"); s != want {
		t.Errorf("got\n%s\nwant\n%s", s, want)
	}
	if !blocks[0].reloads() || blocks[2].reloads() || blocks[1].silent() {
		t.Error("reloads or silent is wrong")
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzLogrotate(f *testing.F) {
	f.Add("/var/log/a {\npostrotate\nx\nendscript\n}\n")
	f.Add("}\n{\nendscript\n/x {}\n\"/a b\" {")
	f.Add("/x\n{ daily }\n/y { postrotate")
	f.Fuzz(func(t *testing.T, s string) {
		for _, b := range parseLogrotate("f", s) {
			if len(b.patterns) == 0 {
				t.Errorf("a block without patterns: %q", s)
			}
		}
	})
}
