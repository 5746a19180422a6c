// Package lab builds throwaway machines: a real kernel in User-Mode Linux or
// qemu, with fettle itself as its init. Scenarios are data beside their trap:
// what falls into it, what must be found, and innocent cases that must not be.
package lab

import "time"

// Scenario is one story told on a throwaway machine: prepare, expect the trap
// found, fix it, expect it clear and no other trap set, undo, expect it found again. An innocent
// scenario is prepared and must not be found.
type Scenario struct {
	Name  string // "port-raises-mtu"
	About string // one line, what is shown
	Needs Needs
	// Prepare walks into the trap (or, innocent, does something harmless).
	Prepare []Act
	// Steps, where there are any, are the story instead of check, fix and undo.
	Steps []Step `json:",omitempty"`
	// Subject is the finding that is meant; of several findings others may be there too.
	Subject  string
	Innocent bool
	// Unfixable: the finding has no remedy to apply; the story ends after found.
	Unfixable bool
	// UndoKeeps: undoing cannot bring the trap back (a restarted daemon does
	// not reopen what it had deleted).
	UndoKeeps bool
	// Vanishes: once the subject is fixed the check does not speak of it any more,
	// instead of calling it clear; the plan says so too.
	Vanishes bool
	// CheckArgs are further arguments of fettle check ("--sample", "2s").
	CheckArgs []string
	// FixArgs are further arguments of fettle fix ("--with", "NAME=VALUE").
	FixArgs []string `json:",omitempty"`
	// Probes are commands whose first line of output is shown before the fix,
	// after it, and after the undo.
	Probes []Probe
	// Files is what each file holds that the fix has changed, whole, or NoFile: what a
	// plan does to the lines that are not its own is seen here alone.
	Files map[string]string `json:",omitempty"`
	// Sets are findings of other traps that the fix brings about, as its plan says:
	// "raid-degraded:md0".
	Sets []string `json:",omitempty"`
	// Harmless are slips of the plan (see lab/sabotage) that nobody could notice here,
	// each with the reason.
	Harmless map[string]string `json:",omitempty"`
	// Confirm is how somebody confirms the change once it is clear, from a login
	// of its own; for remedies that could cut the admin off.
	Confirm []string `json:",omitempty"`
	// Long scenarios run in make lab-long only.
	Long bool
}

// What Scenario.Files says of a file that the fix deletes, and of one whose content
// a probe judges: it is too large, or differs from run to run. "/srv/tftp/" is all below.
const (
	NoFile     = "\x00 is not there"
	AnyContent = "\x00 is judged by a probe"
)

// Needs is what a scenario's machine must have.
type Needs struct {
	Engine string // "uml" or "qemu"; empty is any
	// Kernel is one that make has built, by name: see Built. BuiltTools are
	// programs that were built with it. Or it is Debian's package of a kernel
	// (linux-image-…) that has what the one for virtual machines lacks.
	Kernel     string   `json:",omitempty"`
	BuiltTools []string `json:",omitempty"`
	// Devices are further arguments of qemu, for its devices.
	Devices []string `json:",omitempty"`
	// Client is a second machine, which boots over the network from this one; qemu alone.
	Client *Client `json:",omitempty"`
	// ACPI is a further table of the firmware's, header and all; qemu alone.
	ACPI []byte `json:",omitempty"`

	Modules []string // kernel modules to load, with those they depend on
	Tools   []string // programs of the host, copied with their libraries
	// What the machine may lack: modules and tools that an experiment
	// looks for and does without.
	MayModules []string `json:",omitempty"`
	MayTools   []string `json:",omitempty"`
	Files      []string // further files or folders of the host, copied as they are
	// Libs are shared libraries that programs open by name (dlopen(3)), as the
	// host has them: "security/pam_unix.so".
	Libs []string `json:",omitempty"`
	// Systemd is process 1, as on a host: the host's own, with its own units of
	// a minimal boot. /etc and /var are on a disk, which outlives a restart.
	Systemd bool `json:",omitempty"`
	MemMiB  int  // 0 is 320
	Limit   time.Duration
}

// Act is one thing done in the guest. Exactly one field is set.
type Act struct {
	Run   []string `json:"run,omitempty"`   // to its end; exit status 0 or the scenario breaks
	Start []string `json:"start,omitempty"` // in the background, killed with the machine; the story fails where it ends before
	// MayEnd: what is started may end while the story goes on.
	MayEnd bool  `json:"may_end,omitempty"`
	Write  *File `json:"write,omitempty"`
	// Holds is a file that must hold exactly this.
	Holds *File `json:"holds,omitempty"`
	// Until runs a command again and again until it exits 0, at most 20 s.
	Until []string `json:"until,omitempty"`
	// HoldDeleted makes a file of this many bytes, keeps it open in a process
	// named after the path's last part, and deletes it.
	HoldDeleted *Held `json:"hold_deleted,omitempty"`
	// Expect runs a command and looks at how it ended.
	Expect *Expect `json:"expect,omitempty"`
	// Restart is how the machine is started again, under systemd: RestartClean
	// or PowerCut. The story goes on with the next act.
	Restart string `json:"restart,omitempty"`
}

