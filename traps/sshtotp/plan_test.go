package sshtotp

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/hosttest"
)

// start is a golden host, with changes to its text.
func start(t *testing.T, name string, replace ...string) *host.Host {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for i := 0; i+1 < len(replace); i += 2 {
		if !strings.Contains(text, replace[i]) {
			t.Fatalf("%s does not hold %q", name, replace[i])
		}
		text = strings.ReplaceAll(text, replace[i], replace[i+1])
	}
	return hosttest.New(t, text)
}

func ask(t *testing.T, h *host.Host, f trap.Finding, with ...string) (remedy.Plan, error) {
	t.Helper()
	f, err := Trap.Choose(f, with)
	if err != nil {
		t.Fatal(err)
	}
	return plan(t.Context(), h, f)
}

var setup = trap.Finding{Subject: whole, Facts: trap.FactsOf(facts{Setup: true})}

// after is the content of a file that a plan writes.
func after(p remedy.Plan, path string) string {
	for _, s := range p.Steps {
		if f, ok := s.(step.File); ok && f.Path == path {
			return string(f.Content)
		}
	}
	return ""
}

func words(t *testing.T, h *host.Host, p remedy.Plan) map[string]string {
	t.Helper()
	with := files{}
	for _, s := range p.Steps {
		if f, ok := s.(step.File); ok {
			with[f.Path] = f.Content
		}
	}
	v, err := take(t.Context(), h, with)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, p := range v.people {
		out[p.user.Name] = p.now.Words()
	}
	return out
}

// TestGroupOfTheCode: the group is that of the condition right before the code's line, whatever else depends on groups.
func TestGroupOfTheCode(t *testing.T) {
	const jump = "auth [success=1 default=ignore] pam_succeed_if.so quiet user notingroup "
	for want, text := range map[string]string{
		"totp": jump + "guests\nauth required pam_deny.so\n" + jump + "totp",
		"":     jump + "guests\nauth required pam_deny.so",
	} {
		h := start(t, "healthy", jump+"totp", text)
		if d, err := designOf(t.Context(), h, &trap.Finding{Subject: whole}, false); err != nil || d.group != want {
			t.Errorf("%s\nthe code is for the group %q, %v; want %q", text, d.group, err, want)
		}
	}
}

