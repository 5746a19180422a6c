package render

import (
	"fmt"
	"strconv"
	"strings"

	"fettle/internal/chart"
	"fettle/internal/jsondoc"
	"fettle/internal/ui"
	"fettle/tools/measure/login"
	"fettle/tools/measure/login/cause"
)

// Login is what fettle measure login measured.
type Login struct {
	*login.Result
	Control     *login.Stat        // over a connection that is already open; nil: not asked for
	Explanation *login.Explanation // nil: not asked for
	LocalUser   string             // who measured, for the command that sets up Control; empty: not known
}

// Bars is the phases of a login.
func (r Login) Bars() chart.Bars {
	b := chart.Bars{Name: "login", X: "seconds, median (line: fastest to slowest)",
		Title: fmt.Sprintf("Login to %s: %s, %d times", ui.Visible(r.Host), seconds(r.Total.Median), r.Total.N)}
	for _, p := range r.Phases {
		b.Bars = append(b.Bars, chart.Bar{Name: ui.Visible(string(p.Phase)), Value: p.Median, Low: p.Min, High: p.Max})
	}
	return b
}

// local is the user here, whose ssh it is.
func (r Login) local() string {
	if r.LocalUser == "" {
		return "USER"
	}
	return r.LocalUser
}

// pattern is the host as ssh_config(5) matches it: without the user.
func (r Login) pattern() string { return r.Host[strings.LastIndexByte(r.Host, '@')+1:] }

// Text is the phases as bars, and what is slow, or why.
func (r Login) Text(t Terminal) string {
	var b strings.Builder
	say := func(format string, args ...any) {
		b.WriteString(ui.Wrap(fmt.Sprintf(format, args...), t.Width, "", "  "))
	}
	l := r.First()
	times := "once"
	if r.Total.N > 1 {
		times = fmt.Sprintf("%d times, %s to %s", r.Total.N, seconds(r.Total.Min), seconds(r.Total.Max))
	}
	say(
		"%s as %s, %s: %s to the first output (%s)",
		ui.Visible(r.Host),
		ui.Visible(orUser(l.User)),
		ui.Visible(l.Server),
		seconds(r.Total.Median),
		times,
	)
	fmt.Fprintf(&b, "\n  seconds, median\n%s\n", r.Bars().Text(t.Width, t.block()))
	if r.Control != nil {
		say("Over a connection that is already open (ControlMaster): %s instead of %s. To set it up for this host:",
			seconds(r.Control.Median), seconds(r.Total.Median))
		fmt.Fprintf(&b, "    fettle fix %s --on %s --with host=%s\n\n", login.TrapSharedConnection, ui.Quote(r.local()), ui.Quote(r.pattern()))
	}
	if first, ok := r.Cold(); ok {
		say("The first login took %s. Its answers were then cached by a name server or nscd: measure with -n 1 after a pause.", seconds(first))
		b.WriteByte('\n')
	}
	switch {
	case len(r.Slow) == 0:
		fmt.Fprintf(&b, "Nothing is slow: %s.\n", seconds(r.Total.Median))
	case r.Explanation != nil:
		b.WriteString(explanationText(r.Explanation, t.Width))
	default:
		for _, s := range r.Slow {
			say("Slow: %s, %s%s. %s", ui.Visible(string(s.Phase)), seconds(s.Median), whose(s), hint(s))
		}
		b.WriteString("\n" + ui.Wrap("To have the cause named by experiment, on the host too (root there):", t.Width, "", ""))
		fmt.Fprintf(&b, "    fettle measure login --explain %s\n", ui.Quote(r.Host))
	}
	return b.String()
}

func orUser(s string) string {
	if s == "" {
		return "the user of ssh's configuration"
	}
	return s
}

// whose tells who was waited for.
func whose(s login.Stat) string {
	switch s.Phase {
	case login.Start, login.Resolve, login.Connect, login.Banner, login.Proxy, login.Output:
		return ""
	}
	if s.Waited() {
		return ", waiting for the server"
	}
	return ", the client's own work"
}

