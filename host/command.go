package host

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Command is a call of one of the read-only Commands. It is never given to a
// shell: Args are passed as they are.
type Command struct {
	Name string   `json:"name"`
	Args []string `json:"args"`
}

// Output is what a command left behind.
type Output struct {
	Stdout []byte `json:"stdout"`
	Stderr []byte `json:"stderr"`
	Exit   int    `json:"exit"`
}

// Key tells two calls apart; String is for messages.
func (c Command) Key() string    { return c.Name + "\x00" + strings.Join(c.Args, "\x00") }
func (c Command) String() string { return strings.Join(append([]string{c.Name}, c.Args...), " ") }

// CommandSpec is the rule set of one read-only command.
type CommandSpec struct {
	// Paths are tried in order; the first that exists is run.
	Paths []string
	// Allow reports whether these arguments only read.
	Allow func(args []string) bool
	// Limit is how long it may run.
	Limit time.Duration
	// MaxOutput bounds each of stdout and stderr, in bytes.
	MaxOutput int64
	// Write lists files and folders that the command must be able to write to
	// although it changes nothing (lock files). Everything else is read-only to it.
	Write []string
	// Isolated: it runs without network, in namespaces of its own, with empty folders for
	// what runs and for logs, which it may write to. That takes root.
	Isolated bool
	// Asks are arguments with which an isolated command asks about the running host: then
	// it runs as others do.
	Asks []string
}

// For is the specification for these arguments.
func (s CommandSpec) For(args []string) CommandSpec {
	s.Isolated = s.Isolated && (s.Asks == nil || !slices.Equal(args, s.Asks))
	return s
}

// Commands is everything that a check may run. Each entry says which
// arguments are harmless; anything else is refused before it starts.
var Commands = with(validators, map[string]CommandSpec{
	"systemctl": {
		Paths: []string{"/usr/bin/systemctl", "/bin/systemctl"},
		Allow: systemctlReads,
		Limit: 10 * time.Second, MaxOutput: 4 << 20,
	},
	"mdadm": {
		Paths: []string{"/usr/sbin/mdadm", "/sbin/mdadm", "/usr/bin/mdadm"},
		Allow: func(args []string) bool {
			return len(args) == 2 && (args[0] == "--examine" || args[0] == "--examine-badblocks") && isDevice(args[1])
		},
		Limit: 10 * time.Second, MaxOutput: 1 << 20,
	},
	"dmsetup": {
		Paths: []string{"/usr/sbin/dmsetup", "/sbin/dmsetup"},
		Allow: func(args []string) bool { return len(args) == 1 && (args[0] == "status" || args[0] == "targets") },
		Limit: 10 * time.Second, MaxOutput: 4 << 20,
		Write: []string{"/dev/mapper/control"}, // questions are ioctls of it
	},
	"lvs": {
		Paths: []string{"/usr/sbin/lvs", "/sbin/lvs"},
		// Without locks and without repairs: nothing is written.
		Allow: func(args []string) bool {
			return len(args) == 9 &&
				slices.Equal(args[:8], []string{"-a", "--reportformat", "json", "--units", "b", "--config", LVMReadOnly, "-o"}) &&
				strings.Trim(args[8], "abcdefghijklmnopqrstuvwxyz_,") == ""
		},
		Limit: 10 * time.Second, MaxOutput: 16 << 20,
		Write: []string{"/dev/mapper/control"}, // questions are ioctls of it
	},
	"zpool": {
		Paths: []string{"/usr/sbin/zpool", "/sbin/zpool", "/usr/local/sbin/zpool"},
		Allow: zpoolReads,
		Limit: 70 * time.Second, MaxOutput: 4 << 20,
		Write: []string{"/dev/zfs"}, // questions are ioctls of it
	},
	"passwd": {
		Paths: []string{"/usr/bin/passwd", "/bin/passwd"},
		Allow: func(args []string) bool { return slices.Equal(args, []string{"-S", "-a"}) }, // tells, and no hashes
		Limit: 5 * time.Second, MaxOutput: 16 << 20,
	},
	"ss": {
		Paths: []string{"/usr/bin/ss", "/bin/ss", "/usr/sbin/ss", "/sbin/ss"},
		Allow: func(args []string) bool { return slices.Equal(args, []string{"-ltn"}) },
		Limit: 5 * time.Second, MaxOutput: 4 << 20,
	},
	"journalctl": {
		Paths: []string{"/usr/bin/journalctl", "/bin/journalctl"},
		Allow: journalctlReads,
		Limit: 10 * time.Second, MaxOutput: 64 << 20, // a line has at most some 4 KiB of text
	},
	"dmesg": {
		Paths: []string{"/usr/bin/dmesg", "/bin/dmesg"},
		Allow: func(args []string) bool { return len(args) == 0 }, // further ones clear the ring
		Limit: 4 * time.Second, MaxOutput: 16 << 20,
	},
	"dmidecode": {
		Paths: []string{"/usr/sbin/dmidecode", "/sbin/dmidecode"},
		Allow: func(args []string) bool { return len(args) == 0 }, // further ones write dumps
		Limit: 5 * time.Second, MaxOutput: 4 << 20,
	},
	"ipmitool": {
		Paths: []string{"/usr/bin/ipmitool", "/bin/ipmitool"},
		// The host's own BMC, through the kernel's driver.
		Allow: func(args []string) bool { return slices.Equal(args, []string{"-I", "open", "sol", "info", "1"}) },
		Limit: 10 * time.Second, MaxOutput: 1 << 20,
		Write: []string{"/dev/ipmi0", "/dev/ipmi/0", "/dev/ipmidev/0"}, // questions are ioctls of it
	},
	"apt-get": {
		Paths: []string{"/usr/bin/apt-get"},
		Allow: func(args []string) bool { return slices.Equal(args, AptSimulation) },
		Limit: 30 * time.Second, MaxOutput: 8 << 20,
		Write: []string{"/tmp"}, // it parts signed lists from their signatures there (apt 2.6.1, apt-pkg/contrib/gpgv.cc)
	},
	"rpm": {
		Paths: []string{"/usr/bin/rpm", "/bin/rpm"},
		Allow: func(args []string) bool {
			return len(args) == 3 && args[0] == "-qa" && args[1] == "--qf"
		},
		Limit: 10 * time.Second, MaxOutput: 8 << 20,
		Write: []string{"/var/lib/rpm", "/usr/lib/sysimage/rpm"}, // rpm opens its database for locking
	},
})

// with adds more commands to a list.
func with(more, all map[string]CommandSpec) map[string]CommandSpec {
	maps.Copy(all, more)
	return all
}

// LVMReadOnly is the configuration with which LVM's commands take no locks and
// repair nothing; every release knows it (--nolocking is newer).
const LVMReadOnly = "global{locking_type=0 metadata_read_only=1}"

// AptSimulation are the arguments with which apt-get tells what it would install now: it takes no lock, writes
// no cache and reads the lists that are there (apt-get(8), --simulate).
var AptSimulation = []string{"-s", "-q", "-o", "Debug::NoLocking=true", "-o", "Dir::Cache::pkgcache=", "-o", "Dir::Cache::srcpkgcache=",
	"dist-upgrade"}

// systemctlReads allows questions to the system's own manager and no option
// but what to show: --host= would start ssh, --root= and --image= read elsewhere.
func systemctlReads(args []string) bool {
	if slices.Equal(args, TroubledUnits) {
		return true
	}
	if len(args) == 0 || !slices.Contains([]string{"show", "list-units", "list-unit-files", "cat"}, args[0]) {
		return false
	}
	for _, a := range args[1:] {
		if a == "--" {
			return true // what follows are names
		}
		if strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--property=") && a != "--all" && a != "--no-pager" && a != "--no-legend" &&
			a != "--plain" {
			return false
		}
	}
	return true
}

// journalctlReads allows the last lines of this boot, or of a time, as JSON, by matches:
// other options rotate, vacuum and flush the journal, or read other files.
func journalctlReads(args []string) bool {
	rest, ok := journalctlPeriod(args)
	if !ok {
		return false
	}
	for ; len(rest) > 0; rest = rest[1:] {
		switch {
		case rest[0] == JournalFields, rest[0] == UnitFields:
		case strings.HasPrefix(rest[0], "_"), strings.HasPrefix(rest[0], "PRIORITY="), rest[0] == "+":
		case strings.HasPrefix(rest[0], "SYSLOG_IDENTIFIER="):
		case len(rest) > 1 && (rest[0] == "-u" && validUnitName(rest[1])):
			rest = rest[1:]
		default:
			return false
		}
	}
	return true
}

// journalctlPeriod reads "-b -o json --no-pager -n LINES", with or without --since=@SECONDS, and
// the same without -b but with --since=@SECONDS and --until=@SECONDS behind it.
func journalctlPeriod(args []string) (rest []string, ok bool) {
	boot := len(args) > 0 && args[0] == "-b"
	if boot {
		args = args[1:]
	}
	if len(args) < 5 || !slices.Equal(args[:4], []string{"-o", "json", "--no-pager", "-n"}) {
		return nil, false
	}
	if n, err := strconv.Atoi(args[4]); err != nil || n < 1 || n > 20000 {
		return nil, false
	}
	rest = args[5:]
	if boot {
		i := slices.IndexFunc(rest, func(s string) bool { return seconds(s, "--since=@") })
		if i == 0 || i == 1 { // before or behind the fields
			rest = slices.Delete(slices.Clone(rest), i, i+1)
		}
		return rest, true
	}
	if len(rest) < 2 {
		return nil, false
	}
	return rest[2:], seconds(rest[0], "--since=@") && seconds(rest[1], "--until=@")
}

// seconds reports whether s is an option with a number of seconds.
func seconds(s, option string) bool {
	n, ok := strings.CutPrefix(s, option)
	return ok && n != "" && len(n) < 12 && strings.Trim(n, "0123456789") == ""
}

// zpoolReads allows the tables of pools, once, over a minute at most.
func zpoolReads(args []string) bool {
	s := strings.Join(args, " ")
	if s == "list -v -p -P" || s == "iostat -v -l -p -P" {
		return true
	}
	rest, ok := strings.CutPrefix(s, "iostat -v -l -p -P -y ")
	secs, ok2 := strings.CutSuffix(rest, " 1")
	n, err := strconv.Atoi(secs)
	return ok && ok2 && err == nil && n > 0 && n <= 60 && len(args) == 8
}

// isDevice reports whether name is a clean path below /dev.
func isDevice(name string) bool {
	return strings.HasPrefix(name, "/dev/") && path.Clean(name) == name && !strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' })
}

// Allowed refuses a command that is not on the list, or arguments that may
// do more than read.
func (c Command) Allowed() error {
	spec, ok := Commands[c.Name]
	if !ok {
		return fmt.Errorf("%s is not one of the read-only commands", c.Name)
	}
	if spec.Allow != nil && !spec.Allow(c.Args) {
		return fmt.Errorf("%s: these arguments are not among the read-only ones", c)
	}
	return nil
}
