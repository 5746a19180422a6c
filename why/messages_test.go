package why

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fettle/engine/message"
	"fettle/internal/means"
)

// forms are how logs write a line; each is given who says what.
var forms = map[string]func(by, text string) string{
	"bare":          func(_, text string) string { return text },
	"syslog":        func(by, text string) string { return "Jan  2 03:04:05 web1 " + tag(by) + text },
	"RFC 5424":      func(by, text string) string { return "<13>1 2026-01-02T03:04:05.1Z web1 " + by + " 9 - - " + text },
	"short-iso":     func(by, text string) string { return "2026-01-02T03:04:05+0000 web1 " + tag(by) + text },
	"short-precise": func(by, text string) string { return "Jan 02 03:04:05.123456 web1 " + tag(by) + text },
	"docker":        func(_, text string) string { return "2026-01-02T03:04:05.123456789Z " + text },
	"colours": func(by, text string) string {
		return "Jan 02 03:04:05 web1 " + tag(by) + "\x1b[0;1;31m" + text[:9] + "\x1b[0m" + text[9:]
	},
	"CRLF":  func(by, text string) string { return "Jan 02 03:04:05 web1 " + tag(by) + text + "\r" },
	"forum": func(by, text string) string { return "| > Jan 02 03:04:05 web1 " + tag(by) + text },
	"json": func(by, text string) string {
		b, _ := json.Marshal(map[string]string{"MESSAGE": text, "SYSLOG_IDENTIFIER": by, "_HOSTNAME": "web1"})
		return string(b)
	},
	"json with bytes": func(by, text string) string {
		b, _ := json.Marshal(map[string]any{"MESSAGE": numbers8("\x1b[31m" + text), "SYSLOG_IDENTIFIER": by})
		return string(b)
	},
	"dmesg": func(by, text string) string {
		if by == "kernel" {
			return "[   12.345678] " + text
		}
		return "[   12.345678] web1 " + by + "[9]: " + text // journalctl's short-monotonic
	},
	"dmesg -T": func(by, text string) string {
		if by == "kernel" {
			return "[Fri Jan  2 03:04:05 2026] " + text
		}
		return text
	},
	"export": func(by, text string) string {
		return "__CURSOR=s=1\n_HOSTNAME=web1\nSYSLOG_IDENTIFIER=" + by + "\nMESSAGE=" + text + "\n"
	},
}

func numbers8(s string) []int {
	var out []int
	for i := range len(s) {
		out = append(out, int(s[i]))
	}
	return out
}

func tag(by string) string {
	if by == "kernel" {
		return "kernel: "
	}
	return by + "[9]: "
}

// neutral are lines of a real journal in which nothing is wrong.
func neutral(t testing.TB) []string {
	t.Helper()
	b, err := os.ReadFile("testdata/healthy/debian12-boot.log")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}