func TestSetUp(t *testing.T) {
	const dialogOff = "KbdInteractiveAuthentication yes"
	for _, c := range []struct {
		name, host string
		replace    []string
		with       []string
		want       map[string]string
		pam, sshd  []string // lines that must be there
		not        string   // in sshd's
	}{
		{"dialog is on", "no-totp", nil, []string{"group=totp"},
			map[string]string{"alice": "key, or password+code", "bob": "key, or password", "carol": "key, or password", "root": "key"},
			[]string{"auth [success=1 default=ignore] " +
				"pam_succeed_if.so quiet user notingroup totp", "auth required pam_google_authenticator.so nullok"}, nil, ""},
		{"dialog is off, passwords on", "no-totp", []string{dialogOff, "KbdInteractiveAuthentication no"}, []string{"group=totp"},
			map[string]string{"alice": "key, or password+code", "carol": "key, or password"}, nil,
			[]string{"Match Group totp", "    KbdInteractiveAuthentication yes", "Match all"}, ""},
		{"keys only so far", "no-totp", []string{dialogOff, "KbdInteractiveAuthentication " +
			"no\nPasswordAuthentication no"}, []string{"group=totp", "factors=key"},
			map[string]string{"alice": "key+code", "bob": "key", "carol": "key"}, nil, []string{"Match Group totp", "    AuthenticationMethods " +
				"publickey,keyboard-interactive:pam"}, ""},
		{"key and code", "no-totp", nil, []string{"group=totp", "factors=key"},
			map[string]string{"alice": "key+code", "bob": "key", "carol": "key, or password"},
			[]string{"auth substack common-auth", "auth requisite pam_googl" +
				"e_authenticator.so nullok", "auth required pam_permit.so"}, nil, "KbdInteractiveAuthentication"},
		{"old sshd", "no-totp", []string{dialogOff, "ChallengeResponseAuthentication no", "1:9.2p1-2+deb12u3", "1:7.9p1-10+deb10u2"},
			[]string{"group=all"},
			map[string]string{"alice": "key, or password+code", "carol": "key, or password", "root": "key"}, nil,
			[]string{"ChallengeResponseAuthentication yes"}, "KbdInteractive"},
		{"everybody, with a key", "no-totp", nil, []string{"group=all", "factors=key"},
			map[string]string{"alice": "key+code", "carol": "key", "root": "key"}, nil, []string{"Match User *,!root", "    AuthenticationMethods " +
				"publickey,keyboard-interactive:pam"}, "Group"},
		{"include that ends the stack", "trapped-sufficient", []string{"auth required pam_googl" +
			"e_authenticator.so nullok\n", ""}, []string{"group=totp"},
			map[string]string{"alice": "key, or password+code", "carol": "key, or password"}, []string{"auth substack password-auth"}, nil, ""},
		{"again, with a key", "the-notes-own", nil, []string{"factors=key"},
			map[string]string{"alice": "key+code", "bob": "key", "carol": "key, or password"}, []string{"auth substack common-auth"}, nil, ""},
		{"without PAM so far", "no-totp", []string{"UsePAM yes", "UsePAM no"}, []string{"group=totp"},
			map[string]string{"alice": "key, or password+code", "carol": "key, or password"}, nil, []string{"UsePAM yes"}, ""},
		{"no drop-ins", "no-totp", []string{"Include /etc/ssh/sshd_config.d/*.conf\n", "", dialogOff, "KbdInteractiveAuthentication " +
			"no\nPasswordAuthentication no"}, []string{"group=totp", "factors=key"},
			map[string]string{"alice": "key+code", "carol": "key"}, nil, []string{"Match Group totp", "    KbdInteractiveAuthentication yes"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := start(t, c.host, c.replace...)
			p, err := ask(t, h, setup, c.with...)
			if err != nil {
				t.Fatal(err)
			}
			if !p.CutsConnection {
				t.Error("the plan is not guarded")
			}
			got := words(t, h, p)
			for u, w := range c.want {
				if got[u] != w {
					t.Errorf("%s: %s, want %s", u, got[u], w)
				}
			}
			pamText, sshdText := after(p, service), after(p, dropIn)+after(p, "/etc/ssh/sshd_config")
			for _, l := range c.pam {
				if !slices.Contains(strings.Split(pamText, "\n"), l) {
					t.Errorf("PAM's file lacks %q:\n%s", l, pamText)
				}
			}
			for _, l := range c.sshd {
				if !slices.Contains(strings.Split(sshdText, "\n"), l) {
					t.Errorf("sshd's file lacks %q:\n%s", l, sshdText)
				}
			}
			if c.not != "" && strings.Contains(sshdText, c.not) {
				t.Errorf("sshd's file holds %q:\n%s", c.not, sshdText)
			}
			last := p.Steps[len(p.Steps)-1]
			if f, ok := last.(step.File); ok && f.Path != service {
				t.Errorf("the last step is %s", last.Describe())
			}
			for _, s := range p.Steps {
				if s.Reversal().Class == step.Irreversible {
					t.Errorf("%s cannot be undone", s.Describe())
				}
			}
		})
	}
}

