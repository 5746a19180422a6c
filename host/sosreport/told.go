package sosreport

import (
	"fmt"
	"path"
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
// "Virtualization: lxc".
func (s *Source) containerFile(name string) ([]byte, error) {
	values, err := s.hostnamectl()
	switch inside := strings.HasPrefix(values["Chassis"], "container"); {
	case err != nil:
		return nil, err
	case inside && name == "/run/systemd/container":
		return []byte(values["Virtualization"] + "\n"), nil
	}
	return nil, &pathError{Op: "read", Path: name, Err: host.ErrAbsent}
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

// belongs lists configuration that comes with packages, by how their names
// begin: where none of them is installed, there is none.
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
	{"/etc/telegraf", []string{"telegraf"}},
	{"/etc/collectd", []string{"collectd"}},
	{"/etc/collectd.conf", []string{"collectd"}},
	{"/etc/collectd.d", []string{"collectd"}},
	{"/etc/munin", []string{"munin"}},
	{"/etc/prometheus", []string{"prometheus", "snmp_exporter"}},
	{"/etc/snmp_exporter", []string{"prometheus", "snmp_exporter"}},
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
				if strings.HasPrefix(n, p) {
					return false
				}
			}
		}
		return true
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
	return names, nil
}
