package redact

import (
	"strings"

	"fettle/internal/lazy"
)

// menuWords begin the lines of boot menus: of syslinux, GRUB, and of answers for installers.
var menuWords = lazy.Regexp(`(?i)^\s*(?:default|timeout|prompt|serial|console|label|kernel|linux(?:16|efi)?|` +
	`initrd(?:16|efi)?|append|menu|include|ontimeout|ipappend|sysappend|say|display|` +
	`localboot|set|if|fi|else|then|elif|function|menuentry|submenu|insmod|terminal(?:_input|_output)?|search|load_video|` +
	`gfxmode|gfxpayload|loadfont|font|export|source|configfile|root|` +
	`title|hiddenmenu|password(?:_pbkdf2)?|f\d|kbdmap|allowoptions|noescape|totaltimeout|nohalt|fallback|splashimage|` +
	`savedefault|boot|chainloader|multiboot2?|module2?|echo|com32|implicit|ui|endtext|text|menu_color\w*|` +
	`background_image|play|true)(?:\s|=|$)|^\s*(?:[#{}\[\]]|$)`)

// isMenu tells a boot menu by its lines: other programs' files end in .cfg, too.
func isMenu(s string) bool {
	known, all := 0, 0
	for line := range strings.Lines(s) {
		all++
		if menuWords().MatchString(line) {
			known++
		}
	}
	return known*4 >= all*3
}

// menuLine redacts a line of a boot menu; of lines that none has, nothing is kept.
func (r *Redactor) menuLine(line string) string {
	if !menuWords().MatchString(line) {
		return ""
	}
	return r.kernelLine(menuPassword().ReplaceAllString(withoutComment(line), "${1}"+Dropped))
}

// values redacts what the kernel says of itself.
func (r *Redactor) values(name, s string) string {
	if name == "/proc/cmdline" {
		return r.kernelLine(tokenSecrets(s))
	}
	if strings.HasPrefix(name, "/proc/") && (strings.HasSuffix(name, "/mounts") || strings.HasSuffix(name, "/mountinfo")) {
		return eachLine(s, r.mountLine)
	}
	if strings.HasSuffix(name, "/dm/name") || strings.HasSuffix(name, "/md/array_name") {
		return r.Volume(s)
	}
	if m := cryptID().FindStringSubmatch(s); m != nil && strings.HasSuffix(name, "/dm/uuid") {
		return m[1] + r.Text(m[2]) + r.Volume(m[3])
	}
	return r.Text(s)
}

// cryptID is what device mapper calls an encrypted disk: its UUID, and its name.
var cryptID = lazy.Regexp(`^(CRYPT-\w+-)([0-9a-f]+-)(.*\n?)$`)

// eachLine replaces lines, and keeps their ends.
func eachLine(s string, one func(string) string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		body := strings.TrimSuffix(line, "\n")
		b.WriteString(one(body) + line[len(body):])
	}
	return b.String()
}

// namesIn are parameters of the kernel that name volumes, disks and what an installer fetches.
var namesIn = lazy.Regexp(`^(?:rd\.\S+|inst\.\S+|ds|ks|cryptdevice|cryptopts|` +
	`luks\.\S+|zfs|bootfs|autoinstall|` +
	`preseed\S*|cloud-config-url|h|s)$`)

// parameterOf is one of the kernel's, which may hold blanks in quotes.
var parameterOf = lazy.Regexp(`(?:"[^"]*"?|[^\s"])+`)

var ipParameter = lazy.Regexp(`^((?:(?:\d+(?:\.\d+)+|\[[0-9a-fA-F:]*\]|):){4})([^:"']+)(.*)$`)

// kernelLine redacts parameters of the kernel (bootparam(7), dracut.cmdline(7)).
func (r *Redactor) kernelLine(s string) string {
	return each(parameterOf(), s, func(m []string) string {
		f := m[0]
		body := strings.TrimRight(f, "\n")
		k, v, ok := strings.Cut(body, "=")
		name := strings.TrimLeft(k, `"'`)
		switch m := ipParameter().FindStringSubmatch(v); {
		case !ok || v == "":
			body = r.free(body)
		case name == "ip" && m != nil:
			body = k + "=" + r.free(m[1]) + r.hostAt(m[2]) + r.free(m[3])
		case name == "root" || name == "resume":
			body = k + "=" + r.Source(v)
		case namesIn().MatchString(name) && !plain().MatchString(v):
			body = r.free(k) + "=" + eachWord(v, r.argument)
		default:
			body = r.free(k) + "=" + r.value(name, v)
		}
		return body + f[len(strings.TrimRight(f, "\n")):]
	})
}
