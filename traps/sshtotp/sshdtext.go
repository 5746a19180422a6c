package sshtotp

import (
	"fmt"
	"strings"

	"fettle/host/format/sshd"
)

// dropIn is the file that fettle writes where sshd_config includes a folder
// first: what is read first counts.
const dropIn = sshd.DropIns + "/00-fettle-totp.conf"

// spelling is the keyword for dialogs: KbdInteractiveAuthentication since
// OpenSSH 8.7, which takes the old one too.
func spelling(v sshd.Version) string {
	if v.Known() && !v.Before(8, 7) {
		return "KbdInteractiveAuthentication"
	}
	return "ChallengeResponseAuthentication"
}

// wish is what sshd's configuration shall say.
type wish struct {
	dialog  string // the keyword to set for everybody; "" sets none
	usePAM  bool
	who     string // of the Match block: "Group totp"; "" is everybody
	inGroup bool   // dialogs within the Match block
	methods string // AuthenticationMethods; "" leaves them
}

// methodsFor are the methods that d demands.
func (d design) methods() string {
	if d.factors == "key" {
		return "publickey,keyboard-interactive:pam"
	}
	return ""
}

// wishes are what may do what d wants, the narrowest first.
func (d design) wishes(c *sshd.Config) []wish {
	usePAM := !c.For(sshd.Conn{}).Get("UsePAM").Is("yes")
	broad := wish{dialog: spelling(c.Version), usePAM: usePAM, methods: d.methods()}
	if d.group == "" {
		// Root, to whom PermitRootLogin prohibit-password leaves keys only, could
		// not give a code.
		butRoot := broad
		butRoot.who = "User *,!root"
		return []wish{broad, butRoot}
	}
	broad.who = "Group " + d.group
	narrow := wish{usePAM: usePAM, who: broad.who, inGroup: true, methods: d.methods()}
	nothing := wish{who: broad.who, methods: d.methods()}
	return []wish{nothing, narrow, broad}
}

func (w wish) global() string {
	var b strings.Builder
	if w.usePAM {
		b.WriteString("UsePAM yes\n")
	}
	if w.dialog != "" {
		b.WriteString(w.dialog + " yes\n")
	}
	if w.who == "" && w.methods != "" {
		b.WriteString("AuthenticationMethods " + w.methods + "\n")
	}
	return b.String()
}

func (w wish) match() string {
	if w.who == "" || w.methods == "" && !w.inGroup {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Match %s\n", w.who)
	if w.inGroup {
		b.WriteString("    KbdInteractiveAuthentication yes\n")
	}
	if w.methods != "" {
		b.WriteString("    AuthenticationMethods " + w.methods + "\n")
	}
	return b.String()
}

// files are what makes sshd do w: a drop-in, or the main file with lines at
// its head (the first value counts) and the Match block at its end.
func (w wish) files(c *sshd.Config, main string) files {
	global, match := w.global(), w.match()
	if global+match == "" {
		return files{}
	}
	head := stanza + " fettle undo takes this back\n"
	if c.DropIns {
		if match != "" {
			match += "Match all\n"
		}
		return files{dropIn: []byte(head + global + match)}
	}
	if main != "" && !strings.HasSuffix(main, "\n") {
		main += "\n"
	}
	text := main
	if global != "" {
		text = head + global + "\n" + text
	}
	if match != "" {
		text += "\n" + head + match
	}
	return files{sshd.Main: []byte(text)}
}
