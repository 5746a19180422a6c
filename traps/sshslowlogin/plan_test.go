package sshslowlogin

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/engine/trap/traptest"
	"fettle/host"
	"fettle/host/fact/sshlogin"
	"fettle/host/format/pam"
	"fettle/host/hosttest"
	"fettle/traps/sshtotp"
)

// mended is the archive as the file steps of a plan leave it.
func mended(t *testing.T, a *txtar.Archive, p remedy.Plan) *txtar.Archive {
	t.Helper()
	out := &txtar.Archive{Comment: a.Comment, Files: slices.Clone(a.Files)}
	put := func(name string, b []byte) {
		if i := slices.IndexFunc(out.Files, func(f txtar.File) bool { return f.Name == name }); i >= 0 {
			out.Files[i].Data = b
			return
		}
		out.Files = append(out.Files, txtar.File{Name: name, Data: b})
	}
	for _, s := range p.Steps {
		switch s := s.(type) {
		case step.File:
			put("root"+s.Path, s.Content)
		case step.Perm:
			put("stat"+s.Path, fmt.Appendf(nil, "mode %04o\n", s.Mode))
		case step.Check, step.Unit:
		default:
			t.Fatalf("a step of kind %s", s.Kind())
		}
	}
	return out
}

func hostOf(t *testing.T, a *txtar.Archive) *host.Host {
	t.Helper()
	src, _, err := hosttest.Parse(txtar.Format(a))
	if err != nil {
		t.Fatal(err)
	}
	return host.New(src)
}

// golden lists the hosts in which something is found.
func golden(t *testing.T) map[string]*txtar.Archive {
	t.Helper()
	files, err := filepath.Glob("testdata/trapped-*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no golden hosts", err)
	}
	out := map[string]*txtar.Archive{}
	for _, f := range files {
		a, err := txtar.ParseFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(filepath.Base(f), ".txtar")] = a
	}
	return out
}

// TestPlans applies every remedy: the cause is gone then, and nothing else has changed.
func TestPlans(t *testing.T) {
	for name, a := range golden(t) {
		h := hostOf(t, a)
		before := traptest.Run(t, &Trap, h)
		for _, o := range before {
			if !o.Fixable {
				continue
			}
			t.Run(name+"/"+o.Subject, func(t *testing.T) {
				p, err := plan(t.Context(), h, o)
				if err != nil {
					t.Fatal(err)
				}
				if o.Subject == logind {
					return // running state: see the golden host and the step
				}
				after := traptest.Run(t, &Trap, hostOf(t, mended(t, a, p)))
				for _, x := range before {
					i := slices.IndexFunc(after, func(n trap.Outcome) bool { return n.Subject == x.Subject })
					switch {
					case x.Subject == o.Subject && i >= 0 && after[i].Status != trap.Clear:
						t.Errorf("%s is %s after its remedy\n%s", x.Subject, after[i].Status, remedy.Text(p, remedy.TextOptions{Width: 80}))
					case x.Subject == o.Subject && i < 0 && p.Vanishes == "":
						t.Errorf("the check does not speak of %s after its remedy, and the plan does not say so: it would be rolled back", x.Subject)
					case x.Subject != o.Subject && (i < 0 || after[i].Status != x.Status):
						t.Errorf("%s was %s and is not any more:\n%s", x.Subject, x.Status, traptest.Lines(after))
					}
				}
				if !slices.Contains([]string{"pam:pam_motd"}, o.Subject) && !p.CutsConnection {
					t.Error("the plan arms no rollback")
				}
			})
		}
	}
}

// TestByHand: what the remedy does not serve says what to do, and what it
// serves is not refused.
func TestByHand(t *testing.T) {
	for name, a := range golden(t) {
		h := hostOf(t, a)
		for _, o := range traptest.Run(t, &Trap, h) {
			if o.Status != trap.Found {
				continue
			}
			var r *remedy.Refusal
			_, err := plan(t.Context(), h, o)
			if o.Fixable && err != nil && !errors.As(err, &r) || o.Fixable && r != nil {
				t.Errorf("%s: %s is offered a fix, and then: %v", name, o.Subject, err)
			}
		}
	}
}

