package sosreport

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"fettle/host"
)

// told answers files of which other outputs tell: by their content, or by
// their certain absence.
func (s *Source) told(name string) ([]byte, error) {
	switch {
	case name == "/run/systemd/container" || name == "/.dockerenv" || name == "/run/.containerenv":
		return s.containerFile(name)
	case strings.HasPrefix(name, "/sys/class/net/"):
		return s.nicFile(name)
	case name == "/sys/module/zfs" || strings.HasPrefix(name, "/sys/module/zfs/"):
		return nil, s.absentWithout("zfs", name)
	case name == "/sys/devices/system/edac/mc":
		return nil, s.absentWithout("_edac", name)
	case name == "/sys/firmware/acpi/tables/SPCR":
		return nil, s.withoutTable("SPCR", name)
	case strings.HasPrefix(name, "/etc/sysconfig/"):
		if _, err := s.dpkgStatus(); err != nil {
			return nil, notCollected("read", name)
		}
		return nil, &pathError{Op: "read", Path: name, Err: host.ErrAbsent} // Red Hat's
	case name == "/run/systemd/timesync/synchronized":
		return nil, s.clockAnswered(name)
	case name == "/boot" || strings.HasPrefix(name, "/boot/"):
		return nil, s.bootless(name)
	}
	if s.foreign(name) {
		return nil, &pathError{Op: "read", Path: name, Err: host.ErrAbsent}
	}
	return nil, notCollected("read", name)
}

// hostnamectl is what it says of the host, by label.
func (s *Source) hostnamectl() (map[string]string, error) {
	text, err := s.output("sos_commands/host/hostnamectl_status", "sos_commands/host/hostnamectl", "sos_commands/systemd/hostnamectl_status")
	if err != nil {
		return nil, err
	}
	values := map[string]string{}
	for line := range strings.Lines(text) {
		k, v, _ := strings.Cut(line, ":")
		values[strings.TrimSpace(k)] = strings.TrimSpace(v)
	}
	if values["Kernel"] == "" {
		return nil, notCollected("read", "hostnamectl")
	}
	return values, nil
}

// containerFile answers the marks of containers: "Chassis: container",
// "Virtualization: lxc". Where hostnamectl had no answer, a host on which ps shows the
// kernel's own threads is none.
func (s *Source) containerFile(name string) ([]byte, error) {
	values, err := s.hostnamectl()
	switch inside := strings.HasPrefix(values["Chassis"], "container"); {
	case err != nil && !s.kernelThreads():
		return nil, err
	case inside && name == "/run/systemd/container":
		return []byte(values["Virtualization"] + "\n"), nil
	}
	return nil, &pathError{Op: "read", Path: name, Err: host.ErrAbsent}
}

// kernelThreads reports whether ps showed kthreadd, which other PID namespaces than
// the kernel's first do not have.
func (s *Source) kernelThreads() bool {
	ps, err := s.processes()
	return err == nil && slices.ContainsFunc(ps, func(p host.Process) bool { return p.PID == 2 && p.Comm == "kthreadd" })
}

func (s *Source) machineID() ([]byte, error) {
	values, err := s.hostnamectl()
	if err != nil {
		return nil, err
	}
	if values["Machine ID"] == "" {
		return nil, notCollected("read", "/etc/machine-id")
	}
	return []byte(values["Machine ID"] + "\n"), nil
}

// nicFile answers what ethtool says of a card: its duplex and whether it has a
// link. Of an interface without such (lo, a bridge) the kernel has no answer.
func (s *Source) nicFile(name string) ([]byte, error) {
	what, nic := path.Base(name), path.Base(path.Dir(name))
	if nic == "lo" && what == "duplex" { // it has none, and ethtool is not asked
		return nil, &pathError{Op: "read", Path: name, Err: host.ErrAbsent}
	}
	label, ok := map[string]string{"duplex": "Duplex", "carrier": "Link detected"}[what]
	if !ok {
		return nil, notCollected("read", name)
	}
	text, err := s.output("sos_commands/networking/ethtool_" + nic)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(text) {
		k, v, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if k == label {
			v = strings.ToLower(v)
			return []byte(strings.NewReplacer("yes", "1", "no", "0").Replace(v) + "\n"), nil
		}
	}
	return nil, &pathError{Op: "read", Path: name, Err: host.ErrAbsent}
}

