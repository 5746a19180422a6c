package redact

import (
	"regexp"
	"slices"
	"strings"

	"fettle/internal/lazy"
)

// Of a line of a log, the words stay that checks and why look for: those of the
// vocabulary. Who and what is named there is behind certain words, and goes, also
// where its name is such a word; so do arguments of commands, and settings.

var (
	// namedWord is a word that a name follows, of a user, a host, a thing, and the name.
	namedWord = lazy.Regexp(`(?i)(?:^|[\s(\["'])((?:invalid |illegal |unknown |session opened for |` +
		`session closed for )?(?:user|username|account|acct|login|logname|owner|customer|ruser|` +
		`publickey for|password for|host|hostname|host-name|server|peer|node|lookup|helo|ehlo|serialnumber|serial|` +
		`serial number|called|named|label|` +
		`volume group|zpool|dm-crypt: volume|passphrase|password|secret|token|pin|code|tel|phone|ssid)(?: is|:)? {1,2}["'(<]?)([^\s"'()<>\[\],;:=]{1,200})`)
	// logCommand is where in a line a command begins.
	logCommand = lazy.Regexp(`COMMAND=()|\bCMD \(()|(?i:\b(?:executing|running|command):? (?:["'\x60]()|()/)|` +
		`\b(?:executing|running|command): ()|` +
		`\bexecuting ()|` +
		`^failed: ()|^\+ ())`)
	// logOption is an option with what may be its value.
	logNames = lazy.Regexp(`(?i)\b(?:dc|ou|cn|uid)=([A-Za-z][^,;()"'*\s=&|+]*)`)
	logWeb   = lazy.Regexp(`\b([a-z]+://[^\s"'<>]+)`)
	logRealm = lazy.Regexp(`\bkrbtgt/([A-Za-z][\w.-]*)`)
	// logDomain is a domain name, recognised by its end.
	logDomain = lazy.Regexp(`(?i)(?:^|[\s"'(\[<=])((?:[a-hj-z]|i[a-pr-z0-9])[\w-]*(?:\.[\w-]+)*\.(?:com|net|org|edu|gov|info|io|dev|cloud|eu|de|at|ch|uk|fr|nl|it|` +
		`es|pl|cz|se|no|fi|dk|us|ca|jp|cn|au|br|lan|local|localdomain|internal|intern|intra|home|corp|example|test|invalid))` +
		`(?:$|[\s"')\]>,;/]|:\d|:\s|:$)`)
	logRefused = lazy.Regexp(`(?i)authentication failed: ([A-Za-z][\w.-]*)`)
	logOption  = lazy.Regexp(`(?:^|[\s"'(])(--?[A-Za-z][\w-]*)([= ]["']?)([^\s"']+)`)
	leased     = lazy.Regexp(`^(DHCP[A-Z]+\S* .*?(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2} )(\S+)(.*)$`)
	// inSu is who becomes whom: (to root) alice on pts/1.
	inSu = lazy.Regexp(`\(to ([^\s()]+)\) (\S+) on \S`)
	// byWhom is somebody after by, from and the like, at the end of what is said or before a port.
	byWhom = lazy.Regexp(`(?i)\b(?:by|from|connect to service|mount request from|user|UPS|group|for)(?: <?|=<?)([A-Za-z][\w.-]*)` +
		`(?:$|[:;,\[@>]| (?:port|copied|refused|denied|rejected|connected|disconnected|initially|on pts|for /)\b)`)
	// lostPeer is who a line begins with that speaks of a connection.
	lostPeer = lazy.Regexp(`(?i)^([A-Za-z][\w.-]*)(?:: | )(?:\(ipv[46]:|connection |connect |unreachable|disconnected|lost\b|timed out|` +
		`not responding|` +
		`no route|is down|offline|login|logged)`)
	// inCron is whose table it is.
	inCron = lazy.Regexp(`^\(([^()\s]+)\) (?:CMD|RELOAD|LIST|BEGIN|END|REPLACE|ORPHAN|INFO|MAIL|DEATH)\b`)
	// namedAt is a UPS, or a user, at a host.
	namedAt   = lazy.Regexp(`(?:^|\s)([A-Za-z][\w.-]*@[A-Za-z][\w.-]*)(?:$|[\s,;:.)])`)
	inSudo    = lazy.Regexp(`^\s*([\w.@-]+)( : (?:.* ; )?(?:TTY|PWD|USER)=)`)
	auditWord = lazy.Regexp(`\b(a\d{1,2}|proctitle|cmd|data|acct|hostname|terminal|vm|exe_args)=("[^"]*"|\S+)`)
)

// afterWords are words that are behind user, host, password and the like in lines that
// name nobody.
var afterWords = set(`is was are not and or for from of in on at to by with has had been the a an no does did failed failure
	authentication root nobody error errors invalid expired changed check required denied refused rejected unknown closed
	connection timed timeout unreachable offline port may can cannot could will would that this which name names id ids key
	file service failed: responding process session bus controller memory adapter bridge system unit link request
	certificate certificates attempts https http ldap ldaps wildcard address
	setup monitoring 
	peer client remote kernel device destination program
	prompt manager reset mode names running starting stopped slice limit down up`)

// longestLine is how much of a message is read with care: fettle's digests keep 500 bytes.
const longestLine = 1000

// Log redacts a message of a log. Of a longer one than a digest has, the rest is left out.
func (r *Redactor) Log(s string) string {
	s = strings.ToValidUTF8(s[:min(len(s), longestLine)], "")
	s = logSecrets(s)
	if at := logCommand().FindStringSubmatchIndex(s); at != nil {
		begins := slices.Max(at[2:])
		return r.logWords(s[:begins]) + r.Command(s[begins:])
	}
	return r.logWords(s)
}

