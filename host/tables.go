package host

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
)

// Link is one network interface, in the form `ip -j -d address show` prints
// (iproute2 6.1, ip/ipaddress.c).
type Link struct {
	Index     int      `json:"ifindex"`
	Name      string   `json:"ifname"`             // as octets.Text writes it, like Parent and Master
	AltNames  []string `json:"altnames,omitempty"` // by which it can be asked for as well (ip-link(8), altname)
	Parent    string   `json:"link,omitempty"`     // the lower device of a VLAN, macvlan or veth
	Flags     []string `json:"flags"`              // UP, LOOPBACK, BROADCAST, LOWER_UP, …
	MTU       int      `json:"mtu"`                // bytes
	Master    string   `json:"master,omitempty"`
	OperState string   `json:"operstate"` // UP, DOWN, UNKNOWN, …
	LinkType  string   `json:"link_type"` // ether, loopback, …
	MAC       string   `json:"address,omitempty"`
	Info      LinkInfo `json:"linkinfo,omitzero"`
	Addrs     []Addr   `json:"addr_info"`
	// IPv6 is nil where the source does not tell, and of links without IPv6.
	IPv6 *IPv6Conf `json:"inet6_conf,omitempty"`
}

// IPv6Conf is what runs of a link's /proc/sys/net/ipv6/conf (ip-sysctl.rst), of
// all links in one answer. ip(8) does not print it.
type IPv6Conf struct {
	Forwarding         int `json:"forwarding"`
	AcceptRA           int `json:"accept_ra"`
	AcceptRADefaultRtr int `json:"accept_ra_defrtr"`
	Autoconf           int `json:"autoconf"`
	Disabled           int `json:"disable_ipv6"`
}

// LinkInfo tells what kind of device a link is ("bridge", "veth", "vlan",
// "bond", ""; a physical device has none) and what kind of master it is a port of.
type LinkInfo struct {
	Kind      string         `json:"info_kind,omitempty"`
	Data      map[string]any `json:"info_data,omitempty"`
	SlaveKind string         `json:"info_slave_kind,omitempty"`
}

// Addr is one address of a link.
type Addr struct {
	Family    string `json:"family"` // inet, inet6
	Local     string `json:"local"`
	PrefixLen int    `json:"prefixlen"`
	Scope     string `json:"scope"`                         // global, link, host
	Dynamic   bool   `json:"dynamic,omitempty"`             // has a lifetime: SLAAC or DHCP
	Valid     int64  `json:"valid_life_time,omitempty"`     // s; 4294967295 is forever
	Preferred int64  `json:"preferred_life_time,omitempty"` // s
}

// Has reports whether a flag is set on the link.
func (l Link) Has(flag string) bool {
	for _, f := range l.Flags {
		if f == flag {
			return true
		}
	}
	return false
}

// Route is one route, in the form `ip -j -6 route show table all` prints, or -4.
type Route struct {
	Type     string `json:"type,omitempty"` // empty is unicast
	Dst      string `json:"dst"`            // "default" or a prefix
	Gateway  string `json:"gateway,omitempty"`
	Dev      string `json:"dev,omitempty"`
	Table    string `json:"table,omitempty"`    // empty is main
	Protocol string `json:"protocol,omitempty"` // ra, kernel, static, boot, dhcp
	Metric   int    `json:"metric,omitempty"`
}

// Text is the route as ip(8) writes it, without its protocol and metric.
func (r *Route) Text() string {
	out := r.Dst
	for _, p := range [][2]string{{"via", r.Gateway}, {"dev", r.Dev}, {"table", r.Table}} {
		if p[1] != "" {
			out += " " + p[0] + " " + p[1]
		}
	}
	return strings.TrimSpace(r.Type + " " + out)
}

// Process is one running process.
type Process struct {
	PID  int    `json:"pid"`
	Comm string `json:"comm"` // as in /proc/PID/comm, at most 15 bytes
	UID  uint32 `json:"uid"`
	// Unit is the systemd unit read from the process's control group; empty
	// when it runs under none, and in a container. See Owner.
	Unit      string `json:"unit,omitempty"`
	Container string `json:"container,omitempty"`
	Inside    string `json:"inside,omitempty"`
	// OtherPIDs: it lives in a PID namespace that is not the host's own
	// (pid_namespaces(7)): a container, or a sandbox.
	OtherPIDs bool `json:"other_pids,omitempty"`
}

