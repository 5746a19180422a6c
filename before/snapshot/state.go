// Package snapshot keeps what a host does before a restart, and tells afterwards what did
// not come back as it was.
package snapshot

import (
	"time"

	"fettle/host"
	"fettle/host/fact/startup"
)

// State is what a host does at a moment: what a restart can take from it. It holds no
// contents of files and no secrets; of firewall rules only marks by which they are known again.
type State struct {
	Host    string    `json:"host"`
	Time    time.Time `json:"time"`
	BootID  string    `json:"boot_id,omitempty"`
	Release string    `json:"release,omitempty"` // uname -r

	Units      map[string]Unit      `json:"units,omitempty"` // by name: services, sockets, timers, paths, mounts, swaps, automounts
	Listeners  []Listener           `json:"listeners,omitempty"`
	Mounts     map[string]Mount     `json:"mounts,omitempty"` // by mount point
	Links      map[string]Link      `json:"links,omitempty"`  // by name
	Routes     []Route              `json:"routes,omitempty"`
	Chains     map[string][]string  `json:"chains,omitempty"` // of nftables, by "family table chain": a mark of each rule
	Sysctls    map[string]string    `json:"sysctls,omitempty"`
	Arrays     map[string]Array     `json:"arrays,omitempty"` // MD, by name
	Swaps      []string             `json:"swaps,omitempty"`
	Containers map[string]Container `json:"containers,omitempty"` // by manager and id
	Zone       string               `json:"zone,omitempty"`       // what /etc/localtime leads to
	Resolvers  []string             `json:"resolvers,omitempty"`  // nameserver lines of resolv.conf
	// Jobs are the units that systemd is still starting or stopping.
	Jobs int `json:"jobs,omitempty"`
	// Unread says, of each area that could not be read, why.
	Unread map[Area]string `json:"unread,omitempty"`
}

// Area is a part of a state that is read, and compared, as a whole.
type Area string

// The areas, in the order in which what they lost is told.
const (
	Routes     Area = "routes"
	Links      Area = "links"
	Mounts     Area = "mounts"
	Arrays     Area = "arrays"
	Units      Area = "units"
	Containers Area = "containers"
	Listeners  Area = "listeners"
	Firewall   Area = "firewall"
	Sysctls    Area = "sysctls"
	Names      Area = "names" // host name, name servers, time zone
)

// Areas are all of them.
var Areas = []Area{Routes, Links, Mounts, Arrays, Units, Containers, Listeners, Firewall, Sysctls, Names}

// Unit is a unit of systemd.
type Unit struct {
	Active string `json:"active"` // ActiveState: active, inactive, failed, …
	Sub    string `json:"sub"`    // SubState: running, exited, listening, …
	File   string `json:"file"`   // UnitFileState: enabled, static, …
	Type   string `json:"type,omitempty"`
	// Started tells that something starts it at boot: another unit wants it.
	Started     bool     `json:"started,omitempty"`
	Transient   bool     `json:"transient,omitempty"`
	TriggeredBy []string `json:"triggered_by,omitempty"`
	// Runtime are drop-ins in /run, which no restart survives.
	Runtime []string `json:"runtime,omitempty"`
	// Limits are the hard limits of a service's main process.
	Limits startup.Limits `json:"limits,omitempty"`
}

// Listener is a socket that waits for others: TCP that listens, UDP that is bound.
type Listener struct {
	Proto   string `json:"proto"` // tcp, udp
	Address string `json:"address"`
	Port    int    `json:"port"`
	Program string `json:"program,omitempty"` // comm of one that holds it
	Unit    string `json:"unit,omitempty"`
	// Passing: the kernel chose the port (ip_local_port_range), or it is of somebody's session.
	Passing bool `json:"passing,omitempty"`
}

// Mount is one mounted file system.
type Mount struct {
	Device   string `json:"device"`
	Type     string `json:"type"`
	ReadOnly bool   `json:"read_only,omitempty"`
}

// Link is a network interface.
type Link struct {
	Up      bool     `json:"up"` // UP and LOWER_UP
	MTU     int      `json:"mtu"`
	Master  string   `json:"master,omitempty"`
	Kind    string   `json:"kind,omitempty"`
	Addrs   []string `json:"addrs,omitempty"`   // static ones, with the prefix length
	Dynamic []string `json:"dynamic,omitempty"` // families that have an address with a lifetime
}

// Route is a route that neither the kernel nor a router's advertisement made.
type Route struct {
	Family string `json:"family"` // inet, inet6
	host.Route
}

// Array is an MD array.
type Array struct {
	Level   string `json:"level"`
	Missing int    `json:"missing,omitempty"` // members
}

// Container is one that runs.
type Container struct {
	Program string `json:"program"` // comm of its first process
}
