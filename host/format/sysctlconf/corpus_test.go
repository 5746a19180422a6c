package sysctlconf

// differential is the corpus for TestAgainstTheRealPrograms and the seeds of the fuzz target.
var differential = []struct{ name, keys, files string }{
	{"one file", "kernel/a kernel/b", "-- root/etc/sysctl.d/10-a.conf --\nkernel.a = one\n  kernel.b=two  \n"},
	{"later name wins", "kernel/a", `-- root/etc/sysctl.d/10-a.conf --
kernel.a = early
-- root/usr/lib/sysctl.d/50-b.conf --
kernel.a = later
`},
	{"names sort as bytes", "kernel/a", `-- root/etc/sysctl.d/9-a.conf --
kernel.a = nine
-- root/etc/sysctl.d/10-a.conf --
kernel.a = tenn
-- root/etc/sysctl.d/Z-a.conf --
kernel.a = big!
-- root/etc/sysctl.d/_.conf --
kernel.a = line
`},
	{"same name masks", "kernel/a kernel/b", `-- root/etc/sysctl.d/50-x.conf --
kernel.a = etcc
-- root/run/sysctl.d/50-x.conf --
kernel.a = runn
kernel.b = runn
-- root/usr/lib/sysctl.d/50-x.conf --
kernel.a = libb
kernel.b = libb
`},
	{"run before usr", "kernel/a", `-- root/usr/local/lib/sysctl.d/50-x.conf --
kernel.a = locl
-- root/run/sysctl.d/50-x.conf --
kernel.a = runn
`},
	{"local before vendor", "kernel/a", `-- root/usr/local/lib/sysctl.d/50-x.conf --
kernel.a = locl
-- root/usr/lib/sysctl.d/50-x.conf --
kernel.a = libb
`},
	{"link to /dev/null masks", "kernel/a", `-- link/etc/sysctl.d/50-x.conf --
/dev/null
-- root/usr/lib/sysctl.d/50-x.conf --
kernel.a = libb
`},
	{"broken link masks", "kernel/a", `-- link/etc/sysctl.d/50-x.conf --
/nonexistent
-- root/usr/lib/sysctl.d/50-x.conf --
kernel.a = libb
`},
	{"folder masks", "kernel/a", `-- root/etc/sysctl.d/50-x.conf/README --
-- root/usr/lib/sysctl.d/50-x.conf --
kernel.a = libb
`},
	{"empty file masks", "kernel/a", `-- root/etc/sysctl.d/50-x.conf --
-- root/usr/lib/sysctl.d/50-x.conf --
kernel.a = libb
`},
	{"other suffixes and hidden files", "kernel/a kernel/b", `-- root/etc/sysctl.d/50-x.conf.bak --
kernel.a = back
-- root/etc/sysctl.d/.50-x.conf --
kernel.a = hide
-- root/etc/sysctl.d/README --
kernel.b = read
`},
	{"sysctl.conf, not linked", "kernel/a", `-- root/etc/sysctl.conf --
kernel.a = main
-- root/etc/sysctl.d/zz.conf --
kernel.a = zzzz
`},
	{"sysctl.conf linked as in Debian 12", "kernel/a kernel/b", `-- root/etc/sysctl.conf --
kernel.a = main
kernel.b = main
-- link/etc/sysctl.d/99-sysctl.conf --
../sysctl.conf
-- root/etc/sysctl.d/99-z.conf --
kernel.a = zzzz
-- root/etc/sysctl.d/98-y.conf --
kernel.b = yyyy
`},
	{"comments", "kernel/a kernel/b kernel/c kernel/d", `-- root/etc/sysctl.d/10-a.conf --
# kernel.a = x
; kernel.b = x
   # kernel.c = x
kernel.d = some # text
`},
	{
		"spaces and signs in values",
		"kernel/a kernel/b kernel/c",
		"-- root/etc/sysctl.d/10-a.conf --\nkernel.a =  10 20\t30  \nkernel.b==x=y\nkernel.c=\n",
	},
	{"not assignments", "kernel/a kernel/b", `-- root/etc/sysctl.d/10-a.conf --
kernel.a
just words
= 5
-
-= 7
x
kernel.b = fine
`},
	{"spaces in the key", "kernel/a kernel/b", "-- root/etc/sysctl.d/10-a.conf --\n kernel.a\t= one\n - kernel.b = two\n"},
	{"dash", "kernel/a kernel/b", `-- root/etc/sysctl.d/10-a.conf --
-kernel.a = one
-kernel.absent = one
kernel.b = two
`},
	{"dash without a value takes back", "kernel/a kernel/b", `-- root/etc/sysctl.d/10-a.conf --
kernel.a = one
-kernel.a
-kernel.b
kernel.b = two
`},
	{"glob with a later key", "net/c/all/f net/c/default/f net/c/eth0/f net/c/lo/f", `-- root/etc/sysctl.d/10-a.conf --
net.c.*.f = 2
-- root/etc/sysctl.d/20-b.conf --
net.c.eth0.f = 1
`},
	{"glob with an earlier key", "net/c/all/f net/c/eth0/f", `-- root/etc/sysctl.d/10-a.conf --
net.c.eth0.f = 1
-- root/etc/sysctl.d/20-b.conf --
net.c.*.f = 2
`},
	{"glob with exclusions", "net/c/all/f net/c/default/f net/c/eth0/f net/c/eth1/f", `-- root/etc/sysctl.d/10-a.conf --
net.c.*.f = 2
-net.c.all.f
-net.c.eth*.f
`},
	{"exclusion before the glob", "net/c/all/f net/c/eth0/f", `-- root/etc/sysctl.d/10-a.conf --
-net.c.eth0.f
-- root/etc/sysctl.d/20-b.conf --
net.c.*.f = 2
`},
	{"two globs", "net/c/eth0/f net/c/wlan0/f", `-- root/etc/sysctl.d/10-a.conf --
net.c.eth*.f = 1
net.c.*.f = 2
`},
	{"two globs, the first repeated", "net/c/eth0/f net/c/wlan0/f", `-- root/etc/sysctl.d/10-a.conf --
net.c.*.f = 2
net.c.eth*.f = 1
net.c.*.f = 2
`},
	{"two globs, the first changed", "net/c/eth0/f net/c/wlan0/f", `-- root/etc/sysctl.d/10-a.conf --
net.c.*.f = 3
net.c.eth*.f = 1
net.c.*.f = 2
`},
	{"brackets", "net/c/eth0/f net/c/eth1/f net/c/eth5/f net/c/wlan0/f", `-- root/etc/sysctl.d/10-a.conf --
net.c.eth[0-3].f = 1
net.c.eth[!0-3].f = 2
net.c.[[:alpha:]]lan?.f = 3
`},
	{"bracket never closed", "net/c/eth[/f net/c/eth0/f", "-- root/etc/sysctl.d/10-a.conf --\nnet.c.eth[.f = 1\n"},
	{"glob does not cross slashes", "net/c/eth0/f net/c/eth0/deep/f", "-- root/etc/sysctl.d/10-a.conf --\nnet.c.*.f = 1\n"},
	{"dots in interface names", "net/c/eth0.100/f net/c/eth0.200/f net/c/eth0.300/f", `-- root/etc/sysctl.d/10-a.conf --
net.c.eth0/100.f = 1
net/c/eth0.200/f = 2
net.c.eth0.300.f = 3
`},
	{"same key, written both ways", "net/c/eth0/f", `-- root/etc/sysctl.d/10-a.conf --
net/c/eth0/f = 1
net.c.eth0.f = 2
net/c/eth0/f = 3
`},
	{"slashes in front and doubled", "net/c/eth0/f net/c/eth1/f", `-- root/etc/sysctl.d/10-a.conf --
/net/c/eth0/f = 1
net//c/eth1/f = 2
`},
	{"carriage returns", "kernel/a kernel/b", "-- root/etc/sysctl.d/10-a.conf --\nkernel.a = one\r\nkernel.b = two\r\n"},
	{"no newline at the end", "kernel/a kernel/b", "-- raw/etc/sysctl.d/10-a.conf --\n" + `"kernel.a = one\nkernel.b = two"`},
	{"later equal value keeps its place", "kernel/a", `-- root/etc/sysctl.d/10-a.conf --
kernel.a = one
-- root/etc/sysctl.d/20-a.conf --
kernel.a = one
`},
}
