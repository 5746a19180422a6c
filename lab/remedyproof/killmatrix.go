package remedyproof

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"fettle/engine/remedy/machine"
	"fettle/lab"
)

// KillMatrix kills fettle at each of its points while it makes a change that
// waits to be confirmed: systemd must take back whatever was done.
var KillMatrix = lab.Experiment{
	Name: Group + "/kill-matrix", About: "SIGKILL at each point of a change that waits to be " +
		"confirmed; systemd's timer must leave all as before",
	Needs: lab.Needs{
		Systemd: true,
		Tools:   append([]string{"stat", "getfacl", "rm", "chmod", "chown", "sleep"}, needs.Tools...),
		Limit:   20 * time.Minute,
	},
	Long: true,
	Run:  killMatrix,
}

const (
	killPoints = 500 // more than there are
	// The time to confirm: short, as each point waits for it; made longer where
	// the machine is too slow to come to the point by then.
	killConfirm, killConfirmMost = 3 * time.Second, time.Minute
)

// Where the machine has what the experiments look at. Tests have it elsewhere.
var (
	killLog   = "/run/lab-points"
	stateDir  = "/var/lib/fettle"
	bootWants = "/etc/systemd/system/sysinit.target.wants"
	unitFile  = "/etc/systemd/system/" + subject
	reloadLog = "/run/lab-reloads"
	newHost   = machine.New
)

func killMatrix(ctx context.Context, b *lab.Bench) error {
	for _, argv := range [][]string{{"mkdir", "/var/log/journal"}, {"journalctl", "--flush"}, {"systemd-cat", "echo", "a line"},
		{"journalctl", "--sync"}} {
		if _, err := b.Run(argv...); err != nil {
			return err
		}
	}
	before, err := journalState(b)
	if err != nil {
		return err
	}
	b.Columns("killed at", "as before", "how the change stands", "seconds")
	var wrong []error
	within := killConfirm
	for n := 1; n < killPoints; n++ {
		if err := os.RemoveAll(stateDir); err != nil {
			return err
		}
		os.Remove(killLog)
		start := time.Now()
		_, code, err := b.Exec(append([]string{"fettle-lab", lab.KilledVerb, fmt.Sprint(n), killLog}, fix(within.String())[1:]...))
		if err != nil {
			return err
		}
		if code != -1 && code != 0 && within < killConfirmMost {
			within *= 2 // the time to confirm was over before the point
			if err := quiet(b); err != nil {
				return err
			}
			n--
			continue
		}
		changes, state := "", ""
		for end := start.Add(20*time.Second + within); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
			if changes, err = b.Run("fettle", "changes"); err != nil {
				return err
			}
			if state, err = journalState(b); err != nil {
				return err
			}
			if state == before && (!strings.Contains(changes, "0001") || strings.Contains(changes, ": taken back")) {
				break
			}
			// Killed before the guard was armed, which is before the first step.
			if code == -1 && !armed() {
				break
			}
		}
		_, what, _ := strings.Cut(lastOf(changes), " on /var/log/journal: ")
		as := "yes"
		if state != before {
			as = "NO"
			wrong = append(wrong, fmt.Errorf("point %d: not as before:\n%s", n, state))
		}
		b.Row(fmt.Sprintf("%d %s", n, point(code)), as, what, fmt.Sprintf("%.1f", time.Since(start).Seconds()))
		if code != -1 { // it came to its end: there are no more points
			b.Note("%d points in all.", n-1)
			return errors.Join(wrong...)
		}
		if err := quiet(b); err != nil {
			wrong = append(wrong, fmt.Errorf("point %d: %w", n, err))
		}
	}
	return fmt.Errorf("more than %d points", killPoints)
}

// armed tells whether fettle had come as far as systemd's timer.
func armed() bool {
	b, _ := os.ReadFile(killLog)
	return strings.Contains(string(b), "after /usr/bin/systemd-run")
}

// point is the last that fettle came to.
func point(code int) string {
	if code != -1 {
		return "not at all"
	}
	b, _ := os.ReadFile(killLog)
	words := strings.Fields(lastOf(string(b)))
	return strings.Join(words[:min(len(words), 4)], " ")
}

func lastOf(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// journalState is mode, owner and ACL of the journal's folders and files.
func journalState(b *lab.Bench) (string, error) {
	return b.Run("getfacl", "-pR", "/var/log/journal")
}

// quiet waits until systemd has no unit of the change, and takes away the
// boot unit of a change that was not begun.
func quiet(b *lab.Bench) error {
	out := ""
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		var err error
		if out, err = b.Run("systemctl", "list-units", "--all", "--no-legend", "--plain", "fettle-undo*"); err != nil {
			return err
		}
		if strings.TrimSpace(out) == "" {
			break
		}
	}
	left, _ := os.ReadDir(bootWants)
	if strings.TrimSpace(out) != "" || len(left) > 0 {
		return fmt.Errorf("left to systemd: %s %v", strings.TrimSpace(out), left)
	}
	return nil
}
