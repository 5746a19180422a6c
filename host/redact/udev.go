package redact

import (
	"strings"

	"fettle/internal/lazy"
)

// udevKnown are properties of udev whose values are words of makers, drivers and formats.
var udevKnown = lazy.Regexp(`^(?:ID_(?:VENDOR|MODEL|BUS|TYPE|INPUT|PATH|USB|FS_(?:TYPE|USAGE|VERSION)|NET_(?:NAME|` +
	`DRIVER|LINK|NAMING)|PCI|REVISION|ATA|MM|CDROM|DRIVE|FOR_SEAT|AUTOSEAT|SERIAL|` +
	`OUI|PART_ENTRY_(?:NUMBER|SCHEME|TYPE|SIZE|OFFSET|DISK|FLAGS)|PART_TABLE_TYPE|SOFTWARE_RADIO|INTEGRATION)|DEV|` +
	`DM_UDEV|DM_NAME|DM_SUBSYSTEM|SYSTEMD|SUBSYSTEM|DRIVER|MODALIAS|` +
	`MAJOR|MINOR|TAGS|CURRENT_TAGS|USEC|MD_|PRODUCT|INTERFACE|NAME|IFINDEX|ACTION|SEQNUM|UDISKS|COMPAT|FSTAB)`)

// udevLine redacts a line of udev's database.
func (r *Redactor) udevLine(line string) string {
	rest, ok := strings.CutPrefix(line, "E:")
	if !ok {
		return r.Path(line)
	}
	k, v, _ := strings.Cut(rest, "=")
	switch {
	case strings.Contains(k, "WWN"):
		return "E:" + r.Text(k) + "=" + r.opaque(v)
	case strings.Contains(k, "SERIAL") && loneWord().MatchString(v):
		return "E:" + r.Text(k) + "=" + r.opaque(v)
	case strings.Contains(k, "SERIAL"), udevKnown().MatchString(k):
		return "E:" + r.Text(k) + "=" + r.Path(v)
	}
	return "E:" + r.Text(k) + "=" + r.value(k, v)
}

// ruleItem is a match or an assignment in udev's rules (udev(7)).
var ruleItem = lazy.Regexp(`([A-Z_]+(?:\{[^}]*\})?)(\s*[+!:-]?==?\s*)("(?:\\.|[^"\\])*"?)`)

// ruleLine redacts a line of udev's rules.
func (r *Redactor) ruleLine(line string) string {
	var b strings.Builder
	at := 0
	for _, m := range ruleItem().FindAllStringSubmatchIndex(line, -1) {
		key, value := line[m[2]:m[3]], line[m[6]:m[7]]
		b.WriteString(r.Text(line[at:m[2]]) + r.Text(key) + line[m[4]:m[5]])
		switch up := strings.ToUpper(key); {
		case value == `""`:
			b.WriteString(value)
		case strings.HasPrefix(up, "RUN"), up == "PROGRAM", up == "IMPORT{PROGRAM}":
			b.WriteString(r.quotedCommand(value, 1))
		case up == "OWNER", up == "GROUP":
			b.WriteString(eachWord(value, r.userWord))
		case unknownProperty(up) && !strings.ContainsAny(value, "$%*?["):
			b.WriteString(r.valueOf(value))
		case serialKey().MatchString(up):
			b.WriteString(r.serialValue(value))
		default:
			b.WriteString(r.free(value))
		}
		at = m[1]
	}
	return b.String() + r.Text(line[at:])
}

var serialKey = lazy.Regexp(`SERIAL(?:_SHORT)?\}|WWN|UUID`)

// serialValue is a serial number, or a pattern of one.
func (r *Redactor) serialValue(v string) string {
	if strings.ContainsAny(v, "*?[") {
		return r.free(v)
	}
	if loneWord().MatchString(v) {
		return r.opaque(v)
	}
	return r.opaqueNumbers(v)
}

// unknownProperty tells of ENV{SITE}, which somebody made.
func unknownProperty(key string) bool {
	name, ok := strings.CutPrefix(key, "ENV{")
	return ok && !strings.HasPrefix(name, ".") && !udevKnown().MatchString(strings.TrimSuffix(name, "}"))
}

// valueOf is the value of a property that is not known.
func (r *Redactor) valueOf(value string) string {
	if plain().MatchString(value) {
		return value
	}
	return eachWord(value, r.argument)
}

// loneWord is a serial number without a number, and without the names of maker and model.
var loneWord = lazy.Regexp(`^"?[A-Za-z]{3,}"?$`)
