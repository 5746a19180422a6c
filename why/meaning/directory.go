package meaning

import (
	"cmp"
	"maps"
	"strconv"
	"strings"

	"fettle/internal/lazy"
	"fettle/internal/sorted"
)

// Kerberos are error codes (RFC 4120, 7.5.9) with the texts of MIT Kerberos (krb5_err.et).
var Kerberos = map[int]struct{ Name, Text, Says string }{
	6: {"KDC_ERR_C_PRINCIPAL_UNKNOWN", "not found in Kerberos database",
		"the KDC does not know this principal: name, realm or a missing entry"},
	7: {"KDC_ERR_S_PRINCIPAL_UNKNOWN", "Server not found in Kerberos database",
		"the KDC does not know the service: often the host name that was asked for is not the one that it has"},
	12: {"KDC_ERR_POLICY", "KDC policy rejects request", "a policy of the KDC refuses"},
	14: {"KDC_ERR_ETYPE_NOTSUPP", "KDC has no support for encryption type", "client and KDC have no encryption type in common"},
	18: {"KDC_ERR_CLIENT_REVOKED", "credentials have been revoked", "the account is locked or disabled"},
	23: {"KDC_ERR_KEY_EXPIRED", "Password has expired", "the password has expired"},
	24: {"KDC_ERR_PREAUTH_FAILED", "Preauthentication failed",
		"the password, or the key in the keytab, is not the one that the KDC has"},
	25: {"KDC_ERR_PREAUTH_REQUIRED", "Additional pre-authentication required",
		"the normal first answer of a KDC, not an error by itself"},
	31: {"KRB_AP_ERR_BAD_INTEGRITY", "Decrypt integrity check failed", "the password or key is wrong"},
	32: {"KRB_AP_ERR_TKT_EXPIRED", "Ticket expired", "the ticket has expired: kinit gets another"},
	33: {"KRB_AP_ERR_TKT_NYV", "Ticket not yet valid", "the ticket begins in the future: a clock is wrong"},
	34: {"KRB_AP_ERR_REPEAT", "Request is a replay", "the same request was seen before"},
	36: {"KRB_AP_ERR_BADMATCH", "Ticket/authenticator don't match", "ticket and request do not belong together"},
	37: {"KRB_AP_ERR_SKEW", "Clock skew too great",
		"the clocks of client and KDC differ by more than is allowed (5 minutes by default)"},
	41: {"KRB_AP_ERR_MODIFIED", "Message stream modified", "the message was changed, or the service has another key than the KDC"},
	44: {"KRB_AP_ERR_BADKEYVER", "Specified version of key is not available",
		"the keytab lacks the key's present version: it was changed since"},
	45: {"KRB_AP_ERR_NOKEY", "Service key not available", "the keytab has no key of this service"},
	60: {"KRB_ERR_GENERIC", "Generic error (see e-text)", "the KDC's own log says more"},
	68: {"KDC_ERR_WRONG_REALM", "Wrong realm", "the principal belongs to another realm"},
}

// LDAP are result codes (RFC 4511, appendix A) with OpenLDAP's texts (ldap_err2string(3)).
var LDAP = map[int]struct{ Name, Text, Says string }{
	1:  {"operationsError", "Operations error", "out of order, or the server wants a bind first"},
	3:  {"timeLimitExceeded", "Time limit exceeded", "the search took longer than is allowed"},
	4:  {"sizeLimitExceeded", "Size limit exceeded", "more entries than the limit lets through"},
	7:  {"authMethodNotSupported", "Authentication method not supported", "the server does not do this kind of bind"},
	8:  {"strongerAuthRequired", "Strong(er) authentication required", "the server wants TLS or signing first"},
	13: {"confidentialityRequired", "Confidentiality required", "the server wants TLS first"},
	16: {"noSuchAttribute", "No such attribute", "the entry has no such attribute"},
	19: {"constraintViolation", "Constraint violation", "a rule of the server refuses the value: often the password policy"},
	20: {"attributeOrValueExists", "Type or value exists", "the value is there already"},
	21: {"invalidAttributeSyntax", "Invalid syntax", "the value does not have the attribute's syntax"},
	32: {"noSuchObject", "No such object", "there is no such entry: often the search base is wrong"},
	34: {"invalidDNSyntax", "Invalid DN syntax", "the DN is not well formed"},
	48: {"inappropriateAuthentication", "Inappropriate authentication", "the entry has no password, or not with this kind of bind"},
	49: {"invalidCredentials", "Invalid credentials", "the bind DN or its password is wrong"},
	50: {"insufficientAccessRights", "Insufficient access", "an access rule does not allow it"},
	51: {"busy", "Server is busy", "try again later"},
	52: {"unavailable", "Server is unavailable", "the server is shutting down or not ready"},
	53: {"unwillingToPerform", "Server is unwilling to perform", "a setting of the server refuses"},
	65: {"objectClassViolation", "Object class violation", "an attribute is missing or not allowed by the schema"},
	68: {"entryAlreadyExists", "Already exists", "the entry is there already"},
}

const (
	kerberosSource = "RFC 4120, 7.5.9"
	ldapSource     = "RFC 4511, appendix A"
)

var (
	ldapWord  = lazy.Regexp(`(?i)ldap|slapd|\bBIND\b|sssd|nslcd|\bRESULT tag=`)
	ldapCode  = lazy.Regexp(`\bRESULT tag=\d+ err=(\d{1,3})\b|(?i:ldap)[^:]*: [A-Z][^()]* \((\d{1,3})\)`)
	krbWord   = lazy.Regexp(`(?i)kerberos|krb5|\bkdc\b|kinit|gss|sssd|keytab|KRB_|KDC_`)
	krbSymbol = lazy.Regexp(`\bK(?:DC|RB)_(?:AP_)?ERR_[A-Z_]+\b`)
)

func kerberos(text string) []Meaning {
	if m := krbSymbol().FindString(text); m != "" {
		for _, e := range Kerberos {
			if e.Name == m {
				return []Meaning{{m, e.Says, kerberosSource}}
			}
		}
	}
	if !krbWord().MatchString(text) && !strings.Contains(text, "Clock skew too great") && !strings.Contains(text, "Preauthentication "+
		"failed") {
		return nil
	}
	for _, n := range longest(Kerberos) {
		e := Kerberos[n]
		if i := index(text, e.Text); i >= 0 {
			return []Meaning{{text[i : i+len(e.Text)], e.Name + ": " + e.Says, kerberosSource}}
		}
	}
	return nil
}

func ldap(text string) []Meaning {
	if !ldapWord().MatchString(text) {
		return nil
	}
	if m := ldapCode().FindStringSubmatch(text); m != nil {
		for n, e := range LDAP {
			if m[1]+m[2] == strconv.Itoa(n) {
				term := "err=" + m[1]
				if m[1] == "" {
					term = "(" + m[2] + ")"
				}
				return []Meaning{{term, e.Name + ": " + e.Says, ldapSource}}
			}
		}
	}
	for _, n := range longest(LDAP) {
		e := LDAP[n]
		if i := index(text, e.Text); i >= 0 {
			return []Meaning{{text[i : i+len(e.Text)], e.Name + ": " + e.Says, ldapSource}}
		}
	}
	return nil
}

// longest orders a table by its texts, so that one that contains another comes first.
func longest(table map[int]struct{ Name, Text, Says string }) []int {
	return sorted.Of(maps.Keys(table), func(a, b int) int {
		return cmp.Or(cmp.Compare(len(table[b].Text), len(table[a].Text)), cmp.Compare(a, b))
	})
}
