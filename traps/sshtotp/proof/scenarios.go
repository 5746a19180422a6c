package proof

import (
	"fettle/lab"
	"fettle/lab/sshhost"
)

// secret is ana's, of these scenarios alone; the file is as fettle totp enrol
// writes it, without the limit of attempts, or also without the one of uses.
const (
	secret   = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
	once     = secret + "\n\" DISALLOW_REUSE\n\" TOTP_AUTH\n31415926\n"
	reusable = secret + "\n\" TOTP_AUTH\n31415926\n"
)

// try logs in to ana's account with real ssh, and says how it went. It
// answers what is asked for by what ssh shows as the question.
const try = `#!/bin/sh
# try METHODS [right|again|wrong]
case $2 in
right) CODE=$(oathtool --totp -b ` + secret + `); echo $CODE > /run/code ;;
again) CODE=$(cat /run/code) ;;
wrong) CODE=$(oathtool --totp -b ` + secret + ` --now '2001-01-01 00:00:00 UTC') ;;
*) CODE= ;;
esac
export CODE SSH_ASKPASS=/usr/local/bin/answer SSH_ASKPASS_REQUIRE=force
if ssh -o PreferredAuthentications=$1 -o NumberOfPasswordPrompts=1 ana@` + sshhost.Name + ` true 2>/dev/null; then
	echo in
else
	echo refused
fi
`

const answer = `#!/bin/sh
case $1 in
*erification*) echo "$CODE" ;;
*assword*) echo "` + sshhost.Password + `" ;;
esac
`

// Methods, in the order in which ssh tries them by default.
const (
	dialog = "keyboard-interactive,password"
	key    = "publickey,keyboard-interactive"
)

// way is a login, and how it must end in the trap, after the fix, after the undo.
func way(name string, want []string, args ...string) lab.Probe {
	return lab.Probe{Name: name, Run: append([]string{"/usr/local/bin/try"}, args...), Want: want}
}

var (
	never    = []string{refused, refused, refused}
	onlyThen = []string{refused, in, refused}
	always   = []string{in, in, in}
	notThen  = []string{in, refused, in}
)

const in, refused = "in", "refused"

var withPassword = []lab.Probe{
	way("password and right code", onlyThen, dialog, "right"),
	way("password and same code again", never, dialog, "again"),
	way("password and wrong code", never, dialog, "wrong"),
}

var withKey = []lab.Probe{
	way("key alone", notThen, "publickey"),
	way("key and right code", always, key, "right"),
	way("key and wrong code", notThen, key, "wrong"),
	way("password and right code", notThen, dialog, "right"),
}

var needs = func() lab.Needs {
	n := sshhost.Needs("oathtool", "chmod")
	n.Libs = append(n.Libs, "security/pam_google_authenticator.so", "security/pam_succeed_if.so")
	return n
}()

// Lines of /etc/pam.d/sshd.
const (
	inGroup = "auth [success=1 default=ignore] pam_succeed_if.so quiet user notingroup totp\n"
	code    = "auth required pam_google_authenticator.so nullok\n"
)

// guarded is a host with this file of PAM, and these lines of sshd's before all others.
func guarded(file, pam, sshd string, more ...lab.Act) []lab.Act {
	write := func(name, text string, mode uint32) lab.Act {
		return lab.Act{Write: &lab.File{Path: name, Content: text, Mode: mode}}
	}
	return sshhost.Host("", append([]lab.Act{
		write("/etc/pam.d/sshd", pam+sshhost.Rest, 0),
		write("/etc/ssh/sshd_config.d/10-site.conf", sshd, 0),
		write("/home/ana/.google_authenticator", file, 0o600),
		{Run: []string{"chown", "ana:ana", "/home/ana/.google_authenticator"}},
		write("/usr/local/bin/try", try, 0o755), write("/usr/local/bin/answer", answer, 0o755),
	}, more...)...)
}

var reloadLate = map[string]string{"too late: reload ssh.service": "PAM's files are read at each login, not when sshd is reloaded"}

