package startup

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fettle/host"
	"fettle/host/hosttest"
)

// booting is a host whose default target pulls in units of each kind.
const booting = `-- link/etc/systemd/system/default.target --
/lib/systemd/system/multi-user.target
-- root/lib/systemd/system/multi-user.target --
[Unit]
Requires=basic.target
After=basic.target
-- root/lib/systemd/system/basic.target --
[Unit]
DefaultDependencies=no
Wants=sysinit.target sockets.target timers.target
After=sysinit.target
-- root/lib/systemd/system/sysinit.target --
[Unit]
DefaultDependencies=no
-- root/lib/systemd/system/sockets.target --
-- root/lib/systemd/system/timers.target --
-- link/etc/systemd/system/multi-user.target.wants/app.service --
/lib/systemd/system/app.service
-- root/lib/systemd/system/app.service --
[Unit]
After=db.service app.service absent.service off.service
Before=late@1.service
Wants=db.service off.service late@1.service
BindsTo=app.socket
Requires=app.path
-- root/lib/systemd/system/app.socket --
-- root/lib/systemd/system/app.path --
-- link/etc/systemd/system/timers.target.wants/app.timer --
/lib/systemd/system/app.timer
-- root/lib/systemd/system/app.timer --
-- link/etc/systemd/system/db.service --
/lib/systemd/system/mariadb.service
-- root/lib/systemd/system/mariadb.service --
[Unit]
DefaultDependencies=no
-- root/lib/systemd/system/mariadb.service.d/vendor.conf --
[Unit]
After=sysinit.target
-- root/etc/systemd/system/mariadb.service.d/mine.conf --
[Unit]
Upholds=early.service
-- root/lib/systemd/system/early.service --
[Unit]
DefaultDependencies=no
Before=mariadb.service
-- link/etc/systemd/system/off.service --
/dev/null
-- root/lib/systemd/system/off.service --
-- root/lib/systemd/system/late@.service --
[Unit]
DefaultDependencies=No
After=%p-%i.service
-- root/lib/systemd/system/idle.service --
[Unit]
After=app.service
`

// TestReadOrder: what boot starts, and behind what each unit waits: by its own file and others', by its drop-ins, by what
// systemd adds for its kind. What nothing pulls in, or is masked, is not in it.
func TestReadOrder(t *testing.T) {
	o, err := ReadOrder(t.Context(), hosttest.New(t, booting))
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range o.After {
		slices.Sort(list)
	}
	want := map[string][]string{
		"multi-user.target": {"app.service", "basic.target"},
		"basic.target":      {"sysinit.target"},
		"sockets.target":    {"app.socket"},
		"timers.target":     {"app.timer"},
		"app.service":       {"app.path", "app.socket", "app.timer", "basic.target", "mariadb.service", "sysinit.target"},
		"app.socket":        {"sysinit.target"},
		"app.timer":         {"sysinit.target"},
		"app.path":          {"sysinit.target"},
		"mariadb.service":   {"early.service", "sysinit.target"},
		"late@1.service":    {"app.service"},
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if !slices.Equal(o.After[name], want[name]) {
			t.Errorf("%s waits for %q, want %q", name, o.After[name], want[name])
		}
	}
	if !reflect.DeepEqual(slices.Sorted(maps.Keys(o.After)), slices.Sorted(maps.Keys(want))) {
		t.Errorf("units that wait: %q", slices.Sorted(maps.Keys(o.After)))
	}
	if c := o.Circles(); c != nil {
		t.Errorf("circles: %q", c)
	}
}

// TestReadOrderUnread: what could not be read is never left out in silence.
func TestReadOrderUnread(t *testing.T) {
	for _, refused := range []string{"/etc/systemd/system/default.target", "/lib/systemd/system/app.service",
		"/etc/systemd/system/timers.target.wants", "/lib/systemd/system", "/etc/systemd/system/db.service"} {
		text := booting + "-- denied" + refused + " --\n"
		if strings.HasSuffix(refused, "default.target") {
			text = strings.Replace(text, "-- link"+refused+" --\n/lib/systemd/system/multi-user.target\n", "", 1)
		}
		if strings.HasSuffix(refused, "db.service") {
			text = strings.Replace(text, "-- link"+refused+" --\n/lib/systemd/system/mariadb.service\n", "-- link"+refused+" --\nx\n", 1)
		}
		if _, err := ReadOrder(t.Context(), hosttest.New(t, text)); err == nil || host.IsAbsent(err) {
			t.Errorf("%s is refused: %v", refused, err)
		}
	}
	if _, err := ReadOrder(t.Context(), hosttest.New(t, "")); !host.IsAbsent(err) || !strings.Contains(err.Error(), "graphical.target") {
		t.Errorf("without units: %v", err)
	}
}

// TestDefaultTarget: the first folder with a link says it.
func TestDefaultTarget(t *testing.T) {
	const usr, etc = "-- link/usr/lib/systemd/system/default.target --\ngraphical.target\n",
		"-- link/etc/systemd/system/default.target --\n/x/rescue.target\n"
	for text, want := range map[string]string{"": "graphical.target", etc + usr: "rescue.target",
		strings.Replace(usr, "graphical", "multi-user", 1): "multi-user.target"} {
		if got, err := DefaultTarget(t.Context(), hosttest.New(t, text)); got != want || err != nil {
			t.Errorf("%q: %s, %v, want %s", text, got, err, want)
		}
	}
}

