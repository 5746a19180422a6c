// Package proof shows openpgp-keyservers on throwaway machines: a real gpg with
// its dirmngr, and a real keyserver (SKS) that has one key.
package proof

import (
	"time"

	"fettle/lab"
)

// archiveKey is a key that Debian's archive is signed with, and keyID its id.
const (
	archiveKey = "/usr/share/keyrings/debian-archive-bookworm-stable.gpg"
	keyID      = "0xF8D2585B8783D481"
	server     = "hkp://keys.lab:11371"
)

var needs = lab.Needs{MemMiB: 512, Limit: 4 * time.Minute, Files: []string{archiveKey},
	Tools: []string{
		"sh",
		"mkdir",
		"cp",
		"grep",
		"chmod",
		"test",
		"rm",
		"cat",
		"gpg",
		"gpg-agent",
		"gpgconf",
		"gpg-connect-agent",
		"dirmngr",
		"sks",
		"dnsmasq",
	}}

// fetches is what gpg says when it asks for the key, with a dirmngr that has
// just read its configuration.
func fetches() []string {
	return []string{
		"sh",
		"-c",
		"rm -f /root/.gnupg/pubring.kbx; gpgconf " +
			"--kill dirmngr; gpg --batch --recv-keys " + keyID + " 2>&1 | grep -E 'imported: 1|receive failed'",
	}
}

var received = []string{"gpg: keyserver receive failed: .*", ".*imported: 1", "gpg: keyserver receive failed: .*"}

// keyserver runs SKS, and a name server that knows no name at all, as the
// root's know none of the dead ones.
func keyserver(conf ...lab.Act) []lab.Act {
	return append([]lab.Act{
		{
			Run: []string{
				"mkdir",
				"-p",
				"/run/sks/dump",
				"/run/sks/etc/sks",
				"/run/sks/var/log/sks",
				"/run/sks/var/lib/sks",
				"/run/sks/var/spool/sks",
				"/run/sks/var/run/sks",
				"/root/.gnupg",
				"/tmp",
			},
		},
		{Run: []string{"chmod", "700", "/root/.gnupg"}},
		{Run: []string{"cp", archiveKey, "/run/sks/dump/0.pgp"}},
		{
			Write: &lab.File{
				Path:    "/run/sks/etc/sks/sksconf",
				Content: "hostname: localhost\nhkp_address: 127.0.0.1\nhkp_port: 11371\ndisable_mailsync:\n",
			},
		},
		{Run: []string{"sh", "-c", "cd /run/sks && sks build dump/0.pgp -basedir /run/sks"}},
		{Start: []string{"sks", "db", "-basedir", "/run/sks"}},
		{
			Start: []string{
				"dnsmasq",
				"-k",
				"-u",
				"root",
				"-C",
				"/dev/null",
				"-x",
				"/run/dnsmasq.pid",
				"-R",
				"-h",
				"-A",
				"/#/",
				"-a",
				"127.0.0.1",
			},
		},
		{Write: &lab.File{Path: "/etc/hosts", Content: "127.0.0.1 localhost keys.lab\n"}}, // dirmngr's resolver wants the file
		{Write: &lab.File{Path: "/etc/resolv.conf", Content: "nameserver 127.0.0.1\n"}},
		{Until: []string{"sh", "-c", "gpgconf --kill dirmngr; gpg --batch --keyserver " + server + " --recv-keys " + keyID}},
	}, conf...)
}

// dirmngrConf has more than the keyserver, and a last line without an end.
func dirmngrConf(keyserver string) string {
	return "# asks the pool\nno-use-tor\nconnect-timeout 10\n\nkeyserver " + keyserver + "\n# slow lines\nresolver-timeout 20"
}

// Scenarios are about root's own configuration, and a script's.
// asking is a script that receives a key from a server.
func asking(server string) string {
	return "#!/bin/sh\ngpg --batch --keyserver " + server + " --recv-keys " + keyID + " 2>&1 | grep -E 'imported: 1|receive failed'\n"
}

var Scenarios = []lab.Scenario{
	{
		Name: "dead-keyserver", About: "dirmngr asks a keyserver whose name is gone",
		Needs: needs, Subject: "/root/.gnupg/dirmngr.conf", FixArgs: []string{"--with", "keyserver=" + server},
		Prepare: keyserver(lab.Act{Write: &lab.File{Path: "/root/.gnupg/dirmngr.conf", Content: dirmngrConf("hkp://pool.sks-keyservers.net")}}),
		Files:   map[string]string{"/root/.gnupg/dirmngr.conf": dirmngrConf(server)},
		Probes:  []lab.Probe{{Name: "gpg --recv-keys", Run: fetches(), Want: received}},
	},
	{
		Name: "dead-keyserver-in-script", About: "A daily script asks a keyserver of pgp.net",
		Needs: needs, Long: true, Subject: "/etc/cron.daily/refresh", FixArgs: []string{"--with", "keyserver=" + server},
		Prepare: keyserver(lab.Act{Write: &lab.File{Path: "/etc/cron.daily/refresh", Mode: 0o755, Content: asking("hkp://subkeys.pgp.net")}}),
		Files:   map[string]string{"/etc/cron.daily/refresh": asking(server)},
		Probes: []lab.Probe{
			{
				Name: "the script",
				Run:  []string{"sh", "-c", "rm -f /root/.gnupg/pubring.kbx; gpgconf --kill dirmngr; exec /etc/cron.daily/refresh"},
				Want: received,
			},
		},
	},
	{
		Name: "living-keyserver", About: "A keyserver that answers raises nothing",
		Needs: needs, Long: true, Innocent: true,
		Prepare: keyserver(lab.Act{Write: &lab.File{Path: "/root/.gnupg/dirmngr.conf", Content: "keyserver " + server + "\n"}}),
	},
}
