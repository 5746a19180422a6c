package remedyproof

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle/engine/remedy/machine"
	"fettle/internal/means"
	"fettle/lab"
)

// TestMain: nothing of this host is looked at or changed; where it is, each test says.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "remedyproof-")
	if err != nil {
		panic(err)
	}
	for _, p := range []*string{&killLog, &stateDir, &bootWants, &unitFile, &reloadLog} {
		*p = filepath.Join(dir, "none", filepath.Base(*p))
	}
	newHost = func() machine.Machine { panic("the host itself") }
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// elsewhere has all that the experiments look at in a new folder.
func elsewhere(t *testing.T) {
	dir := t.TempDir()
	for _, p := range []*string{&killLog, &stateDir, &bootWants, &unitFile, &reloadLog} {
		was := *p
		t.Cleanup(func() { *p = was })
		*p = filepath.Join(dir, filepath.Base(was))
	}
}

// rows are those of the table that a bench told its host.
func rows(t *testing.T, line string) (out []string) {
	t.Helper()
	for frame := range strings.Lines(line) {
		f := strings.Fields(frame)
		b, err := base64.StdEncoding.DecodeString(f[len(f)-1])
		var m struct {
			Row struct {
				Cells []string `json:"cells"`
			} `json:"row"`
		}
		if err = errors.Join(err, json.Unmarshal(b, &m)); err != nil {
			t.Fatal(err)
		}
		if m.Row.Cells != nil {
			out = append(out, strings.Join(m.Row.Cells, "|"))
		}
	}
	return out
}

// told is all that a host heard.
func told(line string) (out string) {
	for frame := range strings.Lines(line) {
		f := strings.Fields(frame)
		b, _ := base64.StdEncoding.DecodeString(f[len(f)-1])
		out += string(b) + "\n"
	}
	return out
}

// killed is a machine on which fettle is killed at each of its points.
type killed struct {
	points  int
	early   int // of the points have no timer yet
	slow    int // times that the time to confirm is over before the point
	state   map[int]string
	changes string
	fails   string // the command that does
	point   int
	asked   []string
}

var errBroken = errors.New("it broke")

func (k *killed) exec(argv []string) (string, int, error) {
	line := strings.Join(argv, " ")
	k.asked = append(k.asked, line)
	if k.fails != "" && strings.HasPrefix(line, k.fails) {
		return "", 0, errBroken
	}
	switch {
	case argv[0] == "fettle-lab":
		fmt.Sscan(argv[2], &k.point)
		if k.slow > 0 {
			k.slow--
			return "", 6, nil
		}
		if k.point > k.points {
			return "", 0, nil
		}
		log := "before /usr/bin/stat x\nbefore the step of it all\n"
		if k.point > k.early {
			log = "after /usr/bin/systemd-run x\n" + log
		}
		return "", -1, os.WriteFile(killLog, []byte(log), 0o600)
	case line == "fettle changes":
		return k.changes, 0, nil
	case argv[0] == "getfacl":
		if s, ok := k.state[k.point]; ok {
			return s, 0, nil
		}
		return "as it was", 0, nil
	}
	return "", 0, nil
}

