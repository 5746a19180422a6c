package redact

import (
	"path"
	"strings"

	"fettle/internal/lazy"
)

// An argument of a command may be anything, and a password looks like a number, a word or
// a name. So nothing of a command line is kept for how it looks: the program, the names of
// options, operators of the shell and paths of the system are; arguments of the few
// programs in outspoken, and values of the options in telling.

// outspoken are programs whose arguments are words of theirs and names of devices.
var outspoken = set(`apt-key brctl bridge checkarray ethtool ifconfig ip logrotate mdadm modprobe netstat nft raid-check resolvectl
	route rmmod run-parts smartctl start-stop-daemon sysctl systemctl systemd-tmpfiles tc test [ touch true tune2fs udevadm service
	chmod ifup ifdown ifenslave vconfig iptables ip6tables ip6tables-restore iptables-restore zpool zfs hdparm blockdev setpci exit set`)

// telling are options whose values checks look at, or that are plain words of the option.
var telling = set(`--keyserver --recv-keys --recv-key --recv --refresh-keys --search-keys --port --mode --interval
	--format --type --output-format
	--log-level --loglevel --retry --max-time --timeout --connect-timeout --priority`)

// before are words after which a command begins.
var before = set(`sudo doas env nice ionice nohup exec time command chronic setsid stdbuf if then else elif while until do ! eval`)

// shells take a command in one argument.
var shells = set(`sh bash dash ash zsh ksh su runuser`)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

var (
	// shellToken is what the shell makes of a line: blanks, quoted and plain words, operators.
	shellToken = lazy.Regexp(`^(?:[ \t\f]+|<<<?-?|\d?>>?&?\d?|<|\|\|?|&&?|;;?|[(){}\x60]|(?:"(?:\\.|[^"\\])*"?|'[^']*'?|` +
		`\\.|\$\{[^}]*\}|[^\s"'\\|&;<>(){}\x60])+)`)
	assignment = lazy.Regexp(`^[A-Za-z_]\w*\+?=`)
	// bland are arguments that say nothing: a variable, a letter, a number of two digits.
	bland      = lazy.Regexp(`^["']?(?:[$%]\{?\w+\}?|[\w@*.?-]|\d\d|)["']?$`)
	weblike    = lazy.Regexp(`^["']?[a-z][a-z0-9+.-]*://|^//\w|^\\\\`)
	redirects  = lazy.Regexp(`^(?:<|\d?>)`)
	longOption = lazy.Regexp(`^-[a-z][a-z-]{3,}$`)
	cluster    = lazy.Regexp(`^-[A-Za-z]{1,3}$`)
)

// commandLine is where the reading of a command line has come to.
type commandLine struct {
	r       *Redactor
	program string // "" where one is expected
	option  string // whose value may follow
	next    string // the operator whose word follows: "<<<", ">"
	echoes  bool   // to a setting of the kernel
}

// Command redacts a command line.
func (r *Redactor) Command(s string) string { return r.command(s, 0) }

func (r *Redactor) command(s string, deep int) string {
	c := commandLine{r: r, echoes: kernelSetting().MatchString(s)}
	var b strings.Builder
	for s != "" {
		tok := shellToken().FindString(s)
		if tok == "" {
			tok = s[:1]
		}
		b.WriteString(c.token(tok, deep))
		s = s[len(tok):]
	}
	return b.String()
}

var kernelSetting = lazy.Regexp(`^[\s@-]*(?:/\S*/)?echo\s+\S{1,12}\s*>+\s*/(?:proc|sys)/`)

func (c *commandLine) token(tok string, deep int) string {
	r := c.r
	switch {
	case isBlank(tok[0]):
		return tok
	case redirects().MatchString(tok):
		c.next = tok
		return tok
	case strings.ContainsAny(tok[:1], "|&;(){}`"):
		c.program, c.option, c.next = "", "", ""
		return tok
	case strings.HasPrefix(c.next, "<<"):
		c.next = ""
		return Dropped
	case c.next != "":
		c.next = ""
		return r.argument(tok)
	case c.program == "":
		return c.begins(tok)
	case shells[c.program] && strings.HasPrefix(c.option, "-") && strings.Contains(c.option, "c") && deep < 3:
		c.option = ""
		return r.quotedCommand(tok, deep)
	case tok[0] == '-' && len(tok) > 1:
		return c.optionToken(tok)
	case c.option != "":
		option := c.option
		c.option = ""
		return c.value(option, tok)
	case outspoken[c.program] || c.echoes:
		return r.free(tok)
	}
	return r.argument(tok)
}

