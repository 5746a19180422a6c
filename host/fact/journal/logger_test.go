package journal

import (
	"testing"

	"fettle/internal/means"
)

// TestLoggers: lines as the programs' own loggers write them.
func TestLoggers(t *testing.T) {
	for _, c := range []struct {
		line, stable string
		mild         bool
	}{
		{`ts=2026-11-24T12:07:18.995Z caller=cluster.go:178 level=warn component=cluster err="couldn't deduce an advertise address: no ` +
			`private IP found"`, "couldn't deduce an advertise address: no private IP found", true},
		{`ts=2026-11-24T12:07:18.996Z caller=main.go:273 level=error msg="unable to initialize gossip mesh" err="create memberlist: Failed ` +
			`to get final advertise address"`,
			"unable to initialize gossip mesh: create memberlist: Failed to get final advertise address", false},
		{`time="2026-11-24T12:07:18.9Z" level=fatal ` +
			`msg="Error starting daemon: \"x\" is \\ taken"`, `Error starting daemon: "x" is \ taken`, false},
		{`{"level":"fatal","ts":"2026-11-24T12:07:18.9Z","caller":"etcdmain/etcd.go:204","msg":"discovery failed","error":"listen tcp ` +
			`127.0.0.1:2380: bind: address already in use"}`,
			"discovery failed: listen tcp 127.0.0.1:2380: bind: address already in use", false},
		{`{"level":"warn","ts":"2026-11-24T12:07:18.9Z","msg":"failed to reach the peer"}`, "failed to reach the peer", true},
		{`2026-11-24 12:06:37,056 fail2ban.configreader   [54]: WARNING 'allowipv6' not defined in 'Definition'. Using default one: 'auto'`,
			`fail2ban.configreader …: WARNING 'allowipv6' not defined in 'Definition'. Using default one: 'auto'`, true},
		{"2026-11-24 12:06:37,066 fail2ban                [54]: ERROR   Failed during configuration: Have not found any log file for sshd jail",
			"fail2ban …: ERROR Failed during configuration: Have not found any log file for sshd jail", false},
		{"2026/11/24 12:06:37 [warn] 12#12: conflicting server name", "[warn] …: conflicting server name", true},
		{"nginx: [emerg] bind() to 0.0.0.0:80 " +
			"failed (98: Address already in use)", "nginx: [emerg] bind() to 0.0.0.0:80 failed (98: Address already in use)", false},
		{"W1124 12:05:36.123456    1234 server.go:1] failed to find a node", "failed to find a node", true},
		{`E1124 12:05:36.123456    1234 run.go:74] "command ` +
			`failed" err="failed to load kubelet config file"`, `"command failed" err="failed to load kubelet config file"`, false},
		{"cannot open /run/shop.ready: see level=info of the manual", "cannot open /run/shop.ready: see level=info of the manual", false},
		{`{not JSON: it failed`, `{not JSON: it failed`, false},
		{`FATAL:  could not create lock file "postmaster.pid"`, `FATAL: could not create lock file "postmaster.pid"`, false},
		{`level=error msg="open /x: denied" err=denied`, "open /x: denied", false},
		{"could not open the file INFORMATION", "could not open the file INFORMATION", false},
	} {
		if got := Stable(c.line); got != c.stable {
			t.Errorf("Stable(%s):\n%s\nwant\n%s", c.line, got, c.stable)
		}
		if got := Mild(c.line); got != c.mild {
			t.Errorf("Mild(%s) is %t", c.line, got)
		}
	}
}

func FuzzLoggers(f *testing.F) {
	f.Add(`level=error msg="a \" b" err=c`)
	f.Add(`{"level":"x","msg":"y"}`)
	f.Fuzz(func(t *testing.T, line string) {
		Mild(line)
		if len(Stable(line)) > 4*160+8 {
			t.Errorf("%q is not short", Stable(line))
		}
	})
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }
