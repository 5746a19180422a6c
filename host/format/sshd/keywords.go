package sshd

import (
	"strings"
	"sync"
)

// kind says how a keyword's arguments are read, kept and printed.
type kind int

const (
	kFlag      kind = iota // yes or no
	kMulti                 // one of several words
	kInt                   // a number
	kTime                  // convtime: "1h30m", printed in seconds
	kString                // one argument
	kRest                  // the rest of the line
	kAppend                // all arguments of all lines, printed one a line
	kFirst                 // the arguments of the first line, printed in one line
	kFirstEach             // the same, printed one a line
	kAlgo                  // a list of algorithms: as a default or with +, - and ^ it depends on the build
	kPort
	kListen
	kSubsystem
	kStartups  // MaxStartups
	kNetBlock  // PerSourceNetBlockSize
	kRekey     // RekeyLimit
	kQoS       // IPQoS
	kOpen      // PermitOpen, PermitListen
	kMask      // an octal number
	kKeyOption // PubkeyAuthOptions
	kIgnored   // read over: deprecated, or unknown to this build
)

// keyword is one name that sshd_config knows.
type keyword struct {
	name  string // as sshd -T prints it
	kind  kind
	match bool // may be in a Match block
	// last: the last line counts, not the first (servconf.c assigns without
	// looking whether the option is set).
	last bool
	def  string // the default as sshd -T prints it; "?" depends on the build; "" prints nothing
	// words of kMulti, each "word" or "word=as printed".
	words string
}

const (
	perBuild = "?"
	tcpWords = "yes no remote local all=yes"
)

