// Package proofs is the one list of what proves the traps: the scenarios and
// experiments of each, in folders traps/NAME/proof, and those about remedies,
// power cuts and files in general. Only fettle-lab links them.
package proofs

import (
	"slices"

	"fettle/engine/trap"
	"fettle/lab"
	"fettle/lab/filesemantics"
	"fettle/lab/powercut"
	"fettle/lab/remedyproof"
	"fettle/lab/sabotage"
	"fettle/traps/apparmordenials"
	apparmordenialsproof "fettle/traps/apparmordenials/proof"
	"fettle/traps/bridgemtu"
	bridgemtuproof "fettle/traps/bridgemtu/proof"
	"fettle/traps/counterwrap"
	counterwrapproof "fettle/traps/counterwrap/proof"
	"fettle/traps/crontablerefused"
	crontablerefusedproof "fettle/traps/crontablerefused/proof"
	"fettle/traps/deletedopenfiles"
	deletedopenfilesproof "fettle/traps/deletedopenfiles/proof"
	"fettle/traps/devicetimeoutatboot"
	devicetimeoutatbootproof "fettle/traps/devicetimeoutatboot/proof"
	"fettle/traps/dmcachesmq"
	dmcachesmqproof "fettle/traps/dmcachesmq/proof"
	"fettle/traps/fstabnotreloaded"
	fstabnotreloadedproof "fettle/traps/fstabnotreloaded/proof"
	"fettle/traps/hostnamebyhand"
	hostnamebyhandproof "fettle/traps/hostnamebyhand/proof"
	"fettle/traps/installersync"
	installersyncproof "fettle/traps/installersync/proof"
	"fettle/traps/journalaccess"
	journalaccessproof "fettle/traps/journalaccess/proof"
	"fettle/traps/kernelcomplaints"
	kernelcomplaintsproof "fettle/traps/kernelcomplaints/proof"
	"fettle/traps/ksmscanrate"
	ksmscanrateproof "fettle/traps/ksmscanrate/proof"
	"fettle/traps/ldaptlsverify"
	ldaptlsverifyproof "fettle/traps/ldaptlsverify/proof"
	"fettle/traps/limitsbyhand"
	limitsbyhandproof "fettle/traps/limitsbyhand/proof"
	"fettle/traps/listenaddresslate"
	listenaddresslateproof "fettle/traps/listenaddresslate/proof"
	"fettle/traps/logflood"
	logfloodproof "fettle/traps/logflood/proof"
	"fettle/traps/mdadmbadblocks"
	mdadmbadblocksproof "fettle/traps/mdadmbadblocks/proof"
	"fettle/traps/mountbyhand"
	mountbyhandproof "fettle/traps/mountbyhand/proof"
	"fettle/traps/mountsmissing"
	mountsmissingproof "fettle/traps/mountsmissing/proof"
	"fettle/traps/netbootserial"
	netbootserialproof "fettle/traps/netbootserial/proof"
	"fettle/traps/netbootstale"
	netbootstaleproof "fettle/traps/netbootstale/proof"
	"fettle/traps/openpgpkeyservers"
	openpgpkeyserversproof "fettle/traps/openpgpkeyservers/proof"
	"fettle/traps/raforwarding"
	raforwardingproof "fettle/traps/raforwarding/proof"
	rulesproof "fettle/traps/rules/proof"
	"fettle/traps/serialnames"
	serialnamesproof "fettle/traps/serialnames/proof"
	"fettle/traps/slowdisk"
	slowdiskproof "fettle/traps/slowdisk/proof"
	"fettle/traps/sshcontrolsockets"
	sshcontrolsocketsproof "fettle/traps/sshcontrolsockets/proof"
	"fettle/traps/sshslowlogin"
	sshslowloginproof "fettle/traps/sshslowlogin/proof"
	"fettle/traps/sshtotp"
	sshtotpproof "fettle/traps/sshtotp/proof"
	"fettle/traps/sysctlbyhand"
	sysctlbyhandproof "fettle/traps/sysctlbyhand/proof"
	"fettle/traps/sysctloverridden"
	sysctloverriddenproof "fettle/traps/sysctloverridden/proof"
	"fettle/traps/unitnotstartedatboot"
	unitnotstartedatbootproof "fettle/traps/unitnotstartedatboot/proof"
	"fettle/traps/unitrestartloop"
	unitrestartloopproof "fettle/traps/unitrestartloop/proof"
	"fettle/traps/unitsfailed"
	unitsfailedproof "fettle/traps/unitsfailed/proof"
	"fettle/traps/unitswaitforeachother"
	unitswaitforeachotherproof "fettle/traps/unitswaitforeachother/proof"
	"fettle/traps/zfswritedistribution"
	zfswritedistributionproof "fettle/traps/zfswritedistribution/proof"
)