// TestKillMatrix: each point is told, and one that leaves something otherwise fails the experiment.
func TestKillMatrix(t *testing.T) {
	const back = "0001 a change on /var/log/journal: taken back\n"
	for name, c := range map[string]struct {
		k     killed
		wants bool // something is left to systemd
		rows  []string
		fail  string
	}{
		"well": {k: killed{points: 2, changes: back}, rows: []string{"1 before the step of|yes|taken back", "2 before the step of|yes|taken back",
			"3 not at all|yes|taken back"}},
		"nothing to take back": {k: killed{points: 1}, rows: []string{"1 before the step of|yes|", "2 not at all|yes|"}},
		"another state, before the timer": {k: killed{points: 2, early: 2, state: map[int]string{2: "another"}},
			rows: []string{"1 before the step of|yes|",
				"2 before the step of|NO|", "3 not at all|yes|"}, fail: "point 2: not as before:\nanother"},
		"slow":             {k: killed{points: 1, slow: 3}, rows: []string{"1 before the step of|yes|", "2 not at all|yes|"}},
		"ever too slow":    {k: killed{points: 1, slow: 99}, rows: []string{"1 not at all|yes|"}},
		"left over":        {k: killed{points: 1}, wants: true, rows: []string{"1 before the step of|yes|", "2 not at all|yes|"}},
		"without end":      {k: killed{points: killPoints}, fail: "more than 500 points"},
		"no journal":       {k: killed{fails: "mkdir"}, fail: errBroken.Error()},
		"no ACL":           {k: killed{fails: "getfacl"}, fail: errBroken.Error()},
		"no fettle":        {k: killed{fails: "fettle-lab"}, fail: errBroken.Error()},
		"no changes":       {k: killed{fails: "fettle changes"}, fail: errBroken.Error()},
		"slow, no systemd": {k: killed{points: 1, slow: 1, fails: "systemctl"}, fail: "systemctl list-units"},
		"no systemd":       {k: killed{points: 1, fails: "systemctl"}, fail: "point 1: systemctl"},
	} {
		t.Run(name, func(t *testing.T) {
			elsewhere(t)
			if err := os.MkdirAll(stateDir+"/old", 0o700); err != nil {
				t.Fatal(err)
			}
			if c.wants {
				c.fail = "point 1: left to systemd:"
				if err := os.MkdirAll(bootWants+"/fettle-undo-0001-boot.service", 0o700); err != nil {
					t.Fatal(err)
				}
			}
			var line bytes.Buffer
			b := &lab.Bench{Teller: lab.NewTeller(&line), Exec: c.k.exec}
			err := killMatrix(t.Context(), b)
			if (err == nil) != (c.fail == "") || err != nil && !strings.Contains(err.Error(), c.fail) {
				t.Errorf("%v, want %s", err, c.fail)
			}
			got := rows(t, line.String())
			if err := b.Finish(); err != nil || name == "well" && !strings.Contains(told(line.String()), `"2 points in all."`) {
				t.Errorf("%v, the host heard\n%s", err, told(line.String()))
			}
			for i := range got {
				got[i] = got[i][:max(0, strings.LastIndexByte(got[i], '|'))] // without the seconds
			}
			if c.rows != nil && !slices.Equal(got, c.rows) || name == "without end" && len(got) != killPoints-1 {
				t.Errorf("rows %q, want %q", got, c.rows)
			}
			if _, err := os.Stat(stateDir); err == nil && len(got) > 0 {
				t.Error("the changes of the point before are left")
			}
			said := strings.Join(c.k.asked, "\n")
			if name == "slow" && (strings.Count(said, "fettle-lab "+lab.KilledVerb+" 1 ") != 4 || !strings.Contains(said, "--confirm-within 24s")) ||
				name == "ever too slow" && (!strings.Contains(said, "--confirm-within 1m36s") || strings.Contains(said, "--confirm-within 3m")) ||
				name == "well" && strings.Count(said, "--confirm-within 3s") != 3 {
				t.Errorf("asked:\n%s", said)
			}
		})
	}
}

