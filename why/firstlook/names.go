package firstlook

import (
	"path"
	"strings"

	"fettle/internal/lazy"
)

// Thing is something of a host that a message names.
type Thing struct {
	Kind string `json:"kind"` // unit, disk, mount, file, port
	Name string `json:"name"`
}

// maxThings is how many things of one message are looked up.
const maxThings = 3

var (
	unitName = lazy.Regexp(`\b[A-Za-z0-9][\w@:.\\-]{0,200}\.(?:service|socket|mount|automount|swap|timer|path|target|scope|` +
		`slice|device)\b`)
	diskName = lazy.Regexp(`\b(?:sd[a-z]{1,2}\d{0,3}|vd[a-z]\d{0,3}|xvd[a-z]\d{0,3}|nvme\d{1,3}n\d{1,3}(?:p\d{1,3})?|` +
		`mmcblk\d{1,2}(?:p\d{1,2})?|md\d{1,3}|dm-\d{1,4}|loop\d{1,3})\b`)
	portName = lazy.Regexp(`(?:\bport |(?:\d+\.\d+\.\d+\.\d+|\*|\]|localhost):)(\d{1,5})\b`)
	fileName = lazy.Regexp(`(?:^|[\s"'=(:])(/[A-Za-z0-9][\w./@+-]{1,200})`)
)

// things are what a text names, by names that are valid as such.
func things(text, unit string) []Thing {
	var out []Thing
	add := func(kind, name string) {
		t := Thing{kind, name}
		for _, o := range out {
			if o == t {
				return
			}
		}
		if len(out) < maxThings && t.valid() {
			out = append(out, t)
		}
	}
	for _, u := range unitName().FindAllString(text, maxThings) {
		add("unit", u)
	}
	if strings.HasSuffix(unit, ".service") || strings.HasSuffix(unit, ".mount") {
		add("unit", unit)
	}
	for _, d := range diskName().FindAllString(text, maxThings) {
		add("disk", d)
	}
	if m := portName().FindStringSubmatch(text); m != nil {
		add("port", m[1])
	}
	for _, m := range fileName().FindAllStringSubmatch(text, maxThings) {
		name := strings.TrimRight(m[1], ".:,/")
		if d, ok := strings.CutPrefix(name, "/dev/"); ok {
			if diskName().FindString(d) == d {
				add("disk", d)
			}
			continue
		}
		add("file", name)
	}
	return out
}

// places are the folders with files whose state may be shown: what a package, an admin's configuration
// or a service put there. Homes are not among them.
var places = []string{"/etc/", "/usr/", "/bin/", "/sbin/", "/lib/", "/opt/", "/srv/", "/var/", "/run/", "/boot/", "/mnt/", "/media/"}

// private are words in paths whose owner and mode nobody needs to know from a log.
var private = lazy.Regexp(`(?i)shadow|secret|private|passw|credential|token|\.ssh|\.gnupg|keytab|_key\b|\bid_[a-z]|\.key\b|` +
	`\.pem\b|/cron/|/root/|/home/`)

// valid reports whether a thing has a name of its kind, and one that may be asked about. It is asked on
// both sides: by who reads the log, and by who looks.
func (t Thing) valid() bool {
	if t.Name == "" {
		return false
	}
	switch t.Kind {
	case "unit":
		return unitName().FindString(t.Name) == t.Name
	case "disk":
		return diskName().FindString(t.Name) == t.Name
	case "port":
		return len(t.Name) <= 5 && t.Name[0] != '0' && strings.Trim(t.Name, "0123456789") == ""
	case "file":
		return path.Clean(t.Name) == t.Name && placed(t.Name) && !private().MatchString(t.Name)
	}
	return false
}

func placed(name string) bool {
	for _, p := range places {
		if strings.HasPrefix(name, p) {
			return fileName().FindString(name) == name
		}
	}
	return false
}
