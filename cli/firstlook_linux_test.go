package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fettle/engine/run"
	"fettle/internal/means"
	"fettle/why/firstlook"
)

// TestFirstLookAsksAConfinedChild: questions about this host go to a copy of fettle that can read
// and no more, and come back.
func TestFirstLookAsksAConfinedChild(t *testing.T) {
	a := evilApp()
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]string{name + "-not": "other hosts", name: "journal"} {
		var here firstlook.Here
		q := firstlook.Question{Hosts: []string{host}, Claims: []firstlook.Claim{{By: "nobody-at-all", Text: "a line that no journal has"}}}
		if err := a.Ask(t.Context(), run.Target{}, "first-look", q, &here); err != nil {
			if strings.Contains(err.Error(), "no confined process") {
				means.Missing(t, err.Error())
			}
			t.Fatal(err)
		}
		if here.Own || !strings.Contains(here.Reason, want) {
			t.Errorf("%s: %+v", host, here)
		}
	}
	if err := a.Ask(t.Context(), run.Target{}, "no such question", nil, new(firstlook.Here)); err == nil {
		t.Error("an unknown question was answered")
	}
}

// TestFirstLookOnARealJournal: journalctl's own output, of a journal that systemd wrote, is this host's
// own log: what it names is looked up, and what the days before did not have is new. The same log
// under another host's name is not.
func TestFirstLookOnARealJournal(t *testing.T) {
	if !means.Inside(t, syscall.CLONE_NEWNS, 90*time.Second) {
		return
	}
	log := ownJournal(t)
	name, _ := os.Hostname()
	for host, wants := range map[string][]string{
		name:        {"This host now:\n", "65321: nothing listens on this TCP port now", "new: not in the 7 days before"},
		"no" + name: {"not compared with this host's journal: it has lines of other hosts"},
	} {
		var out bytes.Buffer
		text := strings.ReplaceAll(log, " "+name+" ", " "+host+" ")
		code := MainWith(EvilTraps(), []string{"why", "--since", "7"}, strings.NewReader(text), &out, &out)
		for _, w := range wants {
			if !strings.Contains(out.String(), w) {
				t.Errorf("%s: no %q in\n%s", host, w, &out)
			}
		}
		if code != 1 || host != name && strings.Contains(out.String(), "This host") || strings.Count(out.String(), "new: not") > 1 {
			t.Errorf("%s: status %d:\n%s", host, code, &out)
		}
	}
}

// TestWhyOfAUnit: the unit's log is read from a journal that systemd wrote, of this boot, from the
// time that is asked for, under whatever name the host had; what the days before did not have is
// new. Without a journal, without its lines and without the rights to read it, nothing is guessed.
func TestWhyOfAUnit(t *testing.T) {
	if !means.Inside(t, syscall.CLONE_NEWNS, 90*time.Second) {
		return
	}
	ownJournal(t)
	for _, c := range []struct {
		args []string
		code int
		has  []string
		not  string
	}{
		{[]string{"why", "--unit", "frobd"}, 1, []string{"What stands out in 2 lines", "frobd, 1 time", "new: not in the 7 days before",
			"This host now:\n", "65321: nothing listens on this TCP port now"}, "65322"},
		{[]string{"why", "-u", "frobd.service", "--since", "-55s"}, 1, []string{"What stands out in 1 line", "the worker was killed"}, "65321"},
		{[]string{"why", "-u", "frobd", "--since", "-1s"}, 2, []string{"has nothing of frobd.service since 20"}, "No known trap"},
		{[]string{"why", "-u", "other"}, 2, []string{"the journal of this boot has nothing of other.service"}, "No known trap"},
	} {
		var out bytes.Buffer
		code := MainWith(EvilTraps(), c.args, strings.NewReader("not read"), &out, &out)
		for _, w := range c.has {
			if !strings.Contains(out.String(), w) {
				t.Errorf("%q: no %q in\n%s", c.args, w, &out)
			}
		}
		if code != c.code || strings.Contains(out.String(), c.not) {
			t.Errorf("%q: status %d:\n%s", c.args, code, &out)
		}
	}
	if err := os.RemoveAll("/run/log/journal"); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if code := MainWith(EvilTraps(), []string{"why", "-u", "frobd"}, strings.NewReader(""), &out, &out); code != 2 ||
		!strings.Contains(out.String(), "there is no journal of this boot") {
		t.Errorf("without a journal: status %d:\n%s", code, &out)
	}
}

// ownJournal makes this namespace's journal: one message of yesterday's boot, its like and another
// one of this boot, which is what journalctl prints.
func ownJournal(t *testing.T) string {
	t.Helper()
	remote := ""
	for _, p := range []string{"/usr/lib/systemd/systemd-journal-remote", "/lib/systemd/systemd-journal-remote"} {
		if _, err := os.Stat(p); err == nil {
			remote = p
		}
	}
	machine, err := os.ReadFile("/etc/machine-id")
	if remote == "" || err != nil {
		means.Missing(t, "systemd-journal-remote, and a machine id")
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", "/run", "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	id := strings.TrimSpace(string(machine))
	dir := filepath.Join("/run/log/journal", id)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	name, _ := os.Hostname()
	var export strings.Builder
	now := time.Now().Unix()
	for i, e := range []struct {
		at         int64
		boot, text string
	}{
		{now - 90000, strings.Repeat("a", 32), "bind() to 0.0.0.0:65322 failed (98: Address already in use)"},
		{now - 60, strings.ReplaceAll(strings.TrimSpace(string(boot)), "-", ""), "bind() to 0.0.0.0:65321 failed (98: Address already in use)"},
		{now - 50, strings.ReplaceAll(strings.TrimSpace(string(boot)), "-", ""), "the worker was killed"},
	} {
		fmt.Fprintf(&export, "__CURSOR=s=%s;i=%d\n__REALTIME_TIMESTAMP=%d000000\n__MONOTONIC_TIMESTAMP=%d000000\n_BOOT_ID=%s\n"+
			"_MACHINE_ID=%s\n_HOSTNAME=%s\nPRIORITY=3\nSYSLOG_IDENTIFIER=frobd\n_SYSTEMD_UNIT=frobd.service\nMESSAGE=%s\n_TRANSPORT=syslog\n\n",
			id, i+1, e.at, i+1, e.boot, id, name, e.text)
	}
	cmd := exec.CommandContext(t.Context(), remote, "-o", filepath.Join(dir, "remote.journal"), "-")
	cmd.Stdin = strings.NewReader(export.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), "journalctl", "-b", "--no-pager").Output()
	if err != nil || !strings.Contains(string(out), "the worker was killed") {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}