// absentWithout: no module whose name ends so is loaded, and these are never
// built into the kernels of distributions; so the path is not there.
func (s *Source) absentWithout(module, name string) error {
	text, err := s.output("proc/modules", "sos_commands/kernel/lsmod", "lsmod")
	if err != nil {
		return err
	}
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 0 && strings.HasSuffix(f[0], module) {
			return notCollected("read", name)
		}
	}
	if s.id.Machine != "x86_64" {
		return notCollected("read", name)
	}
	return &pathError{Op: "read", Path: name, Err: host.ErrAbsent}
}

// withoutTable: the kernel names each table of ACPI when it boots, "ACPI: SPCR
// 0x…"; where it named others, and not this one, there is none.
func (s *Source) withoutTable(table, name string) error {
	text, err := s.output("sos_commands/kernel/dmesg", "sos_commands/boot/dmesg", "var/log/dmesg")
	if err != nil || !strings.Contains(text, "Linux version ") || !strings.Contains(text, "ACPI: FACP ") ||
		strings.Contains(text, "ACPI: "+table+" ") {
		return notCollected("read", name)
	}
	return &pathError{Op: "read", Path: name, Err: host.ErrAbsent}
}

// bootless: a container boots no kernel, and without a package of one it has none.
func (s *Source) bootless(name string) error {
	names, err := s.installed()
	if err != nil {
		return err
	}
	if _, err := s.containerFile("/run/systemd/container"); err != nil {
		return notCollected("read", name)
	}
	for _, n := range names {
		if strings.HasPrefix(n, "linux-image") || strings.HasPrefix(n, "kernel") {
			return notCollected("read", name)
		}
	}
	return &pathError{Op: "read", Path: name, Err: host.ErrAbsent}
}

// dpkgUpdates is whether /var/lib/dpkg/updates holds an interrupted run's
// notes: apt-get check refuses its work then (apt, apt-pkg/deb/debsystem.cc,
// CheckUpdates).
func (s *Source) dpkgUpdates() ([]host.Entry, error) {
	text, err := s.output("sos_commands/apt/apt-get_check")
	switch {
	case err != nil:
		return nil, notCollected("readdir", "/var/lib/dpkg/updates")
	case strings.Contains(text, "dpkg was interrupted"):
		return []host.Entry{{Name: "0000"}}, nil
	case strings.Contains(text, "Building dependency tree"):
		return nil, nil
	}
	return nil, notCollected("readdir", "/var/lib/dpkg/updates")
}

