package measure

import (
	"fmt"
	"os"
	"strings"

	"fettle/chart"
	"fettle/cli/app"
	"fettle/internal/ui"
	"fettle/measure/login"
	"fettle/measure/login/cause"
	"fettle/report"
)

func newLoginReport(r *login.Result) *loginReport {
	l := r.First()
	rep := &loginReport{Envelope: report.NewEnvelope("login"), Result: r, User: l.User, Address: l.Address,
		Server: l.Server, Client: l.Client, Method: l.Method, Offered: strings.FieldsFunc(l.Offered, func(c rune) bool { return c == ',' })}
	for i := range r.Logins {
		each := map[string]float64{"login": r.Logins[i].Total.Seconds()}
		for _, s := range r.Logins[i].Spans {
			each[string(s.Phase)] = s.Took.Seconds()
		}
		rep.Each = append(rep.Each, each)
	}
	return rep
}

// bars is the login as a picture.
func (r *loginReport) bars() chart.Bars {
	b := chart.Bars{Name: "login", X: "seconds, median (line: fastest to slowest)",
		Title: fmt.Sprintf("Login to %s: %s, %d times", ui.Visible(r.Host), seconds(r.Total.Median), r.Total.N)}
	for _, p := range r.Phases {
		b.Bars = append(b.Bars, chart.Bar{Name: ui.Visible(string(p.Phase)), Value: p.Median, Low: p.Min, High: p.Max})
	}
	return b
}

// blocks is what bars are made of, by the locale (locale(7)): the first of
// these variables that is set counts.
func blocks() string {
	for _, k := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToUpper(os.Getenv(k)); v != "" {
			if strings.Contains(v, "UTF-8") || strings.Contains(v, "UTF8") {
				return "█"
			}
			break
		}
	}
	return "#"
}

func loginText(a *app.App, r *loginReport, f loginFlags) {
	w := a.Stdout
	width := ui.Width(w)
	times := "once"
	if r.Total.N > 1 {
		times = fmt.Sprintf("%d times, %s to %s", r.Total.N, seconds(r.Total.Min), seconds(r.Total.Max))
	}
	fmt.Fprint(w, ui.Wrap(fmt.Sprintf("%s as %s, %s: %s to the first output (%s)", ui.Visible(r.Host), ui.Visible(orUser(r.User)),
		ui.Visible(r.Server), seconds(r.Total.Median), times), width, "", "  "))
	fmt.Fprintf(w, "\n  seconds, median\n%s\n", r.bars().Text(width, blocks()))
	if r.Control != nil {
		fmt.Fprint(w, ui.Wrap(fmt.Sprintf("Over a connection that is already open (ControlMaster): %s instead of %s. fettle fix %s sets it up.",
			seconds(r.Control.Median), seconds(r.Total.Median), login.TrapSharedConnection), width, "", "  "), "\n")
	}
	if first := r.Logins[0].Total.Seconds(); len(r.Logins) > 2 && first > 2*r.Total.Median && first > r.Total.Median+0.5 {
		fmt.Fprint(w, ui.Wrap(fmt.Sprintf("The first login took %s. Its answers were then cached by a name server or nscd: measure with -n 1 after a pause.",
			seconds(first)), width, "", "  "), "\n")
	}
	if len(r.Slow) == 0 {
		fmt.Fprintf(w, "Nothing is slow: %s.\n", seconds(r.Total.Median))
		return
	}
	if r.Explanation != nil {
		explanationText(a, r.Explanation)
		return
	}
	for _, s := range r.Slow {
		fmt.Fprint(w, ui.Wrap(fmt.Sprintf("Slow: %s, %s%s. %s", ui.Visible(string(s.Phase)), seconds(s.Median), whose(s), hint(s)), width, "", "  "))
	}
	fmt.Fprint(w, "\n", ui.Wrap("To have the cause named by experiment, on the host too (root there):", width, "", ""))
	fmt.Fprintf(w, "    fettle measure login --explain %s\n", ui.Quote(r.Host))
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
	if s.Server > s.Median/2 {
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

func explanationText(a *app.App, e *login.Explanation) {
	w := a.Stdout
	fmt.Fprintf(w, "Explained: %s of %s (%.0f %%)\n", seconds(e.Explained), seconds(e.Delay), 100*e.Share())
	causesText(a, e.Causes)
	for _, u := range e.Unknown {
		fmt.Fprint(w, ui.Wrap("Not examined: "+ui.Visible(u), ui.Width(w), "  ", "    "))
	}
	if e.Server != nil && len(e.Causes) > 0 {
		fmt.Fprint(w, "\nTo fix it, on the server:\n    fettle check "+login.TrapSlowServer+"\n")
	}
}

func causesText(a *app.App, causes []cause.Cause) {
	for _, c := range causes {
		fmt.Fprintf(a.Stdout, "  %9s  %s, on the %s\n", seconds(c.Seconds), ui.Visible(c.Name), c.On)
		for _, ev := range c.Evidence {
			fmt.Fprint(a.Stdout, ui.Wrap(ui.Visible(ev), ui.Width(a.Stdout), "             ", "               "))
		}
	}
}

// serverSideText tells what the experiments on this host found.
func serverSideText(a *app.App, r *cause.Report) {
	w := a.Stdout
	fmt.Fprint(w, ui.Wrap(fmt.Sprintf("Logins of %s from %s: %s, of which any login here takes %s", ui.Visible(r.User), r.Client, seconds(r.Total), seconds(r.Floor)),
		ui.Width(w), "", "  "), "\n")
	b := chart.Bars{}
	for _, s := range r.Steps {
		b.Bars = append(b.Bars, chart.Bar{Name: ui.Cut(ui.Visible(s.Name), 50), Value: s.Seconds})
	}
	fmt.Fprintf(w, "  seconds\n%s\n", b.Text(ui.Width(w), blocks()))
	switch {
	case len(r.Causes) == 0 && r.Delay() < cause.Slow:
		fmt.Fprintf(w, "Nothing is slow: %s.\n", seconds(r.Total))
	default:
		fmt.Fprintf(w, "Explained: %s of %s (%.0f %%)\n", seconds(r.Explained()), seconds(r.Delay()), 100*r.Explained()/max(r.Delay(), 0.001))
	}
	causesText(a, r.Causes)
	if len(r.IfTried) > 0 {
		fmt.Fprintln(w, "Only for clients that try it:")
		causesText(a, r.IfTried)
	}
	for _, u := range r.Unknown {
		fmt.Fprint(w, ui.Wrap("Not examined: "+ui.Visible(u), ui.Width(w), "  ", "    "))
	}
}
