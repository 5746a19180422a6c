package remedy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// unitLimit is how long systemctl may take; a unit's own start limit is
// 90 s by default (systemd-system.conf(5)).
const unitLimit = 2 * time.Minute

// running: what was started is gone after a reboot, what was enabled is not.
func (s Unit) running() bool { return s.Act != "enable" && s.Act != "disable" }

// again: the daemon must read its files once more after they were put back.
func (s Unit) again() bool {
	return slices.Contains([]string{"reload", "restart", "reload-or-restart", "daemon-reload"}, s.Act)
}

// possible tells whether there is a systemd to act for.
func (s Unit) possible(m Machine) error {
	bin, booted := m.Systemctl()
	if bin == "" {
		return errors.New("there is no systemctl on this host")
	}
	if s.running() && !booted {
		return errors.New("systemd does not run this host")
	}
	if s.Act != "daemon-reload" {
		return validUnit(s.Name)
	}
	return nil
}

func (s Unit) items(ctx context.Context, m Machine) ([]Item, error) {
	if err := s.possible(m); err != nil {
		return nil, err
	}
	it := Item{Path: s.Name}
	switch s.Act {
	case "daemon-reload", "reload", "restart", "reload-or-restart":
		return nil, nil
	case "start", "stop":
		it.Kind = itemActive
	case "enable", "disable":
		it.Kind = itemEnabled
	default:
		return nil, fmt.Errorf("fettle does not know the act %q on a unit", s.Act)
	}
	it, err := readItem(ctx, m, it)
	if err != nil {
		return nil, err
	}
	if it.Kind == itemEnabled && it.Value != "enabled" && it.Value != "disabled" {
		return nil, fmt.Errorf("%s: systemctl is-enabled says %q, which fettle could not put back", s.Describe(), it.Value)
	}
	return []Item{it}, nil
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
func unitState(ctx context.Context, m Machine, it Item) (string, error) {
	bin, _ := m.Systemctl()
	if bin == "" {
		return "", fmt.Errorf("there is no systemctl on this host")
	}
	question := "is-enabled"
	if it.Kind == itemActive {
		question = "is-active"
	}
	out, err := m.Ask(ctx, []string{bin, question, it.Path}, askLimit)
	if err != nil {
		return "", err
	}
	word, _, _ := strings.Cut(strings.TrimSpace(string(out.Stdout)), "\n")
	if word == "" {
		return "", fmt.Errorf("systemctl %s %s said nothing%s", question, it.Path, said(out))
	}
	if it.Kind == itemActive {
		// "activating", "failed" and the like come and go.
		if word == "active" || word == "reloading" || word == "activating" {
			return "active", nil
		}
		return "inactive", nil
	}
	return word, nil
}

func (s Unit) argv(m Machine) []string {
	bin, _ := m.Systemctl()
	if s.Name == "" {
		return []string{bin, s.Act}
	}
	return []string{bin, s.Act, s.Name}
}

func (s Unit) act(ctx context.Context, st *site, _ []Item) error {
	return run(ctx, st.m, s.argv(st.m), unitLimit)
}

func (s Unit) done(_ context.Context, _ Machine, _, now []Item) (bool, error) {
	want := map[string]string{"start": "active", "stop": "inactive", "enable": "enabled", "disable": "disabled"}[s.Act]
	return want != "" && now[0].Value == want, nil
}

func (s Unit) between(_, _ Item) bool { return false }

func putBackUnit(ctx context.Context, s *site, was, now Item) error {
	bin, booted := s.m.Systemctl()
	act := map[string]string{"active": "start", "inactive": "stop", "enabled": "enable", "disabled": "disable"}[was.Value]
	if act == "" || was.Kind == itemActive && !booted {
		s.note("%s was %s and is %s; fettle cannot put that back", was.Path, was.Value, now.Value)
		return nil
	}
	return run(ctx, s.m, []string{bin, act, was.Path}, unitLimit)
}