// table follows keywords[] and fill_default_server_options of OpenSSH 9.2,
// servconf.c, with what Debian and Red Hat add.
var table = []keyword{
	{name: "port", kind: kPort, def: "22"},
	{name: "addressfamily", kind: kMulti, def: "any", words: "any inet inet6"},
	{name: "listenaddress", kind: kListen, def: "computed"},
	{name: "usepam", kind: kFlag, def: "no"},
	{name: "logingracetime", kind: kTime, def: "120"},
	{name: "x11displayoffset", kind: kInt, match: true, def: "10"},
	{name: "maxauthtries", kind: kInt, match: true, def: "6"},
	{name: "maxsessions", kind: kInt, match: true, def: "10"},
	{name: "clientaliveinterval", kind: kTime, match: true, def: "0"},
	{name: "clientalivecountmax", kind: kInt, match: true, def: "3"},
	{name: "requiredrsasize", kind: kInt, match: true, def: "1024"},
	{name: "streamlocalbindmask", kind: kMask, match: true, last: true, def: "0177"},
	{name: "unusedconnectiontimeout", kind: kTime, match: true, def: "none"},
	{name: "permitrootlogin", kind: kMulti, match: true, def: "without-password",
		words: "yes no without-password prohibit-password=without-password forced-commands-only"},
	{name: "ignorerhosts", kind: kMulti, match: true, def: "yes", words: "yes no shosts-only"},
	{name: "ignoreuserknownhosts", kind: kFlag, def: "no"},
	{name: "hostbasedauthentication", kind: kFlag, match: true, def: "no"},
	{name: "hostbasedusesnamefrompacketonly", kind: kFlag, match: true, def: "no"},
	{name: "pubkeyauthentication", kind: kFlag, match: true, def: "yes"},
	{name: "kerberosauthentication", kind: kFlag, match: true, def: "no"},
	{name: "kerberosorlocalpasswd", kind: kFlag, def: "yes"},
	{name: "kerberosticketcleanup", kind: kFlag, def: "yes"},
	{name: "gssapiauthentication", kind: kFlag, match: true, def: "no"},
	{name: "gssapicleanupcredentials", kind: kFlag, def: "yes"},
	{name: "gssapikeyexchange", kind: kFlag, def: "no"},
	{name: "gssapistrictacceptorcheck", kind: kFlag, def: "yes"},
	{name: "gssapistorecredentialsonrekey", kind: kFlag, def: "no"},
	{name: "gssapikexalgorithms", kind: kAlgo, def: perBuild},
	{name: "gssapienablek5users", kind: kFlag, match: true, def: perBuild},
	{name: "kerberosusekuserok", kind: kFlag, match: true, def: perBuild},
	{name: "passwordauthentication", kind: kFlag, match: true, def: "yes"},
	{name: "kbdinteractiveauthentication", kind: kFlag, match: true, def: "yes"},
	{name: "printmotd", kind: kFlag, def: "yes"},
	{name: "printlastlog", kind: kFlag, def: "yes"},
	{name: "x11forwarding", kind: kFlag, match: true, def: "no"},
	{name: "x11uselocalhost", kind: kFlag, match: true, def: "yes"},
	{name: "permittty", kind: kFlag, match: true, def: "yes"},
	{name: "permituserrc", kind: kFlag, match: true, def: "yes"},
	{name: "strictmodes", kind: kFlag, def: "yes"},
	{name: "tcpkeepalive", kind: kFlag, def: "yes"},
	{name: "permitemptypasswords", kind: kFlag, match: true, def: "no"},
	{name: "compression", kind: kMulti, def: "yes", words: "yes no delayed=yes"},
	{name: "gatewayports", kind: kMulti, match: true, def: "no", words: "yes no clientspecified"},
	{name: "usedns", kind: kFlag, def: "no"},
	{name: "allowtcpforwarding", kind: kMulti, match: true, def: "yes", words: tcpWords},
	{name: "allowagentforwarding", kind: kFlag, match: true, def: "yes"},
	{name: "disableforwarding", kind: kFlag, match: true, def: "no"},
	{name: "allowstreamlocalforwarding", kind: kMulti, match: true, def: "yes", words: tcpWords},
	{name: "streamlocalbindunlink", kind: kFlag, match: true, def: "no"},
	{name: "fingerprinthash", kind: kMulti, last: true, def: "SHA256", words: "md5=MD5 sha1=SHA1 sha256=SHA256 sha384=SHA384 sha512=SHA512"},
	{name: "exposeauthinfo", kind: kFlag, match: true, def: "no"},
	{name: "pidfile", kind: kString, def: perBuild},
	{name: "modulifile", kind: kString, def: perBuild},
	{name: "xauthlocation", kind: kString, def: perBuild},
	{name: "ciphers", kind: kAlgo, def: perBuild},
	{name: "macs", kind: kAlgo, def: perBuild},
	{name: "banner", kind: kString, match: true, def: "none"},
	{name: "forcecommand", kind: kRest, match: true, def: "none"},
	{name: "chrootdirectory", kind: kString, match: true, def: "none"},
	{name: "trustedusercakeys", kind: kString, match: true, def: "none"},
	{name: "revokedkeys", kind: kString, match: true, def: "none"},
	{name: "securitykeyprovider", kind: kString, def: "internal"},
	{name: "authorizedprincipalsfile", kind: kString, match: true, def: "none"},
	{name: "versionaddendum", kind: kRest, def: "none"},
	{name: "authorizedkeyscommand", kind: kRest, match: true, def: "none"},
	{name: "authorizedkeyscommanduser", kind: kString, match: true, def: "none"},
	{name: "authorizedprincipalscommand", kind: kRest, match: true, def: "none"},
	{name: "authorizedprincipalscommanduser", kind: kString, match: true, def: "none"},
	{name: "hostkeyagent", kind: kString, def: "none"},
	{name: "kexalgorithms", kind: kAlgo, def: perBuild},
	{name: "casignaturealgorithms", kind: kAlgo, match: true, def: perBuild},
	{name: "hostbasedacceptedalgorithms", kind: kAlgo, match: true, def: perBuild},
	{name: "hostkeyalgorithms", kind: kAlgo, def: perBuild},
	{name: "pubkeyacceptedalgorithms", kind: kAlgo, match: true, def: perBuild},
	{name: "loglevel", kind: kMulti, match: true, def: "INFO",
		words: "silent=SILENT quiet=SILENT fatal=FATAL error=ERROR info=INFO " +
			"verbose=VERBOSE debug=DEBUG debug1=DEBUG debug2=DEBUG2 debug3=DEBUG3"},
	{name: "syslogfacility", kind: kMulti, def: "AUTH",
		words: "daemon=DAEMON user=USER auth=AUTH authpriv=AUTHPRIV local0=LOCAL0 local1=LOCAL1 local2=LOCAL2 local3=LOCAL3 local4=LOCAL4 " +
			"local5=LOCAL5 local6=LOCAL6 local7=LOCAL7"},
	{name: "authorizedkeysfile", kind: kFirst, match: true, def: ".ssh/authorized_keys .ssh/authorized_keys2"},
	{name: "hostkey", kind: kAppend, def: perBuild},
	{name: "hostcertificate", kind: kAppend},
	{name: "allowusers", kind: kAppend, match: true},
	{name: "denyusers", kind: kAppend, match: true},
	{name: "allowgroups", kind: kAppend, match: true},
	{name: "denygroups", kind: kAppend, match: true},
	{name: "acceptenv", kind: kAppend, match: true},
	{name: "setenv", kind: kFirstEach, match: true},
	{name: "logverbose", kind: kFirst, match: true},
	{name: "channeltimeout", kind: kFirst, match: true},
	{name: "authenticationmethods", kind: kFirst, match: true, def: "any"},
	{name: "subsystem", kind: kSubsystem},
	{name: "maxstartups", kind: kStartups, last: true, def: "10:30:100"},
	{name: "persourcemaxstartups", kind: kString, last: true, def: "none"},
	{name: "persourcenetblocksize", kind: kNetBlock, last: true, def: "32:128"},
	{name: "persourcepenalties", kind: kFirst, def: perBuild},
	{name: "persourcepenaltyexemptlist", kind: kString, def: "none"},
	{name: "permittunnel", kind: kMulti, match: true, def: "no", words: "yes no point-to-point ethernet"},
	{name: "ipqos", kind: kQoS, match: true, last: true, def: perBuild},
	{name: "rekeylimit", kind: kRekey, match: true, def: "0 0"},
	{name: "permitopen", kind: kOpen, match: true, def: "any"},
	{name: "permitlisten", kind: kOpen, match: true, def: "any"},
	{name: "permituserenvironment", kind: kString, def: "no"},
	{name: "pubkeyauthoptions", kind: kKeyOption, match: true, def: "none"},
	{name: "rdomain", kind: kString, match: true},
	{name: "refuseconnection", kind: kFlag, match: true, def: "no"},
	{name: "debianbanner", kind: kFlag, def: perBuild},
	{name: "sshdsessionpath", kind: kString, def: perBuild},
	{name: "sshdauthpath", kind: kString, def: perBuild},
}

