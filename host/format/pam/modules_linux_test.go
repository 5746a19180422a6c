package pam

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fettle/host"
	"fettle/host/format/accounts"
	"fettle/internal/means"
)

const insideModules = "FETTLE_TEST_PAM_MODULES"

// lines ask one module each. "[default=ok]" makes a stack of one line return
// what its module does.
var moduleLines = []string{
	"pam_permit.so", "pam_deny.so", "pam_nologin.so", "pam_nologin.so successok", "pam_localuser.so", "pam_shells.so", "pam_rootok.so",
	"pam_env.so", "pam_faildelay.so delay=1", "pam_group.so", "pam_keyinit.so", "pam_warn.so", "pam_mail.so", "pam_echo.so hello",
	"pam_usertype.so isregular", "pam_usertype.so issystem", "pam_usertype.so", "pam_securetty.so", "pam_gone.so", "pam_cap.so",
	"pam_wheel.so root_only", "pam_faillock.so preauth nodelay dir=/run/faillock", "pam_faillock.so authfail nodelay dir=/run/faillock",
	"pam_succeed_if.so", "pam_succeed_if.so quiet", "pam_succeed_if.so user ingroup totp", "pam_succeed_if.so quiet user notingroup totp",
	"pam_succeed_if.so user ingroup none", "pam_succeed_if.so user notingroup none", "pam_succeed_if.so uid >= 2001",
	"pam_succeed_if.so uid < 2001 uid > 5",
	"pam_succeed_if.so uid eq 0x7d0", "pam_succeed_if.so uid ne abc", "pam_succeed_if.so gid = 1000", "pam_succeed_if.so user = alice",
	"pam_succeed_if.so user != alice",
	"pam_succeed_if.so user in bob:alice:x", "pam_succeed_if.so user notin bob:alice", "pam_succeed_if.so user =~ a*",
	"pam_succeed_if.so user !~ a*", "pam_succeed_if.so home =~ /home/*e",
	"pam_succeed_if.so shell = /bin/sh", "pam_succeed_if.so uid", "pam_succeed_if.so uid >=", "pam_succeed_if.so colour = red",
	"pam_succeed_if.so user ~ alice",
	"pam_succeed_if.so use_uid user = root", "pam_succeed_if.so use_uid user ingroup root", "pam_succeed_if.so service = sv48",
	"pam_succeed_if.so USER INGROUP totp",
	"pam_succeed_if.so user ingroup totp uid >= 3000", "pam_succeed_if.so user glob [ab]*",
	"pam_listfile.so item=user sense=allow file=/etc/list", "pam_listfile.so item=user " +
		"sense=deny file=/etc/list onerr=succeed", "pam_listfile.so item=group sense=allow file=/etc/list",
	"pam_listfile.so item=shell sense=deny file=/etc/list", "pam_listfile.so item=user " +
		"sense=allow file=/etc/none", "pam_listfile.so item=user " +
		"sense=allow file=/etc/none onerr=succeed",
	"pam_listfile.so item=user sense=allow file=/etc/open", "pam_listfile.so item=user file=/etc/list",
	"pam_listfile.so item=shell sense=deny file=/etc/list apply=alice",
	"pam_listfile.so item=user sense=allow file=/etc/list apply=bob",
	"pam_listfile.so item=user sense=allow", "pam_listfile.so item=colour " +
		"sense=allow file=/etc/list onerr=succeed",
	"pam_access.so accessfile=/etc/access1", "pam_access.so accessfile=/etc/access2", "pam_access.so accessfile=/etc/access3",
	"pam_access.so accessfil" +
		"e=/etc/access4 fieldsep=|",
}

