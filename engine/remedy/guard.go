package remedy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
	"fettle/host/fact/startup"
)

// Guard is the rollback that does not depend on the fettle that applies: a
// timer of systemd, or a copy of the program that waits in a session of its
// own; and a unit for the next boot. confirm disarms it.
type Guard struct {
	// Units is systemd's folder of the admin's units; empty is
	// /etc/systemd/system, or FETTLE_UNIT_DIR. Where it does not exist there
	// is no boot unit.
	Units string
	// Program is the fettle that guards run; empty is the running one.
	Program string
	// SystemdRun replaces /usr/bin/systemd-run, for tests.
	SystemdRun string
}

func (g Guard) units() string {
	switch dir := os.Getenv("FETTLE_UNIT_DIR"); {
	case g.Units != "":
		return g.Units
	case dir != "":
		return dir
	}
	return "/etc/systemd/system"
}

// unitName is that of the timer and of the service that it starts.
func unitName(id string) string { return "fettle-undo-" + id }

// bootUnitName is another: a file in /etc/systemd/system would stand in for
// the timer's own service, where transient units lie in /run/systemd/system
// (before systemd 231) and systemd reads its files again meanwhile.
func bootUnitName(id string) string { return unitName(id) + "-boot.service" }

// arm sets the guards up and journals them, before the first step.
func (e *Engine) arm(ctx context.Context, c *Change) error {
	boot, err := e.Machine.BootID()
	if err != nil {
		return err
	}
	deadline := time.Now().Add(c.ConfirmWithin)
	bin, err := copyProgram(c, e.Guard.Program)
	if err != nil {
		return err
	}
	// Journaled first: a guard must find its deadline.
	if err := c.append(Record{Event: evArmed, Boot: boot, Deadline: deadline.UTC()}); err != nil {
		return err
	}
	guards, err := e.Guard.arm(ctx, e.Machine, c, bin, deadline)
	if err != nil {
		return err
	}
	return c.append(Record{Event: evArmed, Boot: boot, Deadline: deadline.UTC(), Guards: guards})
}

func (g Guard) arm(ctx context.Context, m machine.Machine, c *Change, bin string, deadline time.Time) (guards []string, err error) {
	_, booted := m.Systemctl()
	timer := ""
	if booted {
		if timer, err = g.timer(ctx, m, c, bin); err != nil {
			c.append(Record{Event: evNote, Why: "no systemd timer: " + err.Error()})
		}
	}
	if timer == "" {
		if timer, err = detach(c, bin, deadline); err != nil {
			return nil, err
		}
	}
	guards = append(guards, timer)
	unit, err := g.bootUnit(c, bin)
	if err != nil {
		return nil, fmt.Errorf("the unit for the next boot: %w", err)
	}
	if unit != "" {
		guards = append(guards, unit)
	}
	return guards, nil
}

// environment is what a guard needs to know beyond its arguments.
func (c *Change) environment() []string {
	env := []string{"FETTLE_STATE=" + c.store.Dir}
	for _, k := range []string{"FETTLE_BOOT_ID_FILE", "FETTLE_UNIT_DIR"} {
		if v := os.Getenv(k); v != "" {
			env = append(env, k+"="+v)
		}
	}
	return env
}

// timer has systemd start the undoing: it outlives the session even where
// logind kills a user's processes (KillUserProcesses=yes).
func (g Guard) timer(ctx context.Context, m machine.Machine, c *Change, bin string) (string, error) {
	run := g.SystemdRun
	if run == "" {
		run = "/usr/bin/systemd-run"
	}
	secs := max(1, int(c.ConfirmWithin.Seconds()))
	argv := []string{run, "--quiet", "--collect", "--unit=" + unitName(c.ID), "--on-active=" + strconv.Itoa(secs) + "s",
		"--timer-property=AccuracySec=1s", "--description=Undo fettle's change " + c.ID + " unless it is confirmed"}
	for _, kv := range c.environment() {
		argv = append(argv, "--setenv="+kv)
	}
	argv = append(argv, "--", bin, "undo", "--unconfirmed", c.ID)
	out, err := m.Run(ctx, argv, step.AskLimit)
	if err == nil && out.Exit != 0 {
		err = fmt.Errorf("systemd-run ended with status %d%s", out.Exit, step.Said(out))
	}
	if err != nil {
		return "", err // another guard has to do
	}
	return "systemd timer " + unitName(c.ID) + ".timer", nil
}