// TestReloadWithoutSystemd: where no systemd runs, service reloads sshd, and once more when the files
// are back; no step does nothing.
func TestReloadWithoutSystemd(t *testing.T) {
	h := start(t, "no-totp", "-- units --\n", "-- root/units --\n",
		"KbdInteractiveAuthentication yes", "KbdInteractiveAuthentication no")
	p, err := ask(t, h, setup, "group=totp")
	if err != nil {
		t.Fatal(err)
	}
	text := remedy.Text(p, remedy.TextOptions{Width: 100})
	if !strings.Contains(text, "run /usr/sbin/service ssh reload") || !strings.Contains(text, "undo: runs it again, after everything else") ||
		strings.Contains(text, "/true") {
		t.Error(text)
	}
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		host    string
		replace []string
		finding trap.Finding
		with    []string
		want    string
	}{
		"strict, and one has no file": {"no-totp", []string{"KbdInteractiveAuthentication yes", "KbdInteractiveAuthentication " +
			"yes\nPubkeyAuthentication no"}, setup, []string{"group=totp", "mode=strict"},
			"this would lock out bob: /home/bob/.google_authenticator is not there. Give them a file first"},
		"strict with a key, and one has no file": {"no-totp", nil, setup, []string{"group=totp", "mode=strict", "factors=key"},
			"this would lock out bob"},
		"strict with a key, no dialog so far": {"no-totp", []string{"KbdInteractiveAuthentication yes", "KbdInteractiveAuthentication no"},
			setup, []string{"group=totp", "mode=strict", "factors=key"},
			"this would lock out bob: /home/bob/.google_authenticator is not there"},
		"nobody named":  {"no-totp", nil, setup, nil, "name the users who need a code"},
		"no such group": {"no-totp", nil, setup, []string{"group=tot"}, "there is no group tot in /etc/group: groupadd"},
		"odd group":     {"no-totp", nil, setup, []string{"group=a b"}, "fettle takes groups of letters"},
		"no module": {"no-totp", []string{"-- stat/usr/lib/x86_64-linux-gnu/security/" +
			"pam_google_authenticator.so --\nmode 644\n", ""}, setup, []string{"group=totp"}, "is not installed. Install it first"},
		"broken PAM": {"trapped-pam-broken", nil, setup, []string{"group=totp"}, "PAM refuses its current configuration"},
		"broken sshd": {"no-totp", []string{"UsePAM yes", "UsePAM perhaps"}, setup, []string{"group=totp"}, "sshd refuses its current " +
			"configuration: /etc/ssh/sshd_config:2"},
		"options of its own": {"the-notes-own", []string{"nullok\n@", "nullok secret=/var/lib/x/${USER}\n@"}, setup,
			[]string{"group=totp"}, "its own options"},
		"strict, by hand": {"trapped-strict", nil, trap.Finding{Subject: noFile, Facts: trap.FactsOf(facts{Why: "strict"})}, nil,
			"give them a file each"},
		"owner": {"trapped-mode", nil, trap.Finding{Subject: "user carol"}, nil, "write it again with fettle " +
			"totp enrol carol --replace"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := ask(t, start(t, c.host, c.replace...), c.finding, c.with...)
			var refusal *remedy.Refusal
			if !errors.As(err, &refusal) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q; %d steps", err, c.want, len(p.Steps))
			}
		})
	}
}

// TestEveryFinding: what a plan leaves is free of the finding that it is for.
func TestEveryFinding(t *testing.T) {
	for _, c := range []struct {
		host, subject string
		with          []string
	}{
		{"trapped-debian-default", whole, nil}, {"trapped-slow-login-advice", whole, nil}, {"trapped-methods", whole, nil},
		{"the-notes-own", keys, nil}, {"trapped-strict", noFile, []string{"mode=nullok"}},
	} {
		t.Run(c.host, func(t *testing.T) {
			h := start(t, c.host)
			var f *trap.Finding
			for _, o := range run(t, h) {
				if o.Subject == c.subject && o.Status == trap.Found {
					f = &o
				}
			}
			if f == nil {
				t.Fatal("not found")
			}
			p, err := ask(t, h, *f, c.with...)
			if err != nil {
				t.Fatal(err)
			}
			b, _ := os.ReadFile("testdata/" + c.host + ".txtar")
			text := string(b)
			for _, s := range p.Steps {
				if f, ok := s.(step.File); ok {
					text = strings.Replace(text, "-- want --", fmt.Sprintf("-- root%s --\n%s-- want --", f.Path, f.Content), 1)
				}
			}
			for _, o := range run(t, hosttest.New(t, text)) {
				if o.Subject == c.subject && o.Status != trap.Clear {
					t.Errorf("after the fix: %s %s %s\n%s", o.Subject, o.Status, o.Summary+o.Reason, text)
				}
			}
		})
	}
}

func run(t *testing.T, h *host.Host) (out []trap.Outcome) {
	t.Helper()
	trap.Run(t.Context(), h, []*trap.Trap{&Trap}, trap.Options{}, func(r trap.Result) { out = r.Outcomes })
	return out
}

func TestModePlan(t *testing.T) {
	p, err := ask(t, start(t, "trapped-mode"), trap.Finding{Subject: "user bob"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := p.Steps[0], (step.Perm{Path: "/home/bob/.google_authenticator", Mode: 0o400, UID: -1, GID: -1}); got != step.Step(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