// begins reads the word in a program's place.
func (c *commandLine) begins(tok string) string {
	if m := assignment().FindString(tok); m != "" {
		return c.r.free(m) + c.r.setTo(strings.TrimSuffix(m, "="), tok[len(m):])
	}
	if tok[0] == '-' && len(tok) > 1 && tok[1] != '/' { // of sudo or nice, or arguments alone
		c.program = tok
		return c.optionToken(tok)
	}
	name := path.Base(strings.TrimLeft(strings.Trim(tok, `"'`), "-@!+:|"))
	if !before[name] {
		c.program = name
	}
	return c.r.argumentPath(tok)
}

// setTo is the value of a variable: kept where it tells about the language or the system.
func (r *Redactor) setTo(name, value string) string {
	switch name {
	case "LANG", "LC_ALL", "LC_CTYPE", "PATH", "DEBIAN_FRONTEND", "SHELL", "TZ", "UCF_FORCE_CONFFOLD", "SYSTEMD_PAGER":
		return r.free(value)
	}
	return r.argument(value)
}

// optionToken reads -x, -xVALUE, --name and --name=VALUE.
func (c *commandLine) optionToken(tok string) string {
	c.option = tok
	if name, value, ok := strings.Cut(tok, "="); ok {
		c.option = ""
		return c.r.free(name) + "=" + c.value(name, value)
	}
	switch {
	case strings.HasPrefix(tok, "--"), cluster().MatchString(tok), outspoken[c.program],
		longOption().MatchString(tok) && c.r.free(tok) == tok:
		return c.r.free(tok)
	}
	return tok[:2] + c.r.opaque(tok[2:])
}

func (c *commandLine) value(option, tok string) string {
	if telling[option] || outspoken[c.program] && !secretOption().MatchString(option) {
		return c.r.free(tok)
	}
	return c.r.argument(tok)
}

var secretOption = lazy.Regexp(`(?i)^-+(?:` + secretName + `|key)$`)

// argument redacts a word that nothing is known about: of paths and URLs, what stays of
// those; of others, nothing.
func (r *Redactor) argument(tok string) string {
	bare := strings.TrimLeft(tok, `"'@`)
	switch {
	case strings.HasPrefix(bare, "/") && !strings.HasPrefix(bare, "//"):
		first, rest, more := strings.Cut(tok, ":") // of a volume, a disk with its name
		if out := r.argumentPath(first); more {
			return out + ":" + r.argument(rest)
		} else {
			return out
		}
	case weblike().MatchString(bare):
		return r.web(tok)
	case bland().MatchString(tok):
		return r.free(tok)
	}
	return r.opaque(tok)
}

// web redacts an address of the web: on somebody's own server, nothing of the path is kept
// but usual folders.
func (r *Redactor) web(s string) string {
	m := webPath().FindStringSubmatch(s)
	if m == nil || r.isPublic(m[2]) {
		return r.free(s)
	}
	return r.free(m[1]+m[2]) + each(webWord(), m[3], func(w []string) string {
		if ofSystems[w[0]] || mirrored[w[0]] || ofWeb[w[0]] {
			return w[0]
		}
		return r.argument(w[0])
	})
}

var (
	webPath = lazy.Regexp(`^(.*?\w://(?:[^\s/@]*@)?)([^\s/"'?#:]+)([^\s].*)$`)
	webWord = lazy.Regexp(`[^/?&=#"';:,\s]+`)
	ofWeb   = set(`pks lookup op search get index options mr exact on vindex ks.cfg preseed.cfg user-data meta-data`)
)

func (r *Redactor) argumentPath(tok string) string {
	n := len(tok) - len(strings.TrimLeft(tok, `"'@!+:|-`))
	return tok[:n] + r.Path(tok[n:])
}

// quotedCommand redacts the command line in a shell's argument.
func (r *Redactor) quotedCommand(tok string, deep int) string {
	q := tok[:1]
	if q != `"` && q != "'" {
		return r.command(tok, deep)
	}
	body := strings.TrimSuffix(tok[1:], q)
	end := tok[1+len(body):]
	return q + r.command(body, deep+1) + end
}
