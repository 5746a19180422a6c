package remedy

import (
	"context"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// For tests on throwaway machines alone: with FETTLE_KILL_AT=N in its
// environment fettle ends itself by SIGKILL at its Nth point; with N@NAME at
// the Nth one of that name, because how often an array is looked at while it
// syncs is up to the array. Points are before and after each command that
// changes something, before each question to one, at the first looks while a
// resync is waited for, and around each write of the journal. N 0 counts only.
// FETTLE_KILL_LOG names a file that gets the points' names.
type killSwitch struct {
	Machine
	at, kill int
	name     string // of the points that count; empty: all
	log      *os.File
	waits    int // looks at sync_action since the last command
}

const killWaits = 3

var theSwitch = newKillSwitch(os.Getenv("FETTLE_KILL_AT"), os.Getenv("FETTLE_KILL_LOG"))

func newKillSwitch(at, log string) *killSwitch {
	at, name, _ := strings.Cut(at, "@")
	n, err := strconv.Atoi(at)
	if err != nil {
		return nil
	}
	k := &killSwitch{kill: n, name: name}
	if log != "" {
		k.log, _ = os.OpenFile(log, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	}
	return k
}

// killable puts the switch around a machine, where a test set one.
func killable(m Machine) Machine {
	if theSwitch == nil {
		return m
	}
	theSwitch.Machine = m
	return theSwitch
}

// killHook is the store's hook of the same points.
func killHook() func(string) {
	if theSwitch == nil {
		return nil
	}
	return theSwitch.point
}

func (k *killSwitch) point(name string) {
	if k.name == "" || k.name == name {
		k.at++
	}
	if k.log != nil {
		k.log.WriteString(name + "\n")
	}
	if k.at == k.kill && (k.name == "" || k.name == name) {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

func (k *killSwitch) Run(ctx context.Context, argv []string, limit time.Duration) (Output, error) {
	k.waits = 0
	k.point("before " + quoteArgs(argv))
	out, err := k.Machine.Run(ctx, argv, limit)
	k.point("after " + quoteArgs(argv))
	return out, err
}

func (k *killSwitch) Ask(ctx context.Context, argv []string, limit time.Duration) (Output, error) {
	k.point("asking " + quoteArgs(argv))
	return k.Machine.Ask(ctx, argv, limit)
}

func (k *killSwitch) ReadValue(path string) (string, error) {
	if strings.HasSuffix(path, "/sync_action") && k.waits < killWaits {
		k.waits++
		k.point("looking at " + path)
	}
	return k.Machine.ReadValue(path)
}
