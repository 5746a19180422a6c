package proving

import (
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"fettle/cli"
	"fettle/cli/app"
	"fettle/engine/remedy"
	"fettle/engine/remedy/machine"
	"fettle/host/confine"
	"fettle/lab"
	"fettle/traps"
)

// killed is the hidden verb lab.KilledVerb POINT LOG VERB…, in guests alone: it is
// fettle's own command line over a machine that ends it by SIGKILL at its
// POINTth point; POINT may be N@NAME, the Nth of that name, because how often
// an array is looked at while it syncs is up to the array. 0 kills nowhere.
// Points are before and after each command that changes something, before each
// question to one, at the first looks while a resync is waited for, and around
// each write of the journal. LOG is a file that gets their names, or "-".
func killed(args []string, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	if _, err := os.Stat(lab.OrdersFile); err != nil {
		return 0, errors.New("this verb is for the guests of fettle lab alone")
	}
	if len(args) < 3 {
		return 0, app.Usagef("expected POINT LOG VERB...")
	}
	k := &killSwitch{}
	at, name, _ := strings.Cut(args[0], "@")
	n, err := strconv.Atoi(at)
	if err != nil {
		return 0, app.Usagef("%q is not the number of a point", args[0])
	}
	k.kill, k.name = n, name
	if args[1] != "-" {
		if k.log, err = os.OpenFile(args[1], os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600); err != nil {
			return 0, err
		}
	}
	return cli.MainOn(traps.All(), func(e *remedy.Engine) {
		k.Machine, e.Machine = e.Machine, k
		e.Store.OnWrite(k.point)
		e.Guard.Program = lab.GuestFettle
	}, args[2:], stdin, stdout, stderr), nil
}

// confinedChild tells whether this is a child in which a killed fettle checks.
func confinedChild(args []string) bool {
	return args[0] == confine.CheckVerb
}

type killSwitch struct {
	machine.Machine
	at, kill int
	name     string // of the points that count; empty: all
	log      *os.File
	waits    int // looks at sync_action since the last command
}

const killWaits = 3

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

func (k *killSwitch) Run(ctx context.Context, argv []string, limit time.Duration) (machine.Output, error) {
	k.waits = 0
	k.point("before " + strings.Join(argv, " "))
	out, err := k.Machine.Run(ctx, argv, limit)
	k.point("after " + strings.Join(argv, " "))
	return out, err
}

func (k *killSwitch) Ask(ctx context.Context, argv []string, limit time.Duration) (machine.Output, error) {
	k.point("asking " + strings.Join(argv, " "))
	return k.Machine.Ask(ctx, argv, limit)
}

func (k *killSwitch) ReadValue(path string) (string, error) {
	if strings.HasSuffix(path, "/sync_action") && k.waits < killWaits {
		k.waits++
		k.point("looking at " + path)
	}
	return k.Machine.ReadValue(path)
}