// aliases are other spellings of a keyword.
var aliases = map[string]string{
	"challengeresponseauthentication": "kbdinteractiveauthentication", // own keyword before 8.7
	"skeyauthentication":              "kbdinteractiveauthentication",
	"hostdsakey":                      "hostkey",
	"dsaauthentication":               "pubkeyauthentication",
	"keepalive":                       "tcpkeepalive",
	"pubkeyacceptedkeytypes":          "pubkeyacceptedalgorithms",    // before 8.5
	"hostbasedacceptedkeytypes":       "hostbasedacceptedalgorithms", // before 8.5
	"gssapicleanupcreds":              "gssapicleanupcredentials",
	"rsaminsize":                      "requiredrsasize", // Red Hat, before 9.1
}

// deprecated keywords are read over with a warning.
var deprecated = map[string]bool{}

func init() {
	for _, n := range strings.Fields(`pamauthenticationviakbdint serverkeybits keyregenerationinterval rhostsauthentication
		rhostsrsaauthentication rsaauthentication checkmail uselogin protocol verifyreversemapping reversemappingcheck
		authorizedkeysfile2 useprivilegeseparation kerberostgtpassing afstokenpassing kerberosgetafstoken
		permitblacklistedkeys showpatchlevel`) {
		deprecated[n] = true
	}
}

var byName = sync.OnceValue(func() map[string]*keyword {
	m := make(map[string]*keyword, len(table)+len(aliases))
	for i := range table {
		m[table[i].name] = &table[i]
	}
	return m
})

// lookup finds a keyword by any spelling.
func lookup(spelling string) (*keyword, bool) {
	n := strings.ToLower(spelling)
	if a, ok := aliases[n]; ok {
		n = a
	}
	k, ok := byName()[n]
	return k, ok
}