// TestSecondFactorStays: whatever is mended, a host on which users log in with
// a one-time code asks for it afterwards as before, of everybody, in each way.
func TestSecondFactorStays(t *testing.T) {
	n := 0
	for name, a := range golden(t) {
		totp := withTOTP(t, a)
		h := hostOf(t, totp)
		was := ways(t, h)
		for _, o := range traptest.Run(t, &Trap, h) {
			if !o.Fixable {
				continue
			}
			n++
			p, err := plan(t.Context(), h, o)
			if err != nil {
				t.Errorf("%s: %s: %v", name, o.Subject, err)
				continue
			}
			after := hostOf(t, mended(t, totp, p))
			if is := ways(t, after); is != was {
				t.Errorf("%s: the remedy of %s lets in otherwise:\n%s\nbefore:\n%s", name, o.Subject, is, was)
			}
			if is, was := traptest.Lines(traptest.Run(t, &sshtotp.Trap, after)), traptest.Lines(traptest.Run(t, &sshtotp.Trap, h)); is != was {
				t.Errorf("%s: after the remedy of %s ssh-totp says\n%s\nbefore:\n%s", name, o.Subject, is, was)
			}
		}
		if !strings.Contains(was, "code") {
			t.Errorf("%s: nobody is asked for a code: the test proves nothing:\n%s", name, was)
		}
	}
	if n < 8 {
		t.Errorf("%d remedies tried", n)
	}
}

// withTOTP has the host ask for a one-time code after a password or a key.
func withTOTP(t *testing.T, a *txtar.Archive) *txtar.Archive {
	t.Helper()
	out := &txtar.Archive{Comment: a.Comment}
	for _, f := range a.Files {
		s := string(f.Data)
		switch f.Name {
		case "root/etc/pam.d/sshd":
			// Before the first line that is not auth's own.
			lines := strings.SplitAfter(s, "\n")
			i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "account") })
			s = strings.Join(slices.Insert(lines, i, "auth required pam_google_authenticator.so\n"), "")
		case "root/etc/ssh/sshd_config", "root/usr/etc/ssh/sshd_config":
			s = strings.ReplaceAll(s, "KbdInteractiveAuthentication no", "KbdInteractiveAuthentication yes")
			s = strings.ReplaceAll(s, "ChallengeResponseAuthentication no", "ChallengeResponseAuthentication yes")
			s = strings.Replace(s, "UsePAM yes\n", "UsePAM yes\nAuthenticationMethods publickey,keyboard-interactive keyboard-interactive\n", 1)
		case "root/etc/ssh/sshd_config.d/50-redhat.conf":
			s = strings.ReplaceAll(
				s,
				"ChallengeResponseAuthentication no",
				"ChallengeResponseAuthentication yes\nAuthenticationMethods keyboard-interactive",
			)
		}
		f.Data = []byte(s)
		out.Files = append(out.Files, f)
	}
	add := func(name, s string) { out.Files = append(out.Files, txtar.File{Name: name, Data: []byte(s)}) }
	add("root/etc/passwd", "root:x:0:0:root:/root:/bin/sh\nalice:x:1000:1000::/home/alice:/bin/bash\nbob:x:1001:1001::/home/bob:/bin/bash\n")
	add("root/etc/group", "root:x:0:\nalice:x:1000:\nbob:x:1001:\n")
	add("root/home/alice/.google_authenticator", "JBSWY3DPEHPK3PXP\n\" TOTP_AUTH\n")
	add("stat/home/alice/.google_authenticator", "mode 0400 uid 1000 gid 1000 size 40\n")
	add("stat/home/alice", "mode 0700 type dir uid 1000 gid 1000\n")
	// Modules that the stacks name are there.
	for m := range slices.Values(moduleName.FindAllString(string(txtar.Format(out)), -1)) {
		for _, dir := range []string{"/usr/lib/x86_64-linux-gnu/security/", "/usr/lib64/security/"} {
			if !slices.ContainsFunc(out.Files, func(f txtar.File) bool { return f.Name == "root"+dir+m }) {
				add("root"+dir+m, "")
			}
		}
	}
	return out
}

var moduleName = regexp.MustCompile(`pam_[a-z0-9_]+\.so`)

func ways(t *testing.T, h *host.Host) string {
	t.Helper()
	l, err := sshlogin.Read(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, u := range l.DB.Users {
		for _, a := range l.For(pam.UserOf(l.DB, u)) {
			fmt.Fprintf(&b, "%s from %q: %s, asked %v\n", u.Name, a.From, a.Words(), a.Asked)
		}
	}
	return b.String()
}

// TestAdviceThatDisarms: turning keyboard-interactive off for speed, as many
// guides advise, is what the test above would see.
func TestAdviceThatDisarms(t *testing.T) {
	for name, a := range golden(t) {
		totp := withTOTP(t, a)
		was := ways(t, hostOf(t, totp))
		bad := mended(
			t,
			totp,
			remedy.Plan{Steps: []step.Step{step.File{Path: "/etc/ssh/sshd_config", Content: []byte("ChallengeResponseAuthentication no\n" +
				"KbdInteractiveAuthentication no\n" + string(fileOf(totp, "root/etc/ssh/sshd_config")))}}},
		)
		if ways(t, hostOf(t, bad)) == was {
			t.Errorf("%s: nobody sees that codes are asked for no more", name)
		}
	}
}

func fileOf(a *txtar.Archive, name string) []byte {
	for _, f := range a.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}
