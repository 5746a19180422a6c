package bmc

import "strings"

// Failure is why ipmitool opened no session, by its own words.
type Failure int

const (
	None     Failure = iota // it says nothing that tells
	Refused                 // the name, the password or the privilege
	NoCipher                // BMC and ipmitool have no cipher suite in common
	Silence                 // no session, and no word why: see Probe
)

// words of ipmitool (src/plugins/lanplus/lanplus.c and lanplus_strings.c, 1.8.19),
// the surest first. Without -v it keeps "RAKP 2 HMAC is invalid", which is a wrong
// password, to itself; and it says "Unable to establish" whatever is wrong.
var words = []struct {
	text string
	is   Failure
}{
	{"no cipher suite match", NoCipher},
	{"no matching cipher suite", NoCipher},
	{"invalid authentication algorithm", NoCipher},
	{"invalid integrity algorithm", NoCipher},
	{"invalid confidentiality algorithm", NoCipher},
	{"no matching authentication payload", NoCipher},
	{"no matching integrity payload", NoCipher},
	{"Unsupported cipher suite", NoCipher},
	{"HMAC is invalid", Refused},
	{"RAKP 2 message indicates an error", Refused},
	{"RAKP 4 message indicates an error", Refused},
	{"unauthorized name", Refused},
	{"unauthorized role", Refused},
	{"nvalid role", Refused},
	{"nsufficient privilege", Refused},
	{"Unable to establish IPMI v2 / RMCP+ session", Silence},
}

// FailureOf reads what ipmitool said.
func FailureOf(said string) Failure {
	for _, w := range words {
		if strings.Contains(said, w.text) {
			return w.is
		}
	}
	return None
}
