// Package sshtotp finds second factors for SSH that do not hold, or that lock
// people out: it simulates the PAM stack and sshd's methods for every user.
package sshtotp

import (
	_ "embed"

	"fettle/engine/trap"
)

//go:embed lore.md
var lore trap.Lore

// Trap is ssh-totp. fettle totp setup asks for its plan, too.
var Trap = trap.Trap{
	Lore:  lore,
	Cost:  trap.Instant,
	Check: check,
	Plan:  plan,
	Setup: &trap.Setup{
		Name:    "totp",
		Finding: trap.Finding{Subject: whole, Summary: "set up one-time codes for SSH logins", Facts: trap.FactsOf(facts{Setup: true})},
	},
	Choices: []trap.Choice{
		{Name: "group", About: "who needs a code: the members of this group, or all"},
		{
			Name:   "mode",
			About:  "what happens to them without a file: nullok lets them in without a code, strict does not",
			Values: []string{"nullok", "strict"},
		},
		{
			Name:   "factors",
			About:  "what goes with the code: password (a key alone still lets in), or key (and no password)",
			Values: []string{"password", "key"},
		},
	},
}

// module is the PAM module that asks for the code.
const module = "pam_google_authenticator"

// Subjects. Others are names of users, as "user alice".
const (
	whole   = "sshd"    // whether the code is asked for at all
	keys    = "keys"    // whether a key gets round it
	noFile  = "no-file" // users without a file
	outside = "outside" // users who are not asked
	writing = "files"   // whether the module can write to them
	clock   = "clock"
	others  = "directory-users"
	perUser = "user "
)
