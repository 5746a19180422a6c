package sosreport

import (
	"archive/tar"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fettle/host"
	"fettle/internal/means"
)

const bootLog = `-- Journal begins at Sun 2026-11-01 00:00:00 UTC, ends at Sun 2026-11-22 11:37:00 UTC. --
Nov 22 11:00:00 a kernel: Linux version 6.1.0
Nov 22 11:00:01 a kernel: I/O error, dev sdb, sector 1 op 0x0:(READ)
Nov 22 11:00:02 a systemd[1]: web.service: Main process exited, code=exited, status=1/FAILURE
-- Subject: Unit process exited
-- Defined-By: systemd
Nov 22 11:00:02 a systemd[1]: web.service: Failed with result 'exit-code'.
Nov 22 11:00:03 a web[7]: cannot bind
`

// TestJournal: the names under which sos 3 and 4 keep the log of this boot.
func TestJournal(t *testing.T) {
	for _, file := range []string{"sos_commands/logs/journalctl_--no-pager_--catalog_--boot", "sos_commands/logs/journalctl_--no-pager_--boot",
		"sos_commands/logs/journalctl_--all_--this-boot_--no-pager", "var/log/syslog", "var/log/messages"} {
		s := made(t, map[string]string{file: bootLog, "sos_commands/date/date_--utc": "Sun Nov 22 11:37:00 UTC 2026\n"})
		j, err := host.New(s).Journal(t.Context())
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if j.Kernel.Err() != nil || len(j.Kernel.Messages) != 1 || len(j.Manager.Messages) != 2 || len(j.Failed.Messages) != 5 ||
			j.Recent.Lines != 5 {
			t.Errorf("%s: %+v", file, j)
		}
		if whole := strings.HasPrefix(file, "sos"); j.Kernel.Cut == whole {
			t.Errorf("%s: cut is %v", file, j.Kernel.Cut)
		}
		if y := j.Kernel.Since.Year(); y != 2026 {
			t.Errorf("%s: year %d", file, y)
		}
	}
}

// TestUnitsOfProcesses: which service a process of the text belongs to is told by
// systemctl show, of services that failed. The names are those of Debian 12's krb5-kdc.
func TestUnitsOfProcesses(t *testing.T) {
	s := made(t, map[string]string{
		"sos_commands/logs/journalctl_--no-pager_--boot": "Nov 22 11:00:00 a krb5kdc[56]: Cannot open DB2 database\nNov 22 11:00:00 a " +
			"krb5kdc[5]: of an earlier run\n" +
			"Nov 22 11:00:00 a kadmind[55]: aborting\nNov 22 11:00:01 a systemd[1]: krb5-kdc.service: Failed with result 'exit-code'.\nNov 22 " +
			"11:00:02 a good[70]: fine\n",
		"sos_commands/systemd/systemctl_list-units_--failed": "  UNIT LOAD ACTIVE SUB DESCRIPTION\n● krb5-admin-server.service loaded " +
			"failed failed Kerberos 5 Admin Server\n● krb5-kdc.service loaded failed failed Kerberos 5 KDC\n",
		"sos_commands/systemd/systemctl_show_service_--all": "Id=good.service\nExecMainPID=70\n\nExecMainPID=0\n" +
			"ExecStart={ path=/usr/sbin/krb5kdc ; argv[]=/usr/sbin/krb5kdc -P /run/krb5-kdc.pid ; ignore_errors=no ; pid=56 ; code=exited ; " +
			"status=1 }\nId=krb5-kdc.service\n\n" +
			"ExecMainPID=55\nId=krb5-admin-server.service\n",
		"sos_commands/date/date_--utc": "Sun Nov 22 11:37:00 UTC 2026\n"})
	j, err := host.New(s).Journal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, m := range j.Failed.Messages {
		got += m.By + "=" + m.Unit + " "
	}
	if want := "krb5kdc=krb5-kdc.service krb5kdc= kadmind=krb5-admin-server.service systemd= good= "; got != want {
		t.Errorf("%s; want %s", got, want)
	}
}

