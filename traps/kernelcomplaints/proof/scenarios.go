// Package proof shows kernel-complaints on throwaway kernels: what their own
// log says when memory runs out, and when a disk fails.
package proof

import "fettle/lab"

// Scenarios: a program that eats all memory, a disk whose second half is
// broken, and a machine that has nothing to complain of.
var Scenarios = []lab.Scenario{
	{
		Name: "out-of-memory", About: "A program that takes all memory is killed", Unfixable: true, Subject: "program tail",
		Needs:   lab.Needs{Engine: "uml", Tools: []string{"tail", "dmesg", "sh"}},
		Prepare: []lab.Act{{Run: []string{"sh", "-c", "tail /dev/zero || true"}}},
		Probes: []lab.Probe{
			{
				Name: "the kernel's ring",
				Run:  []string{"dmesg"},
				Find: `(?s)(Out of memory: Killed process \d+ \(tail\))`,
				Want: []string{`Out of memory: Killed process \d+ \(tail\)`},
			},
		},
	},
	{
		Name: "broken-disk", About: "A disk whose sectors cannot be read (dm-error)", Unfixable: true, Subject: "disk dm-0",
		Needs: lab.Needs{Engine: "uml", Modules: []string{"dm-mod"}, Tools: []string{"dmsetup", "dd", "dmesg", "sh"}},
		Prepare: []lab.Act{
			{Run: []string{"dmsetup", "create", "--noudevrules", "--noudevsync", "broken", "--table", "0 2048 error"}},
			{Run: []string{"dmsetup", "mknodes"}},
			{Run: []string{"sh", "-c", "dd if=/dev/mapper/broken of=/dev/null bs=4096 count=1 || true"}},
		},
		Probes: []lab.Probe{
			{Name: "the kernel's ring", Run: []string{"dmesg"}, Find: `(?s)(I/O error on dev dm-0)`, Want: []string{`I/O error on dev dm-0`}},
		},
	},
	{
		Name: "healthy", About: "A machine whose disk reads, and that has memory left", Innocent: true,
		Needs: lab.Needs{Engine: "uml", Modules: []string{"dm-mod", "dm-zero"}, Tools: []string{"dmsetup", "dd", "dmesg"}},
		Prepare: []lab.Act{
			{Run: []string{"dmsetup", "create", "--noudevrules", "--noudevsync", "whole", "--table", "0 2048 zero"}},
			{Run: []string{"dmsetup", "mknodes"}},
			{Run: []string{"dd", "if=/dev/mapper/whole", "of=/dev/null", "bs=4096", "count=1"}},
		},
	},
}
