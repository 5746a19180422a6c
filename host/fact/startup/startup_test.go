package startup

import (
	"errors"
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