// TestOldChanges: what earlier points left must go, or nothing is proven.
func TestOldChanges(t *testing.T) {
	elsewhere(t)
	if err := os.WriteFile(stateDir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	stateDir += "/below"
	k := killed{points: 1}
	if err := killMatrix(t.Context(), &lab.Bench{Teller: lab.NewTeller(&bytes.Buffer{}), Exec: k.exec}); err == nil || k.point != 0 {
		t.Errorf("%v, point %d", err, k.point)
	}
}

// systemd is one with one unit.
type systemd struct {
	machine.Machine
	active, enabled bool
	pid, reloads    int
	forgets         string // the acts that do nothing
	fails           string // the command that does
}

func (s *systemd) Systemctl() (string, bool) { return "systemctl", true }

func (s *systemd) Ask(_ context.Context, argv []string, _ time.Duration) (machine.Output, error) {
	out, _, err := s.exec(argv)
	return machine.Output{Stdout: []byte(out)}, err
}

func (s *systemd) Run(ctx context.Context, argv []string, limit time.Duration) (machine.Output, error) {
	return s.Ask(ctx, argv, limit)
}

func (s *systemd) exec(argv []string) (string, int, error) {
	word := func(is bool, yes, no string) string {
		if is {
			return yes
		}
		return no
	}
	if s.fails != "" && strings.HasPrefix(strings.Join(argv, " "), s.fails) {
		return "", 0, errBroken
	}
	act := argv[1]
	if slices.Contains(strings.Fields(s.forgets), act) {
		return "", 0, nil
	}
	fresh := func(active bool) {
		if s.active = active; active {
			s.pid++
		}
	}
	switch act {
	case "start":
		if !s.active {
			fresh(true)
		}
	case "restart":
		fresh(true)
	case "stop":
		fresh(false)
	case "enable":
		s.enabled = true
	case "disable":
		if s.enabled = false; slices.Contains(argv, "--now") {
			fresh(false)
		}
	case "reload", "reload-or-restart":
		s.reloads++
		return "", 0, os.WriteFile(reloadLog, []byte(strings.Repeat("again\n", s.reloads)), 0o600)
	case "is-active":
		return word(s.active, "active", "inactive"), 0, nil
	case "is-enabled":
		return word(s.enabled, "enabled", "disabled"), 0, nil
	case "show":
		pid := 0
		if s.active {
			pid = s.pid
		}
		return fmt.Sprintf("ActiveState=%s\nUnitFileState=%s\nMainPID=%d\n", word(s.active, "active", "inactive"), word(s.enabled, "enabled",
			"disabled"), pid), 0, nil
	}
	return "", 0, nil
}

// TestUnitSteps: each step does what it says and is undone; a systemd that forgets one is noticed, and one that fails stops it.
func TestUnitSteps(t *testing.T) {
	means.Root(t)
	for name, c := range map[string]struct {
		host systemd
		fail string
		rows int
	}{
		"well": {systemd{}, "", 11},
		"forgets": {systemd{forgets: "restart reload"}, `restart after start: expected "active disabled new process" and after undo ` +
			`"active disabled", and got "active disabled" and "active disabled"` + "\n" + `reload after start: expected "active disabled reloaded"`, 11},
		"no reload":  {systemd{fails: "systemctl daemon-reload"}, errBroken.Error(), 0},
		"no show":    {systemd{fails: "systemctl show"}, errBroken.Error(), 0},
		"no start":   {systemd{fails: "systemctl start"}, errBroken.Error(), 0},
		"no stop":    {systemd{fails: "systemctl stop"}, errBroken.Error(), 0},
		"no enable":  {systemd{fails: "systemctl enable"}, errBroken.Error(), 4},
		"no restart": {systemd{fails: "systemctl restart"}, "restart: ", 8},
	} {
		t.Run(name, func(t *testing.T) {
			elsewhere(t)
			t.Setenv("FETTLE_STATE", stateDir)
			h := c.host
			h.Machine = machine.New()
			defer func(was func() machine.Machine) { newHost = was }(newHost)
			newHost = func() machine.Machine { return &h }
			var line bytes.Buffer
			err := unitSteps(t.Context(), &lab.Bench{Teller: lab.NewTeller(&line), Exec: h.exec})
			if (err == nil) != (c.fail == "") || err != nil && !strings.Contains(err.Error(), c.fail) {
				t.Errorf("%v, want %s", err, c.fail)
			}
			got := rows(t, line.String())
			if len(got) != c.rows {
				t.Errorf("%d rows: %q", len(got), got)
			}
			if b, err := os.ReadFile(unitFile); err != nil || string(b) != subjectText {
				t.Errorf("the unit: %s, %v", b, err)
			}
			if name == "well" && (got[0] != "start|inactive disabled|active disabled|inactive disabled" ||
				got[8] != "restart|active disabled|active disabled new process|active disabled") {
				t.Errorf("%q", got)
			}
		})
	}
	elsewhere(t)
	unitFile += "/no/folder"
	if err := unitSteps(t.Context(), nil); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestSince: a unit that was not known, or did not run, has no new process.
func TestSince(t *testing.T) {
	now := unit{"active enabled", "7", 2}
	for want, was := range map[string]unit{"active enabled": {}, "active enabled new process": {"", "6", 2},
		"active enabled reloaded":             {"", "7", 1},
		"active enabled new process reloaded": {"", "6", 0}} {
		if got := now.since(was); got != want {
			t.Errorf("since %+v: %q", was, got)
		}
	}
	for _, c := range []struct{ now, was unit }{{now, unit{"", "0", 2}}, {unit{"active enabled", "0", 2}, unit{"", "6", 2}}, {now, unit{"",
		"7", 3}}} {
		if got := c.now.since(c.was); got != "active enabled" {
			t.Errorf("%+v since %+v: %q", c.now, c.was, got)
		}
	}
}

// TestScenarios: each has a name of its own and steps with acts; what waits has time to.
func TestScenarios(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range Scenarios {
		if seen[s.Name] || s.About == "" || len(s.Steps) < 3 || !s.Needs.Systemd {
			t.Errorf("%s: %s, %d steps", s.Name, s.About, len(s.Steps))
		}
		seen[s.Name] = true
		for _, step := range s.Steps {
			for _, a := range step.Acts {
				if e := a.Expect; e != nil && e.Within != 0 && e.Within < 5*time.Second {
					t.Errorf("%s, %s: %q has %s", s.Name, step.Name, e.Run, e.Within)
				}
			}
		}
	}
	for _, e := range Experiments {
		if e.Needs.Limit < time.Minute {
			t.Errorf("%s: %s", e.Name, e.Needs.Limit)
		}
	}
}
