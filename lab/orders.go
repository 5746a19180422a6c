package lab

import (
	"io"
	"os"
	"strings"
	"time"
)

// OrdersFile is where a guest finds what to do.
const OrdersFile = "/lab.json"

// Orders is what a guest is told.
type Orders struct {
	Trap     string   `json:"trap"`
	Scenario Scenario `json:"scenario"`
	// Experiment is the name of one to run instead of a scenario; Trap may be empty then.
	Experiment string `json:"experiment,omitempty"`
	// Command is run instead of either, and what it prints is told.
	Command []string `json:"command,omitempty"`
	// Sabotage is the name of a plan of the trap that was spoilt on purpose: it
	// is applied instead, and the story must fail.
	Sabotage string `json:"sabotage,omitempty"`
	// Spoilt are names of such plans that are tried after the story, in its machine.
	Spoilt  []string `json:"spoilt,omitempty"`
	Channel string   `json:"channel"` // device that leads to the host
	Console string   `json:"console"` // terminal behind /dev/console
	// Disk is the device of the disk that outlives a restart, where systemd is
	// to be process 1; else empty.
	Disk    string   `json:"disk,omitempty"`
	Modules []string `json:"modules"` // files, in the order in which to load them
	// Shell opens a shell on the console: ShellAfterPrepare, ShellAfterStory, or not at all.
	Shell string   `json:"shell,omitempty"`
	Slips SlipTurn `json:"slips,omitzero"`
}

// SlipTurn has one slip in Of tried, other ones at each turn from 0 to Of-1.
type SlipTurn struct {
	Of int `json:"of,omitempty"`
	At int `json:"at,omitempty"`
}

// Has tells whether the slip of a number, counted from 0, has its turn.
func (s SlipTurn) Has(i int) bool { return s.Of < 2 || i%s.Of == s.At%s.Of }

// MergeableVerb is a hidden verb of fettle-lab in a guest: it holds memory that KSM
// may merge, as mergeable.Parse reads from the arguments after it.
const MergeableVerb = "__lab-mergeable"

// KilledVerb POINT LOG VERB... is a hidden verb of fettle-lab in a guest: fettle's
// own VERB, ended by SIGKILL at a point of its work.
const KilledVerb = "__lab-killed"

// SabotagedVerb TRAP SABOTAGE VERB... is a hidden verb of fettle-lab in a guest:
// fettle's own VERB with a plan of the trap that was spoilt on purpose.
const SabotagedVerb = "__lab-sabotaged"

// SlipPrefix and a slip's name stand in for the name of a sabotage; ListSlips there
// changes nothing, and prints a line with the prefix for each slip that the plan allows.
const (
	SlipPrefix = "slip "
	ListSlips  = "slips"
)

// SpoiltPrefix and a sabotage's name are the stage of a story in which its plan is tried;
// SabotageAbout is what that is about.
const (
	SpoiltPrefix  = "spoilt "
	SabotageAbout = "A plan spoilt on purpose must be noticed"
)

// SlipsStage is the stage of a story that says how many slips its plan allows.
const SlipsStage = "slips"

// When a guest opens a shell.
const (
	ShellAfterPrepare = "prepare"
	ShellAfterStory   = "story"
)

// Teller sends the guest's messages.
type Teller struct{ w io.Writer }

// NewTeller writes to the guest's channel.
func NewTeller(w io.Writer) *Teller { return &Teller{w} }

// Hello is the guest's first word.
func (t *Teller) Hello() error {
	rel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	up, _ := os.ReadFile("/proc/uptime")
	return writeFrame(t.w, message{Hello: &hello{Kernel: strings.TrimSpace(string(rel)), Uptime: strings.TrimSpace(string(up))}})
}

// Stage tells how one stage went.
func (t *Teller) Stage(s Stage) error { return writeFrame(t.w, message{Stage: &s}) }

func (t *Teller) table(tb *Table) error { return writeFrame(t.w, message{Table: tb}) }

func (t *Teller) row(cells []string, took time.Duration) error {
	return writeFrame(t.w, message{Row: &row{cells, took}})
}

// Fatal tells that the machine could not be made ready.
func (t *Teller) Fatal(err error) error { return writeFrame(t.w, message{Fatal: err.Error()}) }

// Done is the guest's last word.
func (t *Teller) Done() error { return writeFrame(t.w, message{Done: true}) }
