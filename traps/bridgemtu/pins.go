package bridgemtu

import (
	"context"
	"fmt"
	"os"
	"strings"

	"fettle/lab"
)

// pinCase is one way to set a bridge's MTU, or to leave it to its ports. A
// bridge br and the ports big (8950) and small (1400) are made, and then done
// is done.
type pinCase struct {
	name   string
	create []string // further arguments of "ip link add name br ... type bridge"
	do     []string // commands, after "ip link set dev"
	want   int      // the bridge's MTU then, Linux 4.17 to 6.18
	pinned bool     // a further port does not change it
}

// pinCases is the lore's table. The kernel test and the experiment try it.
var pinCases = []pinCase{
	{"a port of 8950 is added", nil, []string{"big master br"}, 8950, false},
	{"a port of 1400 is added", nil, []string{"small master br"}, 1400, false},
	{"the least of two ports counts", nil, []string{"big master br", "small master br"}, 1400, false},
	{"the least port is removed", nil, []string{"big master br", "small master br", "small nomaster"}, 8950, false},
	{"the last port is removed", nil, []string{"big master br", "big nomaster"}, 1500, false},
	{"a port's own MTU changes", nil, []string{"big master br", "big mtu 2000"}, 2000, false},
	{"created with mtu 1500", []string{"mtu", "1500"}, []string{"big master br"}, 8950, false},
	{"created with mtu 9000", []string{"mtu", "9000"}, []string{"small master br"}, 1400, false},
	{"set to the value it has", nil, []string{"br mtu 1500", "big master br"}, 8950, false},
	{"set to the value its port gave it", nil, []string{"big master br", "br mtu 8950", "small master br"}, 1400, false},
	{"set to another value", nil, []string{"br mtu 9000", "small master br"}, 9000, true},
	{"set to another value and back", nil, []string{"br mtu 1499", "br mtu 1500", "big master br"}, 1500, true},
	{"set above its least port", nil, []string{"small master br", "br mtu 9000"}, 9000, true},
	{"set, then its port removed", nil, []string{"small master br", "br mtu 9000", "small nomaster"}, 9000, true},
	{"set, then its port changed", nil, []string{"big master br", "br mtu 1500", "big mtu 3000"}, 1500, true},
	{"set while up", nil, []string{"br up", "br mtu 1499", "br mtu 1500", "big master br"}, 1500, true},
	{"master and mtu in one command", nil, []string{"big master br mtu 1500"}, 1500, false},
	{"port added, then given the MTU", nil, []string{"big master br", "big mtu 1500"}, 1500, false},
}

// group is that of the case's links: deleted together, the kernel waits but once.
const group = "7"

// try does the case with run, which runs commands of ip(8), and returns the
// bridge's MTU, and whether it is pinned: a port of 1300 then changes nothing.
func (c pinCase) try(run func(commands ...string) error, mtu func(link string) (int, error)) (got int, pinned bool, err error) {
	steps := []string{strings.Join(append([]string{"link add name br group", group}, c.create...), " ") + " type bridge"}
	for _, p := range []string{"big 8950", "small 1400", "least 1300"} {
		name, size, _ := strings.Cut(p, " ")
		steps = append(steps, fmt.Sprintf("link add name %[1]s group %[2]s mtu %[3]s type veth peer name %[1]speer mtu %[3]s", name, group, size))
	}
	for _, d := range c.do {
		steps = append(steps, "link set dev "+d)
	}
	if err := run(steps...); err != nil {
		return 0, false, err
	}
	if got, err = mtu("br"); err != nil {
		return got, false, err
	}
	if err := run("link set dev least master br"); err != nil {
		return got, false, err
	}
	then, err := mtu("br")
	if err != nil {
		return got, false, err
	}
	return got, then == got, run("link del group " + group)
}

var experiments = []lab.Experiment{{
	Name: "what-pins", About: "Which act raises, lowers and pins a bridge's MTU on this kernel",
	Needs: needs,
	Run: func(_ context.Context, b *lab.Bench) error {
		run := func(commands ...string) error {
			const batch = "/run/ip.batch" // of ip(8): a process for each would take most of the time
			if err := os.WriteFile(batch, []byte(strings.Join(commands, "\n")+"\n"), 0o600); err != nil {
				return err
			}
			_, err := b.Run("ip", "-batch", batch)
			return err
		}
		mtu := func(link string) (n int, err error) {
			out, err := os.ReadFile("/sys/class/net/" + link + "/mtu")
			if err == nil {
				_, err = fmt.Sscan(string(out), &n)
			}
			return n, err
		}
		b.Columns("What is done", "MTU then", "Pinned", "ip link set dev ...")
		for _, c := range pinCases {
			got, pinned, err := c.try(run, mtu)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			commands := c.do
			if c.create != nil {
				commands = append([]string{"(" + strings.Join(c.create, " ") + ")"}, c.do...)
			}
			b.Row(c.name, fmt.Sprint(got), map[bool]string{true: "yes", false: "no"}[pinned], strings.Join(commands, "; "))
			if got != c.want || pinned != c.pinned {
				b.Note("%q is not as on Linux 4.17 to 6.18: there the MTU is %d, pinned %v.", c.name, c.want, c.pinned)
			}
		}
		b.Note("The bridge br begins with 1500, the port big has 8950, small has 1400. Pinned: a further port of 1300 does not change it.")
		return nil
	},
}}
