package meaning

import (
	"fmt"
	"strconv"

	"fettle/internal/lazy"
)

// Constraints are what the kernel's OOM killer was bound to (mm/oom_kill.c, oom_constraint_text).
var Constraints = map[string]string{
	"CONSTRAINT_NONE":          "the memory of the whole system was used up",
	"CONSTRAINT_CPUSET":        "the memory nodes of a cpuset were used up",
	"CONSTRAINT_MEMORY_POLICY": "the memory nodes of a NUMA policy were used up",
	"CONSTRAINT_MEMCG": "a control group reached its memory limit (MemoryMax=, a container's limit); the rest of the system " +
		"had memory",
}

const oomSource = "the kernel's mm/oom_kill.c"

var (
	constraint = lazy.Regexp(`constraint=(CONSTRAINT_\w+)`)
	memcgKill  = lazy.Regexp(`Memory cgroup out of memory|memory: usage \d+kB, limit \d+kB`)
	killed     = lazy.Regexp(`[Kk]ill(?:ed)? process (\d+) \(([^)]*)\)(?:.*?anon-rss:(\d+)\s?kB)?`)
	invoked    = lazy.Regexp(`(\S+) invoked oom-killer`)
	oomTable   = lazy.Regexp(`^\[ *pid *\] +uid +tgid total_vm`)
	reaped     = lazy.Regexp(`oom_reaper: reaped process`)
)

func oom(text string) []Meaning {
	var out []Meaning
	if m := constraint().FindStringSubmatch(text); m != nil && Constraints[m[1]] != "" {
		out = append(out, Meaning{m[1], Constraints[m[1]], oomSource})
	}
	if m := memcgKill().FindString(text); m != "" {
		out = append(out, Meaning{m, Constraints["CONSTRAINT_MEMCG"], oomSource})
	}
	if m := killed().FindStringSubmatch(text); m != nil {
		says := "the OOM killer chose " + m[2] + ", the process whose end frees most; it need not be the one that grew"
		if kb, err := strconv.ParseInt(m[3], 10, 64); err == nil {
			says += fmt.Sprintf(" (it had %.1f GiB of its own)", float64(kb)/(1<<20))
		}
		out = append(out, Meaning{"Killed process", says, oomSource})
	}
	if m := invoked().FindStringSubmatch(text); m != nil {
		out = append(out, Meaning{"invoked oom-killer", m[1] + " asked for memory when there was none: it is not necessarily the cause",
			oomSource})
	}
	if oomTable().MatchString(text) {
		out = append(out, Meaning{"total_vm, rss",
			"the table of processes at that moment, in pages, usually of 4 KiB; rss is what each really used",
			"the kernel's mm/oom_kill.c, dump_tasks"})
	}
	if m := reaped().FindString(text); m != "" {
		out = append(out, Meaning{m, "the killed process's memory was taken back", oomSource})
	}
	return out
}