// Own reports whether a process is one of the host's own, not of a container's.
func (p Process) Own() bool { return p.Container == "" && !p.OtherPIDs }

// OpenFile is one regular file that a process holds open or has mapped
// (executable or shared), and that is deleted, or open for writing in a folder
// for logs (see LogPath). Shared memory (memfd, /dev/shm, System V) and files of network
// file systems are left out. Source: /proc/PID/fd, exe and maps, proc(5).
type OpenFile struct {
	PID  int    `json:"pid"`
	Comm string `json:"comm"`
	UID  uint32 `json:"uid"`
	// Unit, Container and Inside are those of its process.
	Unit      string `json:"unit,omitempty"`
	Container string `json:"container,omitempty"`
	Inside    string `json:"inside,omitempty"`
	// FD is the descriptor; -1 for a mapping that no descriptor holds.
	FD int `json:"fd"`
	// Path is the name the kernel gives now: after a rename the new one, of a
	// deleted file the last one (without " (deleted)").
	Path string `json:"path"`
	// Elsewhere says that the process lives in a mount namespace with another
	// root folder (a container): Path is a path there.
	Elsewhere bool `json:"elsewhere,omitempty"`
	Deleted   bool `json:"deleted,omitempty"` // the name is gone; the file lives on while open, or by another of its Links
	Write     bool `json:"write,omitempty"`   // open for writing
	Mapped    bool `json:"mapped,omitempty"`
	Exec      bool `json:"exec,omitempty"`    // mapped executable: a program or a library
	Program   bool `json:"program,omitempty"` // the process's own program, /proc/PID/exe
	// Links is how many names the file has now (st_nlink): a deleted file with
	// none is freed when it is closed.
	Links  uint64 `json:"links,omitempty"`
	Dev    uint64 `json:"dev"`
	Ino    uint64 `json:"ino"`
	Size   int64  `json:"size"`   // bytes
	Blocks int64  `json:"blocks"` // of 512 bytes, as st_blocks
}

// OpenFiles is TableOpenFiles. Denied counts processes that could not be
// looked into (of other users, without root); then what is not listed may
// still be there.
type OpenFiles struct {
	Files  []OpenFile `json:"files"`
	Looked int        `json:"looked"` // processes looked into
	Denied int        `json:"denied"` // processes that could not be looked into
	// Refused are the least PIDs of these, RefusedLimit at most; empty where
	// the source does not tell.
	Refused []int `json:"refused,omitempty"`
}

// RefusedLimit is how many PIDs OpenFiles names.
const RefusedLimit = 5

// Filesystem is one mount and how full it is.
type Filesystem struct {
	Device  string `json:"device"`
	Mount   string `json:"mount"`
	Type    string `json:"type"`
	Options string `json:"options"`
	Dev     uint64 `json:"dev"` // as st_dev; 0 when not looked at
	// Network is set for file systems that may hang; they have no figures.
	Network bool   `json:"network,omitempty"`
	Size    uint64 `json:"size"`  // bytes
	Free    uint64 `json:"free"`  // bytes, to root
	Avail   uint64 `json:"avail"` // bytes, to others
	Files   uint64 `json:"files"` // inodes
	FFree   uint64 `json:"ffree"`
}

// Links lists the links of the host's network namespace, from netlink on a
// live host: /sys/class/net shows the namespace of whoever mounted it.
func (h *Host) Links(ctx context.Context) ([]Link, error) {
	return readTable[[]Link](ctx, h, TableLinks)
}

// Routes6 lists the IPv6 routes of all tables.
func (h *Host) Routes6(ctx context.Context) ([]Route, error) {
	return readTable[[]Route](ctx, h, TableRoutes6)
}

// Routes4 lists the IPv4 routes of all tables.
func (h *Host) Routes4(ctx context.Context) ([]Route, error) {
	return readTable[[]Route](ctx, h, TableRoutes4)
}