// logSecrets is Secrets of a line of a log, which does not begin with a setting as the
// lines of ifupdown do: "Secret file … must be owned by …".
func logSecrets(s string) string {
	if m := sentence().FindString(s); m != "" {
		return m + Secrets(s[len(m):])
	}
	return Secrets(s)
}

var sentence = lazy.Regexp(`(?i)^(?:secret|passphrase) (?:file|is|must|does|cannot|not|with|for)\b`)

// spot is a part of a line that is replaced in a way of its own.
type spot struct {
	from, to int
	by       func(string) string
}

// logWords redacts what is not a command.
func (r *Redactor) logWords(s string) string {
	var b strings.Builder
	at := 0
	for {
		p, ok := r.firstSpot(s, at)
		if !ok {
			return b.String() + r.logFree(s[at:])
		}
		b.WriteString(r.logFree(s[at:p.from]) + p.by(s[p.from:p.to]))
		at = p.to
	}
}

// firstSpot finds where in s, from at on, a name, an argument or a setting is.
func (r *Redactor) firstSpot(s string, at int) (spot, bool) {
	best, found := spot{from: len(s) + 1}, false
	take := func(from, to int, by func(string) string) {
		if from < best.from && from < to {
			best, found = spot{from, to, by}, true
		}
	}
	rest := s[at:]
	if m := namedWord().FindStringSubmatchIndex(rest); m != nil {
		take(at+m[4], at+m[5], r.namedInLog)
	}
	if m := logOption().FindStringSubmatchIndex(rest); m != nil {
		take(at+m[6], at+m[7], r.argument)
	}
	if m := auditWord().FindStringSubmatchIndex(rest); m != nil {
		take(at+m[4], at+m[5], r.argument)
	}
	for _, re := range []func() *regexp.Regexp{logNames, logRefused} {
		if m := re().FindStringSubmatchIndex(rest); m != nil {
			take(at+m[2], at+m[3], r.opaque)
		}
	}
	for _, re := range []func() *regexp.Regexp{logDomain, logRealm} {
		if m := re().FindStringSubmatchIndex(rest); m != nil {
			take(at+m[2], at+m[3], r.hostAt)
		}
	}
	if m := logWeb().FindStringSubmatchIndex(rest); m != nil {
		take(at+m[2], at+m[3], r.web)
	}
	if m := pair().FindStringSubmatchIndex(rest); m != nil {
		key := rest[m[2]:m[3]]
		take(at+m[6], at+m[7], func(v string) string { return r.logValue(key, v) })
	}
	for _, m := range [][]int{byWhom().FindStringSubmatchIndex(rest), namedAt().FindStringSubmatchIndex(rest)} {
		if m != nil {
			take(at+m[2], at+m[3], r.someone)
		}
	}
	if m := inSu().FindStringSubmatchIndex(rest); m != nil {
		take(at+m[2], at+m[3], r.userWord)
		take(at+m[4], at+m[5], r.userWord)
	}
	if at == 0 {
		if m := inCron().FindStringSubmatchIndex(s); m != nil {
			take(m[2], m[3], r.userWord)
		}
		if m := lostPeer().FindStringSubmatchIndex(s); m != nil {
			take(m[2], m[3], r.speaker)
		}
		if m := leased().FindStringSubmatchIndex(s); m != nil {
			take(m[4], m[5], r.opaque)
		}
		if m := inSudo().FindStringSubmatchIndex(s); m != nil {
			take(m[2], m[3], r.userWord)
		}
	}
	return best, found
}

// someone replaces who may be a user or a host, unless it is a word of messages.
func (r *Redactor) someone(w string) string {
	if name, from, ok := strings.Cut(w, "@"); ok && !unitType().MatchString(w) {
		return r.userWord(name) + "@" + r.hostAt(from)
	}
	if strings.Contains(w, ".") || strings.ContainsAny(w, "0123456789") || strings.Contains(w, "_") ||
		afterWords[strings.ToLower(w)] || daemons()[w] {
		return r.logFree(w)
	}
	return r.opaque(w)
}

// speaker replaces who a line begins with, unless messages begin so.
func (r *Redactor) speaker(w string) string {
	if logVocabulary()[strings.ToLower(w)] {
		return w
	}
	return r.someone(w)
}

// namedInLog replaces what is behind a word that names somebody, unless it is a word
// of a sentence, an address or a path.
func (r *Redactor) namedInLog(w string) string {
	number := len(w) < 4 && strings.Trim(w, "-0123456789") == "" // of an error
	if afterWords[strings.ToLower(w)] || number || strings.HasPrefix(w, "/") || unitType().MatchString(w) {
		return r.free(w)
	}
	return r.opaque(w)
}

// logValue is the value of a setting in a log, where numbers and words of the kernel stand.
func (r *Redactor) logValue(key, value string) string {
	k := plainKey(key)
	switch {
	case nameParts().MatchString(value):
		return r.directoryNames(r.logFree(value))
	case takesUser().MatchString(k):
		return eachWord(value, r.userWord)
	case takesHost().MatchString(k) && k != "target":
		return r.hosts(value)
	case takesAnything().MatchString(k):
		return r.opaque(value)
	}
	if k == "image" || k == "repository" || k == "bucket" {
		return eachWord(value, r.argument)
	}
	return r.text(value, addresses|positions|numbers|said)
}
