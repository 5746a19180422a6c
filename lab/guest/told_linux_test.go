package guest

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fettle/internal/means"
	"fettle/lab"
)

// TestTellsHost: whatever the orders are, the host hears of their beginning, of what came of them, and of their end. It runs
// with a host name, a network and mounts of its own.
func TestTellsHost(t *testing.T) {
	means.Root(t)
	const env = "FETTLE_TEST_GUEST"
	if os.Getenv(env) == "" {
		means.Elsewhere(t, syscall.CLONE_NEWUTS|syscall.CLONE_NEWNET|syscall.CLONE_NEWNS, time.Minute, env+"=inside")
		return
	}
	dir := t.TempDir()
	find := func(trap, name string) (lab.Experiment, bool) {
		return lab.Experiment{Run: func(context.Context, *lab.Bench) error { return nil }}, name == "known"
	}
	const hello, done = `{"hello"`, `{"done":true}`
	for name, c := range map[string]struct {
		orders lab.Orders
		first  int
		want   string // in this order
		lacks  string
	}{
		"a command":     {lab.Orders{Command: []string{"sh", "-c", "echo hi; exit 3"}}, 0, hello + "|hi|\"status\":3|" + done, "fatal"},
		"none such":     {lab.Orders{Command: []string{"/nonexistent"}}, 0, hello + "|no such file|\"status\":-1|" + done, "fatal"},
		"an experiment": {lab.Orders{Experiment: "known"}, 0, hello + "|\"experiment\",\"ok\":true|" + done, "fatal"},
		"another":       {lab.Orders{Experiment: "unknown"}, 0, hello + "|{\"fatal\":|no experiment", "done"},
		"steps": {lab.Orders{Scenario: lab.Scenario{Steps: []lab.Step{{Name: "one", Acts: []lab.Act{{Run: []string{"true"}}}}}}},
			0, hello + "|\"one\",\"ok\":true|" + done, "fatal"},
		"after a restart": {lab.Orders{Scenario: lab.Scenario{Steps: []lab.Step{{Name: "one", Acts: []lab.Act{{}}}, {Name: "two",
			Acts: []lab.Act{{}}}}}}, 1, "\"two\",\"ok\":true|" + done, "\"one\""},
		"a story": {lab.Orders{Scenario: lab.Scenario{Innocent: true}}, 0, hello + "|\"prepare\",\"ok\":true|\"innocent\"|" + done,
			"fatal"},
		"a module too many": {lab.Orders{Modules: []string{"/nonexistent.ko"}, Command: []string{"true"}}, 0,
			hello + "|{\"fatal\":|nonexistent.ko", "done"},
		"a disk, prepared": {lab.Orders{Disk: "/nonexistent", Modules: []string{"/nonexistent.ko"}, Command: []string{"true"}}, 0,
			hello + "|\"status\"|" + done, "fatal"},
	} {
		if name == "a disk, prepared" { // a status of 0 is left out
			c.want = hello + "|\"ok\":true|" + done
		}
		c.orders.Channel = filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
		if err := os.WriteFile(c.orders.Channel, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		err := tellStory(c.orders, c.first, find)
		b, _ := os.ReadFile(c.orders.Channel)
		heard := told(string(b))
		rest, ok := heard, true
		for part := range strings.SplitSeq(c.want, "|") {
			if _, rest, ok = strings.Cut(rest, part); !ok {
				break
			}
		}
		if err != nil || !ok || strings.Contains(heard, c.lacks) || c.first > 0 && strings.Contains(heard, hello) {
			t.Errorf("%s: %v, the host heard\n%s", name, err, heard)
		}
	}
	if err := tellStory(lab.Orders{Channel: dir + "/none/line"}, 0, find); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("nobody hears, and %v", err)
	}
	for first := range 2 { // at the first word, and at what came of it
		if err := tellStory(lab.Orders{Channel: "/dev/full", Command: []string{"true"}}, first, find); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("nobody hears of a command, and %v", err)
		}
	}
	lo, err := net.InterfaceByName("lo")
	if name, nerr := os.Hostname(); err != nil || lo.Flags&net.FlagUp == 0 || nerr != nil || name != "lab" ||
		os.Getenv("HOME") != "/root" || os.Getenv(env) != "" {
		t.Errorf("%+v, %v, called %q, %v, at home in %q", lo, err, name, nerr, os.Getenv("HOME"))
	}
}

// TestInnocent: nothing is found, and nothing could not be looked at, of the subject or of the host as a whole.
func TestInnocent(t *testing.T) {
	for _, c := range []struct {
		subject string
		all     []outcome
		fail    string
	}{
		{"s", []outcome{{Subject: "s", Status: "clear"}}, ""}, {"s", []outcome{{Subject: "s", Status: "found"}}, "was found"},
		{"s", []outcome{{Subject: "z", Status: "found"}, {Subject: "z", Status: "unknown"}}, ""}, {"s", []outcome{{Status: "unknown"}},
			"could not be looked at"},
		{"s", []outcome{{Status: "clear"}}, ""}, {"", []outcome{{Subject: "z", Status: "found"}}, "was found"},
		{"", []outcome{{Subject: "z", Status: "unknown"}}, "could not be looked at"}, {"", []outcome{{Subject: "z", Status: "clear"}}, ""},
	} {
		if err := innocent(c.all, lab.Scenario{Subject: c.subject}); (err == nil) != (c.fail == "") || err != nil &&
			!strings.Contains(err.Error(), c.fail) {
			t.Errorf("%q, %+v: %v, want %s", c.subject, c.all, err, c.fail)
		}
	}
	for _, c := range []struct {
		s    lab.Scenario
		all  []outcome
		fail string
	}{
		{lab.Scenario{}, []outcome{{Subject: "a", Status: "not-applicable"}, {Subject: "b", Status: "clear"}}, ""},
		{lab.Scenario{Subject: "a"}, []outcome{{Subject: "a", Status: "not-applicable"}, {Subject: "b", Status: "clear"}},
			"and is not-applicable"},
		{lab.Scenario{Subject: "a", Vanishes: true}, []outcome{{Subject: "b", Status: "clear"}}, ""},
		{lab.Scenario{Subject: "a", Vanishes: true}, []outcome{{Subject: "a", Status: "clear"}}, ""},
		{lab.Scenario{Subject: "a", Vanishes: true}, []outcome{{Subject: "a", Status: "not-applicable"}}, "not to be spoken of"},
		{lab.Scenario{Subject: "a"}, []outcome{{Subject: "b", Status: "clear"}}, "does not speak of it"},
	} {
		if err := mended(c.all, c.s); (err == nil) != (c.fail == "") || err != nil && !strings.Contains(err.Error(), c.fail) {
			t.Errorf("%+v, %+v: %v, want %s", c.s, c.all, err, c.fail)
		}
	}
}
