package step

import (
	"errors"
	"strings"
	"testing"
	"time"

	"fettle/engine/remedy/machine"
)

// TestUnitItems: what a step on a unit keeps of it, and where it cannot be taken.
func TestUnitItems(t *testing.T) {
	for name, c := range map[string]struct {
		unit    Unit
		prepare func(*memory)
		want    string // the items, or what the refusal says
	}{
		"reload":            {Unit{Name: "a.service", Act: "reload"}, nil, ""},
		"restart":           {Unit{Name: "a.service", Act: "restart"}, nil, ""},
		"reload or restart": {Unit{Name: "a.service", Act: "reload-or-restart"}, nil, ""},
		"daemon-reload":     {Unit{Act: "daemon-reload"}, nil, ""},
		"start":             {Unit{Name: "a.service", Act: "start"}, nil, "active:a.service active"},
		"stop":              {Unit{Name: "failed.service", Act: "stop"}, nil, "active:failed.service inactive"},
		"start, starting":   {Unit{Name: "starting.service", Act: "start"}, nil, "active:starting.service active"},
		"start, reloading":  {Unit{Name: "reloading.service", Act: "start"}, nil, "active:reloading.service active"},
		"enable":            {Unit{Name: "a.service", Act: "enable"}, nil, "enabled:a.service enabled"},
		"disable":           {Unit{Name: "b.service", Act: "disable"}, nil, "enabled:b.service disabled"},
		"enable a static one": {Unit{Name: "static.service", Act: "enable"}, nil,
			`enable static.service: systemctl is-enabled says "static", which fettle could not restore`},
		"enable, nothing said": {Unit{Name: "n.service", Act: "enable"}, nil, "systemctl is-enabled n.service said nothing"},
		"start, nothing said":  {Unit{Name: "n.service", Act: "start"}, nil, "systemctl is-active n.service said nothing"},
		"another act":          {Unit{Name: "a.service", Act: "mask"}, nil, `unknown act "mask"`},
		"no name":              {Unit{Act: "start"}, nil, `"" is not the name of a unit`},
		"an option":            {Unit{Name: "--all", Act: "start"}, nil, "is not the name"},
		"a path":               {Unit{Name: "a/b", Act: "start"}, nil, "is not the name"},
		"two":                  {Unit{Name: "a b", Act: "start"}, nil, "is not the name"},
		"a pattern":            {Unit{Name: "a*", Act: "start"}, nil, "is not the name"},
		"no systemctl":         {Unit{Name: "a.service", Act: "enable"}, func(m *memory) { m.systemctl = "" }, "there is no systemctl"},
		"another init, enable": {Unit{Name: "a.service", Act: "enable"}, func(m *memory) { m.booted = false }, "enabled:a.service enabled"},
		"another init, start":  {Unit{Name: "a.service", Act: "start"}, func(m *memory) { m.booted = false }, "this host does not run systemd"},
	} {
		m := newMemory()
		m.units = map[string]string{"is-active a.service": "active", "is-active failed.service": "failed",
			"is-active starting.service": "activating", "is-active reloading.service": "reloading", "is-enabled a.service": "enabled",
			"is-enabled b.service": "disabled\nand a hint", "is-enabled static.service": "static"}
		if c.prepare != nil {
			c.prepare(m)
		}
		items, err := c.unit.Items(t.Context(), m)
		if err != nil && c.want != "" && strings.Contains(err.Error(), c.want) && items == nil {
			continue
		}
		if got := shown(items); got != c.want || err != nil {
			t.Errorf("%s: %s, %v; want %s", name, got, err, c.want)
		}
		for call, limit := range m.limits {
			if limit != AskLimit {
				t.Errorf("%s: %s has %s", name, call, limit)
			}
		}
	}
	if AskLimit < time.Second || AskLimit > time.Minute {
		t.Errorf("systemctl may take %s to answer", AskLimit)
	}
	if _, err := unitState(t.Context(), &memory{}, Item{Kind: ActiveItem, Path: "a.service"}); err == nil {
		t.Error("without systemctl a unit has a state")
	}
}