// TestOnlyDmesg: without a log there is the kernel's ring, and nothing is said of the rest.
func TestOnlyDmesg(t *testing.T) {
	s := made(
		t,
		map[string]string{"sos_commands/kernel/dmesg": "[    0.000000] Linux version 6.1.0\n[   12.500000] I/O error, dev sdb, sector 1\n",
			"sos_commands/date/date_--utc": "Sun Nov 22 11:37:00 UTC 2026\n", "proc/stat": "cpu  1 2\nbtime 1795343820\n"},
	)
	j, err := host.New(s).Journal(t.Context())
	if err != nil || j.Kernel.Lines != 2 || j.Kernel.Cut || j.Recent.Err() == nil || j.Failed.Err() == nil {
		t.Fatalf("%v %+v", err, j)
	}
	if at := j.Kernel.Messages[0].Last.Format("15:04:05"); at != "10:37:12" {
		t.Errorf("at %s", at)
	}
	if _, err := host.New(made(t, map[string]string{"sos_commands/kernel/uname_-a": "Linux a 6.1.0\n"})).Journal(t.Context()); err == nil {
		t.Error("a log was read where there is none")
	}
}

// TestLargeJournal: of a log beyond what is read in memory the end counts, from
// a folder and from an archive alike.
func TestLargeJournal(t *testing.T) {
	means.Short(t, "writes 40 MB")
	var b bytes.Buffer
	for i := 0; b.Len() < logTail+(8<<20); i++ {
		fmt.Fprintf(&b, "Nov 22 11:00:00 a app[%d]: request %d took %d ms\n", i, i, i%100)
	}
	b.WriteString("Nov 22 11:30:00 a kernel: I/O error, dev sdb, sector 1\n")
	const name = "sos_commands/logs/journalctl_--no-pager_--boot"
	dir := made(t, map[string]string{name: b.String()})
	file := filepath.Join(t.TempDir(), "report.tar")
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(out)
	w.WriteHeader(&tar.Header{Name: "sosreport/" + name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(b.Len())})
	w.Write(b.Bytes())
	w.Close()
	out.Close()
	packed, err := Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	for _, s := range []*Source{dir, packed} {
		j, err := host.New(s).Journal(t.Context())
		if err != nil || !j.Kernel.Cut || len(j.Kernel.Messages) != 1 || j.Recent.Lines < 500_000 || len(j.Recent.Messages) != 2 {
			t.Errorf("%v: %d lines, %d messages", err, j.Recent.Lines, len(j.Recent.Messages))
		}
	}
}

func TestTroubledUnits(t *testing.T) {
	const failed = `  UNIT         LOAD   ACTIVE SUB    DESCRIPTION
● web.service  loaded failed failed A web server

LOAD   = Reflects whether the unit definition was properly loaded.
1 loaded units listed.
`
	const listed = `  a.service    loaded active running A
  crash.service loaded activating auto-restart It crashes
● web.service  loaded failed failed A web server
`
	const shown = "Type=simple\nId=crash.service\nSubState=auto-restart\nResult=exit-code\n\nId=a.service\nSubState=running\n"
	const web, crash = "web.service loaded failed failed -\n", "crash.service loaded activating auto-restart -\n"
	const dir = "sos_commands/systemd/systemctl_"
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"failed alone":      {map[string]string{dir + "list-units_--failed": failed}, web},
		"all units":         {map[string]string{dir + "list-units": listed}, web + crash},
		"both":              {map[string]string{dir + "list-units_--failed": failed, dir + "list-units_--all": listed}, web + crash},
		"failed and shown":  {map[string]string{dir + "list-units_--failed": failed, dir + "show_service_--all": shown}, web + crash},
		"nothing is listed": {map[string]string{dir + "show_service_--all": shown}, ""},
	} {
		out, err := host.New(made(t, c.files)).Run(t.Context(), "systemctl", host.TroubledUnits...)
		if string(out.Stdout) != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s: %q %v", name, out.Stdout, err)
		}
	}
}
