package osrelease

import (
	"testing"

	"fettle/host/hosttest"
)

// TestOlder: where os-release is missing, or a link that leads nowhere, the file that
// named the distribution before tells.
func TestOlder(t *testing.T) {
	for text, want := range map[string]File{
		"-- root/etc/redhat-release --\nCentOS release 6.10 (Final)\n": {
			"/etc/redhat-release", fields("centos", "6.10", "CentOS 6.10", "rhel fedora")},
		"-- root/etc/redhat-release --\nRed Hat Enterprise Linux Server release 7.9 (Maipo)\n": {
			"/etc/redhat-release", fields("rhel", "7.9", "Red Hat Enterprise Linux Server 7.9", "fedora")},
		"-- root/etc/redhat-release --\nRocky Linux release 8.5 (Green Obsidian)\n": {
			"/etc/redhat-release", fields("rocky", "8.5", "Rocky Linux 8.5", "rhel fedora")},
		"-- root/etc/redhat-release --\nCentOS Stream release 9\n": {
			"/etc/redhat-release", fields("centos", "9", "CentOS Stream 9", "rhel fedora")},
		"-- root/etc/oracle-release --\nOracle Linux Server release 7.9\n" +
			"-- root/etc/redhat-release --\nRed Hat Enterprise Linux Server release 7.9 (Maipo)\n": {
			"/etc/oracle-release", fields("ol", "7.9", "Oracle Linux Server 7.9", "rhel fedora")},
		"-- root/etc/SuSE-release --\nSUSE Linux Enterprise Server 11 (x86_64)\nVERSION = 11\nPATCHLEVEL = 4\n": {
			"/etc/SuSE-release", fields("sles", "11.4", "SUSE Linux Enterprise Server 11.4", "suse")},
		"-- root/etc/SuSE-release --\nopenSUSE 13.1 (x86_64)\nVERSION = 13.1\nCODENAME = Bottle\n": {
			"/etc/SuSE-release", fields("opensuse", "13.1", "openSUSE 13.1", "suse")},
		"-- root/etc/debian_version --\n6.0.10\n":         {"/etc/debian_version", fields("debian", "6", "Debian 6.0.10", "")},
		"-- root/etc/alpine-release --\n3.18.4\n":         {"/etc/alpine-release", fields("alpine", "3.18.4", "Alpine Linux 3.18.4", "")},
		"-- root/etc/debian_version --\ntrixie/sid\n":     {},
		"-- root/etc/redhat-release --\nsomething else\n": {},
		"-- root/etc/debian_version --\nbuster/sid\n-- root/etc/lsb-release --\n" +
			"DISTRIB_ID=Ubuntu\nDISTRIB_RELEASE=20.04\nDISTRIB_CODENAME=focal\nDISTRIB_DESCRIPTION=\"Ubuntu 20.04.3 LTS\"\n": {
			"/etc/lsb-release", fields("ubuntu", "20.04", "Ubuntu 20.04.3 LTS", "debian")},
		"-- link/etc/os-release --\n../usr/lib/os-release\n-- root/etc/debian_version --\n12.5\n": {
			"/etc/debian_version", fields("debian", "12", "Debian 12.5", "")},
	} {
		got, err := Read(t.Context(), hosttest.New(t, text))
		if err != nil || got.Path != want.Path || got.ID() != want.ID() || got.Name() != want.Fields["PRETTY_NAME"] ||
			got.Fields["VERSION_ID"] != want.Fields["VERSION_ID"] || got.Fields["ID_LIKE"] != want.Fields["ID_LIKE"] {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}

func fields(id, version, name, like string) map[string]string {
	return map[string]string{"ID": id, "VERSION_ID": version, "PRETTY_NAME": name, "ID_LIKE": like}
}

// TestNotCollected: a report that lacks os-release, and has another.
func TestNotCollected(t *testing.T) {
	h := hosttest.New(t, "incomplete: true\n-- root/etc/lsb-release --\nDISTRIB_ID=Ubuntu\nDISTRIB_RELEASE=18.04\n")
	if got, err := Read(t.Context(), h); err != nil || got.ID() != "ubuntu" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := Read(t.Context(), hosttest.New(t, "incomplete: true\n")); err == nil {
		t.Error("of a report without any: no error")
	}
}
