package supportconfig

import (
	"path"
	"strings"
)

// layout gathers what the sections say, as files by path.
type layout struct {
	files  map[string][]byte
	looked []string        // globs of which all that matches was taken
	absent map[string]bool // files that were looked for without success
	shown  []string        // paragraphs of systemctl show
	whole  bool            // the text file at hand was read from its beginning
	etc    bool            // all of /etc that ends in conf was taken
}

func newLayout() *layout {
	return &layout{files: map[string][]byte{}, absent: map[string]bool{}, whole: true}
}

const (
	notFound   = " - File not found" // conf_files and log_files
	notThere   = "ERROR: Command not found or not executable"
	notInTime  = "# ERROR: Command did not complete within the timeout period."
	lastOfFile = " - Last "
)

func (l *layout) add(text string, s section) {
	switch s.kind {
	case "Configuration File":
		if text == "etc.txt" && l.whole && !l.etc { // find -L /etc -type f | grep -E "(conf|cfg)$"
			l.etc = true
			l.looked = append(l.looked, "/etc/*.conf", "/etc/*/*.conf", "/etc/*/*/*.conf")
		}
		l.file(s, false)
	case "Log File":
		l.file(s, true)
	case "Command":
		if !strings.Contains(s.body, notThere) && !strings.Contains(s.body, notInTime) {
			l.command(s)
		}
	}
}

// file lays out a file's section. Of a configuration file supportconfig leaves out
// comments and empty lines, and puts empty lines after it.
func (l *layout) file(s section, log bool) {
	if name, gone := strings.CutSuffix(s.label, notFound); gone {
		if strings.ContainsAny(name, "*?[") { // bash leaves a pattern that matches nothing
			l.looked = append(l.looked, name)
		} else if name, ok := onHost(name); ok {
			l.absent[name] = true
		}
		return
	}
	name, _, tail := strings.Cut(s.label, lastOfFile)
	name, ok := onHost(name)
	if !ok {
		return
	}
	body := strings.TrimRight(s.body, "\n")
	if body != "" {
		body += "\n"
	}
	if old, have := l.files[name]; have && (tail || len(old) >= len(body)) {
		return // the same file in another text
	}
	l.files[name] = []byte(body)
	if log {
		return
	}
	for _, glob := range together {
		if ok, _ := path.Match(glob, name); ok {
			l.looked = append(l.looked, glob)
		}
	}
}

// onHost is a path of the host: labels may be anything that a file contains.
func onHost(label string) (string, bool) {
	if !strings.HasPrefix(label, "/") || len(label) > 4096 || strings.ContainsAny(label, "\x00*?[") {
		return "", false
	}
	name := path.Clean(label)
	top, _, below := strings.Cut(name[1:], "/")
	switch top {
	case "etc", "proc", "sys", "usr", "lib", "run", "var", "boot", "root", "opt", "srv":
		return name, below
	}
	return "", false
}

// together are files that supportconfig takes all together, by shell patterns: where
// there is one, the others were not there (env.txt, modules.txt, cron.txt, pam.txt).
var together = []string{"/etc/sysctl.d/*.conf", "/run/sysctl.d/*.conf", "/usr/lib/sysctl.d/*.conf", "/usr/local/lib/sysctl.d/*.conf",
	"/lib/sysctl.d/*.conf", "/etc/modprobe.d/*", "/etc/profile.d/*", "/etc/pam.d/*", "/etc/cron.d/*"}

// outputs is where sos keeps the output of the same command.
var outputs = map[string]string{
	"date":                          "sos_commands/date/date",
	"uname -a":                      "sos_commands/kernel/uname_-a",
	"hostname":                      "sos_commands/host/hostname",
	"uptime":                        "sos_commands/host/uptime",
	"hostnamectl status":            "sos_commands/host/hostnamectl_status",
	"hostnamectl":                   "sos_commands/host/hostnamectl_status",
	"timedatectl status":            "sos_commands/systemd/timedatectl",
	"timedatectl":                   "sos_commands/systemd/timedatectl",
	"sysctl -a":                     "sos_commands/kernel/sysctl_-a",
	"lsmod":                         "sos_commands/kernel/lsmod",
	"sort /proc/modules":            "proc/modules",
	"dmesg":                         "sos_commands/kernel/dmesg",
	"dmesg -T":                      "sos_commands/kernel/dmesg_-T",
	"ip addr":                       "sos_commands/networking/ip_addr",
	"ip address":                    "sos_commands/networking/ip_addr",
	"mount":                         "sos_commands/filesys/mount_-l",
	"free -k":                       "sos_commands/memory/free",
	"dmidecode":                     "sos_commands/hardware/dmidecode",
	"systemctl --failed":            "sos_commands/systemd/systemctl_list-units_--failed",
	"systemctl --all list-units":    "sos_commands/systemd/systemctl_list-units_--all",
	"systemctl list-unit-files":     "sos_commands/systemd/systemctl_list-unit-files",
	"journalctl --boot=0":           "sos_commands/logs/journalctl_--no-pager_--boot",
	"lsof -b -n -l +fg -P -Ki":      "sos_commands/filesys/lsof_-b_M_-n_-l_-P",
	"dmsetup status":                "sos_commands/devicemapper/dmsetup_status",
	"ip -6 route show table all":    "sos_commands/networking/ip_-6_route_show_table_all",
	"rpm -qa --last":                "installed-rpms",
	"chronyc -n tracking":           "sos_commands/chrony/chronyc_tracking",
	"systemctl list-units --failed": "sos_commands/systemd/systemctl_list-units_--failed",
}

// command lays out a command's output. Its label is the command line with the
// program's path: "/usr/bin/lsmod | sort".
func (l *layout) command(s section) {
	line, filter, filtered := strings.Cut(s.label, "|")
	var words []string
	for _, w := range strings.Fields(line) {
		switch w {
		case "--no-pager", "--full", "--output=short-iso", "2>/dev/null", "2>&1":
			continue
		}
		words = append(words, strings.Trim(w, `'"`))
	}
	if len(words) == 0 || filtered && strings.TrimSpace(filter) != "sort" {
		return // what is left of it is not known
	}
	words[0] = path.Base(words[0])
	if words[0] == "systemctl" && len(words) == 3 && words[1] == "show" {
		l.shown = append(l.shown, strings.Trim(s.body, "\n"))
		return
	}
	if words[0] == "journalctl" && !l.whole { // its beginning was not read
		words = words[:1]
	}
	if strings.HasPrefix(strings.Join(words, " "), "journalctl") && (len(words) == 1 || strings.HasPrefix(words[1], "--lines")) {
		l.files["/var/log/messages"] = []byte(s.body)
		return
	}
	name, ok := outputs[strings.Join(words, " ")]
	if _, have := l.files["/"+name]; ok && !have {
		l.files["/"+name] = []byte(s.body)
	}
}

// finish puts together what several sections tell.
func (l *layout) finish() {
	if len(l.shown) > 0 {
		l.files["/sos_commands/systemd/systemctl_show_service_--all"] = []byte(strings.Join(l.shown, "\n\n") + "\n")
	}
	// date names a zone by letters that may be any; timedatectl says UTC.
	if b, ok := l.files["/sos_commands/systemd/timedatectl"]; ok && strings.Contains(string(b), "Universal time: ") {
		l.files["/sos_commands/date/date_--utc"] = b
	}
}
