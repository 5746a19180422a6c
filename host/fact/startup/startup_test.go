package startup

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"fettle/host"
	"fettle/host/hosttest"
)

const systemd = "-- stat/run/systemd/system --\ntype dir\n"

// As systemd 252 prints it: the order of properties is its own.
const shown = `-- command/systemctl show --property=` + properties + ` -- * --
Type=notify
MainPID=69
Slice=system.slice
Id=ssh.service
WantedBy=multi-user.target
LoadState=loaded
ActiveState=active
SubState=running
FragmentPath=/lib/systemd/system/ssh.service
DropInPaths=/etc/systemd/system/ssh.service.d/a.conf /run/systemd/system/ssh.service.d/r.conf
UnitFileState=enabled
NeedDaemonReload=yes
Transient=no

Id=logrotate.timer
RequiredBy=x.target
TriggeredBy=
LoadState=loaded
ActiveState=active
SubState=waiting
`

func TestUnits(t *testing.T) {
	us, err := Units(t.Context(), hosttest.New(t, systemd+shown))
	if err != nil || len(us) != 2 {
		t.Fatal(us, err)
	}
	if u := us[1]; u.ID != "ssh.service" || u.MainPID != 69 || !u.NeedsReload || u.Transient ||
		!slices.Equal(u.By, []string{"multi-user.target"}) ||
		len(u.DropIns) != 2 || u.Kind() != "service" {
		t.Errorf("%+v", u)
	}
	if us[0].ID != "logrotate.timer" || !slices.Equal(us[0].By, []string{"x.target"}) {
		t.Errorf("%+v", us[0])
	}
	if _, err := Units(t.Context(), hosttest.New(t, "")); !errors.Is(err, host.ErrNoSystemd) {
		t.Error(err)
	}
}

func TestText(t *testing.T) {
	h := hosttest.New(t, `-- root/lib/systemd/system/a@.service --
[Service]
ExecStart=/bin/a
Environment=A=1
-- root/etc/systemd/system/a@.service.d/20.conf --
[Service]
ExecStart=
ExecStart=/bin/b \
  --more
-- root/etc/systemd/system/a@x.service.d/10.conf --
[Service]
Environment=B=2
User=u
-- root/run/systemd/system/a@x.service.d/99.conf --
[Service]
User=gone
`)
	u := &Unit{ID: "a@x.service", FragmentPath: "/lib/systemd/system/a@.service",
		DropIns: []string{"/run/systemd/system/a@x.service.d/99.conf", "/etc/systemd/system/a@x.service.d/10.conf"}}
	text, err := Read(t.Context(), h, u)
	if err != nil || text.File != u.FragmentPath {
		t.Fatal(text, err)
	}
	if e := text.List("Service", "ExecStart"); len(e) != 1 || e[0].Value != "/bin/b --more" {
		t.Errorf("%+v", e)
	}
	if w := text.Words("Service", "Environment"); !slices.Equal(w, []string{"A=1", "B=2"}) || text.Value("Service", "User") != "u" {
		t.Errorf("%q %q", w, text.Value("Service", "User"))
	}
	b := Unit{ID: "b.service", FragmentPath: "/lib/systemd/system/b.service"}
	if text, err := Read(t.Context(), h, &b); err != nil || text.File != "" {
		t.Error(text, err)
	}
}

func TestExpand(t *testing.T) {
	u := &Unit{ID: `a-b@c\x2dd-e.service`}
	for in, want := range map[string]string{"/x/%i": `/x/c\x2dd-e`, "/x/%I": "/x/c-d/e", "%p %N": `a-b a-b@c\x2dd-e`, "100%%": "100%", "%j": "b"} {
		if got, ok := u.Expand(in); got != want || !ok {
			t.Errorf("%s: %s, %t", in, got, ok)
		}
	}
	if _, ok := u.Expand("%H"); ok {
		t.Error("the host's name is not known here")
	}
}

func TestPulls(t *testing.T) {
	got, err := Pulls(t.Context(), hosttest.New(t, `-- root/etc/systemd/system/aaa.conf.d/x --
x
-- link/etc/systemd/system/multi-user.target.wants/a.service --
/lib/systemd/system/a.service
-- link/usr/lib/systemd/system/sysinit.target.requires/b.service --
../b.service
-- link/run/systemd/generator/c.target.upholds/d.service --
/x
-- link/run/systemd/system/multi-user.target.wants/until-restart.service --
/x
`))
	want := map[string][]string{"multi-user.target": {"a.service"}, "sysinit.target": {"b.service"}, "c.target": {"d.service"}}
	if err != nil || !maps.EqualFunc(got, want, slices.Equal[[]string]) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
}

// TestDenied: what may not be read is an error, wherever it is; it is never taken for absent.
func TestDenied(t *testing.T) {
	const files = `-- root/lib/systemd/system/a.service --
[Service]
-- root/etc/systemd/system/a.service.d/1.conf --
[Service]
-- link/etc/systemd/system/x.target.wants/a.service --
/x
`
	u := &Unit{ID: "a.service", FragmentPath: "/lib/systemd/system/a.service"}
	for _, name := range []string{"/lib/systemd/system/a.service", "/etc/systemd/system/a.service", "/etc/systemd/system/a.service.d",
		"/etc/systemd/system/a.service.d/1.conf"} {
		if text, err := Read(t.Context(), hosttest.New(t, files+"-- denied"+name+" --\n"), u); !errors.Is(err, host.ErrDenied) {
			t.Errorf("%s: %v, %v", name, text, err)
		}
	}
	for _, name := range []string{"/etc/systemd/system", "/etc/systemd/system/x.target.wants", "/run/systemd/generator"} {
		if got, err := Pulls(t.Context(), hosttest.New(t, files+"-- denied"+name+" --\n")); !errors.Is(err, host.ErrDenied) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestUntilRestart(t *testing.T) {
	for file, want := range map[string]bool{"": false, "/etc/systemd/system/a.service": false, "/run/systemd/system/a.service": true,
		"/run/systemd/transient/a.service": true, "/run/systemd/generator/a.service": false, "/run/systemd/generator.late/a.service": false} {
		if UntilRestart(file) != want {
			t.Errorf("%q: %t", file, !want)
		}
	}
}

func TestUnescape(t *testing.T) {
	for in, want := range map[string]string{"": "", "a-b": "a/b", `a\x2db`: "a-b", `\x`: `\x`, `a\x2`: `a\x2`, `a\x2d`: "a-", `a\xzz`: `a\xzz`} {
		if got := unescape(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