// TestUnitActs: what systemctl is told, and that it may take as long as a unit may take to start.
func TestUnitActs(t *testing.T) {
	for act, done := range map[string]string{"start": "active", "stop": "inactive", "enable": "enabled", "disable": "disabled", "reload": "-",
		"daemon-reload": "-"} {
		u, want := Unit{Name: "a.service", Act: act}, "run /bin/systemctl "+act+" a.service"
		if act == "daemon-reload" {
			u, want = Unit{Act: act}, "run /bin/systemctl daemon-reload"
		}
		m := newMemory()
		if err := u.Apply(t.Context(), m.site(nil), nil); err != nil {
			t.Error(err)
		}
		m.did(t, act, want)
		if l := m.limits[want]; l < 90*time.Second || l > 10*time.Minute {
			t.Errorf("%s may take %s", act, l)
		}
		for _, word := range []string{"active", "inactive", "enabled", "disabled", ""} {
			if got, err := u.Done(t.Context(), nil, nil, []Item{{Value: word}}); got != (word == done) || err != nil {
				t.Errorf("%s of a unit that is %q is done: %v, %v", act, word, got, err)
			}
		}
	}
}

// TestUnitPutBack: the opposite act, or a word about what cannot be restored.
func TestUnitPutBack(t *testing.T) {
	for _, c := range []struct {
		kind, was, now, did string
		booted              bool
	}{
		{ActiveItem, "active", "inactive", "run /bin/systemctl start a.service", true},
		{ActiveItem, "inactive", "active", "run /bin/systemctl stop a.service", true},
		{EnabledItem, "enabled", "disabled", "run /bin/systemctl enable a.service", true},
		{EnabledItem, "disabled", "enabled", "run /bin/systemctl disable a.service", true},
		{EnabledItem, "disabled", "enabled", "run /bin/systemctl disable a.service", false},
		{ActiveItem, "active", "inactive", "", false}, {EnabledItem, "masked", "enabled", "", true},
		{ActiveItem, "active", "active", "-", true},
	} {
		m := newMemory()
		m.booted = c.booted
		m.units["is-active a.service"], m.units["is-enabled a.service"] = c.now, c.now
		var notes []string
		err := PutBack(t.Context(), m.site(&notes), Item{Kind: c.kind, Path: "a.service", Value: c.was}, nil)
		if got := strings.Join(m.log, ", "); got != strings.Trim(c.did, "-") || err != nil || (len(notes) > 0) != (c.did == "") {
			t.Errorf("%+v: did %s, %v, notes %q", c, got, err, notes)
		}
		for call, l := range m.limits {
			if strings.HasPrefix(call, "run") && l < 90*time.Second {
				t.Errorf("%s may take %s", call, l)
			}
		}
	}
}

// TestUnitUseful: a daemon reads its files again if it runs; systemd always does.
func TestUnitUseful(t *testing.T) {
	m := newMemory()
	m.units["is-active on.service"], m.units["is-active off.service"] = "active", "inactive"
	for name, want := range map[string]bool{"on.service": true, "off.service": false} {
		if got, err := (Unit{Name: name, Act: "reload"}).Useful(t.Context(), m); got != want || err != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	m.fails["ask /bin/systemctl is-active on.service"] = errBroken
	if _, err := (Unit{Name: "on.service", Act: "reload"}).Useful(t.Context(), m); !errors.Is(err, errBroken) {
		t.Error(err)
	}
	if got, err := (Unit{Act: "daemon-reload"}).Useful(t.Context(), &memory{}); !got || err != nil {
		t.Error(got, err)
	}
}

func TestDiff(t *testing.T) {
	const head = "--- a\n+++ b\n"
	for _, c := range []struct {
		old, new []byte
		want     string
	}{
		{nil, nil, ""}, {[]byte{}, []byte{}, ""}, {[]byte("x"), []byte("x"), ""}, {nil, []byte{}, head}, {[]byte{}, nil, head},
		{[]byte("x\n"), nil, head + "@@ -1 +1 @@\n-x\n"}, {[]byte("a\x00"), []byte("x"), head + "not text: 2 bytes become 1 bytes\n"},
		{[]byte("x"), []byte("\xff\xff"), head + "not text: 1 bytes become 2 bytes\n"},
	} {
		if got := Diff("a", "b", c.old, c.new); got != c.want {
			t.Errorf("%q, %q: %q, not %q", c.old, c.new, got, c.want)
		}
	}
	m := newMemory()
	m.folder("/etc/a")
	if err := DropTemp(m, "/etc/b"); err != nil || len(m.log) > 0 {
		t.Error(err, m.log)
	}
	if i, ok := (&Site{}).seen("/etc/a"); ok || i.Type != (machine.Image{}).Type {
		t.Error("a file was seen by nobody")
	}
}