// detach starts the copy in a session of its own, where neither the
// terminal's hang-up nor a signal to fettle's process group reaches it, and
// waits until it stands by.
func detach(c *Change, bin string, deadline time.Time) (string, error) {
	log, err := c.store.root.OpenFile(c.in("guard.log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return "", err
	}
	defer log.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer r.Close()
	cmd := exec.Command(bin, "undo", "--unconfirmed", c.ID, "--at", deadline.UTC().Format(time.RFC3339Nano))
	cmd.Env = append([]string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "HOME=/"}, c.environment()...)
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = w, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	w.Close()
	if err != nil {
		return "", fmt.Errorf("starting the guard: %w", err)
	}
	ready := make(chan error, 1)
	go func() {
		line, err := bufio.NewReader(r).ReadString('\n')
		if err == nil && !strings.HasPrefix(line, GuardReady) {
			err = fmt.Errorf("it said %q", strings.TrimSpace(line))
		}
		ready <- err
	}()
	select {
	case err = <-ready:
	case <-time.After(10 * time.Second):
		err = errors.New("it did not answer within 10 s")
	}
	if err != nil {
		cmd.Process.Kill()
		cmd.Wait()
		return "", fmt.Errorf("the guard does not run: %w (see %s)", err, filepath.Join(c.dir(), "guard.log"))
	}
	pid := cmd.Process.Pid
	go cmd.Wait() // reaps it should it end while this fettle still runs
	return fmt.Sprintf("process %d until %s", pid, deadline.Local().Format(time.TimeOnly)), nil
}

// GuardReady is the first word of a guard that stands by.
const GuardReady = "ready"

const bootUnitText = `# Written by fettle. fettle confirm %[1]s or fettle undo %[1]s removes it.
[Unit]
Description=Undo fettle's change %[1]s, which was not confirmed
DefaultDependencies=no
Conflicts=shutdown.target
RequiresMountsFor="%[2]s"
After=local-fs.target
Before=sysinit.target systemd-sysctl.service network-pre.target shutdown.target
Wants=network-pre.target
ConditionPathExists=%[5]s

[Service]
Type=oneshot
%[4]sExecStart="%[3]s" undo --unconfirmed %[1]s --boot
`

// bootUnit undoes at the next boot, before the network and the sysctls are
// set up from the files that are put back.
func (g Guard) bootUnit(c *Change, bin string) (string, error) {
	units, err := openRoots(g.units())
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer units.Close()
	var env strings.Builder
	for _, kv := range c.environment() {
		fmt.Fprintf(&env, "Environment=\"%s\"\n", startup.Quoted(kv))
	}
	text := fmt.Sprintf(bootUnitText, c.ID, startup.Quoted(c.dir()), startup.Quoted(bin), env.String(),
		strings.ReplaceAll(c.dir(), "%", "%%")) // a condition takes no quotes
	name := bootUnitName(c.ID)
	if err := errors.Join(units.WriteFile(name, []byte(text), 0o644), units.Chmod(name, 0o644)); err != nil {
		return "", err
	}
	const wants = "sysinit.target.wants"
	if err := units.Mkdir(wants, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	link := filepath.Join(wants, name)
	units.Remove(link)
	if err := units.Symlink("../"+name, link); err != nil {
		return "", err
	}
	for _, made := range []string{name, wants, "."} {
		if err := (rootDisk{units}).Sync(made); err != nil {
			return "", err
		}
	}
	return "boot unit " + name, nil
}

// disarm removes the guards of a change that is confirmed or taken back. What
// fails does no harm: a guard looks at the journal before it acts.
func (g Guard) disarm(ctx context.Context, m machine.Machine, c *Change) {
	c.store.disk.Remove(c.in("reserve"))
	if c.armed == nil {
		return
	}
	if units, err := openRoots(g.units()); err == nil {
		const wants = "sysinit.target.wants"
		name := bootUnitName(c.ID)
		units.Remove(filepath.Join(wants, name))
		units.Remove(name)
		units.Remove(wants) // only when it is empty
		rootDisk{units}.Sync(".")
		units.Close()
	}
	if bin, booted := m.Systemctl(); booted && bin != "" {
		m.Run(ctx, []string{bin, "stop", unitName(c.ID) + ".timer"}, step.AskLimit)
	}
	c.store.disk.Remove(c.in("fettle"))
}