// TestCircles: of each knot the shortest way round; who only waits for a knot is in none.
func TestCircles(t *testing.T) {
	o := &Order{After: map[string][]string{
		"a": {"b", "d"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, // two ways round, and "a d" is the shorter one
		"e": {"a", "f"}, "g": {"h"}, "h": {"i"}, "i": {"g"}}}
	if got := fmt.Sprint(o.Circles()); got != "[[a d] [g h i]]" {
		t.Error(got)
	}
	for name, want := range map[string]string{"e": "a b c d f", "g": "g h i", "f": "", "x": ""} {
		got := o.Behind(name)
		if s := strings.Join(slices.Sorted(maps.Keys(got)), " "); s != want || want == "" && got != nil {
			t.Errorf("%s waits for %q, want %q", name, s, want)
		}
	}
}

// TestProgram: prefixes may be given in any order (systemd.service(5)).
func TestProgram(t *testing.T) {
	for command, want := range map[string][2]string{"/bin/a -x": {"/bin/a", ""}, "-@/bin/a b": {"/bin/a", "-@"},
		`+"/bin/a"`: {"/bin/a", "+"},
		"":          {}, " ": {}} {
		if name, prefixes := Program(command); name != want[0] || prefixes != want[1] {
			t.Errorf("%q: %q, %q", command, name, prefixes)
		}
	}
}

// TestBadEscapes: what is no escape stays.
func TestBadEscapes(t *testing.T) {
	for in, want := range map[string]string{`a\x2db`: "a-b", `\x41`: "A", `a\x4`: `a\x4`, `a\xzz`: `a\xzz`, "a-b": "a/b", `x\x2d`: "x-"} {
		if got := unescape(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// TestUnitsUnread: systemctl that fails, or says nothing, is an error and no host without units.
func TestUnitsUnread(t *testing.T) {
	question := "-- command/systemctl " + strings.Join(Question, " ") + " --\n"
	for _, answer := range []string{"", question + "exit 1\n" + shown[strings.IndexByte(shown, '\n')+1:], question + "\n", question +
		"Id=nothing\n"} {
		if us, err := Units(t.Context(), hosttest.New(t, "kind: live\n"+systemd+answer)); err == nil {
			t.Errorf("%q: %v", answer, us)
		}
	}
}

// TestWithoutManager: only in a container it is usual that there is no systemd.
func TestWithoutManager(t *testing.T) {
	docker, metal := hosttest.New(t, "kind: live\n-- root/.dockerenv --\n"), hosttest.New(t, "kind: live\n")
	for _, c := range []struct {
		h    *host.Host
		err  error
		want bool
	}{{docker, host.ErrNoSystemd, true}, {docker, errors.New("x"), false}, {metal, host.ErrNoSystemd, false}} {
		if got := WithoutManager(t.Context(), c.h, c.err); got != c.want {
			t.Errorf("%v: %t", c.err, got)
		}
	}
}

// TestOwnFile: one in /etc hides the one that is loaded, but none that a generator makes in front of it.
func TestOwnFile(t *testing.T) {
	const etc = "/etc/systemd/system/a.service"
	h := hosttest.New(t, "-- root"+etc+" --\n[Unit]\nDescription=mine\n-- root/run/systemd/generator.early/a.service --\n"+
		"-- root/lib/systemd/system/b.service --\n-- root/etc/systemd/system/c.service.d/x.conf --\n[Unit]\nDescription=drop\n")
	for from, want := range map[string]string{"/lib/systemd/system/a.service": etc, etc: etc, "": "",
		"/run/systemd/generator.early/a.service": "/run/systemd/generator.early/a.service",
		"/lib/systemd/system/b.service":          "/lib/systemd/system/b.service"} {
		text, err := Read(t.Context(), h, &Unit{ID: "a.service", FragmentPath: from})
		if err != nil || text.File != want {
			t.Errorf("%s: %+v, %v, want %s", from, text, err, want)
		}
	}
	text, err := Read(t.Context(), h, &Unit{ID: "c.service"})
	if err != nil || text.File != "" || text.Value("Unit", "Description") != "drop" {
		t.Errorf("a unit with a drop-in only: %+v, %v", text, err)
	}
}

// TestLastEmptied: a setting whose last value is empty is not set.
func TestLastEmptied(t *testing.T) {
	h := hosttest.New(t, "-- root/etc/systemd/system/a.service --\n[Service]\nUser=u\nUser=\nGroup=g\n")
	text, err := Read(t.Context(), h, &Unit{ID: "a.service", FragmentPath: "/etc/systemd/system/a.service"})
	if err != nil {
		t.Fatal(err)
	}
	if e, ok := text.Last("Service", "User"); ok {
		t.Errorf("User: %+v", e)
	}
	if e, ok := text.Last("Service", "Group"); !ok || e.Value != "g" || e.Line != 4 {
		t.Errorf("Group: %+v, %t", e, ok)
	}
}
