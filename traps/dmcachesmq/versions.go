package dmcachesmq

import (
	"fmt"
	"strconv"
	"strings"

	"fettle/host/fact/kernelversion"
	"fettle/internal/lazy"
)

// fix is whether a kernel has the series of May 2017.
type mend int

const (
	unsure mend = iota
	before
	mended
)

// Linux 4.12 has the series 072792dcdfc8 to 2e63309507c8 of 2017-05-14, by the
// merge dac94e29110c ("for-4.12/dm-fixes-2"), which came after 4.12-rc1. It
// builds on the rework b29d4986d0da of 4.12-rc1, which made dm-cache's version
// 2.0.0 (drivers/md/dm-cache-target.c, cache_target; 1.9.0 in Linux 4.9): a
// kernel whose dm-cache is 1.x has neither, whoever built it. The stable
// series of 4.4 and 4.9 never took it.
const (
	smqCame    = "4.2-rc1" // 66a636356647
	mqIsSMQ    = "4.6-rc1" // mq is another name of smq since the merge 6968e6f8329d
	mendedIn   = "4.12"
	reworkedIn = 2 // the major version of dm-cache
)

// Red Hat's kernels of RHEL 7 are called 3.10.0 and carry much newer device
// mappers. That of 7.5, 3.10.0-862, has the rework and the series' changes to
// dm-cache-target.c (as published in OpenVZ's tree, 260cf7bc09e5). Of those
// before it nothing is known here.
var (
	rhel7       = lazy.Regexp(`^3\.10\.0-(\d+)\..*el7`)
	rhel7Mended = 862
)

// kernelOf tells whether a kernel has the series. policy is that of the cache:
// "" where it is not known; target dm-cache's version, as dmsetup targets
// prints it: "" likewise. why gives the reason for people.
func kernelOf(release, policy, target string) (m mend, why string) {
	v, err := kernelversion.Parse(release)
	if err != nil {
		return unsure, fmt.Sprintf("the kernel's version is not known: uname -r is %q", release)
	}
	switch {
	case !v.Before(mendedIn):
		return mended, "Linux 4.12 and newer have the fix"
	case target != "" && major(target) > 0 && major(target) < reworkedIn:
		return before, "dm-cache " + target + " is from before the rework of Linux 4.12, on which the fix is based"
	}
	if f := rhel7().FindStringSubmatch(release); f != nil {
		if n, _ := strconv.Atoi(f[1]); n >= rhel7Mended {
			return mended, "Red Hat's kernels have the fix since 3.10.0-862 (RHEL 7.5)"
		}
		return unsure, "whether Red Hat's kernels before 3.10.0-862 (RHEL 7.5) have the fix is not known"
	}
	switch {
	case major(target) >= reworkedIn:
		return unsure, "dm-cache " + target + " is newer than this kernel: its distribution backported the rework of Linux 4.12; whether it " +
			"also backported the fix of smq is not known"
	case v.Candidate() > 1 && !v.Before("4.12-rc2"):
		return unsure, "which release candidates of Linux 4.12 have the fix is not known"
	case v.Before(smqCame) && policy == "smq":
		return unsure, "smq came with Linux 4.2: this kernel has a backport, and whether it has the fix is not known"
	case v.Before(smqCame):
		return unsure, "before Linux 4.2 there was no smq"
	case v.Before(mqIsSMQ) && policy == "":
		return unsure, "whether the cache's policy is smq is not known"
	}
	return before, "Linux 4.2 to 4.11 have smq from before May 2017"
}

// smqPolicy tells whether the policy is smq: since Linux 4.6 mq is a name of it.
func smqPolicy(policy, release string) bool {
	v, err := kernelversion.Parse(release)
	return policy == "smq" || policy == "mq" && err == nil && !v.Before(mqIsSMQ)
}

// major is the first number of "2.0.0"; 0 of no version.
func major(version string) int {
	s, _, _ := strings.Cut(version, ".")
	n, _ := strconv.Atoi(s)
	return n
}

// cacheTarget finds dm-cache's version in the output of dmsetup targets:
// "cache            v2.0.0".
func cacheTarget(b []byte) string {
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "cache" {
			return strings.TrimPrefix(f[1], "v")
		}
	}
	return ""
}
