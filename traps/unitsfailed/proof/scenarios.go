// Package proof shows units-failed under the host's own systemd and journald.
package proof

import "fettle/lab"

var needs = lab.Needs{Systemd: true, Tools: []string{"sh", "sleep", "touch", "systemctl", "journalctl", "true"}}

func service(name, text string) lab.Act {
	return lab.Act{Write: &lab.File{Path: "/etc/systemd/system/" + name, Content: text, Mode: 0o644}}
}

// shop keeps running only where /run/shop.ready is.
const shop = `[Unit]
Description=A shop
[Service]
Type=exec
ExecStart=/usr/bin/sh -c 'if test ! -e /run/shop.ready; then echo "cannot open /run/shop.ready"; exit 3; fi; exec sleep 1000'
`

// started does not wait: whether the start counts as failed depends on how soon the shop
// ends.
var started = lab.Act{Run: []string{"systemctl", "start", "--no-block", "shop"}}

// frail runs for a second.
const frail = `[Service]
ExecStart=/usr/bin/sh -c 'sleep 1; echo "lost my mind"; exit 7'
`

// tidy does its work once, and ends well.
const tidy = `[Service]
Type=oneshot
ExecStart=/usr/bin/true
`

func expect(status int, has string, run ...string) lab.Act {
	return lab.Act{Expect: &lab.Expect{Run: run, Status: status, Has: has}}
}

// Scenarios: a service that fails until its cause is gone, and services that
// are down because they are done.
var Scenarios = []lab.Scenario{
	{
		Name: "exit-status", About: "A service that exits with status 3, and the line it logged", Needs: needs,
		Steps: []lab.Step{
			{Name: "prepare", Acts: []lab.Act{service("shop.service", shop), {Run: []string{"systemctl", "daemon-reload"}},
				started, {Until: []string{"systemctl", "--quiet", "is-failed", "shop"}}, {Run: []string{"journalctl", "--sync"}}}},
			{Name: "found", Acts: []lab.Act{
				expect(1, "failed: cannot open /run/shop.ready", "fettle", "check", "units-failed", "--format", "json"),
			}},
			{Name: "cause-there", Acts: []lab.Act{expect(6, `"result": "rolled-back"`, "fettle", "fix", "units-failed", "--yes", "--format", "json")}},
			{
				Name: "fix",
				Acts: []lab.Act{{Run: []string{"touch", "/run/shop.ready"}}, lab.Mended("units-failed", "--yes"),
					expect(0, "active", "systemctl", "is-active", "shop")},
			},
			{Name: "clear", Acts: []lab.Act{lab.Checked("units-failed", lab.Nothing)}},
			{Name: "undo", Acts: []lab.Act{expect(0, "", "fettle", "undo", "--yes"), expect(3, "inactive", "systemctl", "is-active", "shop")}},
		},
	},
	{
		Name: "cause-gone", About: "A service that failed because a file was missing that is there by now", Needs: needs,
		Subject: "shop.service", Vanishes: true, UndoKeeps: true,
		Prepare: []lab.Act{service("shop.service", shop), {Run: []string{"systemctl", "daemon-reload"}}, started,
			{Until: []string{"systemctl", "--quiet", "is-failed", "shop"}}, {Run: []string{"touch", "/run/shop.ready"}}},
		Probes: []lab.Probe{
			{Name: "state of shop", Run: []string{"systemctl", "is-active", "shop"}, Want: []string{"failed", "active", "inactive"}},
		},
	},
	{
		Name: "dies-later", About: "A service that starts, and dies a second later: that is not mended", Needs: needs,
		Steps: []lab.Step{
			{Name: "prepare", Acts: []lab.Act{service("frail.service", frail), {Run: []string{"systemctl", "daemon-reload"}},
				{Run: []string{"systemctl", "start", "--no-block", "frail"}}, {Until: []string{"systemctl", "--quiet", "is-failed", "frail"}},
				{Run: []string{"journalctl", "--sync"}}}},
			// whether it is seen dead at the first look or at the second depends on how busy the machine is
			{Name: "fix", Acts: []lab.Act{{Expect: &lab.Expect{
				Run:    []string{"fettle", "fix", "units-failed", "--yes", "--on", "frail.service", "--format", "json"},
				Status: 6, Result: "rolled-back"}}}},
		},
	},
	{
		Name: "done", About: "A oneshot service that has done its work, and one that was stopped", Needs: needs, Innocent: true,
		Prepare: []lab.Act{service("tidy.service", tidy), service("shop.service", shop), {Run: []string{"touch", "/run/shop.ready"}},
			{
				Run: []string{"systemctl", "daemon-reload"},
			}, {Run: []string{"systemctl", "start", "tidy", "shop"}}, {Run: []string{"systemctl", "stop", "shop"}}},
	},
}
