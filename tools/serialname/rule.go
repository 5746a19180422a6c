package serialname

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"fettle/internal/lazy"
)

// RulesFile is where fettle's own rules are: after 60-serial.rules, whose
// answers they use, and before what acts on ports (77-mm-*.rules).
const RulesFile = "/etc/udev/rules.d/70-fettle-serial.rules"

const rulesHead = `# Names of serial devices, written by fettle serialname set. A name's lines
# are replaced when it is set again.
`

// By is what tells a device apart.
type By string

const (
	BySerial By = "serial" // the serial number that its maker gave it
	ByPlug   By = "port"   // the port that it is plugged into
	ByProbe  By = "probe"  // what it says
)

// Wanted is a name for a device.
type Wanted struct {
	Name string
	By   By
	// Probe is the command that tells whether it is the device, with absolute
	// path; udev adds nothing to it. Its exit status 0 is a yes.
	Probe   []string
	Profile string // that Probe goes by
	// Modem: ModemManager may have the port.
	Modem bool
}

// goodName is what udev accepts in a SYMLINK without replacing anything
// (encode_devnode_name), with a letter first, in one folder at most.
var goodName = lazy.Regexp(`^[A-Za-z][A-Za-z0-9_.-]*(/[A-Za-z0-9_.-]+)?$`)

// kernelNames are those that the kernel and udev give.
var kernelNames = lazy.Regexp(
	`^(tty|serial/|sd[a-z]|hd[a-z]|loop|nvme|vcs|disk/|char/|block/|fd$|std|log$|null$|zero$|full$|random$|urandom$|console$|ptmx$|pts/|` +
		`shm|mem$|input/|net/|bus/|mapper/|cpu/)`,
)

// CheckName refuses names that would not be one, or are somebody else's.
func CheckName(name string) error {
	switch {
	case len(name) > 64:
		return errors.New("a name has at most 64 characters")
	case !goodName().MatchString(name) || strings.Contains(name, ".."):
		return fmt.Errorf(
			"%q: a name below /dev is made of letters, digits, _, - and ., a letter first; it may be in one folder (meters/hall)",
			name,
		)
	case kernelNames().MatchString(name):
		return fmt.Errorf("%q: such names are the kernel's or udev's own; choose another, for what the device does", name)
	}
	return nil
}

// Unique tells whether the serial number tells d apart from the others.
func Unique(d *Device, all []Device) bool {
	if d.Serial == "" {
		return false
	}
	for i := range all {
		if o := &all[i]; o.IDs() == d.IDs() && o.Serial == d.Serial && o.Port != d.Port {
			return false
		}
	}
	return true
}

// Lines are the rules that give the name.
func Lines(d *Device, w Wanted) (string, error) {
	kind := []string{`SUBSYSTEM=="tty"`, `KERNEL=="` + strings.TrimRight(d.Kernel, "0123456789") + `[0-9]*"`,
		`ATTRS{idVendor}=="` + d.Vendor + `"`, `ATTRS{idProduct}=="` + d.Product + `"`}
	var lines [][]string
	var which []string
	switch w.By {
	case BySerial:
		if d.Serial == "" {
			return "", fmt.Errorf("%s has no serial number: choose --by port or --by probe", d.Dev())
		}
		which = []string{`ATTRS{serial}=="` + pattern(d.Serial) + `"`}
	case ByPlug:
		if d.IDPath == "" {
			return "", fmt.Errorf("udev has no ID_PATH for %s: is udev running, and is 60-serial.rules there?", d.Dev())
		}
		which = []string{`ENV{ID_PATH}=="` + pattern(d.IDPath) + `"`}
	case ByProbe:
		for _, arg := range w.Probe {
			if !plainArg().MatchString(arg) {
				return "", fmt.Errorf("%q cannot be used in a rule: a command there has plain arguments only", arg)
			}
		}
		key := "FETTLE_" + notKey().ReplaceAllString(w.Name+"_"+w.Profile, "_")
		which = []string{`ENV{` + key + `}=="yes"`}
		lines = asked(kind, key, w.Probe)
	default:
		return "", fmt.Errorf("%q: a device is identified by serial, port or probe", w.By)
	}
	if w.By != ByProbe { // a composite device has several ports of one serial number
		which = append(which, `ENV{ID_USB_INTERFACE_NUM}=="`+d.Interface+`"`)
		if d.SubPort != "" {
			which = append(which, `ENV{.ID_PORT}=="`+d.SubPort+`"`)
		}
	}
	gives := []string{`SYMLINK+="` + w.Name + `"`, `ENV{FETTLE_SERIAL_NAME}="` + w.Name + `"`}
	if !w.Modem {
		gives = append(gives, `ENV{ID_MM_PORT_IGNORE}="1"`)
	}
	lines = append(lines, slices.Concat(kind, which, gives))
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(strings.Join(l, ", ") + "\n")
	}
	return b.String(), nil
}

// asked are the lines that ask a device once, when it is found, and keep the
// answer in udev's database until it is pulled out: a later event must not read
// from a device that is in use. One that has a name is not asked.
func asked(kind []string, key string, program []string) [][]string {
	unknown := `ENV{` + key + `}==""`
	return [][]string{
		slices.Concat(kind, []string{`IMPORT{db}="` + key + `"`}),
		slices.Concat(
			kind,
			[]string{unknown, `ENV{FETTLE_SERIAL_NAME}==""`, `PROGRAM=="` + strings.Join(program, " ") + ` $devnode"`, `ENV{` + key + `}="yes"`},
		),
		slices.Concat(kind, []string{unknown, `ENV{` + key + `}="no"`}),
	}
}

// notKey is what the name of a property does not have.
var notKey = lazy.Regexp(`[^A-Za-z0-9]`)

// plainArg is an argument that udev hands on as it is.
var plainArg = lazy.Regexp(`^[A-Za-z0-9_./:=,+-]+$`)

// pattern is a text as a pattern that matches it; what cannot be in a rule
// is any one character, or some bytes.
func pattern(s string) string {
	return strings.Map(func(r rune) rune {
		if r > '~' {
			return '*'
		}
		if r < ' ' || strings.ContainsRune(`"\*?[]|`, r) {
			return '?'
		}
		return r
	}, s)
}

// nameMark begins a name's lines in RulesFile.
const nameMark = "# name "

// WithName returns the text of RulesFile with a name's lines in it, in place of those
// that it had.
func WithName(text, name, lines string) string {
	if text == "" {
		text = rulesHead
	}
	text = WithoutName(text, name)
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text + nameMark + name + "\n" + lines
}

// WithoutName returns the text without a name's lines.
func WithoutName(text, name string) string {
	var b strings.Builder
	within := false
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, nameMark); ok {
			within = strings.TrimSpace(rest) == name
		}
		if !within {
			b.WriteString(line)
		}
	}
	return b.String()
}
