package meaning

import (
	"regexp"
	"strconv"
	"strings"

	"fettle/internal/lazy"
)

// HTTP are status codes (RFC 9110, section 15, and IANA's registry): those that tell of trouble.
var HTTP = map[int]Entry{
	400: {"Bad Request", "the server did not understand the request"},
	401: {"Unauthorized", "the request needs valid credentials"},
	403: {"Forbidden", "the server understood and refuses"},
	404: {"Not Found", "there is nothing at this address"},
	405: {"Method Not Allowed", "not with this method"},
	407: {"Proxy Authentication Required", "the proxy wants credentials"},
	408: {"Request Timeout", "the client took too long"},
	409: {"Conflict", "it conflicts with the present state"},
	410: {"Gone", "it was there and is gone for good"},
	411: {"Length Required", "the length is missing"},
	413: {"Request Entity Too Large", "larger than the server takes"},
	414: {"Request URI Too Long", "the address is too long"},
	415: {"Unsupported Media Type", "not in this format"},
	421: {"Misdirected Request", "this server does not answer for that name"},
	422: {"Unprocessable Entity", "the content makes no sense to the server"},
	426: {"Upgrade Required", "another protocol is needed"},
	429: {"Too Many Requests", "the client asks too often"},
	431: {"Request Header Fields Too Large", "the headers are too large"},
	500: {"Internal Server Error", "the program behind it failed: its own log says why"},
	501: {"Not Implemented", "the server cannot do this"},
	502: {"Bad Gateway", "a proxy got no valid answer from the server behind it"},
	503: {"Service Unavailable", "overloaded or being maintained; behind a proxy: no server to pass it to"},
	504: {"Gateway Timeout", "the server behind the proxy did not answer in time"},
	505: {"HTTP Version Not Supported", "not this version of HTTP"},
	507: {"Insufficient Storage", "no room left"},
	511: {"Network Authentication Required", "a captive portal is in between"},
}

var (
	httpInLog = lazy.Regexp(`" ([45]\d\d) \d+|(?:HTTP/[\d.]+"? |HTTP (?:status |code |error )?|[Ss]tatus(?: code)?[:= ]+|` +
		`returned error: )([45]\d\d)\b`)
	httpName = lazy.Regexp(`\b([45]\d\d) (Bad Gateway|Service Unavailable|Gateway Time-?[Oo]ut|Internal Server Error|` +
		`Forbidden|Not Found|Unauthorized|Too Many Requests)\b`)
)

func http(text string) []Meaning {
	for _, re := range []func() *regexp.Regexp{httpName, httpInLog} {
		m := re().FindStringSubmatch(text)
		if m == nil {
			continue
		}
		code := m[1]
		if code == "" { // the other half of httpInLog
			code = m[2]
		}
		n, _ := strconv.Atoi(code)
		if e, ok := HTTP[n]; ok {
			return []Meaning{{"HTTP " + code, e.Name + ": " + e.Says, "RFC 9110 and IANA, HTTP Status Codes"}}
		}
	}
	return nil
}

// SMTP are basic replies (RFC 5321, 4.2.3) that tell of trouble.
var SMTP = map[int]Entry{
	421: {"421", "the service is not available and closes the connection: try later"},
	450: {"450", "the mailbox cannot be used now: busy, or greylisting"},
	451: {"451", "a temporary error while processing"},
	452: {"452", "not enough storage"},
	454: {"454", "temporary failure of authentication or TLS"},
	500: {"500", "the command is not known"},
	501: {"501", "an argument of the command is wrong"},
	503: {"503", "commands in the wrong order, often because authentication is needed"},
	530: {"530", "authentication or TLS is required first"},
	534: {"534", "this way of authentication is too weak"},
	535: {"535", "the credentials are wrong"},
	550: {"550", "refused for good: no such mailbox, or a policy"},
	551: {"551", "the user is not local"},
	552: {"552", "the mailbox is full, or the message too large"},
	553: {"553", "the mailbox name is not allowed"},
	554: {"554", "refused for good"},
}

// Enhanced are status codes (RFC 3463 and IANA's registry) without their class.
var Enhanced = map[string]string{
	"1.1": "there is no such mailbox", "1.2": "there is no such system", "1.3": "the address is not well formed",
	"1.8": "the sender's system is not valid", "1.10": "the domain takes no mail (null MX)",
	"2.1": "the mailbox is disabled", "2.2": "the mailbox is full", "2.3": "the message is longer than the mailbox takes",
	"3.0": "something of the receiving system", "3.1": "the receiving system's storage is full",
	"3.2": "the receiving system takes no mail now",
	"3.4": "the message is too large for the system", "4.1": "no answer from the host", "4.2": "the connection was bad or broke",
	"4.3": "the directory or name server failed", "4.4": "no route: the destination cannot be found",
	"4.6": "mail goes round in a loop",
	"4.7": "it took too long, and delivery was given up", "5.1": "the command is not valid", "5.2": "a syntax error",
	"5.4": "an argument is not valid", "6.0": "something of the content", "7.0": "a security or policy reason",
	"7.1": "not authorised to send this: a policy", "7.8": "the credentials are wrong", "7.9": "the mechanism is too weak",
	"7.20": "no valid DKIM signature", "7.23": "SPF does not allow this sender",
	"7.25": "the sending address has no valid reverse DNS name",
	"7.26": "several authentication checks (SPF, DKIM) failed", "7.27": "the sender's domain takes no mail (null MX)",
}

