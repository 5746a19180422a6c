package proof

import (
	"context"
	"fmt"

	"fettle/lab"
	"fettle/tools/measure/blockcache"
)

// Experiments are those of the trap. The group old needs the kernels of make
// lab-smq-old: two that differ in smq alone.
var Experiments = []lab.Experiment{
	ModelExperiment, RunsExperiment,
	{
		Name: "old/since-2017", About: "dm-cache with smq of Linux 6.1: a cache full of other data becomes fast",
		Long: true, Named: true, Needs: onBuilt(RunsExperiment.Needs, "smq-old/mended"),
		Run: func(ctx context.Context, b *lab.Bench) error { return otherDataIs(b, blockcache.Fast) },
	},
	{
		Name: "old/before-2017", About: "the same with smq as it was before May 2017: a cache full of other data stays slow",
		Long: true, Named: true, Needs: onBuilt(RunsExperiment.Needs, "smq-old/old"),
		Run: func(ctx context.Context, b *lab.Bench) error {
			return otherDataIs(b, blockcache.Slow, blockcache.Between)
		},
	},
	{
		Name: "old/rules", About: "which of the old rules keeps other data out: some fixed at a time",
		Long: true, Named: true, Needs: onBuilt(RunsExperiment.Needs, "smq-old/old"),
		Run: func(ctx context.Context, b *lab.Bench) error { return whichRule(b) },
	},
	{
		Name: "old/model", About: "the simulator's smq-4.11 beside a kernel with smq as it was: hit ratio over the cache's size, same requests",
		Long: true, Named: true, Needs: onBuilt(ModelExperiment.Needs, "smq-old/old"),
		// The kernel has the old policy on the new core.
		Run: func(ctx context.Context, b *lab.Bench) error { return besideModel(b, "smq-4.11+old-core=off", "smq") },
	},
}

func onBuilt(n lab.Needs, kernel string) lab.Needs {
	n.Kernel = kernel
	return n
}

// otherDataIs measures, and expects one of the verdicts for a cache that is full of other data.
func otherDataIs(b *lab.Bench, want ...blockcache.Answer) error {
	runs, err := runOn(b, false)
	if err != nil {
		return err
	}
	other := runs[len(runs)-1]
	if other.Verdict == nil {
		return fmt.Errorf("%s: no verdict: %s", other.Label, other.Why)
	}
	for _, w := range want {
		if other.Verdict.Answer == w && other.Verdict.Sure() {
			return nil
		}
	}
	return fmt.Errorf("%s: %s; it should be %v, and certain", other.Label, other.Verdict, want)
}