// TestAgainstModules compares the models with the modules themselves, over
// accounts and lists of the test's own in a mount namespace.
func TestAgainstModules(t *testing.T) {
	means.Short(t, "takes seconds")
	if os.Getenv(insideModules) == "" {
		means.Root(t)
		means.Tool(t, "gcc")
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestAgainstModules$", "-test.v")
		cmd.Env = append(os.Environ(), insideModules+"=yes")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
		out, err := cmd.CombinedOutput()
		t.Logf("%s", out)
		if err != nil || !bytes.Contains(out, []byte("answers compared")) {
			t.Fatal("the inner test failed: ", err)
		}
		return
	}
	dir := t.TempDir()
	_, ask := compile(t, dir)
	run := func(args ...string) {
		t.Helper()
		if out, err := exec.Command(means.Tool(t, args[0]), args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	run("mount", "--make-rprivate", "/")
	run("cp", "-a", "/etc", dir+"/etc")
	run("mount", "--bind", dir+"/etc", "/etc")
	run("mount", "-t", "tmpfs", "none", "/run")
	for name, text := range map[string]string{
		"/etc/nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\n",
		"/etc/passwd": "root:x:0:0:root:/root:/bin/bash\nalice:x:2000:1000::/home/alice:/bin/sh\nbob:x:2001:1000::/home/bob:/bin/" +
			"odd\nsvc:x:500:500::/srv:/bin/sh\nnobody:x:65534:65534::/:/usr/sbin/nologin\n",
		"/etc/group":   "root:x:0:\nusers:x:1000:\nsvc:x:500:\ntotp:x:2000:alice\nnogroup:x:65534:\n",
		"/etc/shells":  "# shells\n/bin/sh\n/bin/bash\n",
		"/etc/list":    "alice\n\ntotp\n/bin/odd\nsvc\n",
		"/etc/access1": "# first\n+ : alice root : ALL\n- : ALL EXCEPT svc : ALL\n",
		"/etc/access2": "- : (totp) : ALL\n+:bob:ALL\n- : users : ALL\n",
		"/etc/access3": "nonsense\n",
		"/etc/access4": "-|alice|ALL\n+|ALL|ALL\n",
	} {
		write(t, name, text)
	}
	write(t, "/etc/open", "alice\n")
	if err := os.Chmod("/etc/open", 0o666); err != nil {
		t.Fatal(err)
	}
	conf := filepath.Join(dir, "conf")
	if err := os.Mkdir(conf, 0o755); err != nil {
		t.Fatal(err)
	}
	src, err := host.NewLive()
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	n, guessed := 0, 0
	for _, nologin := range []bool{false, true} {
		if nologin {
			write(t, "/etc/nologin", "closed\n")
		}
		h := host.New(src)
		db, err := accounts.Read(t.Context(), h)
		if err != nil {
			t.Fatal(err)
		}
		var names bytes.Buffer
		var sims []*Sim
		for i, l := range moduleLines {
			// Session is asked by the program too; it only has to be there.
			text := fmt.Sprintf("auth [default=ok] %s\naccount [default=ok] %s\nsession required pam_permit.so\n", l, l)
			name := fmt.Sprintf("sv%d", i)
			write(t, filepath.Join(conf, name), text)
			fmt.Fprintln(&names, name)
			c, err := Parse(name, func(n string) (string, []byte, bool, error) { return n, []byte(text), n == name, nil })
			if err != nil {
				t.Fatal(err)
			}
			s := NewSim(t.Context(), h, c)
			if len(s.Unread) > 0 {
				t.Fatal(s.Unread)
			}
			sims = append(sims, s)
		}
		for _, u := range db.Users {
			cmd := exec.Command(ask, conf, u.Name)
			cmd.Stdin = bytes.NewReader(names.Bytes())
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(out)) {
				var name string
				var i int
				var auth, acct, sess Code
				if _, err := fmt.Sscan(line, &name, &auth, &acct, &sess); err != nil {
					t.Fatalf("%q: %v", line, err)
				}
				fmt.Sscanf(name, "sv%d", &i)
				for f, real := range map[Facility]Code{Auth: auth, Account: acct} {
					if real == ModuleUnknown && !sims[i].Missing[sims[i].Config.own[f][0].Module] {
						continue // the module has no function for this facility
					}
					a := sims[i].Ask(f, UserOf(db, u), Give{}, Dialog)
					if len(a.Codes) == 1 && a.Codes[0] != real || len(a.Codes) > 1 && a.Verdict() != Depends {
						t.Errorf("%s %s for %s: really %s, simulated %v", f, moduleLines[i], u.Name, real, a.Codes)
					}
					if n++; len(a.Codes) > 1 {
						guessed++
					}
				}
			}
		}
	}
	if guessed > n/20 {
		t.Errorf("%d of %d answers were not foreseen", guessed, n)
	}
	t.Logf("%d answers compared", n)
}
