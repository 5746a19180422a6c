// Package proofs is the one list of what proves the traps: the scenarios and
// experiments of each, in folders traps/NAME/proof, and those about remedies,
// power cuts and files as such. Only fettle-lab links them.
package proofs

import (
	"slices"

	"fettle/lab"
	"fettle/lab/filesemantics"
	"fettle/lab/powercut"
	"fettle/lab/remedyproof"
	"fettle/trap"
	"fettle/traps/bridgemtu"
	bridgemtuproof "fettle/traps/bridgemtu/proof"
	"fettle/traps/counterwrap"
	counterwrapproof "fettle/traps/counterwrap/proof"
	"fettle/traps/deletedopenfiles"
	deletedopenfilesproof "fettle/traps/deletedopenfiles/proof"
	"fettle/traps/dmcachesmq"
	dmcachesmqproof "fettle/traps/dmcachesmq/proof"
	"fettle/traps/journalaccess"
	journalaccessproof "fettle/traps/journalaccess/proof"
	"fettle/traps/ksmscanrate"
	ksmscanrateproof "fettle/traps/ksmscanrate/proof"
	"fettle/traps/ldaptlsverify"
	ldaptlsverifyproof "fettle/traps/ldaptlsverify/proof"
	"fettle/traps/mdadmbadblocks"
	mdadmbadblocksproof "fettle/traps/mdadmbadblocks/proof"
	"fettle/traps/raforwarding"
	raforwardingproof "fettle/traps/raforwarding/proof"
	"fettle/traps/slowdisk"
	slowdiskproof "fettle/traps/slowdisk/proof"
	"fettle/traps/sshcontrolsockets"
	sshcontrolsocketsproof "fettle/traps/sshcontrolsockets/proof"
	"fettle/traps/sshslowlogin"
	sshslowloginproof "fettle/traps/sshslowlogin/proof"
	"fettle/traps/sshtotp"
	sshtotpproof "fettle/traps/sshtotp/proof"
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
}

// All lists the proofs in the order of the traps.
func All() []Proof {
	return []Proof{
		{&deletedopenfiles.Trap, deletedopenfilesproof.Scenarios, nil},
		{&ksmscanrate.Trap, ksmscanrateproof.Scenarios, ksmscanrateproof.Experiments},
		{&bridgemtu.Trap, bridgemtuproof.Scenarios, bridgemtuproof.Experiments},
		{&raforwarding.Trap, raforwardingproof.Scenarios, raforwardingproof.Experiments},
		{&counterwrap.Trap, counterwrapproof.Scenarios, nil},
		{&sshslowlogin.Trap, sshslowloginproof.Scenarios, nil},
		{&sshcontrolsockets.Trap, sshcontrolsocketsproof.Scenarios, nil},
		{&journalaccess.Trap, journalaccessproof.Scenarios, nil},
		{&ldaptlsverify.Trap, ldaptlsverifyproof.Scenarios, nil},
		{&sshtotp.Trap, sshtotpproof.Scenarios, nil},
		{&mdadmbadblocks.Trap, mdadmbadblocksproof.Scenarios, mdadmbadblocksproof.Experiments},
		{&slowdisk.Trap, nil, slowdiskproof.Experiments},
		{&dmcachesmq.Trap, nil, dmcachesmqproof.Experiments},
		{&zfswritedistribution.Trap, zfswritedistributionproof.Scenarios, zfswritedistributionproof.Experiments},
	}
}

// Jobs is every scenario and experiment, without kernels.
func Jobs() []lab.Job {
	var jobs []lab.Job
	for _, p := range All() {
		jobs = append(jobs, jobsOf(p.Trap.ID(), p.Scenarios, p.Experiments)...)
	}
	jobs = append(jobs, jobsOf(remedyproof.Group, remedyproof.Scenarios, nil)...)
	return append(jobs, jobsOf("", nil, slices.Concat([]lab.Experiment{filesemantics.Experiment}, remedyproof.Experiments, powercut.Experiments))...)
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
