// Package traps is the one list of all traps. A new trap is a folder here and
// a line below; one that is written as a rule is a folder in rules alone.
package traps

import (
	"fettle/trap"
	"fettle/traps/bridgemtu"
	"fettle/traps/counterwrap"
	"fettle/traps/deletedopenfiles"
	"fettle/traps/dmcachesmq"
	"fettle/traps/journalaccess"
	"fettle/traps/ksmscanrate"
	"fettle/traps/ldaptlsverify"
	"fettle/traps/mdadmbadblocks"
	"fettle/traps/netbootstale"
	"fettle/traps/openpgpkeyservers"
	"fettle/traps/raforwarding"
	"fettle/traps/rules"
	"fettle/traps/slowdisk"
	"fettle/traps/sshcontrolsockets"
	"fettle/traps/sshslowlogin"
	"fettle/traps/sshtotp"
	"fettle/traps/unitsfailed"
	"fettle/traps/zfswritedistribution"
)

// All lists the traps in the order in which check shows them.
func All() []*trap.Trap {
	return append([]*trap.Trap{
		&unitsfailed.Trap,
		&deletedopenfiles.Trap,
		&ksmscanrate.Trap,
		&bridgemtu.Trap,
		&raforwarding.Trap,
		&counterwrap.Trap,
		&sshslowlogin.Trap,
		&sshcontrolsockets.Trap,
		&journalaccess.Trap,
		&ldaptlsverify.Trap,
		&sshtotp.Trap,
		&openpgpkeyservers.Trap,
		&netbootstale.Trap,
		&mdadmbadblocks.Trap,
		&slowdisk.Trap,
		&dmcachesmq.Trap,
		&zfswritedistribution.Trap,
	}, rules.All()...)
}
