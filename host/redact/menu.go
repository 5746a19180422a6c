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
	return r.Text(s)
}

var ipParameter = lazy.Regexp(`^((?:(?:\d+(?:\.\d+)+|\[[0-9a-fA-F:]*\]|):){4})([^:"']+)(.*)$`)

// kernelLine redacts parameters of the kernel (bootparam(7), dracut.cmdline(7)).
func (r *Redactor) kernelLine(s string) string {
	return eachField(s, func(_ int, f string) string {
		body := strings.TrimRight(f, "\n")
		k, v, ok := strings.Cut(body, "=")
		name := strings.TrimLeft(k, `"'`)
		switch m := ipParameter().FindStringSubmatch(v); {
		case !ok || v == "":
			body = r.free(body)
		case name == "ip" && m != nil:
			body = k + "=" + r.free(m[1]) + r.hostAt(m[2]) + r.free(m[3])
		default:
			body = r.free(k) + "=" + r.value(name, v)
		}
		return body + f[len(strings.TrimRight(f, "\n")):]
	})
}