// Proof is what shows one trap on throwaway machines.
type Proof struct {
	Trap *trap.Trap
	// Scenarios walk into the trap, and out of it by its remedy; innocent ones
	// must not be found.
	Scenarios []lab.Scenario
	// Experiments tabulate what kernels do that the lore speaks of.
	Experiments []lab.Experiment
	// Sabotages are plans spoilt on purpose, as an honest hand could: with each
	// of them its scenario must fail.
	Sabotages []Sabotage
}

// Sabotage is a plan that does not fix, though its author may think so.
type Sabotage = sabotage.Sabotage

// All lists the proofs in the order of the traps.
func All() []Proof {
	return []Proof{
		{&unitsfailed.Trap, unitsfailedproof.Scenarios, nil, unitsfailedproof.Sabotages},
		{&kernelcomplaints.Trap, kernelcomplaintsproof.Scenarios, nil, nil},
		{&unitrestartloop.Trap, unitrestartloopproof.Scenarios, nil, nil},
		{&hostnamebyhand.Trap, hostnamebyhandproof.Scenarios, nil, nil},
		{&limitsbyhand.Trap, limitsbyhandproof.Scenarios, nil, nil},
		{&mountbyhand.Trap, mountbyhandproof.Scenarios, nil, nil},
		{&sysctlbyhand.Trap, sysctlbyhandproof.Scenarios, nil, nil},
		{&unitnotstartedatboot.Trap, unitnotstartedatbootproof.Scenarios, nil, unitnotstartedatbootproof.Sabotages},
		{&unitswaitforeachother.Trap, unitswaitforeachotherproof.Scenarios, nil, nil},
		{&listenaddresslate.Trap, listenaddresslateproof.Scenarios, nil, nil},
		{&devicetimeoutatboot.Trap, devicetimeoutatbootproof.Scenarios, nil, nil},
		{&logflood.Trap, logfloodproof.Scenarios, nil, nil},
		{&apparmordenials.Trap, apparmordenialsproof.Scenarios, nil, nil},
		{&crontablerefused.Trap, crontablerefusedproof.Scenarios, nil, crontablerefusedproof.Sabotages},
		{&mountsmissing.Trap, mountsmissingproof.Scenarios, nil, mountsmissingproof.Sabotages},
		{&fstabnotreloaded.Trap, fstabnotreloadedproof.Scenarios, nil, nil},
		{&sysctloverridden.Trap, sysctloverriddenproof.Scenarios, nil, sysctloverriddenproof.Sabotages},
		{&deletedopenfiles.Trap, deletedopenfilesproof.Scenarios, nil, deletedopenfilesproof.Sabotages},
		{&ksmscanrate.Trap, ksmscanrateproof.Scenarios, ksmscanrateproof.Experiments, ksmscanrateproof.Sabotages},
		{&bridgemtu.Trap, bridgemtuproof.Scenarios, bridgemtuproof.Experiments, bridgemtuproof.Sabotages},
		{&raforwarding.Trap, raforwardingproof.Scenarios, raforwardingproof.Experiments, raforwardingproof.Sabotages},
		{&counterwrap.Trap, counterwrapproof.Scenarios, nil, counterwrapproof.Sabotages},
		{&sshslowlogin.Trap, sshslowloginproof.Scenarios, nil, sshslowloginproof.Sabotages},
		{&sshcontrolsockets.Trap, sshcontrolsocketsproof.Scenarios, nil, sshcontrolsocketsproof.Sabotages},
		{&journalaccess.Trap, journalaccessproof.Scenarios, nil, journalaccessproof.Sabotages},
		{&ldaptlsverify.Trap, ldaptlsverifyproof.Scenarios, nil, ldaptlsverifyproof.Sabotages},
		{&sshtotp.Trap, sshtotpproof.Scenarios, nil, sshtotpproof.Sabotages},
		{&mdadmbadblocks.Trap, mdadmbadblocksproof.Scenarios, mdadmbadblocksproof.Experiments, mdadmbadblocksproof.Sabotages},
		{&installersync.Trap, installersyncproof.Scenarios, installersyncproof.Experiments, installersyncproof.Sabotages},
		{&netbootstale.Trap, netbootstaleproof.Scenarios, nil, netbootstaleproof.Sabotages},
		{&netbootserial.Trap, netbootserialproof.Scenarios, nil, netbootserialproof.Sabotages},
		{&serialnames.Trap, serialnamesproof.Scenarios, nil, serialnamesproof.Sabotages},
		{&openpgpkeyservers.Trap, openpgpkeyserversproof.Scenarios, nil, openpgpkeyserversproof.Sabotages},
		{&slowdisk.Trap, slowdiskproof.Scenarios, slowdiskproof.Experiments, slowdiskproof.Sabotages},
		{&dmcachesmq.Trap, nil, dmcachesmqproof.Experiments, nil},
		{&zfswritedistribution.Trap, zfswritedistributionproof.Scenarios, zfswritedistributionproof.Experiments, nil},
	}
}