// hint says what a phase is spent on where it is slow.
func hint(s login.Stat) string {
	switch s.Phase {
	case login.Start:
		return "ssh reads its configuration then, and runs the commands of Match exec."
	case login.Resolve:
		return "The client looks up the host's name: the sources of its /etc/nsswitch.conf (mdns, if no host answers) and its name servers."
	case login.Connect:
		return "An address that does not answer may be tried before the one that does (IPv6 first), or packets are lost."
	case login.Proxy:
		return "The jump host, or the proxy command: measure the login to it."
	case login.Banner:
		return "sshd is slow to start, or looks up the client's name for hosts.allow."
	case login.Exchange:
		if s.Server < s.Median/2 {
			return "A slow or busy processor, or an algorithm that costs much."
		}
		return "The server's processor, or large packets that are lost on the way (fettle explain " + login.TrapLargePackets + ")."
	case login.Service:
		return "ssh asks the agent, or a smart card, for its keys then."
	case login.Auth("none"):
		return "sshd looks up the name of the client's address (UseDNS), and the user."
	case login.Auth("gssapi-with-mic"), login.Auth("gssapi-keyex"):
		return "Kerberos: a KDC or name server that does not answer."
	case login.Auth("hostbased"):
		return "Both sides look up the client's name."
	case login.Session:
		return "The PAM session modules: pam_systemd waiting for logind, pam_motd's scripts, and others."
	case login.Output:
		return "The shell's start files, or a home folder that is slow to be read."
	}
	return "The method itself, or PAM's account modules after it succeeded."
}

func explanationText(e *login.Explanation, width int) string {
	s := fmt.Sprintf("Explained: %s of %s (%.0f %%)\n", seconds(e.Explained), seconds(e.Delay), 100*e.Share())
	s += causesText(e.Causes, width) + unexaminedText(e.Unknown, width)
	if e.Server != nil && len(e.Causes) > 0 {
		s += "\nTo fix it, on the server:\n    fettle check " + login.TrapSlowServer + "\n"
	}
	return s
}

func causesText(causes []cause.Cause, width int) string {
	var b strings.Builder
	for _, c := range causes {
		fmt.Fprintf(&b, "  %9s  %s, on the %s\n", seconds(c.Seconds), ui.Visible(c.Name), c.On)
		for _, ev := range c.Evidence {
			b.WriteString(ui.Wrap(ui.Visible(ev), width, "             ", "               "))
		}
	}
	return b.String()
}

func unexaminedText(unknown []string, width int) string {
	var b strings.Builder
	for _, u := range unknown {
		b.WriteString(ui.Wrap("Not examined: "+ui.Visible(u), width, "  ", "    "))
	}
	return b.String()
}

type loginDocument struct {
	jsondoc.Envelope
	*login.Result
	User    string   `json:"user"`
	Address string   `json:"address,omitempty"`
	Server  string   `json:"server"`
	Client  string   `json:"client"`
	Method  string   `json:"method"`
	Offered []string `json:"offered"`
	// Each is the phases of every login, in seconds.
	Each        []map[string]float64 `json:"each"`
	Control     *login.Stat          `json:"control,omitempty"`
	Explanation *login.Explanation   `json:"explanation,omitempty"`
}

// Document is fettle measure login --format json.
func (r Login) Document() any {
	l := r.First()
	d := loginDocument{Envelope: jsondoc.New("login"), Result: r.Result, User: l.User, Address: l.Address,
		Server: l.Server, Client: l.Client, Method: l.Method, Offered: strings.FieldsFunc(l.Offered, func(c rune) bool { return c == ',' }),
		Control: r.Control, Explanation: r.Explanation}
	for i := range r.Logins {
		each := map[string]float64{"login": r.Logins[i].Total.Seconds()}
		for _, s := range r.Logins[i].Spans {
			each[string(s.Phase)] = s.Took.Seconds()
		}
		d.Each = append(d.Each, each)
	}
	return d
}

// seconds writes a time as people say it.
func seconds(s float64) string {
	switch {
	case s < 0.9995:
		return strconv.Itoa(int(s*1000+0.5)) + " ms"
	case s < 10:
		return strconv.FormatFloat(s, 'f', 2, 64) + " s"
	}
	return strconv.FormatFloat(s, 'f', 1, 64) + " s"
}
