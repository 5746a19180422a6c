// Package ldaptlsverify finds LDAP clients that accept any server certificate,
// and servers whose certificates their clients refuse.
package ldaptlsverify

import (
	_ "embed"

	"fettle/engine/trap"
)

//go:embed lore.md
var lore string

// Trap is ldap-tls-verify.
var Trap = trap.Trap{
	Lore:  trap.Lore(lore),
	Cost:  trap.Instant,
	Talks: true, // servers are asked for their certificates with --network
	Check: check,
	Plan:  plan,
	Choices: []trap.Choice{
		{Name: "ca", About: "a file with the CA certificate to trust, in PEM"},
		{Name: "fingerprint", About: "the SHA-256 fingerprint of the certificate to trust, as its owner gave it to you"},
		{
			Name:    "verify",
			About:   "never: accept any certificate, which is open to interception",
			Values:  []string{"demand", "never"},
			Default: "demand",
		},
	},
}