// PolicyRule is a rule that chooses a table of routes (ip-rule(8)).
type PolicyRule struct {
	Family   string `json:"family"` // inet, inet6
	Priority int    `json:"priority"`
	Src      string `json:"src"` // a prefix, or all
	Dst      string `json:"dst"`
	Mark     string `json:"fwmark,omitempty"` // hexadecimal
	Iif      string `json:"iif,omitempty"`
	Oif      string `json:"oif,omitempty"`
	Table    string `json:"table"`
	Protocol string `json:"protocol"` // who made it: kernel; unspec or boot: ip(8), among others
}

// Rules lists the policy rules of IPv4 and IPv6.
func (h *Host) Rules(ctx context.Context) ([]PolicyRule, error) {
	return readTable[[]PolicyRule](ctx, h, TableRules)
}

// Neighbour is an entry of the neighbour table that does not expire (ip-neighbour(8), nud permanent).
type Neighbour struct {
	Dst    string `json:"dst"`
	Dev    string `json:"dev"`
	LLAddr string `json:"lladdr"`
}

// Neighbours lists the permanent neighbours.
func (h *Host) Neighbours(ctx context.Context) ([]Neighbour, error) {
	return readTable[[]Neighbour](ctx, h, TableNeighbours)
}

// Processes lists what runs.
func (h *Host) Processes(ctx context.Context) ([]Process, error) {
	return readTable[[]Process](ctx, h, TableProcesses)
}

// OpenFiles lists deleted and written files that processes hold.
func (h *Host) OpenFiles(ctx context.Context) (OpenFiles, error) {
	return readTable[OpenFiles](ctx, h, TableOpenFiles)
}

// Filesystems lists what is mounted.
func (h *Host) Filesystems(ctx context.Context) ([]Filesystem, error) {
	return readTable[[]Filesystem](ctx, h, TableFilesystems)
}

// NetworkFilesystem reports whether a file system of this type can hang
// because another machine does not answer (or, for autofs, mounts on touch).
func NetworkFilesystem(fstype string) bool {
	switch fstype {
	case "nfs", "nfs4", "cifs", "smb3", "smbfs", "ceph", "9p", "afs", "ncpfs", "lustre", "beegfs", "orangefs",
		"ocfs2", "gfs2", "glusterfs", "autofs", "coda", "davfs":
		return true
	}
	return len(fstype) > 5 && fstype[:5] == "fuse." && fstype != "fuse.lxcfs"
}

// localFilesystems answer by themselves: from a disk or from the kernel's
// memory. Not among them: servers of FUSE, which are programs that may hang,
// and all that nobody here has heard of.
var localFilesystems = sync.OnceValue(func() map[string]bool {
	m := map[string]bool{}
	for name := range strings.FieldsSeq(`
		ext2 ext3 ext4 xfs btrfs zfs f2fs jfs reiserfs reiser4 bcachefs nilfs2 vfat msdos exfat ntfs ntfs3 hfs hfsplus udf iso9660
		squashfs erofs cramfs romfs minix sysv ufs qnx4 qnx6 bfs befs affs adfs efs omfs ubifs jffs2 yaffs2 zonefs
		overlay aufs unionfs ecryptfs shiftfs hostfs rootfs ramfs tmpfs devtmpfs hugetlbfs
		proc sysfs devpts cgroup cgroup2 cpuset debugfs tracefs securityfs selinuxfs smackfs configfs pstore bpf mqueue efivarfs
		binfmt_misc fusectl functionfs rpc_pipefs nfsd nsfs pipefs sockfs resctrl xenfs binder
		fuse.lxcfs`) { // the last replaces files of /proc in containers
		m[name] = true
	}
	return m
})

// MayHang reports whether a file system of this type may hang because somebody
// else does not answer: another machine, or a program. What is not known to be
// local may.
func MayHang(fstype string) bool { return !localFilesystems()[fstype] }

func readTable[T any](ctx context.Context, h *Host, t Table) (T, error) {
	var v T
	b, err := h.table(ctx, t)
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(b, &v); err != nil {
		return v, fmt.Errorf("table %s of %s: %w", t, h.Name(), err)
	}
	return v, nil
}