// Step is a named part of a story that goes its own way.
type Step struct {
	Name string
	Acts []Act
}

// Expect is a command, and how it must end.
type Expect struct {
	Run    []string `json:"run"`
	Status int      `json:"status,omitempty"` // -1: killed by a signal
	Has    string   `json:"has,omitempty"`    // is in what it printed
	Lacks  string   `json:"lacks,omitempty"`  // does not
	// Outcomes is what a JSON report must say of which subject, Result what came of a
	// fix: see Checked and Mended.
	Outcomes map[string]string `json:"outcomes,omitempty"`
	Result   string            `json:"result,omitempty"`
	// Within waits for it to end so, asking again and again.
	Within time.Duration `json:"within,omitempty"`
}

// How a machine is started again.
const (
	RestartClean = "clean"     // systemctl reboot
	PowerCut     = "power-cut" // at once; what was not written to the disk is lost
)

// Held is a deleted file that stays open.
type Held struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
}

// File is written by an Act, with the folders above it.
type File struct {
	Path, Content string
	Mode          uint32
}

// Probe is a named command. They are run in order, and shown in that of their names.
type Probe struct {
	Name string   `json:"name"`
	Run  []string `json:"run"`
	// Find is a regular expression: what its first group matches is shown,
	// instead of the first line.
	Find string `json:"find,omitempty"`
	// Timed shows how long the command took.
	Timed bool `json:"timed,omitempty"`
	// Want is what it must show in the trap, after the fix, and after the undo:
	// regular expressions of the whole; "" is anything.
	Want []string `json:"want,omitempty"`
	// Ratio is how the number that it shows after the fix compares with that in
	// the trap: at most this many times it (Ratio below 1) or at least (above 1).
	// After the undo it must compare the same way, unless it Lasts.
	Ratio float64 `json:"ratio,omitempty"`
	Lasts bool    `json:"lasts,omitempty"`
	// Within is for how long it is asked again until it shows what it must.
	Within time.Duration `json:"within,omitempty"`
	// Slow takes minutes: it is asked of the plan, and of plans spoilt on purpose, not of each slip.
	Slow bool `json:"slow,omitempty"`
}

// Stage is one step of a scenario's story, as the guest tells it.
type Stage struct {
	Name   string            `json:"name"` // prepare, check, fix, recheck, confirm, files, others, undo, as-before, after-undo, slips, slip
	OK     bool              `json:"ok"`
	Said   string            `json:"said,omitempty"`   // what was found, or why it failed; what a command printed
	Status int               `json:"status,omitempty"` // of a command
	Probes map[string]string `json:"probes,omitempty"`
	Took   time.Duration     `json:"took_ns"`
}

// Verdict is how a scenario ended.
type Verdict struct {
	Trap     string        `json:"trap"`
	Scenario string        `json:"scenario"`
	OK       bool          `json:"ok"`
	Why      string        `json:"why,omitempty"` // the first thing that went wrong
	Stages   []Stage       `json:"stages,omitempty"`
	Table    *Table        `json:"table,omitempty"` // of an experiment
	Kernel   string        `json:"kernel"`          // uname -r of the guest
	Engine   string        `json:"engine"`
	Boot     time.Duration `json:"boot_ns"` // from start to the guest's first word
	Took     time.Duration `json:"took_ns"`
	Retries  int           `json:"retries,omitempty"` // boots that did not reach the guest's init
	Console  string        `json:"console,omitempty"` // last lines, where the machine died
}

// Name is what the command line calls it: TRAP/SCENARIO, or the experiment's
// name alone where it belongs to no trap.
func (v *Verdict) Name() string { return join(v.Trap, v.Scenario) }

func join(trap, name string) string {
	if trap == "" {
		return name
	}
	return trap + "/" + name
}

// message is what the guest sends over its own serial line, one JSON object
// a frame (channel.go).
type message struct {
	Hello *hello `json:"hello,omitempty"`
	Stage *Stage `json:"stage,omitempty"`
	Table *Table `json:"table,omitempty"` // all there is of it so far
	Row   *row   `json:"row,omitempty"`   // one more of the table's rows
	Done  bool   `json:"done,omitempty"`
	Fatal string `json:"fatal,omitempty"`
}

type row struct {
	Cells []string      `json:"cells"`
	Took  time.Duration `json:"took_ns"`
}

type hello struct {
	Kernel string `json:"kernel"`
	Uptime string `json:"uptime"`
}
