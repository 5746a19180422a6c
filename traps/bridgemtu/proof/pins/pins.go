// Package pins is the table of what raises, lowers and pins a bridge's MTU, and
// how each of its lines is tried on a real kernel.
package pins

import (
	"fmt"
	"strings"
)

// Case is one way to set a bridge's MTU, or to leave it to its ports. A
// bridge br and the ports big (8950) and small (1400) are made, and then done
// is done.
type Case struct {
	Name   string
	Create []string // further arguments of "ip link add name br ... type bridge"
	Do     []string // commands, after "ip link set dev"
	Want   int      // the bridge's MTU then, Linux 4.17 to 6.18
	Pinned bool     // a further port does not change it
}

// Cases is the lore's table. The kernel test and the experiment try it.
var Cases = []Case{
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

// Try does the case with run, which runs commands of ip(8), and returns the
// bridge's MTU, and whether it is pinned: a port of 1300 then changes nothing.
func (c Case) Try(run func(commands ...string) error, mtu func(link string) (int, error)) (got int, pinned bool, err error) {
	steps := []string{strings.Join(append([]string{"link add name br group", group}, c.Create...), " ") + " type bridge"}
	for _, p := range []string{"big 8950", "small 1400", "least 1300"} {
		name, size, _ := strings.Cut(p, " ")
		steps = append(steps, fmt.Sprintf("link add name %[1]s group %[2]s mtu %[3]s type veth peer name %[1]speer mtu %[3]s", name, group, size))
	}
	for _, d := range c.Do {
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
