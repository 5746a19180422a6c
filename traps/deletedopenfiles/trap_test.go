package deletedopenfiles

import (
	"strings"
	"testing"

	"fettle/host/hosttest"
	"fettle/internal/means"
	"fettle/remedy"
	"fettle/remedy/step"
	"fettle/trap"
	"fettle/trap/traptest"
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
		{"program", unit("cron.service", ""), trap.Finding{Subject: "cron.service",
			Facts: trap.FactsOf(facts{Kind: kindProgram, Units: []string{"cron.service"}})}, "unit restart cron.service", "cannot be undone"},
		{"program of a service that can reload", unit("cron.service", "CanReload=yes\n"), trap.Finding{Subject: "cron.service",
			Facts: trap.FactsOf(facts{Kind: kindProgram, Units: []string{"cron.service"}})}, "unit restart cron.service", "cannot be undone"},
		{"may not be started by hand", unit("cron.service", "RefuseManualStart=yes\n"), trap.Finding{Subject: "cron.service",
			Facts: trap.FactsOf(facts{Kind: kindProgram, Units: []string{"cron.service"}})}, "", "RefuseManualStart"},
		{"may not be stopped by hand", unit("cron.service", "RefuseManualStop=yes\n"), trap.Finding{Subject: "cron.service",
			Facts: trap.FactsOf(facts{Kind: kindProgram, Units: []string{"cron.service"}})}, "", "RefuseManualStop"},
		{"changed unit file", unit("cron.service", "NeedDaemonReload=yes\n"), trap.Finding{Subject: "cron.service",
			Facts: trap.FactsOf(facts{Kind: kindProgram, Units: []string{"cron.service"}})}, "unit daemon-reload \nunit restart cron.service", "read first"},
		{"sshd", unit("ssh.service", ""), trap.Finding{Subject: "ssh.service",
			Facts: trap.FactsOf(facts{Kind: kindProgram, Units: []string{"ssh.service"}})}, "unit restart ssh.service", "sshd -t"},
		{"space", unit("a.service b.service", "\nId=b.service\nLoadState=loaded\n"), trap.Finding{Subject: "/var",
			Facts: trap.FactsOf(facts{Kind: kindSpace, Units: []string{"a.service", "b.service"}})}, "unit restart a.service\nunit restart b.service", "gone for good"},
		{"log that is reloaded", unit("app.service", "CanReload=yes\n") + app, trap.Finding{Subject: "/var/log/app.log",
			Facts: trap.FactsOf(facts{Kind: kindLog, Units: []string{"app.service"}})}, "unit reload app.service", "/etc/logrotate.d/app:1"},
		{"log of a service that cannot reload", unit("app.service", "CanReload=no\n") + app, trap.Finding{Subject: "/var/log/app.log",
			Facts: trap.FactsOf(facts{Kind: kindLog, Units: []string{"app.service"}})}, "unit restart app.service", "cannot be undone"},
		{"log that nobody is told of", unit("app.service", "CanReload=yes\n"), trap.Finding{Subject: "/var/log/app.log",
			Facts: trap.FactsOf(facts{Kind: kindLog, Units: []string{"app.service"}})}, "unit restart app.service", "No block of logrotate"},

		{"process 1", "", trap.Finding{Subject: "init.scope", Facts: trap.FactsOf(facts{Kind: kindProgram})}, "", "daemon-reexec"},
		{"D-Bus", unit("dbus.service", ""), trap.Finding{Subject: "dbus.service",
			Facts: trap.FactsOf(facts{Kind: kindProgram, Units: []string{"dbus.service"}})}, "", "reboot"},
		{"console", unit("getty@tty1.service", ""), trap.Finding{Subject: "getty@tty1.service",
			Facts: trap.FactsOf(facts{Kind: kindProgram, Units: []string{"getty@tty1.service"}})}, "", "log out there"},
		{"session", "", trap.Finding{Subject: userSessions, Facts: trap.FactsOf(facts{Kind: kindProgram, Loose: []string{"520 (bash)"}})}, "", "log out and in"},
		{"container", "", trap.Finding{Subject: containers, Facts: trap.FactsOf(facts{Kind: kindProgram, Loose: []string{"540 (web)"}})}, "", "containers"},
		{"no unit", "", trap.Finding{Subject: "/var", Facts: trap.FactsOf(facts{Kind: kindSpace, Loose: []string{"9 (x, descriptor 3)"}})}, "", ": > /proc/PID/fd/N"},
		{"unit file gone", "-- " + show + "x.service --\nId=x.service\nLoadState=not-found\n", trap.Finding{Subject: "x.service",
			Facts: trap.FactsOf(facts{Kind: kindProgram, Units: []string{"x.service"}})}, "", "would only stop it"},
		{"not by hand", unit("x.service", "RefuseManualStop=yes\n"), trap.Finding{Subject: "x.service",
			Facts: trap.FactsOf(facts{Kind: kindProgram, Units: []string{"x.service"}})}, "", "may not be restarted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := Trap.Plan(t.Context(), hosttest.New(t, booted+c.host), c.f)
			var steps []string
			for _, s := range p.Steps {
				u := s.(step.Unit)
				steps = append(steps, "unit "+u.Act+" "+u.Name)
			}
			if got := strings.Join(steps, "\n"); got != c.steps {
				t.Errorf("steps %q, want %q; error %v", got, c.steps, err)
			}
			said := strings.Join(p.Notes, "\n")
			if _, refused := err.(*remedy.Refusal); c.steps == "" && refused {
				said = err.Error()
			}
			if !strings.Contains(said, c.says) {
				t.Errorf("said %q, error %v; want %q in it", said, err, c.says)
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
