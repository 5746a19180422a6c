package redact

import (
	"strings"

	"fettle/internal/lazy"
)

// What people call their arrays, volumes, pools and shares may be any word. It is recognised by
// its place: below folders of /dev, and where a list of mounts names what is mounted.

var (
	devicePath = lazy.Regexp(`^/dev/([\w.+-]+)/([^\s"',;(){}<>|\[\]]+)`)
	// ofDev are folders of /dev in which names stand that the kernel or udev gives.
	ofDev = set(`bsg bus block char cciss cpu disk dma_heap dri dvb fd hugepages i2o ida infiniband input ipmi ipmidev loop mqueue mtd net
		nvme pts raw rd serial shm snd tpmrm ubi usb v4l vfio xen`)
	numberedArray = lazy.Regexp(`^d?\d+(?:p\d+)?$`)
	// deviceUnit is systemd's for such a device.
	deviceUnit = lazy.Regexp(`^(dev-(?:mapper|md|disk-by\\x2d(?:part)?label)-)([^\s"'(),;]+?)(\.(?:device|swap)\b)`)
)

// ofVolumes are words in names of volumes: what they are for, how they are made, and the
// parts that LVM makes (lvmsystemid(7), lib/metadata/lv_manip.c of LVM 2.03).
var ofVolumes = set(`root swap home var tmp usr boot opt srv vg lv luks crypt dm cr mapper crypto
	cdata cmeta cpool corig cvol tdata tmeta tpool rimage rmeta mimage mlog real cow pmspare vdata vpool wcorig iorig imeta`)

// Volume replaces the name of a volume, an array or a file system.
func (r *Redactor) Volume(s string) string {
	return r.text(s, addresses|positions|numbers|nothing|volumes)
}

// device replaces at the beginning of s a device that somebody named.
func (r *Redactor) device(s string) (int, string) {
	m := devicePath().FindStringSubmatch(s)
	if m == nil {
		return 0, ""
	}
	folder, name := m[1], strings.TrimRight(m[2], ":.?!")
	switch {
	case folder == "mapper" && name == "control", folder == "md" && numberedArray().MatchString(name):
		return 0, ""
	case folder == "mapper", folder == "md", folder == "zvol":
		return len("/dev/") + len(folder) + 1 + len(name), "/dev/" + folder + "/" + r.Volume(name)
	case folder == "disk":
		for _, by := range []string{"by-label/", "by-partlabel/"} {
			if label, ok := strings.CutPrefix(name, by); ok {
				return len("/dev/disk/") + len(name), "/dev/disk/" + by + r.Volume(label)
			}
		}
		return 0, ""
	case ofDev[folder], numbered().MatchString(folder), strings.Trim(name, "0123456789") == "":
		return 0, ""
	}
	return len("/dev/") + len(folder) + 1 + len(name), "/dev/" + r.Volume(folder) + "/" + r.Volume(name)
}

var (
	arrayName    = lazy.Regexp(`(\bname=)"?([^\s"]+)"?`)
	arrayCalled  = lazy.Regexp(`^(ARRAY\s+)([^\s/<=]+)(\s|$)`)
	arrayDomains = lazy.Regexp(`(?i)^(\s*HOMECLUSTER\s+)(.*)$`)
	arrayGroups  = lazy.Regexp(`(\b(?:domain|spare-group)=)(\S+)`)
)

// arrayLine redacts a line of mdadm.conf: what arrays are called, and on which host they were made.
func (r *Redactor) arrayLine(name, line string) string {
	line = withoutComment(line)
	if m := arrayDomains().FindStringSubmatch(line); m != nil {
		return m[1] + r.opaque(m[2])
	}
	for _, m := range arrayName().FindAllStringSubmatch(line, -1) {
		host, array, ok := strings.Cut(m[2], ":")
		switch {
		case !ok:
			line = strings.Replace(line, m[0], m[1]+r.opaque(m[2]), 1)
		case host != "":
			line = strings.Replace(line, m[0], m[1]+r.hostAt(host)+":"+r.arrayAs(array), 1)
		}
	}
	line = each(arrayCalled(), line, func(m []string) string { return m[1] + r.arrayAs(m[2]) + m[3] })
	line = each(arrayGroups(), line, func(m []string) string { return m[1] + r.opaque(m[2]) })
	return r.setting(name, line)
}

func (r *Redactor) arrayAs(name string) string {
	if numberedArray().MatchString(name) || name == "any" {
		return name
	}
	return r.Volume(name)
}

// Source replaces what is mounted: a device, a label, a share of a server, a pool.
func (r *Redactor) Source(s string) string {
	if k, v, ok := strings.Cut(s, "="); ok && strings.HasSuffix(k, "LABEL") {
		return k + "=" + r.Volume(v)
	}
	switch {
	case strings.HasPrefix(s, "/") && !strings.HasPrefix(s, "//"):
		return r.Path(s)
	case strings.HasPrefix(s, "ZFS="), strings.HasPrefix(s, "zfs:"):
		return s[:4] + r.opaque(s[4:])
	case strings.Contains(s, "//"), strings.HasPrefix(s, "["), strings.Contains(s, "UUID="), export().MatchString(s):
		return r.free(s)
	case strings.Contains(s, ","): // more than one server
		parts := strings.Split(s, ",")
		for i := range parts {
			parts[i] = r.Source(parts[i])
		}
		return strings.Join(parts, ",")
	case !strings.ContainsAny(s, ":/@#"):
		return r.free(s)
	}
	kind := ""
	if at := strings.IndexByte(s, '#'); at >= 0 {
		kind, s = r.free(s[:at+1]), s[at+1:]
	}
	host, path, colon := strings.Cut(s, ":")
	switch {
	case !colon:
		return kind + r.sharePath(s)
	case strings.Contains(host, "@"):
		host = r.userWord(host)
	case host != "":
		host = r.hostAt(host)
	}
	return kind + host + ":" + r.sharePath(path)
}

// mountLine redacts a line of /proc/PID/mounts, or of mountinfo behind its dash.
func (r *Redactor) mountLine(line string) string {
	before, after, ok := strings.Cut(line, " - ")
	if ok {
		return r.Text(before) + " - " + eachField(after, func(i int, f string) string {
			switch i {
			case 1:
				return r.Source(f)
			case 2:
				return r.Options(f)
			}
			return r.Text(f)
		})
	}
	return eachField(line, func(i int, f string) string {
		switch i {
		case 0:
			return r.Source(f)
		case 3:
			return r.Options(f)
		}
		return r.Text(f)
	})
}
