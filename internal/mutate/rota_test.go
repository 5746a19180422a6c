package main

import (
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"fettle/internal/means"
)

// Each run makes mistakes in as many packages as fit, this many in each at most.
const (
	rotaMistakes = 300
	rotaBudget   = 15 * time.Second // of CPU time; the compiler's counts
)

// slow are grave packages whose tests take longer than that by themselves.
var slow = []string{"engine/remedy", "engine/remedy/machine", "engine/remedy/step", "host/confine"}

// reached are packages with quick tests that have reached the goal, of all mistakes: they must keep it. Of the
// others what is not noticed is told, and no more.
var reached = []string{
	"before", "before/watch", "engine/pack", "engine/trap/traptest", "fleet/agent/spool", "fleet/hub/bus", "fleet/hub/ingest",
	"fleet/hub/join", "fleet/hub/synthetic", "host/fact/conffile", "host/fact/container", "host/fact/journal",
	"host/fact/kernelversion", "host/fact/machine", "host/fact/managed", "host/fact/mount", "host/fact/netstart",
	"host/fact/process", "host/fact/release", "host/fact/sshlogin", "host/fact/startup", "host/format/accounts",
	"host/format/aptsources", "host/format/blockconf", "host/format/bootloader", "host/format/certs", "host/format/confd",
	"host/format/crontab", "host/format/dmi", "host/format/fstab", "host/format/ini", "host/format/keyservers",
	"host/format/krb5", "host/format/mdadmconf", "host/format/mdstat", "host/format/nameservice", "host/format/netconf",
	"host/format/nftables", "host/format/openpgp", "host/format/osrelease", "host/format/pam", "host/format/spcr",
	"host/format/sshconfig", "host/format/tftpd", "host/format/tmpfiles", "host/format/udev", "host/mdraid", "host/sosreport",
	"host/supportconfig", "internal/asuser", "internal/build", "internal/chart", "internal/chart/draw", "internal/config",
	"internal/exposition", "internal/figures", "internal/files", "internal/fnmatch", "internal/folded", "internal/httpget",
	"internal/journald", "internal/jsondoc", "internal/mergeable", "internal/nearest", "internal/netdump", "internal/octets",
	"internal/records", "internal/sbom", "internal/shell", "internal/sorted", "internal/ssh", "internal/units",
	"internal/yamlfile", "lab/remedyproof", "lab/sabotage", "report", "report/accept", "report/history", "report/onhub",
	"tools/keypath/draw", "tools/keypath/fetch", "tools/measure/blockcache/trace", "tools/measure/counters/simulate",
	"tools/measure/render/caches", "tools/netboot/bmc", "tools/netboot/httpd", "tools/netboot/mirror", "tools/netboot/stale",
	"tools/netboot/tree", "tools/totp", "traps/bootdevicegone", "traps/bootentrybroken", "traps/certbotcannotrenew",
	"traps/certificatenotloaded", "traps/configurationrefused", "traps/crontablerefused", "traps/deletedopenfiles/steps",
	"traps/devicetimeoutatboot", "traps/fstabnotreloaded", "traps/interfacenotthere", "traps/kernelcomplaints",
	"traps/limitsbyhand", "traps/listenaddressbyhand", "traps/mdadmbadblocks", "traps/mountbyhand", "traps/netbootserial",
	"traps/netbootstale", "traps/networkbyhand", "traps/pammodulegone", "traps/rules/generate", "traps/rules/refresh",
	"traps/slowdisk", "traps/slowdisk/steps", "traps/sysctlbyhand", "traps/unitnotstartedatboot", "traps/unitsfailed",
	"traps/unitswaitforeachother", "traps/zfswritedistribution", "why", "why/firstlook", "why/meaning",
}

// TestRota makes mistakes in the package whose turn it is, by the number of commits, and in those after it.
func TestRota(t *testing.T) {
	means.Short(t, "compiles some packages, and runs their tests with some hundred mistakes")
	t.Chdir("../..")
	same, err := readEquivalents(equivalents)
	if err != nil {
		t.Fatal(err)
	}
	turn, pkgs, left := means.Commits(t), rotaPackages(), rotaBudget
	for i := range pkgs {
		if left <= 0 {
			break
		}
		pkg := pkgs[(turn+i)%len(pkgs)]
		g := &generation{sample: rotaMistakes, turn: turn / len(pkgs), limit: time.Minute, budget: left, log: os.Stderr}
		s, err := g.try(t.Context(), pkg, same)
		if err != nil {
			t.Fatal(err)
		}
		left -= s.spent
		t.Logf("%s: %d of %d mistakes are noticed, in %s of CPU time", pkg, s.noticed, s.tried(), s.spent.Round(time.Second))
		for _, m := range s.survivors {
			t.Logf("not noticed: %s", m)
		}
		if slices.Contains(reached, pkg) && improbable(s.noticed, s.tried(), s.wanted()) {
			t.Errorf("%s: only %d of %d mistakes are noticed: go run ./internal/mutate %s", pkg, s.noticed, s.tried(), pkg)
		}
	}
}

// improbable tells whether so few are noticed less than once in a thousand samples, were it so many of 100 of all.
func improbable(noticed, tried, of100 int) bool {
	rate, below := float64(of100)/100, 0.0
	lgamma := func(n int) float64 { v, _ := math.Lgamma(float64(n + 1)); return v }
	for k := 0; k <= noticed; k++ {
		below += math.Exp(lgamma(tried) - lgamma(k) - lgamma(tried-k) + float64(k)*math.Log(rate) + float64(tried-k)*math.Log(1-rate))
	}
	return below < 0.001
}

// The bounds are exact: P(X <= 2) of 6 at 0.9 is 0.00127, P(X <= 1) 0.000055; P(X <= 252) of 300 is 0.00080, P(X <= 253) 0.00141.
func TestImprobable(t *testing.T) {
	for _, c := range []struct {
		noticed, tried, of100 int
		want                  bool
	}{
		{0, 0, 90, false}, {2, 6, 90, false}, {1, 6, 90, true}, {0, 2, 90, false}, {0, 4, 90, true},
		{0, 4, 75, false}, {0, 5, 75, true}, {200, 300, 75, true}, {201, 300, 75, false},
		{300, 300, 90, false}, {252, 300, 90, true}, {253, 300, 90, false},
	} {
		if got := improbable(c.noticed, c.tried, c.of100); got != c.want {
			t.Errorf("%d of %d, of 100 %d: %v", c.noticed, c.tried, c.of100, got)
		}
	}
}

// TestRotaPackages: what is called slow is grave, and the others have their turn, as has what reached its goal.
func TestRotaPackages(t *testing.T) {
	got := rotaPackages()
	for _, p := range slices.Concat(grave, reached) {
		if slices.Contains(got, p) == slices.Contains(slow, p) {
			t.Errorf("%s: a turn and slow, or neither", p)
		}
	}
	if slices.Sort(got); len(slices.Compact(got)) != len(got) {
		t.Error("a package has two turns")
	}
}

// rotaPackages are those that have a turn.
func rotaPackages() []string {
	all := slices.Clone(grave)
	for _, p := range reached {
		if !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return slices.DeleteFunc(all, func(p string) bool { return slices.Contains(slow, p) })
}