// verdict are the traps that a text names, with their scores.
func verdict(t testing.TB, x *Index, text string) string {
	t.Helper()
	ranked, err := x.Rank(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range ranked {
		if m.Score >= Threshold {
			out = append(out, fmt.Sprintf("%s %.2f", m.Trap, m.Score))
		}
	}
	return strings.Join(out, ", ")
}

// sayer is a name that the one who says it may have in a log.
func sayer(m message.Message) string {
	if strings.Contains(m.Says, " ") || strings.Contains(m.Says, "/") {
		return "app"
	}
	return m.Says
}

// sourced is a since that says where the words were read: a file, a man page, a site, or in which
// program or thread they were seen.
var sourced = regexp.MustCompile(`\w\.[a-z]\w*|man \w|as quoted in|seen (with|on)|read in|RFC \d`)

// TestMessagesHaveSources lists the messages of which nobody can check whether they are printed so: each
// has a version, and where its words were read.
func TestMessagesHaveSources(t *testing.T) {
	for _, a := range articles(t) {
		for _, m := range a.Messages {
			if !strings.ContainsAny(m.Since, "0123456789") || !sourced.MatchString(m.Since) {
				t.Errorf("%s: %q of %s: since %q has no version, or not where it was read", a.ID, m.Text, m.Says, m.Since)
			}
		}
	}
}

// TestEveryMessageAnywhere: what a message says does not depend on the lines around it,
// and not on the form of the log.
func TestEveryMessageAnywhere(t *testing.T) {
	means.Short(t, "takes seconds")
	x := testIndex(t)
	lines := neutral(t)
	if got := verdict(t, x, strings.Join(lines, "\n")); got != "" {
		t.Fatalf("the neutral lines say %s", got)
	}
	hay := strings.Join(slices.Repeat(lines, 2)[:220], "\n") + "\n"
	few := strings.Join(lines[:24], "\n") + "\n"
	named := 0
	for _, a := range articles(t) {
		for _, m := range a.Messages {
			want := verdict(t, x, m.Sample())
			if !m.Harmless && !strings.Contains(want, a.ID+" ") {
				t.Errorf("%s: %q alone says %q", a.ID, m.Sample(), want)
			}
			named++
			for name, form := range forms {
				line := form(sayer(m), m.Sample()) + "\n"
				sizes := map[string]string{"alone": line}
				switch name {
				case "syslog", "json", "bare":
					sizes["among 24"], sizes["among 220"], sizes["twice"] = few+line, hay+line+few, line+line
				case "export":
					sizes["twice"] = line + "\n" + line
				default:
					sizes["among 24"] = line + few
				}
				for size, text := range sizes {
					if got := verdict(t, x, text); got != want {
						t.Errorf("%s, %s, %s: %q says %q, alone %q", a.ID, name, size, line, got, want)
					}
				}
			}
		}
	}
	t.Logf("%d messages", named)
}

// TestAmongMany: in a log of 100,000 lines, and wherever in it, each line says what it
// says alone.
func TestAmongMany(t *testing.T) {
	x := testIndex(t)
	lines := neutral(t)
	hay := strings.Join(slices.Repeat(lines, 100_000/len(lines)/2+1), "\n") + "\n"
	n := 0
	for _, a := range articles(t) {
		for _, m := range a.Messages {
			if n++; n%40 != 0 {
				continue
			}
			line := forms["syslog"](sayer(m), m.Sample()) + "\n"
			want := verdict(t, x, line)
			if got := verdict(t, x, hay+line+hay); got != want {
				t.Errorf("%q says %q, alone %q", line, got, want)
			}
		}
	}
}

// TestNeighbours: messages that resemble each other, and what each is called.
func TestNeighbours(t *testing.T) {
	x := testIndex(t)
	for line, want := range map[string]string{
		// a disk, a member of an array, the array, a loop device, what has no medium
		"blk_update_request: I/O error, dev sda, sector 12 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 0": "kernel-complaints",
		"blk_update_request: I/O error, dev loop11, sector 0 op 0x1:(WRITE) flags 0x800 phys_seg 0":         "kernel-complaints",
		"blk_update_request: I/O error, dev md0, sector 12":                                                 "mdadm-bad-blocks",
		"blk_update_request: I/O error, dev fd0, sector 0":                                                  "",
		"Buffer I/O error on dev sr0, logical block 0, async page read":                                     "",
		"critical target error, dev sdc, sector 2048 op 0x3:(DISCARD) flags 0x800 phys_seg 1 prio class 0":  "",
		"md/raid1:md0: Disk failure on sdb1, disabling device.":                                             "raid-degraded",
		"md/raid1:md0: sda1: unrecoverable I/O read error for block 12":                                     "raid-check-never-run",
		"md/raid1:md0: read error corrected (8 sectors at 12 on sdb1)":                                      "mdadm-bad-blocks",
		"mdadm[812]: DegradedArray event detected on md device /dev/md0":                                    "raid-degraded",
		"mdadm[812]: Fail event detected on md device /dev/md0, component device /dev/sdb1":                 "raid-degraded",
		"State : clean, degraded": "raid-degraded",
		"State : clean":           "",
		"mdadm[812]: RebuildFinished event detected on md device /dev/md0": "",
		// blocked tasks
		"INFO: task nfsd:432 blocked for more than 120 seconds.":        "kernel-complaints",
		"INFO: task sync:432 blocked for more than 120 seconds.":        "kernel-complaints",
		"INFO: task kworker/u8:3:12 blocked for more than 241 seconds.": "kernel-complaints",
		"nfs: server filer not responding, still trying":                "kernel-complaints",
		"nfs: server filer not responding, timed out":                   "nfs-soft-mount",
		"nfs: server filer OK":                                          "",
		// memory
		"Out of memory: Kill process 4711 (java) score 905 or sacrifice child":                "kernel-complaints",
		"Out of memory: Killed process 4711 (java) total-vm:8123456kB, anon-rss:4123456kB":    "kernel-complaints",
		"Memory cgroup out of memory: Kill process 4711 (java) score 1000 or sacrifice child": "cgroup-memory-kills",
		"Memory cgroup out of memory: Killed process 4711 (java) total-vm:8123kB":             "cgroup-memory-kills",
		"Task in /docker/0a1b killed as a result of limit of /docker/0a1b":                    "cgroup-memory-kills",
		"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0":        "cgroup-memory-kills",
		"oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0":         "",
		// no space, of different things
		"cp: error writing '/srv/x': No space left on device":                                 "deleted-open-files",
		"inotify_add_watch(7, /dev/sda1, 10) failed: No space left on device":                 "inotify-instances-few",
		"Failed to add /run/systemd/ask-password to directory watch: No space left on device": "inotify-instances-few",
		"Error: ENOSPC: System limit for number of file watchers reached, watch '/srv/app'":   "inotify-instances-few",
		"Failed to watch /srv; upper limit on inotify watches reached!":                       "inotify-instances-few",
		"cp: error writing '/boot/initrd.img-6.1.0-30-amd64.new': No space left on device":    "boot-full",
		// links
		"br0: mtu less than device minimum":                  "",
		"ata3: SATA link down (SStatus 0 SControl 300)":      "",
		"igb 0000:01:00.0 eno1: igb: eno1 NIC Link is Down":  "kernel-complaints",
		"e1000: eth0 NIC Link is Down":                       "kernel-complaints",
		"netxen_nic: eth0 NIC Link is down":                  "kernel-complaints",
		"eth0: Link is Up - 100Mbps/Half - flow control off": "nic-half-duplex",
		"eth0: Link is Up - 1Gbps/Full - flow control off":   "",
		// units
		"systemd[1]: nginx.service: Failed with result 'exit-code'.":                  "units-failed",
		"systemd[1]: nginx.service: Scheduled restart job, restart counter is at 12.": "unit-restart-loop",
		"systemd[1]: Failed to start nginx.service - A high performance web server.":  "units-failed",
		"systemd[1]: nginx.service: Scheduled restart job, restart counter is at 1.":  "",
		"systemd[1]: nginx.service: Deactivated successfully.":                        "",
		"systemd[1]: Timed out waiting for device /dev/mapper/crypt-data.":            "device-timeout-at-boot",
		"systemd[1]: Dependency failed for Local File Systems.":                       "fstab-without-nofail",
		"systemd[1]: Dependency failed for Availability of block devices.":            "",
		`Welcome to emergency mode! After logging in, type "journalctl -xb" to view`:  "fstab-without-nofail",
		`You are in emergency mode. After logging in, type "journalctl -xb" to view`:  "fstab-without-nofail",
		// what dpkg says in two lines
		"dpkg-divert: error: rename involves overwriting '/usr/bin/dpkg' with": "installer-sync",
		"dpkg-divert: rename involves overwriting `/usr/bin/dpkg' with":        "installer-sync",
		// clocks
		"tsc: Marking TSC unstable due to clocksource watchdog": "clocksource-slow",
		"clocksource: Switched to clocksource tsc":              "",
		// AppArmor
		`audit: type=1400 audit(1.2:3): apparmor="DENIED" operation="open" profile="x"`:  "apparmor-denials",
		`audit: type=1400 audit(1.2:3): apparmor="STATUS" operation="profile_load"`:      "",
		`audit: type=1400 audit(1.2:3): apparmor="ALLOWED" operation="open" profile="x"`: "",
		// switches in files
		`APT::Periodic::Unattended-Upgrade "0";`: "unattended-upgrades-idle",
		`APT::Periodic::Unattended-Upgrade "1";`: "",
		"-- No entries --":                       "",
	} {
		got, err := x.Find(strings.NewReader(line))
		first := ""
		if len(got) > 0 {
			first = got[0].Trap
		}
		if err != nil || first != want {
			t.Errorf("%q: %q, want %q; %v", line, first, want, err)
		}
	}
}
