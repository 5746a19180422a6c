package osrelease

import (
	"strings"

	"fettle/internal/lazy"
)

// older are the files that named distributions before os-release (systemd 29, 2011), and
// still do where it is missing. Those of derivatives come first: Ubuntu has a
// debian_version, Oracle a redhat-release.
var older = []struct {
	path string
	read func(text string) map[string]string
}{
	{"/etc/lsb-release", lsb},
	{"/etc/oracle-release", redHat},
	{"/etc/redhat-release", redHat},
	{"/etc/SuSE-release", suse},
	{"/etc/alpine-release", func(text string) map[string]string { return named("alpine", "", "Alpine Linux", version(text)) }},
	{"/etc/debian_version", debian},
}

func named(id, like, name, version string) map[string]string {
	if id == "" || version == "" {
		return nil
	}
	f := map[string]string{"ID": id, "NAME": name, "VERSION_ID": version, "PRETTY_NAME": name + " " + version}
	if like != "" {
		f["ID_LIKE"] = like
	}
	return f
}

var startsWithVersion = lazy.Regexp(`^\d+(\.\d+)*`)

func version(text string) string { return startsWithVersion().FindString(strings.TrimSpace(text)) }

// lsb reads /etc/lsb-release, the file of lsb_release(1). Of Debian's relatives Ubuntu and
// Mint write it.
func lsb(text string) map[string]string {
	v := Parse(text)
	id := strings.ToLower(v["DISTRIB_ID"])
	like := ""
	switch id {
	case "ubuntu":
		like = "debian"
	case "linuxmint":
		like = "ubuntu debian"
	}
	f := named(id, like, v["DISTRIB_ID"], v["DISTRIB_RELEASE"])
	if f == nil {
		return nil
	}
	if v["DISTRIB_CODENAME"] != "" {
		f["VERSION_CODENAME"] = v["DISTRIB_CODENAME"]
	}
	if v["DISTRIB_DESCRIPTION"] != "" {
		f["PRETTY_NAME"] = v["DISTRIB_DESCRIPTION"]
	}
	return f
}

var redHatLine = lazy.Regexp(`^(.*?)(?: Linux)?(?: Server| Workstation| Client| Stream)? release (\d+(?:\.\d+)*)`)

// redHats are the IDs that os-release has for the names in /etc/redhat-release.
var redHats = map[string]string{"Red Hat Enterprise": "rhel", "CentOS": "centos", "Fedora": "fedora", "Rocky": "rocky",
	"AlmaLinux": "almalinux", "Oracle": "ol", "Scientific": "scientific"}

// redHat reads "CentOS release 6.10 (Final)", "Red Hat Enterprise Linux Server release
// 7.9 (Maipo)".
func redHat(text string) map[string]string {
	m := redHatLine().FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return nil
	}
	id, like := redHats[m[1]], "rhel fedora"
	switch id {
	case "fedora":
		like = ""
	case "rhel":
		like = "fedora"
	}
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	f := named(id, like, strings.TrimSpace(strings.Split(line, " release ")[0]), m[2])
	if f != nil {
		f["PRETTY_NAME"] = f["NAME"] + " " + m[2]
	}
	return f
}

// suse reads "SUSE Linux Enterprise Server 11 (x86_64)", then VERSION and PATCHLEVEL.
func suse(text string) map[string]string {
	name, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	v := map[string]string{}
	for line := range strings.Lines(rest) {
		k, val, _ := strings.Cut(line, "=")
		v[strings.TrimSpace(k)] = strings.TrimSpace(val)
	}
	id := ""
	switch {
	case strings.HasPrefix(name, "openSUSE"):
		id = "opensuse"
	case strings.HasPrefix(name, "SUSE Linux Enterprise Server"):
		id = "sles"
	case strings.HasPrefix(name, "SUSE Linux Enterprise Desktop"):
		id = "sled"
	}
	release := v["VERSION"]
	if v["PATCHLEVEL"] != "" && v["PATCHLEVEL"] != "0" {
		release += "." + v["PATCHLEVEL"]
	}
	name, _, _ = strings.Cut(name, " (")
	return named(id, "suse", strings.TrimRight(name, " 0123456789."), version(release))
}

// debian reads "12.5", or "6.0.10"; os-release has the number before the first dot. A
// name ("bookworm/sid") is that of the next release, or of Ubuntu, and tells nothing.
func debian(text string) map[string]string {
	release := version(text)
	major, _, _ := strings.Cut(release, ".")
	f := named("debian", "", "Debian GNU/Linux", major)
	if f != nil {
		f["PRETTY_NAME"] = "Debian GNU/Linux " + release
	}
	return f
}
