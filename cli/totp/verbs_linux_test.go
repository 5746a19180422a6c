package totp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"fettle/cli/app"
	"fettle/cli/app/apptest"
	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/run"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/internal/means"
	"fettle/tools/totp"
)

// asksForCodes is a trap whose plan says what was chosen.
var asksForCodes = &trap.Trap{
	Lore:    "---\nid: asks-for-codes\ntitle: Asks for codes\n---\n",
	Choices: []trap.Choice{{Name: "group"}, {Name: "mode"}, {Name: "factors"}},
	Setup:   &trap.Setup{Name: "totp", Finding: trap.Finding{Summary: "ask for codes"}},
	Check: func(_ context.Context, _ *host.Host, r *trap.Report) error {
		r.Clear("", "looked")
		return nil
	},
	Plan: func(_ context.Context, _ *host.Host, f trap.Finding) (remedy.Plan, error) {
		title := fmt.Sprintf("group %q, mode %q, factors %q", f.Chosen("group"), f.Chosen("mode"), f.Chosen("factors"))
		return remedy.Plan{Title: title, Steps: []step.Step{step.File{Path: "/etc/fettle-test", Content: []byte("x\n")}}}, nil
	},
}

func TestMain(m *testing.M) {
	if code, ok := run.Child(os.Args[1:], []*trap.Trap{asksForCodes}, nil, os.Stderr); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

func fettle(t *testing.T, stdin string, args ...string) (code int, out, errs string) {
	t.Helper()
	return with(t, strings.NewReader(stdin), args...)
}

func with(t *testing.T, stdin io.Reader, args ...string) (code int, out, errs string) {
	t.Helper()
	a := app.App{Traps: []*trap.Trap{asksForCodes}, Stdin: stdin}
	code, out, errs = apptest.Run(t.Context(), a, Cmd, append([]string{"totp"}, args...)...)
	return code, out, strings.Join(strings.Fields(errs), " ")
}

// refused wants an exit status, words on standard error and nothing on standard output.
func refused(t *testing.T, want int, words, stdin, args string) {
	t.Helper()
	if code, out, errs := fettle(t, stdin, strings.Fields(args)...); code != want || !strings.Contains(errs, words) || out != "" {
		t.Errorf("%s: status %d, said %q and %q; want %d, %q", args, code, out, errs, want, words)
	}
}

func said(t *testing.T, want, stdin, args string) {
	t.Helper()
	if code, out, errs := fettle(t, stdin, strings.Fields(args)...); code != 0 || out != want || errs != "" {
		t.Errorf("%s: status %d, said %q and %q; want %q", args, code, out, errs, want)
	}
}

func put(t *testing.T, name, text string, uid int) {
	t.Helper()
	os.Remove(name)
	if err := errors.Join(os.WriteFile(name, []byte(text), 0o600), os.Chown(name, uid, 1000)); err != nil {
		t.Fatal(err)
	}
}

const (
	key  = "JBSWY3DPEHPK3PXPJBSWY3DP"
	home = "/home/alice/.google_authenticator"
)

// TestVerbs runs the verbs as root does, on a host with its own accounts and homes.
func TestVerbs(t *testing.T) {
	if !means.Inside(t, syscall.CLONE_NEWNS, time.Minute) {
		return
	}
	for _, dir := range []string{"/etc", "/home", "/root"} {
		if err := unix.Mount("none", dir, "tmpfs", 0, "mode=755"); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"/etc/pam.d", "/etc/ssh"} {
		os.Mkdir(dir, 0o755)
	}
	for name, text := range map[string]string{
		"nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\n",
		"passwd": "root:x:0:0:root:/root:/bin/sh\nalice:x:2000:1000::/home/alice:/bin/sh\nbob:x:2001:1000::/home/bob:/bin/sh\n" +
			"carol:x:2002:1000::/home/carol:/bin/sh\ndaemon:x:7:7::/:/usr/sbin/nologin\nsync:x:8:8::/:/bin/false\n",
		"group":           "root:x:0:\nusers:x:1000:\ncodes:x:2000:alice,bob\none:x:2002:alice\nempty:x:2001:\nghosts:x:2003:alice,ghost\n",
		"pam.d/sshd":      "auth required pam_unix.so\naccount required pam_unix.so\n",
		"ssh/sshd_config": "UsePAM yes\nKbdInteractiveAuthentication yes\n",
	} {
		put(t, "/etc/"+name, text, 0)
		os.Chmod("/etc/"+name, 0o644)
	}
	for i, u := range []string{"alice", "bob", "carol"} {
		if err := errors.Join(os.Mkdir("/home/"+u, 0o700), os.Chown("/home/"+u, 2000+i, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("LC_ALL", "C.UTF-8")
	t.Setenv("COLUMNS", "100")
	t.Setenv("FETTLE_STATE", "/root/state")
	open := len(means.OpenFiles(t))
	for name, test := range map[string]func(*testing.T){"enrol": enrolled, "existing": existing, "sheets": sheets, "first code": firstCodes,
		"users": users, "verify": verified, "qr": shown, "disable": disabled, "who": getsIn, "setup": setsUp} {
		t.Run(name, test)
		for _, u := range []string{"alice", "bob", "carol"} {
			for _, end := range []string{"", ".disabled"} {
				os.Remove("/home/" + u + "/.google_authenticator" + end)
			}
		}
		if now := means.OpenFiles(t); len(now) != open {
			t.Errorf("%s: open are %v, and were %d", name, now, open)
		}
	}
}

var secretLine = regexp.MustCompile(`(?m)^Secret: ((?:[A-Z2-7]{4} ?)+)$`)

// secretIn is the secret that a sheet shows, which is in the user's file too.
func secretIn(t *testing.T, text, file string) string {
	t.Helper()
	m := secretLine.FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no secret in groups of four: %q", text)
	}
	secret := strings.ReplaceAll(m[1], " ", "")
	if b, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(b), secret+"\n") || len(secret) != 32 {
		t.Errorf("%s: %q, %v; shown was %q", file, b, err, secret)
	}
	return secret
}

func enrolled(t *testing.T) {
	code, out, errs := fettle(t, "", "enrol", "alice", "--issuer", "Büro", "--window", "17")
	if code != 0 || errs != "alice is enrolled: "+home {
		t.Fatalf("status %d, said %q and %q", code, out, errs)
	}
	secret := secretIn(t, out, home)
	b, _ := os.ReadFile(home)
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	if st, err := os.Stat(home); err != nil || st.Mode() != 0o400 || st.Sys().(*syscall.Stat_t).Uid != 2000 ||
		!slices.Contains(lines, `" WINDOW_SIZE 17`) {
		t.Errorf("the file: %v, %v, %q", st, err, lines)
	}
	scratch := lines[len(lines)-5:]
	want := "\nSecret: " + groups(secret) + "\nURI:    otpauth://totp/B%C3%BCro:alice?secret=" + secret + "&issuer=B%C3%BCro\n\n" +
		"Scratch codes, each of which works once instead of a code. Keep them on paper:\n    " + strings.Join(scratch, "\n    ") + "\n\n"
	picture, ok := strings.CutPrefix(out, "One-time codes of alice on Büro\n\n")
	if !ok || !strings.HasPrefix(strings.TrimLeft(picture, " "), "█") ||
		!strings.HasSuffix(out, want) {
		t.Errorf("said:\n%s\nwant at the end:\n%s", out, want)
	}
	refused(t, 2, "alice: "+home+" already exists", "", "enrol alice")
	if after, _ := os.ReadFile(home); !bytes.Equal(after, b) {
		t.Error("the file was replaced unasked")
	}
	code, out, _ = fettle(t, "", "enrol", "alice", "--replace", "--no-qr")
	name, _ := os.Hostname()
	name, _, _ = strings.Cut(name, ".")
	if again := secretIn(t, out, home); code != 0 || again == secret ||
		!strings.HasPrefix(out, "One-time codes of alice on "+name+"\n\nSecret: ") {
		t.Errorf("replaced: status %d\n%s", code, out)
	}
	letters, blocks := []string{"##", "█"}, []string{"█", "##"}
	for args, want := range map[string][]string{"--ascii": letters, "--ascii --ink": letters, "--ink": blocks, "": blocks} {
		if code, out, _ := fettle(t, "", strings.Fields("enrol bob --replace "+args)...); code != 0 || !strings.Contains(out, want[0]) ||
			strings.Contains(out, want[1]) {
			t.Errorf("%q: status %d\n%s", args, code, out)
		}
	}
	for args, want := range map[string]string{
		"enrol alice --window 0": "--window 0: the module takes 1 to 100", "enrol alice --window -3": "--window -3: the module takes 1 to 100",
		"enrol alice --window 101 --replace": "the module takes 1 to 100", "enrol carol --issuer a:b": "without a colon",
		"enrol alice bob":                    "for 2 users, name a folder for their sheets: --out FOLDER",
		"enrol alice bob --existing":         "--existing is for one user: a shared secret is no second factor",
		"enrol --group codes --existing":     "--existing is for one user",
		"enrol alice --group codes":          "for 2 users, name a folder",
		"":                                   "what about one-time codes? `fettle totp --help` lists enrol, verify, qr, disable, who and setup",
		"enrol carol --out /root/none":       "--out /root/none: there is no such folder; make it first: install -d -m 0700 /root/none",
		"enrol carol --out /etc/passwd":      "--out: ",
		"enrol carol --out /etc/passwd/none": "--out: ",
	} {
		refused(t, 2, want, "", args)
	}
	if _, err := os.Stat("/home/carol/.google_authenticator"); err == nil {
		t.Error("what was refused wrote a file")
	}
	if err := errors.Join(os.Rename("/home/carol", "/home/away")); err != nil {
		t.Fatal(err)
	}
	defer os.Rename("/home/away", "/home/carol")
	refused(t, 3, "carol: opening folder /home/carol: no such file or directory; nothing was changed", "", "enrol carol")
	if err := os.Symlink("/home/away", home+"x"); err != nil {
		t.Fatal(err)
	}
	os.Rename(home+"x", home)
	refused(t, 3, "alice: "+home+" is a symbolic link, which fettle does not follow", "", "enrol alice --replace")
	os.Remove(home)
}

func existing(t *testing.T) {
	for given, lines := range map[string]string{
		key + "\n": key + "\n\" RATE_LIMIT 3 30\n\" DISALLOW", "otpauth://totp/web:alice?period=60&secret=" + key: key +
			"\n\" RATE_LIMIT 3 30\n\" STEP_SIZE 60\n",
	} {
		code, out, errs := fettle(t, given, "enrol", "alice", "--existing", "--replace", "--no-qr")
		if b, err := os.ReadFile(home); code != 0 || err != nil || !strings.HasPrefix(string(b), lines) || !strings.Contains(out, groups(key)) ||
			errs != "alice is enrolled: "+home {
			t.Errorf("%s: status %d, said %q and %q; the file has %q, %v", given, code, out, errs, b, err)
		}
	}
	before, _ := os.ReadFile(home)
	for given, want := range map[string]string{
		key + "1": "its character 25 is not A to Z or 2 to 7; nothing was changed",
		"":        "nothing was read from standard input; nothing was changed", "otpauth://totp/x?digits=8&secret=" + key: "8 digits",
	} {
		refused(t, 2, want, given, "enrol alice --existing --replace")
	}
	if after, _ := os.ReadFile(home); !bytes.Equal(before, after) {
		t.Error("what was refused changed the file")
	}
	// Nobody is asked for a code of a secret that is in use elsewhere.
	master, tty := means.OpenTerminal(t)
	if _, err := master.WriteString(key + "\n"); err != nil {
		t.Fatal(err)
	}
	code, out, errs := with(t, tty, "enrol", "alice", "--existing", "--replace", "--no-qr")
	if code != 0 || errs != "Secret or otpauth URI of alice: alice is enrolled: "+home {
		t.Errorf("on a terminal: status %d, said %q and %q", code, out, errs)
	}
}

func sheets(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sheets")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	code, out, errs := fettle(t, "", "enrol", "bob", "--group", "codes", "--out", dir)
	if code != 0 || out != "" || errs != "bob is enrolled: /home/bob/.google_authenticator alice is enrolled: "+home {
		t.Errorf("status %d, said %q and %q", code, out, errs)
	}
	seen := map[string]bool{}
	for _, u := range []string{"alice", "bob"} {
		b, err := os.ReadFile(filepath.Join(dir, u+".txt"))
		if st, _ := os.Stat(filepath.Join(dir, u+".txt")); err != nil || st.Mode() != 0o600 {
			t.Fatalf("%s: %v, %v", u, err, st)
		}
		seen[secretIn(t, string(b), "/home/"+u+"/.google_authenticator")] = true
		if !strings.HasPrefix(string(b), "One-time codes of "+u+" on ") {
			t.Errorf("%s", b)
		}
	}
	if len(seen) != 2 {
		t.Error("two users have the same secret")
	}
	for args, want := range map[string]string{
		"enrol --group codes --replace --out ": filepath.Join(dir, "alice.txt") + " is there already: choose another folder, or remove it",
		"enrol --group codes --out ":           "alice: " + home + " already exists",
		"enrol carol bob --out ":               "bob: /home/bob/.google_authenticator already exists",
	} {
		refused(t, 2, want, "", args+dir)
	}
	if _, err := os.Stat("/home/carol/.google_authenticator"); err == nil {
		t.Error("carol is enrolled, though bob could not be")
	}
	// A file that appears meanwhile stays, and nobody is given a sheet that is not his.
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	var said bytes.Buffer
	a := &app.App{Program: "fettle", Stdout: io.Discard, Stderr: &said}
	for to, want := range map[string]int{home: app.ExitUsage, "/home/none/x": app.ExitFailed} {
		h := holder{name: "dora/x", place: totp.Place{Path: to, UID: 2000, GID: 1000}}
		var s *app.Status
		if err := enrolOne(a, h, enrolOptions{out: dir, sheets: root}); !errors.As(err, &s) || s.Code != want ||
			!strings.HasPrefix(err.Error(), "dora/x: ") {
			t.Errorf("%s: %v", to, err)
		}
		if _, err := root.Stat("dora_x.txt"); !errors.Is(err, os.ErrNotExist) || said.Len() > 0 {
			t.Errorf("%s: the sheet: %v, said %q", to, err, said.String())
		}
	}
	err = enrolOne(a, holder{name: "bob", place: totp.Place{Path: "/home/bob/x", UID: 2001, GID: 1000}}, enrolOptions{out: dir, sheets: root})
	var s *app.Status
	if _, missing := os.Stat("/home/bob/x"); !errors.As(err, &s) || s.Code != app.ExitFailed || missing == nil {
		t.Errorf("a sheet that is there: %v; the file: %v", err, missing)
	}
}

// phone is standard output that somebody reads and answers with codes, on the terminal.
type phone struct {
	t       *testing.T
	answers func(s totp.Secret) string
	master  *os.File
}

func (p phone) Write(b []byte) (int, error) {
	m := secretLine.FindSubmatch(b)
	if m == nil {
		p.t.Errorf("no secret is shown in groups of four: %q", b)
		p.master.WriteString("\n")
	} else {
		s, err := totp.ParseSecret(string(m[1]))
		if err != nil {
			p.t.Error(err)
		}
		if _, err := p.master.WriteString(p.answers(s)); err != nil {
			p.t.Error(err)
		}
	}
	return len(b), nil
}

// firstCodes: on a terminal a file is written only when the app shows its codes.
func firstCodes(t *testing.T) {
	const prompt = "The code that the app shows for carol now: "
	const file = "/home/carol/.google_authenticator"
	const no = "That is not a code of this secret.\n"
	at := func(s totp.Secret, d time.Duration) string { return s.At(time.Now().Add(d), 30) }
	for _, c := range []struct {
		args    string
		answers func(s totp.Secret) string
		want    string
	}{
		{"", func(s totp.Secret) string { c := at(s, 0); return c[:3] + " " + c[3:] + "\n" }, prompt},
		{"", func(s totp.Secret) string { return at(s, 30*time.Second) + "\n" }, prompt},
		{"", func(s totp.Secret) string {
			return "x\n" + at(s, -10*time.Minute) + "\n" + at(s, -30*time.Second) + "\n"
		},
			prompt + no + prompt + "That code is 10m0s old: the clock that made it is slower than this host's. Set the clock right and try " +
				"again.\n" + prompt},
		{"", func(s totp.Secret) string { return at(s, time.Hour) + "\n" + at(s, 0) + "\n" },
			prompt + "That code is of 1h0m0s from now: the clock that made it is ahead of this host's. Set the clock right and try again.\n" +
				prompt},
		{"", func(s totp.Secret) string { return "1\n2\n3\n" + at(s, 0) + "\n" }, prompt + no + prompt + no + prompt + no + "refused"},
		{"", func(totp.Secret) string { return "\n" }, prompt + "refused"},
		{"--untested", func(totp.Secret) string { return "" }, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			os.Remove(file)
			master, tty := means.OpenTerminal(t)
			var errs bytes.Buffer
			a := &app.App{Program: "fettle", Stdin: tty, Stderr: &errs, Stdout: phone{t, c.answers, master}}
			cmd := enrolCmd(a)
			cmd.SilenceErrors, cmd.SilenceUsage = true, true
			cmd.SetArgs(append(strings.Fields(c.args), "carol"))
			err := cmd.ExecuteContext(t.Context())
			_, missing := os.Stat(file)
			if want, bad := strings.CutSuffix(c.want, "refused"); bad {
				var s *app.Status
				if !errors.As(err, &s) || s.Code != app.ExitFailed || missing == nil || errs.String() != want ||
					err.Error() != "no code was right, so nothing was written for carol (--untested writes without asking)" {
					t.Errorf("%v, the file: %v, said %q", err, missing, errs.String())
				}
			} else if err != nil || missing != nil || errs.String() != want+"carol is enrolled: "+file+"\n" {
				t.Errorf("%v, %v, said %q, want %q", err, missing, errs.String(), want)
			}
		})
	}
}

// users: who is named is found in the accounts, in a group, or by the name services.
func users(t *testing.T) {
	for args, want := range map[string]string{
		"enrol nobody-here": "there is no user nobody-here", "enrol": "for whom? name users, or --group", "verify": "for whom?",
		"enrol --group nothing":            "there is no group nothing in /etc/group",
		"enrol --group empty":              "group empty has no members: gpasswd -a USER empty",
		"enrol --group ghosts --out /root": "there is no user ghost",
	} {
		refused(t, 2, want, "", args)
	}
	if code, _, errs := fettle(t, "", "enrol", "alice", "alice", "--group", "one", "--no-qr"); code != 0 || strings.Count(errs,
		"is enrolled") != 1 {
		t.Errorf("named thrice: status %d, %q", code, errs)
	}
	os.WriteFile("/etc/nsswitch.conf", []byte("passwd: files sss\ngroup: files\n"), 0o644)
	defer os.WriteFile("/etc/nsswitch.conf", []byte("passwd: files\ngroup: files\n"), 0o644)
	os.Mkdir("/home/dora", 0o700)
	os.Chown("/home/dora", 3000, 1000)
	defer os.RemoveAll("/home/dora")
	apptest.Cover(t, "/usr/bin/getent", `[ "$1" = passwd ] && [ "$LC_ALL" = C.UTF-8 ] && case $2 in
dora) echo "dora:x:3000:1000:Dora:/home/dora:/bin/sh";;
short) echo "short:x:3000:1000:/home/dora:/bin/sh";;
other) echo "dora:x:3000:1000:Dora:/home/dora:/bin/sh";;
letters) echo "letters:x:many:1000:Dora:/home/dora:/bin/sh";;
big) echo "big:x:3000:5000000000:Dora:/home/dora:/bin/sh";;
fails) echo "fails:x:3000:1000:Dora:/home/dora:/bin/sh"; exit 2;;
*) touch /root/asked; echo "$2:x:3000:1000:Dora:/home/dora:/bin/sh"
esac`)
	code, _, errs := fettle(t, "", "enrol", "dora", "--no-qr")
	st, err := os.Stat("/home/dora/.google_authenticator")
	if code != 0 || err != nil || st.Sys().(*syscall.Stat_t).Uid != 3000 || st.Sys().(*syscall.Stat_t).Gid != 1000 {
		t.Errorf("known to the name service: status %d, %q; %v, %v", code, errs, st, err)
	}
	for name, want := range map[string]string{"short": "there is no user short", "other": "there is no user other",
		"letters": "there is no user letters", "big": "there is no user big", "fails": "there is no user fails", "a:b": "there is no user a:b",
		"a\nb": "there is no user", "": "there is no user ''",
	} {
		if code, out, errs := fettle(t, "", "verify", "--", name); code != 2 || !strings.Contains(errs, want) || out != "" {
			t.Errorf("%q: status %d, said %q and %q", name, code, out, errs)
		}
	}
	if code, _, errs := fettle(t, "", "verify", "--", "-x"); code != 2 || !strings.Contains(errs, "there is no user -x") {
		t.Errorf("an option: status %d, %q", code, errs)
	}
	if _, err := os.Stat("/root/asked"); err == nil {
		t.Error("the name service was asked for what is no name")
	}
	moduleOptions(t)
}

// moduleOptions: the place and the owner of the file follow the module's options.
func moduleOptions(t *testing.T) {
	pam, _ := os.ReadFile("/etc/pam.d/sshd")
	defer os.WriteFile("/etc/pam.d/sshd", pam, 0o644)
	os.Mkdir("/home/codes", 0o700)
	defer os.RemoveAll("/home/codes")
	os.Chown("/home/codes", 2001, 1000)
	for owner, want := range map[string]string{"bob": "", "2001": "", "nobody": "/etc/pam.d/sshd:1 has user=nobody, but there is no such user",
		"relative": "the file of alice would be codes, which is not absolute",
		"2009":     "/etc/pam.d/sshd:1 has user=2009, but there is no such user"} {
		os.WriteFile("/etc/pam.d/sshd", []byte("auth required pam_google_authenticator.so secret=/home/codes/${USER} user="+owner+
			"\nauth required pam_google_authenticator.so secret=/home/second\n"), 0o644)
		if owner == "relative" {
			os.WriteFile("/etc/pam.d/sshd", []byte("auth required pam_google_authenticator.so secret=codes\n"), 0o644)
		}
		os.Remove("/home/codes/alice")
		if want != "" {
			refused(t, 2, want, "", "enrol alice")
			continue
		}
		code, _, errs := fettle(t, "", "enrol", "alice", "--no-qr")
		st, err := os.Stat("/home/codes/alice")
		if code != 0 || errs != "alice is enrolled: /home/codes/alice" || err != nil || st.Sys().(*syscall.Stat_t).Uid != 2001 {
			t.Errorf("user=%s: status %d, %q; %v, %v", owner, code, errs, st, err)
		}
	}
	if f, err := os.ReadDir("/etc/pam.d"); err != nil || len(f) != 1 {
		t.Errorf("%v, %v", f, err)
	}
}

// verified: a code is judged by what the module would do with it, at midnight.
func verified(t *testing.T) {
	s, err := totp.ParseSecret(key)
	if err != nil {
		t.Fatal(err)
	}
	const head = key + "\n\" TOTP_AUTH\n"
	const none = "it is no code of alice's secret within 12h30m0s of now: another secret, another user, or a clock that is off by more; " +
		"compare the phone's clock with `date -u`"
	const network = " Set the phone's clock by the network, and look at this host's: timedatectl"
	synctest.Test(t, func(t *testing.T) {
		at := func(d time.Duration) string { return s.At(time.Now().Add(d), 30) }
		now := time.Now().Unix() / 30
		for _, c := range []struct {
			file, given string
			code        int
			want        string
		}{
			{head, at(0), 0, "It would be taken: it is of this moment.\n"},
			{head, at(0)[:3] + " " + at(0)[3:], 0, "It would be taken: it is of this moment.\n"},
			{head, at(30 * time.Second), 0, "It would be taken: it is of 30s from now: the clock that made it is ahead of this host's.\n"},
			{head, at(-30 * time.Second), 0, "It would be taken: it is 30s old: the clock that made it is slower than this host's.\n"},
			{head, at(-10 * time.Minute), 3, "the secret is right, but the code is 10m0s old: the clock that made it is slower than this host's; " +
				"the module takes 30 s before to 30 s after its own time." + network},
			{head + "\" WINDOW_SIZE 4\n", at(2 * time.Minute), 3, "the secret is right, but the code is of 2m0s from now: the clock that made it " +
				"is " +
				"ahead of this host's; the module takes 30 s before to 60 s after its own time." + network},
			{head + "\" WINDOW_SIZE 17\n\" STEP_SIZE 60\n", s.At(time.Now().Add(-time.Hour), 60), 3, "the module takes 480 s before to 480 s after"},
			{head, at(48 * time.Hour), 3, none},
			{head + "\" STEP_SIZE 60\n", at(48 * time.Hour), 3, "within 25h0m0s of now"},
			{head + fmt.Sprintf("\" DISALLOW_REUSE %d %d\n", now-1, now), at(0), 3,
				"the code is right and was used for a login already: wait for the next"},
			{head + fmt.Sprintf("\" DISALLOW_REUSE %d %d\n", now-1, now), at(30 * time.Second), 0, "It would be taken"},
			{head + fmt.Sprintf("\" DISALLOW_REUSE %d\n", now+1), at(30 * time.Second), 3, "was used for a login already"},
			{head + "\" STEP_SIZE 60\n" + fmt.Sprintf("\" DISALLOW_REUSE %d\n", now/2), s.At(time.Now(), 60), 3, "was used for a login already"},
			{head + "12345678\n23456789\n", "2345 6789", 0,
				"It is one of alice's 2 scratch codes, and would be taken once. It is not used up now.\n"},
			{head + "12345678\n", "87654321", 3, "it is not one of the 1 scratch codes that alice has left"},
			{head, "12345", 2, "a code has 6 digits, a scratch code 8"}, {head, "1234567", 2, "a code has 6 digits"},
			{head, "12345x", 2, "a code has 6 digits"}, {head, "", 2, "nothing was read from standard input"},
			{key + "\n\" HOTP_COUNTER 5\n", at(0), 3, "alice's codes follow a counter (HOTP), which fettle does not check"},
			{"", at(0), 3, home + ": it has 0 bytes; the module reads 1 to 65536"},
			{"not base32!\n", at(0), 3, home + ": line 1: the secret is not base32"},
		} {
			put(t, home, c.file, 2000)
			code, out, errs := fettle(t, c.given+"\n", "verify", "alice")
			if right := c.code == 0 && strings.HasPrefix(out, c.want) && errs == "" || c.code != 0 && strings.Contains(errs, c.want) &&
				out == ""; !right ||
				code != c.code {
				t.Errorf("%q of %q: status %d, said %q and %q; want %d, %q", c.given, c.file, code, out, errs, c.code, c.want)
			}
			if b, err := os.ReadFile(home); err != nil || string(b) != c.file {
				t.Errorf("the file has become %q, %v", b, err)
			}
		}
	})
	refused(t, 3, "bob has no file of one-time codes (/home/bob/.google_authenticator): fettle totp enrol bob", "123456", "verify bob")
	put(t, home, head, 2001)
	os.Chmod(home, 0o644)
	refused(t, 3, home+" belongs to user ID 2001 and must belong to 2000", "123456", "verify alice")
}

func shown(t *testing.T) {
	put(t, home, key+"\n\" TOTP_AUTH\n12345678\n", 2000)
	const end = "Secret: JBSW Y3DP EHPK 3PXP JBSW Y3DP\nURI:    otpauth://totp/Corp%2C%20web%201:alice?secret=" + key +
		"&issuer=Corp%2C%20web%201\n"
	args := []string{"qr", "alice", "--issuer", "Corp, web 1"}
	if code, out, errs := fettle(t, "", append(args, "--no-qr")...); code != 0 || out != end || errs != "" {
		t.Errorf("without a picture: status %d, said %q and %q", code, out, errs)
	}
	pictures := map[string]bool{}
	for _, more := range []string{"", "--ink", "--ascii", "--ascii --ink"} {
		code, out, errs := fettle(t, "", append(args, strings.Fields(more)...)...)
		picture, ok := strings.CutSuffix(out, "\n"+end)
		if code != 0 || !ok || errs != "" || strings.Contains(picture, "#") != strings.HasPrefix(more, "--ascii") {
			t.Errorf("%q: status %d, said %q and %q", more, code, out, errs)
		}
		pictures[picture] = true
	}
	if len(pictures) != 4 {
		t.Errorf("%d pictures of 4 kinds", len(pictures))
	}
	f, err := totp.Parse([]byte(key + "\n\" TOTP_AUTH\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		columns string
		want    string
	}{{"100", f.URI(strings.Repeat("x", 60), "alice")}, {"41", f.URI("", "alice")}} {
		t.Setenv("COLUMNS", c.columns)
		want, err := totp.Picture(c.want, true, false, 100)
		if got := picture(&app.App{Stdout: io.Discard}, f, strings.Repeat("x", 60), "alice", false, false, false); err != nil ||
			got != want+"\n" {
			t.Errorf("in %s columns:\n%swant:\n%s%v", c.columns, got, want, err)
		}
	}
	if got := picture(&app.App{Stdout: io.Discard}, f, "web1", "alice", false, true, false); !regexp.MustCompile(
		`^\(the QR code is \d\d columns wide and the terminal 41: type the secret instead\)\n\n$`).MatchString(got) {
		t.Errorf("where none fits: %q", got)
	}
	t.Setenv("COLUMNS", "100")
	t.Setenv("LC_ALL", "C")
	if _, out, _ := fettle(t, "", args...); !strings.Contains(out, "##") || strings.Contains(out, "█") {
		t.Errorf("in the C locale:\n%s", out)
	}
	refused(t, 2, "without a colon", "", "qr alice --issuer a:b")
	refused(t, 3, "bob has no file", "", "qr bob")
}

func disabled(t *testing.T) {
	put(t, home, key+"\n\" TOTP_AUTH\n", 2000)
	refused(t, 3, "bob: ", "", "disable alice bob")
	if _, err := os.Stat(home); err != nil {
		t.Error("half of them are disabled:", err)
	}
	refused(t, 2, "there is no user x", "", "disable alice x")
	said(t, "alice: "+home+" is out of use. To bring it back: mv "+home+".disabled "+home+"\n", "", "disable alice")
	b, err := os.ReadFile(home + ".disabled")
	if _, gone := os.Stat(home); err != nil || string(b) != key+"\n\" TOTP_AUTH\n" || gone == nil {
		t.Errorf("%q, %v, %v", b, err, gone)
	}
	put(t, home, key+"\n\" TOTP_AUTH\n", 2000)
	if err := os.Remove(home + ".disabled"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(home+".disabled", 0o700); err != nil {
		t.Fatal(err)
	}
	refused(t, 3, "alice: ", "", "disable alice")
}

func getsIn(t *testing.T) {
	apptest.Cover(t, "/usr/bin/passwd", `[ "$*" = "-S -a" ] && printf 'root P\nalice P 2020-01-01\nbob L 2020-01-01\ncarol LK\n\nx\n'`)
	said(t, "USER   GETS IN WITH\nroot   key\nalice  key, or password\nbob    key\ncarol  key\n", "", "who")
	said(t, "USER   GETS IN WITH\nalice  key, or password\n", "", "who alice")
	said(t, "USER    GETS IN WITH\nbob     key\ndaemon  key, or password\n", "", "who daemon bob bob")
	refused(t, 2, "there is no user x in /etc/passwd", "", "who x")
	apptest.Cover(t, "/usr/bin/passwd", `echo bob L; exit 1`)
	said(t, "USER  GETS IN WITH\nbob   key, or password\n", "", "who bob")
	keep := func(name, text string) {
		was, _ := os.ReadFile(name)
		put(t, name, text, 0)
		t.Cleanup(func() { os.WriteFile(name, was, 0o644) })
	}
	keep("/etc/ssh/sshd_config", "UsePAM yes\nKbdInteractiveAuthentication yes\nMatch Address 10.0.0.0/8\n  PasswordAuthentication no\n"+
		"  KbdInteractiveAuthentication no\n")
	said(t, "USER                   GETS IN WITH\nalice                  key, or password\nalice from 10.0.0.0/8  key\n", "", "who alice")
	keep("/etc/ssh/sshd_config", "UsePAM yes\nKbdInteractiveAuthentication yes\n")
	keep("/etc/pam.d/sshd", "auth required pam_unix.so\nauth required pam_exec.so\naccount required pam_unix.so\n")
	code, out, errs := fettle(t, "", "who", "alice", "carol")
	if want := regexp.MustCompile(`^USER .*\nalice  key, or perhaps password.*\ncarol  key.*\nperhaps: it depends on .*pam_exec.*\n$`); code != 0 ||
		!want.MatchString(out) || errs != "" {
		t.Errorf("with a module that nobody knows: status %d, said %q and %q", code, out, errs)
	}
	keep("/etc/pam.d/sshd", "@include nothing\n")
	if code, out, errs := fettle(t, "", "who", "alice"); code != 0 || !strings.HasPrefix(out, "PAM refuses every login over SSH: ") ||
		!strings.Contains(out, "\n\nUSER ") {
		t.Errorf("a line that PAM refuses: status %d, said %q and %q", code, out, errs)
	}
	os.Mkdir("/etc/list", 0o700)
	keep("/etc/pam.d/sshd", "auth required pam_unix.so\nauth required pam_listfile.so item=user sense=deny file=/etc/list\naccount "+
		"required pam_unix.so\n")
	if code, out, errs := fettle(t, "", "who", "alice"); code != 4 || !strings.Contains(out, "\nalice  key") ||
		!strings.Contains(errs, "some could not be inspected: ") {
		t.Errorf("what cannot be read: status %d, said %q and %q", code, out, errs)
	}
	os.Remove("/etc/ssh/sshd_config")
	refused(t, 4, "could not inspect: ", "", "who")
}

func setsUp(t *testing.T) {
	for args, want := range map[string]string{
		"--group codes": `group "codes", mode "", factors ""`,
		"--group all --mode strict --factors key":    `group "all", mode "strict", factors "key"`,
		"--mode nullok --factors password":           `group "", mode "nullok", factors "password"`,
		"--plan --group codes --confirm-within 1m":   `group "codes", mode "", factors ""`,
		"--group codes --yes --wait --plan":          `group "codes"`,
		"--group codes --plan --yes --mode=nullok":   `mode "nullok"`,
		"--plan --group codes --factors=key --wait ": `factors "key"`,
	} {
		if code, out, errs := fettle(t, "", append([]string{"setup", "--plan"}, strings.Fields(args)...)...); code != 0 ||
			!strings.Contains(out, want) {
			t.Errorf("%s: status %d, said %q and %q", args, code, out, errs)
		}
	}
	for args, want := range map[string]string{
		"setup --group codes": "there is no terminal to ask on", "setup --mode lax": "expected nullok or strict",
		"setup --factors thumb": "expected password or key", "setup --plan --confirm-within 1ms": "--confirm-within 1ms is too short",
	} {
		refused(t, 2, want, "", args)
	}
	if _, err := os.Stat("/etc/fettle-test"); err == nil {
		t.Error("a plan that was shown, or refused, was applied")
	}
	if code, out, errs := fettle(t, "", "setup", "--group", "codes", "--yes"); code != 0 {
		t.Errorf("status %d, said %q and %q", code, out, errs)
	}
	if b, err := os.ReadFile("/etc/fettle-test"); err != nil || string(b) != "x\n" {
		t.Errorf("%q, %v", b, err)
	}
	var errs bytes.Buffer
	a := app.App{Program: "fettle", Stdout: io.Discard, Stderr: &errs, Stdin: strings.NewReader("")}
	if code, _, said := apptest.Run(t.Context(), a, Cmd, "totp", "setup", "--plan"); code == 0 || said == "" {
		t.Errorf("without the trap: status %d, %q", code, said)
	}
}
