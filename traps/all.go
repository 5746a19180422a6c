// Package traps is the one list of all traps. A new trap is a folder here and
// a line below; one that is written as a rule is a folder in rules alone.
package traps

import (
	"fettle/engine/trap"
	"fettle/traps/apparmordenials"
	"fettle/traps/bootdevicegone"
	"fettle/traps/bootentrybroken"
	"fettle/traps/bridgemtu"
	"fettle/traps/certbotcannotrenew"
	"fettle/traps/certificatenotloaded"
	"fettle/traps/configurationrefused"
	"fettle/traps/counterwrap"
	"fettle/traps/crontablerefused"
	"fettle/traps/deletedopenfiles"
	"fettle/traps/devicetimeoutatboot"
	"fettle/traps/dmcachesmq"
	"fettle/traps/firewallbyhand"
	"fettle/traps/fstabnotreloaded"
	"fettle/traps/hostnamebyhand"
	"fettle/traps/installersync"
	"fettle/traps/interfacenotthere"
	"fettle/traps/journalaccess"
	"fettle/traps/kernelcomplaints"
	"fettle/traps/ksmscanrate"
	"fettle/traps/ldaptlsverify"
	"fettle/traps/limitsbyhand"
	"fettle/traps/listenaddressbyhand"
	"fettle/traps/listenaddresslate"
	"fettle/traps/listenerofsession"
	"fettle/traps/logflood"
	"fettle/traps/mdadmbadblocks"
	"fettle/traps/mountbyhand"
	"fettle/traps/mountsmissing"
	"fettle/traps/netbootserial"
	"fettle/traps/netbootstale"
	"fettle/traps/networkbyhand"
	"fettle/traps/openpgpkeyservers"
	"fettle/traps/pammodulegone"
	"fettle/traps/raforwarding"
	"fettle/traps/rules"
	"fettle/traps/serialnames"
	"fettle/traps/slowdisk"
	"fettle/traps/sshcontrolsockets"
	"fettle/traps/sshslowlogin"
	"fettle/traps/sshtotp"
	"fettle/traps/sysctlbyhand"
	"fettle/traps/sysctloverridden"
	"fettle/traps/unitcannotstartagain"
	"fettle/traps/unitnotstartedatboot"
	"fettle/traps/unitrestartloop"
	"fettle/traps/unitsfailed"
	"fettle/traps/unitswaitforeachother"
	"fettle/traps/zfswritedistribution"
)

// All lists the traps in the order in which check shows them. Whoever asks for it,
// asks about the units of all traps with one command.
func All() []*trap.Trap {
	return trap.Together(append([]*trap.Trap{
		&unitsfailed.Trap,
		&kernelcomplaints.Trap,
		&unitrestartloop.Trap,
		&devicetimeoutatboot.Trap,
		&logflood.Trap,
		&apparmordenials.Trap,
		&crontablerefused.Trap,
		&certbotcannotrenew.Trap,
		&certificatenotloaded.Trap,
		&mountsmissing.Trap,
		&fstabnotreloaded.Trap,
		&sysctloverridden.Trap,
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
		&netbootserial.Trap,
		&mdadmbadblocks.Trap,
		&installersync.Trap,
		&serialnames.Trap,
		&slowdisk.Trap,
		&dmcachesmq.Trap,
		&zfswritedistribution.Trap,
		&bootentrybroken.Trap,
		&bootdevicegone.Trap,
		&unitnotstartedatboot.Trap,
		&unitswaitforeachother.Trap,
		&unitcannotstartagain.Trap,
		&configurationrefused.Trap,
		&listenaddressbyhand.Trap,
		&listenaddresslate.Trap,
		&listenerofsession.Trap,
		&networkbyhand.Trap,
		&interfacenotthere.Trap,
		&sysctlbyhand.Trap,
		&mountbyhand.Trap,
		&hostnamebyhand.Trap,
		&limitsbyhand.Trap,
		&firewallbyhand.Trap,
		&pammodulegone.Trap,
	}, rules.All()...))
}