// Jobs is every scenario, spoilt plan and experiment, without kernels.
func Jobs() []lab.Job {
	var jobs []lab.Job
	for _, p := range All() {
		jobs = append(jobs, jobsOf(p.Trap.ID(), p.Scenarios, p.Experiments)...)
		for _, s := range p.Sabotages {
			jobs = append(jobs, p.spoilt(s))
		}
	}
	jobs = append(jobs, jobsOf(remedyproof.Group, remedyproof.Scenarios, nil)...)
	jobs = append(jobs, jobsOf(rulesproof.Group, rulesproof.Scenarios, nil)...)
	return append(
		jobs,
		jobsOf("", nil, slices.Concat([]lab.Experiment{filesemantics.Experiment}, remedyproof.Experiments, powercut.Experiments))...)
}

func jobsOf(group string, scenarios []lab.Scenario, experiments []lab.Experiment) []lab.Job {
	var jobs []lab.Job
	for _, s := range scenarios {
		jobs = append(jobs, lab.Job{Trap: group, Scenario: s})
	}
	for _, e := range experiments {
		jobs = append(jobs, lab.Job{Trap: group, Experiment: &e})
	}
	return jobs
}

// Find finds the experiment that a guest's orders name.
func Find(group, name string) (lab.Experiment, bool) {
	for _, j := range Jobs() {
		if j.Experiment != nil && j.Trap == group && j.Experiment.Name == name {
			return *j.Experiment, true
		}
	}
	return lab.Experiment{}, false
}

// spoilt is the scenario that a spoilt plan must fail.
func (p *Proof) spoilt(s Sabotage) lab.Job {
	j := lab.Job{Trap: p.Trap.ID(), Sabotage: s.Name, Alone: s.Alone, Scenario: lab.Scenario{Name: s.Scenario}}
	for _, sc := range p.Scenarios {
		if sc.Name == s.Scenario {
			j.Scenario = sc
		}
	}
	j.Scenario.About = lab.SabotageAbout
	j.Scenario.Long = j.Scenario.Long || s.Alone && s.Name != p.Sabotages[0].Name // each of these boots a machine
	return j
}

// FindSabotage finds the spoilt plan that a guest's orders name.
func FindSabotage(group, name string) (Sabotage, bool) {
	for _, p := range All() {
		for _, s := range p.Sabotages {
			if p.Trap.ID() == group && s.Name == name {
				return s, true
			}
		}
	}
	return Sabotage{}, false
}
