package render

import (
	"testing"
	"time"

	"fettle/tools/measure/login"
	"fettle/tools/measure/login/cause"
)

// logins are those of a host, of these lengths in seconds.
func logins(seconds ...float64) *login.Result {
	r := &login.Result{Host: "web1\x1b[2J"}
	for _, s := range seconds {
		r.Logins = append(
			r.Logins,
			login.Login{Total: time.Duration(s * 1e9), Client: "OpenSSH_9.2p1", Server: "OpenSSH_9.2p1\x1b[31m", Address: "192.0.2.1",
				User: "anna", Method: "publickey", Offered: "publickey,password",
				Spans: []login.Span{
					{Phase: login.Resolve, Took: 10 * time.Millisecond},
					{Phase: login.Auth("none"), Took: time.Duration(s*1e9) / 2, Server: time.Duration(s*1e9) / 2},
				}},
		)
	}
	median := seconds[len(seconds)/2]
	r.Total = login.Stat{Phase: "login", Median: median, Min: seconds[len(seconds)-1], Max: seconds[0], N: len(seconds)}
	r.Phases = []login.Stat{{Phase: login.Resolve, Median: 0.01, Min: 0.01, Max: 0.01, N: len(seconds)},
		{Phase: login.Auth("none"), Median: median / 2, Min: median / 2, Max: seconds[0] / 2, Server: median / 2, N: len(seconds)}}
	return r
}

func slowLogins(phases ...login.Stat) *login.Result {
	r := logins(20.25, 20.1, 20)
	r.Slow = phases
	return r
}

func TestLogin(t *testing.T) {
	onServer := func(p login.Phase) login.Stat { return login.Stat{Phase: p, Median: 2, Server: 1.9} }
	onClient := func(p login.Phase) login.Stat { return login.Stat{Phase: p, Median: 2, Server: 0.1} }
	causes := []cause.Cause{{Name: "reverse-dns", On: "server", Seconds: 10.04, Evidence: []string{
		"name server 192.0.2.53: no answer after 5 s", "with UseDNS no the login takes 0.21 s instead of 10.25 s\x1b]0;x"}},
		{Name: "nss:mdns4\n", On: "client", Seconds: 0.6}}
	nobody := logins(0.2)
	nobody.Logins[0].User = ""
	for _, c := range []struct {
		name string
		of   Login
		on   Terminal
	}{
		{"once", Login{Result: nobody}, plain},
		{"quick", Login{Result: logins(0.31, 0.3, 0.29), Control: &login.Stat{Median: 0.02}, LocalUser: "anna"}, Terminal{Width: 80, UTF8: true}},
		{"cold", Login{Result: logins(3, 0.3, 0.29)}, plain},
		{"slow-client", Login{Result: slowLogins(onClient(login.Start), onClient(login.Resolve), onClient(login.Connect),
			onClient(login.Proxy), onClient(login.Banner),
			onClient(login.Exchange), onClient(login.Service), onClient(login.Auth("publickey\x1b[31m")))}, plain},
		{"slow-server", Login{Result: slowLogins(onServer(login.Exchange), onServer(login.Auth("none")), onServer(login.Auth("gssapi-with-mic")),
			onServer(login.Auth("hostbased")), onServer(login.Session), onServer(login.Output))}, Terminal{Width: 60}},
		{"explained", Login{Result: slowLogins(onServer(login.Auth("none"))),
			Explanation: &login.Explanation{Delay: 19.8, Explained: 10.64, Causes: causes,
				Server:  &cause.Report{User: "anna", Client: "192.0.2.7", Causes: causes, Steps: []cause.Step{}},
				Unknown: []string{"PAM: no such module\x1b"}}}, plain},
		{"unexplained", Login{Result: slowLogins(onServer(login.Auth("none"))), Explanation: &login.Explanation{Causes: []cause.Cause{}}}, plain},
	} {
		golden(t, "login/"+c.name, c.of, c.on)
	}
}

func TestLoginServer(t *testing.T) {
	steps := []cause.Step{
		{Name: "as it is", Seconds: 10.25},
		{Name: "without " + "a module whose name is far longer than any line has room for\x1b[2J", Seconds: 0.2},
	}
	dns := cause.Cause{Name: "reverse-dns", On: "server", Seconds: 10.04, Evidence: []string{"name server 192.0.2.53: no answer after 5 s"}}
	for _, c := range []struct {
		name string
		of   cause.Report
		on   Terminal
	}{
		{"nothing", cause.Report{User: "anna", Client: "192.0.2.7", Total: 0.2, Floor: 0.15, Causes: []cause.Cause{}, Steps: steps[1:]}, plain},
		{"explained", cause.Report{User: "anna\x1b", Client: "192.0.2.7", Total: 10.25, Floor: 0.15, Without: 0.2,
			Causes: []cause.Cause{dns}, Steps: steps,
			IfTried: []cause.Cause{{Name: "gssapi", On: "server", Seconds: 2}}, Unknown: []string{"pam_systemd: no D-Bus\n"}}, plain},
		{"unexplained", cause.Report{User: "anna", Client: "2001:db8::7", Total: 10.25, Floor: 0.15, Causes: []cause.Cause{},
			Steps: steps}, Terminal{Width: 40, UTF8: true}},
	} {
		golden(t, "login-server/"+c.name, LoginServer{&c.of}, c.on)
	}
}
