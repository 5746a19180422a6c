package step

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"fettle/engine/remedy/machine"
	"fettle/internal/shell"
)

// Unit acts on a systemd unit. Act is one of reload, restart,
// reload-or-restart, start, stop, enable, disable; daemon-reload takes no Name.
type Unit struct {
	Name string `json:"name,omitempty"`
	Act  string `json:"act"`
	// Once: undo does not do it again. See Alone.
	Once bool `json:"once,omitempty"`
	// Destroys says what is gone for good when it was done; empty: nothing.
	Destroys string `json:"destroys,omitempty"`
}

func (Unit) Kind() string { return "unit" }

func (s Unit) Describe() string {
	if s.Act == "daemon-reload" {
		return "reload systemd's unit files"
	}
	return s.Act + " " + s.Name
}

func (s Unit) Reversal() Reversal {
	switch {
	case s.Destroys != "":
		return Reversal{Irreversible, s.Destroys}
	case s.Once:
		return Reversal{Stays, "doing it again would restore nothing"}
	}
	switch s.Act {
	case "daemon-reload":
		return Reversal{Invertible, "again, after the unit files are restored"}
	case "reload":
		return Reversal{Invertible, "again, after its files are restored"}
	case "restart", "reload-or-restart":
		return Reversal{Invertible, "again, after its files are restored; this interrupts it again"}
	case "start":
		return Reversal{Invertible, "stops it if it was stopped; what it did meanwhile remains"}
	case "stop":
		return Reversal{Invertible, "starts it if it was running; its connections and state are new"}
	case "enable", "disable":
		return Reversal{Invertible, "restores its enablement with systemctl"}
	}
	return Reversal{Irreversible, "unknown act: " + s.Act}
}

// Starts tells whether a step starts a unit, or starts it again.
func Starts(s Step) bool {
	u, ok := s.(Unit)
	return ok && (u.Act == "start" || u.Act == "restart" || u.Act == "reload-or-restart")
}

// Running: what was started is gone after a reboot, what was enabled is not.
func (s Unit) Running() bool { return s.Act != "enable" && s.Act != "disable" }

func (s Unit) Commands() [][]string {
	if s.Name == "" {
		return [][]string{{"systemctl", s.Act}}
	}
	return [][]string{{"systemctl", s.Act, s.Name}}
}

func (s Unit) Items(ctx context.Context, m machine.Machine) ([]Item, error) {
	if err := s.Possible(m); err != nil {
		return nil, err
	}
	it := Item{Path: s.Name}
	switch s.Act {
	case "daemon-reload", "reload", "restart", "reload-or-restart":
		return nil, nil
	case "start", "stop":
		it.Kind = ActiveItem
	case "enable", "disable":
		it.Kind = EnabledItem
	default:
		return nil, fmt.Errorf("unknown act %q on a unit", s.Act)
	}
	it, err := ReadItem(ctx, m, it)
	if err != nil {
		return nil, err
	}
	if it.Kind == EnabledItem && it.Value != "enabled" && it.Value != "disabled" {
		return nil, fmt.Errorf("%s: systemctl is-enabled says %q, which fettle could not restore", s.Describe(), it.Value)
	}
	return []Item{it}, nil
}

func (s Unit) Apply(ctx context.Context, st *Site, _ []Item) error {
	return Run(ctx, st.Machine, s.argv(st.Machine), unitLimit)
}

func (s Unit) Done(_ context.Context, _ machine.Machine, _, now []Item) (bool, error) {
	want := map[string]string{"start": "active", "stop": "inactive", "enable": "enabled", "disable": "disabled"}[s.Act]
	return want != "" && now[0].Value == want, nil
}

// unitLimit is how long systemctl may take; a unit's own start limit is
// 90 s by default (systemd-system.conf(5)).
const unitLimit = 2 * time.Minute

// Possible tells whether there is a systemd to act for.
func (s Unit) Possible(m machine.Machine) error {
	bin, booted := m.Systemctl()
	if bin == "" {
		return errors.New("there is no systemctl on this host")
	}
	if s.Running() && !booted {
		return errors.New("this host does not run systemd")
	}
	if s.Act != "daemon-reload" {
		return validUnit(s.Name)
	}
	return nil
}

// validUnit keeps options and paths out of systemctl's arguments.
func validUnit(name string) error {
	if name == "" || strings.HasPrefix(name, "-") || strings.ContainsAny(name, "/ \t\n*?[") {
		return fmt.Errorf("%q is not the name of a unit", name)
	}
	return nil
}

// unitState asks systemctl. Both questions print one word, and their exit
// status only repeats it.
func unitState(ctx context.Context, m machine.Machine, it Item) (string, error) {
	bin, _ := m.Systemctl()
	if bin == "" {
		return "", fmt.Errorf("there is no systemctl on this host")
	}
	question := "is-enabled"
	if it.Kind == ActiveItem {
		question = "is-active"
	}
	out, err := m.Ask(ctx, []string{bin, question, it.Path}, AskLimit)
	if err != nil {
		return "", err
	}
	word, _, _ := strings.Cut(strings.TrimSpace(string(out.Stdout)), "\n")
	if word == "" {
		return "", fmt.Errorf("systemctl %s %s said nothing%s", question, it.Path, Said(out))
	}
	if it.Kind == ActiveItem {
		// "activating", "failed" and the like come and go.
		if word == "active" || word == "reloading" || word == "activating" {
			return "active", nil
		}
		return "inactive", nil
	}
	return word, nil
}

func (s Unit) argv(m machine.Machine) []string {
	bin, _ := m.Systemctl()
	if s.Name == "" {
		return []string{bin, s.Act}
	}
	return []string{bin, s.Act, s.Name}
}

func putBackUnit(ctx context.Context, s *Site, was, now Item) error {
	bin, booted := s.Machine.Systemctl()
	act := map[string]string{"active": "start", "inactive": "stop", "enabled": "enable", "disabled": "disable"}[was.Value]
	if act == "" || was.Kind == ActiveItem && !booted {
		s.Note("%s was %s and is %s; fettle cannot restore that", was.Path, was.Value, now.Value)
		return nil
	}
	return Run(ctx, s.Machine, []string{bin, act, was.Path}, unitLimit)
}

// Repeats: the daemon must read its files once more after they were put back.
func (s Unit) Repeats() bool {
	return !s.Once && s.Destroys == "" && slices.Contains([]string{"reload", "restart", "reload-or-restart", "daemon-reload"}, s.Act)
}

// Alone: a restart is not undone by another one.
func (s Unit) Alone() Step {
	s.Once = true
	return s
}

// Useful: a service that does not run reads its files when it starts; early in a
// boot, where unconfirmed changes are undone, that is every one.
func (s Unit) Useful(ctx context.Context, m machine.Machine) (bool, error) {
	if s.Act == "daemon-reload" {
		return true, nil
	}
	now, err := unitState(ctx, m, Item{Kind: ActiveItem, Path: s.Name})
	return now == "active", err
}

func (s Unit) Shell(string) (string, error) {
	q := shell.Quote(s.Name)
	cmd := ShellCommands(s)
	switch {
	case s.Repeats():
		return "again " + cmd + cmd, nil
	case s.Once || s.Destroys != "":
		return cmd, nil
	}
	inverse := map[string]string{"start": "stop", "stop": "start", "enable": "disable", "disable": "enable"}[s.Act]
	question, there := "is-enabled", s.Act == "disable"
	if s.Act == "start" || s.Act == "stop" {
		question, there = "is-active", s.Act == "stop"
	}
	not := "! "
	if there {
		not = ""
	}
	return fmt.Sprintf("if %ssystemctl --quiet %s %s; then undo systemctl %s %s; fi\n%s", not, question, q, inverse, q, cmd), nil
}

func (s Unit) Ansible(b *Tasks) error {
	set := map[string]string{"reload": "state: reloaded", "restart": "state: restarted", "reload-or-restart": "state: reloaded",
		"start": "state: started", "stop": "state: stopped", "enable": "enabled: true", "disable": "enabled: false",
		"daemon-reload": "daemon_reload: true"}[s.Act]
	b.Task(s.Describe())
	b.Line("      ansible.builtin.systemd:")
	if s.Name != "" {
		b.Line("        name: %s", YAML(s.Name))
	}
	b.Line("        %s", set)
	switch s.Act {
	case "reload", "restart", "reload-or-restart", "daemon-reload":
		b.IfChanged()
	default: // Ansible knows whether there is anything to do
		b.Changer()
	}
	return nil
}