// belongs lists configuration that comes with packages, by how their names
// begin, or by their whole names, which end in $ here: where none of them is
// installed, there is none.
var belongs = []struct {
	place    string
	packages []string
}{
	{"/etc/ldap.conf", []string{"libnss-ldap", "libpam-ldap", "ldap-auth", "nss_ldap", "pam_ldap", "nss-pam-ldap"}},
	{"/etc/libnss-ldap.conf", []string{"libnss-ldap"}},
	{"/etc/pam_ldap.conf", []string{"libpam-ldap", "pam_ldap"}},
	{"/etc/nslcd.conf", []string{"nslcd", "nss-pam-ldap"}},
	{"/etc/ldap/ldap.conf", []string{"libldap", "ldap-"}},
	{"/etc/openldap/ldap.conf", []string{"openldap"}},
	{"/etc/sssd", []string{"sssd"}},
	{"/etc/postgresql", []string{"postgresql"}},
	{"/var/lib/postgresql", []string{"postgresql"}},
	{"/var/lib/pgsql", []string{"postgresql"}},
	{"/etc/mrtg", []string{"mrtg"}},
	{"/etc/mrtg.cfg", []string{"mrtg"}},
	{"/etc/mrtg.d", []string{"mrtg"}},
	{"/etc/letsencrypt", []string{"certbot", "letsencrypt", "dehydrated"}}, // certbot also as a snap
	{"/etc/telegraf", []string{"telegraf"}},
	{"/etc/collectd", []string{"collectd"}},
	{"/etc/collectd.conf", []string{"collectd"}},
	{"/etc/collectd.d", []string{"collectd"}},
	{"/etc/munin", []string{"munin"}},
	{"/etc/prometheus", []string{"prometheus", "snmp_exporter"}},
	{"/etc/snmp_exporter", []string{"prometheus", "snmp_exporter"}},
	{"/etc/dnsmasq.conf", []string{"dnsmasq$"}},
	{"/etc/dnsmasq.d", []string{"dnsmasq$"}},
	{"/etc/default/tftpd-hpa", []string{"tftpd-hpa"}},
	{"/etc/default/atftpd", []string{"atftpd"}},
	{"/etc/inetd.conf", []string{"openbsd-inetd", "inetutils-inetd", "rlinetd", "inetd"}},
	{"/usr/lib/systemd/system/tftp.service", []string{"tftp-server"}},
	{"/etc/xinetd.d", []string{"xinetd"}},
	{"/var/lib/libvirt", []string{"libvirt"}},
	{"/etc/nut", []string{"nut"}},
	{"/etc/apcupsd", []string{"apcupsd"}},
	{"/etc/ser2net.conf", []string{"ser2net"}},
	{"/etc/ser2net.yaml", []string{"ser2net"}},
	{"/etc/docker", []string{"docker"}},
	{"/etc/netplan", []string{"netplan"}},
	{"/run/netplan", []string{"netplan"}},
	{"/lib/netplan", []string{"netplan"}},
	{"/usr/lib/netplan", []string{"netplan"}},
	{"/var/lib/dpkg", []string{"dpkg$"}},
	{"/etc/apt", []string{"apt$"}},
	{"/etc/locale.gen", []string{"locales"}},
	{"/etc/yum.repos.d", []string{"yum", "dnf"}},
	{"/usr/etc", []string{"aaa_base"}},        // SUSE's own
	{"/var/lib/postgres", []string{"pacman"}}, // Arch's name of the folder
	{"/var/snap", []string{"snapd"}},
	{"/etc/default/grub", []string{"grub"}},
	{"/etc/kernel/proxmox-boot-pin", []string{"proxmox", "pve"}},
}

// foreign tells that a path belongs to packages none of which is installed.
func (s *Source) foreign(name string) bool {
	for _, b := range belongs {
		if name != b.place && !strings.HasPrefix(name, b.place+"/") {
			continue
		}
		names, err := s.installed()
		if err != nil {
			return false
		}
		for _, n := range names {
			for _, p := range b.packages {
				if strings.HasPrefix(n+"$", p) {
					return false
				}
			}
		}
		return true
	}
	return false
}

// shipped reports whether a path is a program of an installed package, of which sos keeps
// neither a copy nor, unless its own plugin ran, a listing.
func (s *Source) shipped(name string) bool {
	switch strings.TrimPrefix(name, "/usr") {
	case "/lib/systemd/systemd", "/lib/systemd/systemd-journald":
		names, err := s.installed()
		return err == nil && slices.Contains(names, "systemd")
	}
	return false
}

// packageNames are all packages of which anything is on the host, also those
// removed but for their configuration.
func (s *Source) packageNames() ([]string, error) {
	var names []string
	if b, err := s.dpkgStatus(); err == nil {
		for line := range strings.Lines(string(b)) {
			if n, ok := strings.CutPrefix(line, "Package: "); ok {
				names = append(names, strings.TrimSpace(n))
			}
		}
	} else if text, err := s.output(installedRPMs...); err == nil {
		for line := range strings.Lines(string(parseRPMs(text))) {
			n, _, _ := strings.Cut(line, "\t")
			names = append(names, n)
		}
	}
	if len(names) < 50 { // no whole system
		return nil, fmt.Errorf("the list of packages: %w", host.ErrNotCollected)
	}
	if text, err := s.output("sos_commands/snap/snap_list", "installed-snaps"); err == nil {
		for line := range strings.Lines(text) {
			n, _, _ := strings.Cut(line, " ")
			names = append(names, n)
		}
	}
	return names, nil
}