var (
	enhanced  = lazy.Regexp(`(?:^|[^.\d])([245])\.(\d\.\d{1,2})\b(?:[^.\d]|$)`)
	smtpWord  = lazy.Regexp(`dsn=|said:|status=(?:deferred|bounced|sent)|SMTP`)
	smtpReply = lazy.Regexp(`said: (\d{3})[ -]`)
)

func smtp(text string) []Meaning {
	if !smtpWord().MatchString(text) {
		return nil
	}
	out := numbered(text, smtpReply, SMTP, "RFC 5321, 4.2.3")
	if m := enhanced().FindStringSubmatch(text); m != nil && m[1] != "2" {
		how := map[string]string{"4": "for now", "5": "for good"}[m[1]]
		if says := Enhanced[m[2]]; says != "" {
			out = append(out, Meaning{m[1] + "." + m[2], "refused " + how + ": " + says, "RFC 3463 and IANA, SMTP Enhanced Status " +
				"Codes"})
		}
	}
	return out
}

// Alerts are TLS's (RFC 8446, 6.2, and IANA's registry).
var Alerts = map[int]Entry{
	0:  {"close notify", "the normal end of a connection"},
	10: {"unexpected message", "the other side sent something out of turn: often one that does not speak TLS here"},
	20: {"bad record MAC", "data was damaged or changed on the way, or keys differ"},
	22: {"record overflow", "a record is too long: often one that does not speak TLS here"},
	40: {"handshake failure", "the two have no cipher or other parameters in common, or a client certificate is missing"},
	42: {"bad certificate", "the certificate is damaged or its signature wrong"},
	43: {"unsupported certificate", "a certificate of a kind that is not supported"},
	44: {"revoked certificate", "the certificate was revoked"},
	45: {"expired certificate", "the certificate has expired, or a clock is wrong"},
	46: {"unknown certificate", "the certificate is not accepted for another reason"},
	47: {"illegal parameter", "a value in the handshake is not allowed"},
	48: {"unknown certificate authority",
		"the other side does not trust who signed the certificate: an intermediate one or the CA is missing there"},
	49:  {"access denied", "the certificate is valid and not allowed"},
	50:  {"error decoding message", "a message could not be read"},
	51:  {"error decrypting message", "a signature or key exchange could not be verified"},
	70:  {"protocol version not supported", "the two have no version of TLS in common"},
	71:  {"insufficient security level", "what is offered is weaker than is required"},
	80:  {"internal error", "an error of the other side itself"},
	86:  {"inappropriate fallback", "a retry with an older version although a newer one is possible"},
	90:  {"user canceled", "the handshake was cancelled"},
	109: {"missing extension", "a needed extension is missing"},
	112: {"unrecognized name", "the server has no certificate for the name that was asked for (SNI)"},
	116: {"certificate required", "the server wants a client certificate"},
	120: {"no application protocol", "no common application protocol (ALPN)"},
}

var (
	alertNumber = lazy.Regexp(`(?i)SSL alert number (\d{1,3})\b`)
	tlsWord     = lazy.Regexp(`(?i)\b(?:ssl|tls|x509|certificate)`)
	alertName   = lazy.Regexp(`(?i)(?:alert|tls:) (?:certificate )?((?:[a-z]+ ){0,3}[a-z]+)`)
	alertWords  = map[string]int{"handshake failure": 40, "bad certificate": 42, "certificate expired": 45, "unknown " +
		"ca": 48, "protocol version": 70,
		"unrecognized name": 112, "expired": 45, "decrypt error": 51, "internal error": 80, "access denied": 49, "certificate " +
			"required": 116}
)

const alertSource = "RFC 8446, 6.2"

func tlsAlerts(text string) []Meaning {
	if out := numbered(text, alertNumber, Alerts, alertSource); len(out) > 0 {
		return out
	}
	if m := alertName().FindStringSubmatch(text); m != nil && tlsWord().MatchString(text) {
		for word, n := range alertWords {
			if strings.HasPrefix(strings.ToLower(m[1]), word) {
				return []Meaning{{m[0], Alerts[n].Name + ": " + Alerts[n].Says, alertSource}}
			}
		}
	}
	return nil
}

// Rcodes are DNS's (RFC 1035, 4.1.1, RFC 2136 and IANA's registry).
var Rcodes = map[int]Entry{
	1: {"FORMERR", "the server did not understand the question"},
	2: {"SERVFAIL", "the server could not find the answer: the zone's servers do not answer, or DNSSEC does not validate"},
	3: {"NXDOMAIN", "the name does not exist"},
	4: {"NOTIMP", "the server does not do this kind of question"},
	5: {"REFUSED", "the server does not answer this client or for this zone"},
	6: {"YXDOMAIN", "a name exists that should not"},
	7: {"YXRRSET", "records exist that should not"},
	8: {"NXRRSET", "records that should exist do not"},
	9: {"NOTAUTH", "the server is not authoritative for the zone, or the key is not accepted"},
}

var dnsWord = lazy.Regexp(`(?i)\bdns|named|unbound|resolv|dnsmasq|\bquery|\blookup|zone`)

var rcode = lazy.Regexp(`\b(FORMERR|SERVFAIL|NXDOMAIN|NOTIMP|REFUSED|YXDOMAIN|YXRRSET|NXRRSET|NOTAUTH)\b`)

func dns(text string) []Meaning {
	m := rcode().FindString(text)
	if m == "REFUSED" && !dnsWord().MatchString(text) {
		return nil
	}
	for _, e := range Rcodes {
		if e.Name == m {
			return []Meaning{{m, e.Says, "IANA, DNS RCODEs"}}
		}
	}
	return nil
}
