package park

import "slices"

// distribution is where a release's packages come from.
type distribution struct {
	releases []string
	// packages are what the installer adds to the important packages of a server,
	// and sos.
	packages string
	sources  []string // lines of sources.list after "deb"; %s is the release
	// keyring is the package that holds the archive's keys, where Debian has none
	// of them; keyringSum is the SHA-256 of the keys.
	keyring, keyringSum string
}

var distributions = []distribution{
	{
		releases: []string{"bullseye", "bookworm", "trixie"},
		packages: "dbus,openssh-server,sosreport,ca-certificates,libpam-systemd,systemd-sysv,locales,sudo,systemd-timesyncd,apparmor",
		sources: []string{
			"http://deb.debian.org/debian %s main",
			"http://deb.debian.org/debian %s-updates main",
			"http://deb.debian.org/debian-security %s-security main",
		},
	},
	{
		releases: []string{"noble", "jammy"},
		packages: "dbus,openssh-server,sosreport,ca-certificates,libpam-systemd,systemd-sysv,locales,sudo,systemd-timesyncd,apparmor," +
			"ubuntu-minimal,netplan.io,rsyslog,unattended-upgrades",
		sources: []string{
			"http://archive.ubuntu.com/ubuntu %s main",
			"http://archive.ubuntu.com/ubuntu %s-updates main",
			"http://archive.ubuntu.com/ubuntu %s-security main",
		},
		keyring:    "ubuntu-keyring",
		keyringSum: "80a36b0a6de2f69f49d2df75ef473ccde121e9e190b9ea01d20a4f63778d5c31",
	},
}

// distributionOf is the one of a release, which is known.
func distributionOf(release string) distribution {
	return distributions[slices.IndexFunc(distributions, func(d distribution) bool { return slices.Contains(d.releases, release) })]
}

// releases are all that are known.
func releases() (all []string) {
	for _, d := range distributions {
		all = append(all, d.releases...)
	}
	return all
}
