package proof

import "fettle/lab"

const top = "/var/log/journal"

const machineID = "0123456789abcdef0123456789abcdef"

// The guest's own memory file system knows no ACLs: /var/log is on ext4.
var needs = lab.Needs{
	Modules: []string{"loop", "ext4"},
	Tools: []string{"truncate", "mkfs.ext4", "mount",
		"systemd-journald", "systemd-cat", "journalctl", "setpriv", "mkdir", "chgrp", "chmod", "echo", "ls", "setfacl", "sh", "stat",
		"rmdir", "getfacl", "grep", "find"},
	Files: []string{"/usr/lib/tmpfiles.d"},
}

// as runs a command as a user, with the groups given.
func as(uid, groups string, argv ...string) []string {
	return append([]string{"setpriv", "--reuid", uid, "--regid", uid, "--groups", groups}, argv...)
}

// last is the journal's last line, for those who may read it.
var last = []string{"journalctl", "-q", "-n", "1", "-o", "cat"}

const (
	line    = "a line for all admins"
	nothing = `(No journal files were opened due to insufficient permissions\.)?`
)

// whoReads is what an ordinary user of the group adm reads, and what nobody
// reads and may write to.
var whoReads = []lab.Probe{
	{Name: "what ana of adm reads", Run: as("1000", "4", last...), Want: []string{nothing, line, nothing}},
	{Name: "what nobody reads", Run: as("65534", "65534", last...), Want: []string{nothing, nothing, nothing}},
	{
		Name: "group of a new folder, and lines of its ACL about adm",
		Run:  []string{"sh", "-c", "cd " + top + " && mkdir new && echo $(stat -c %G new) $(getfacl -c new | grep -c :adm:); rmdir new"},
		Want: []string{"root 0", "systemd-journal 2", "root 0"},
	},
	{
		Name: "what nobody may write to",
		Run:  as("65534", "65534", "sh", "-c", "find "+top+" ! -type l -writable 2>/dev/null"),
		Want: []string{nothing, nothing, nothing},
	},
}

// journal starts a real journald that keeps its journal in /var/log/journal,
// which before made.
func journal(before ...lab.Act) []lab.Act {
	acts := append([]lab.Act{
		{Write: &lab.File{Path: "/etc/machine-id", Content: machineID + "\n"}},
		{Write: &lab.File{Path: "/etc/systemd/journald.conf", Content: "[Journal]\nReadKMsg=no\nAudit=no\nSystemMaxUse=16M\n"}},
		{Run: []string{"truncate", "-s", "64M", "/run/log.img"}},
		{Run: []string{"mkfs.ext4", "-qF", "-O", "^has_journal", "/run/log.img"}},
		{Run: []string{"mount", "-o", "loop,acl", "/run/log.img", "/var/log"}},
		{Run: []string{"mkdir", "-p", "/run/systemd/journal", "/run/log/journal", top}},
		{Write: &lab.File{Path: "/run/systemd/journal/flushed"}},
	}, before...)
	return append(acts,
		lab.Act{Start: []string{"systemd-journald"}},
		lab.Act{Until: []string{"ls", "/run/systemd/journal/stdout"}},
		lab.Act{Run: []string{"systemd-cat", "echo", "a line for all admins"}},
		lab.Act{Until: []string{"ls", top + "/" + machineID + "/system.journal"}},
	)
}

// asBefore are slips that change nothing in a journal that journald has just made.
var asBefore = map[string]string{
	"owner alone: give " + journalFile + " mode 0640, owner root, group systemd-journal": "journald makes the file with this mode",

	"too late: give " + top + " mode 2755, owner root, group systemd-journal":         sameMask,
	"too late: give " + folder + " mode 2755, owner root, group systemd-journal":      sameMask,
	"too late: give " + journalFile + " mode 0640, owner root, group systemd-journal": sameMask,
}

const (
	folder      = top + "/" + machineID
	journalFile = folder + "/system.journal"
	sameMask    = "the mode's group bits are the mask of the ACL, whichever is set first"
)

var Scenarios = append([]lab.Scenario{
	{
		Name: "made-by-mkdir", About: "A journal folder made with mkdir, a real journald, and an ordinary user of the group adm",
		Needs: needs, Probes: whoReads, Subject: top, Harmless: asBefore,
		Prepare: journal(),
	},
	{
		Name: "made-as-the-distribution-does", About: "Group, setgid bit and ACLs in place: members of adm read everything",
		Needs: needs, Innocent: true,
		Prepare: journal(
			lab.Act{Run: []string{"chgrp", "systemd-journal", top}},
			lab.Act{Run: []string{"chmod", "2755", top}},
			lab.Act{Run: []string{"setfacl", "-nm", "g:adm:rx,d:g:adm:rx", top}}),
	},
}, systemdProof...)