var Scenarios = []lab.Scenario{
	{
		Name: "never-asked", About: "PAM wants a code of the group totp, and sshd has KbdInteractiveAuthentication no, as Debian ships it",
		Needs: needs, Subject: "sshd", Probes: withPassword, Confirm: sshhost.Confirm,
		Prepare:  guarded(once, sshhost.Auth+inGroup+code, ""),
		Harmless: reloadLate,
		Files: map[string]string{
			"/etc/ssh/sshd_config.d/00-fettle-totp.conf": "# One-time codes, by fettle: fettle undo takes this back\nMatch Group totp\n" +
				"    KbdInteractiveAuthentication yes\nMatch all\n",
			"/etc/pam.d/sshd": "@include common-auth\n# One-time codes, by fettle: after the password, also a code\n" +
				"auth [success=1 default=ignore] pam_succeed_if.so quiet user notingroup totp\nauth required pam_google_authenticator.so nullok\n" +
				"account required pam_nologin.so\n@include common-account\n@include common-session\n" +
				"session optional pam_motd.so motd=/run/motd.dynamic\nsession optional pam_motd.so noupdate\n",
		},
	},
	{
		Name: "key-goes-round", About: "The code is asked for, but a key alone lets in: from then on both are needed",
		Needs: needs, Long: true, Subject: "keys", Probes: withKey, Confirm: sshhost.Confirm, Harmless: reloadLate,
		Prepare: guarded(reusable, sshhost.Auth+inGroup+code, "KbdInteractiveAuthentication yes\n"),
		Files: map[string]string{
			"/etc/ssh/sshd_config.d/00-fettle-totp.conf": "# One-time codes, by fettle: fettle undo takes this back\nMatch Group totp\n" +
				"    AuthenticationMethods publickey,keyboard-interactive:pam\nMatch all\n",
			"/etc/pam.d/sshd": "# One-time codes, by fettle: instead of a password (sshd demands a key)\n" +
				"auth [success=2 default=ignore] pam_succeed_if.so quiet user notingroup totp\n" +
				"auth requisite pam_google_authenticator.so nullok\nauth [success=1 default=bad] pam_permit.so\n" +
				"auth substack common-auth\n# One-time codes, by fettle: so that nullok lets in\nauth required pam_permit.so\n" + sshhost.Rest,
		},
	},
	{
		Name: "file-others-may-read", About: "The file has mode 0644: the module refuses every code",
		Needs: needs, Long: true, Subject: "user ana", Vanishes: true, Probes: withPassword[:1],
		Prepare: guarded(reusable, sshhost.Auth+inGroup+code, "KbdInteractiveAuthentication yes\n",
			lab.Act{Run: []string{"chmod", "0644", "/home/ana/.google_authenticator"}}),
	},
	{
		Name: "password-alone-gets-in", About: "A line before the code's is sufficient: nobody is ever asked for it",
		Needs: needs, Long: true, Subject: "sshd", Unfixable: true, Probes: []lab.Probe{way("password alone", []string{in}, dialog)},
		Prepare: guarded(reusable, "auth sufficient pam_unix.so\n"+code, "KbdInteractiveAuthentication yes\n"),
	},
	{
		Name: "client-tries-password-first", About: "A client that tries the method password before the dialog: sshd ends the connection, " +
			"though the code is right",
		Needs: needs, Long: true,
		Steps: []lab.Step{
			{Name: "prepare", Acts: guarded(reusable, sshhost.Auth+inGroup+code, "KbdInteractiveAuthentication yes\n")},
			{Name: "dialog first", Acts: []lab.Act{expect("in", "/usr/local/bin/try", dialog, "right")}},
			{Name: "password first", Acts: []lab.Act{expect("refused", "/usr/local/bin/try", "password,keyboard-interactive", "right")}},
			{Name: "sshd says", Acts: []lab.Act{expect("pam_setcred(): Permission denied", "journalctl", "-b", "-o", "cat", "-t", "sshd")}},
		},
	},
}

func expect(has string, argv ...string) lab.Act {
	return lab.Act{Expect: &lab.Expect{Run: argv, Has: has}}
}
