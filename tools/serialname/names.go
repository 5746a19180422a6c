package serialname

import (
	"cmp"
	"slices"
	"strings"

	"fettle/host/format/udev"
	"fettle/internal/sorted"
)

// Name is one below /dev that rules of the admin's own give to USB serial devices.
type Name struct {
	Name string // "radish"
	Rule udev.Rule
	// Devices get it; Maybe are those about which a program decides.
	Devices, Maybe []*Device
}

// Survey is what rules do to the devices that are there.
type Survey struct {
	Devices []Device
	Rules   *udev.Rules
	// Outcomes are those of Devices, in their order.
	Outcomes []udev.Outcome
}

// NewSurvey takes all devices through the rules.
func NewSurvey(devices []Device, rules *udev.Rules) *Survey {
	s := &Survey{Devices: devices, Rules: rules}
	for i := range devices {
		s.Outcomes = append(s.Outcomes, rules.Apply(devices[i].Rules()))
	}
	return s
}

// Own tells whether a rule is the admin's, and not a package's.
func Own(r udev.Rule) bool { return OwnFile(r.Path) }

// OwnFile is Own of the rules of a file.
func OwnFile(path string) bool {
	return strings.HasPrefix(path, "/etc/") || strings.HasPrefix(path, "/run/") || strings.HasPrefix(path, "/usr/local/")
}

// Names lists the names that the admin's rules give, sorted: those that some
// device gets or may get, and those that rules for serial devices give to none.
func (s *Survey) Names() []Name {
	at := map[string]*Name{}
	get := func(name string, r udev.Rule) *Name {
		if at[name] == nil {
			at[name] = &Name{Name: name, Rule: r}
		}
		return at[name]
	}
	for i := range s.Devices {
		for _, g := range s.Outcomes[i].Links {
			if !Own(g.Rule) {
				continue
			}
			n := get(g.Name, g.Rule)
			switch d := &s.Devices[i]; {
			case g.Maybe && !slices.Contains(n.Maybe, d):
				n.Maybe = append(n.Maybe, d)
			case !g.Maybe && !slices.Contains(n.Devices, d):
				n.Devices = append(n.Devices, d)
			}
		}
	}
	for _, r := range s.Rules.Rules {
		if name := idle(r); name != "" {
			get(name, r)
		}
	}
	var out []Name
	for _, n := range at {
		out = append(out, *n)
	}
	sorted.By(out, func(a, b Name) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// idle is the name that a rule of the admin's gives to USB serial devices,
// where it gives one and it is always the same.
func idle(r udev.Rule) string {
	name := ""
	for _, t := range r.Tokens {
		if t.Key == "SYMLINK" && !t.Match() && t.Op != "-=" && !strings.ContainsAny(t.Value, "$%") && len(strings.Fields(t.Value)) == 1 {
			name = strings.TrimPrefix(t.Value, "/dev/")
		}
	}
	if name == "" || !Own(r) || !About(r) {
		return ""
	}
	return name
}

// About tells whether a rule is about serial devices at all.
func About(r udev.Rule) bool {
	for _, t := range r.Tokens {
		if t.Op == "==" &&
			(t.Key == "KERNEL" && strings.HasPrefix(t.Value, "tty") || t.Key == "SUBSYSTEM" && t.Value == "tty" || t.Key == "SUBSYSTEMS" &&
				t.Value == "usb-serial") {
			return true
		}
	}
	return false
}

// ByPort tells whether a rule tells devices apart by where they are plugged in.
func ByPort(r udev.Rule) bool {
	for _, t := range r.Tokens {
		switch {
		case t.Op != "==":
		case t.Key == "KERNELS" && strings.Trim(t.Value, "0123456789-.:*?") == "" && strings.Contains(t.Value, "-"),
			t.Key == "ENV" && strings.HasPrefix(t.Attr, "ID_PATH"),
			t.Key == "ATTRS" && t.Attr == "devpath", t.Key == "DEVPATH":
			return true
		}
	}
	return false
}

// Elsewhere lists the devices that a rule by port would match if they were
// plugged in where it says: those of its vendor and product that no other rule names.
func (s *Survey) Elsewhere(n Name) []*Device {
	if !ByPort(n.Rule) {
		return nil
	}
	vendor, product := IDs(n.Rule)
	if vendor == "" || product == "" {
		return nil
	}
	var out []*Device
	for i := range s.Devices {
		d := &s.Devices[i]
		named := slices.ContainsFunc(s.Outcomes[i].Links, func(g udev.Given) bool { return Own(g.Rule) })
		if d.Vendor == vendor && d.Product == product && !named {
			out = append(out, d)
		}
	}
	return out
}

// IDs are the vendor and product that a rule asks for, where it asks for one of each.
func IDs(r udev.Rule) (vendor, product string) {
	for _, t := range r.Tokens {
		if t.Op != "==" {
			continue
		}
		switch {
		case t.Key == "ATTRS" && t.Attr == "idVendor", t.Key == "ENV" && t.Attr == "ID_VENDOR_ID":
			vendor = t.Value
		case t.Key == "ATTRS" && t.Attr == "idProduct", t.Key == "ENV" && t.Attr == "ID_MODEL_ID":
			product = t.Value
		}
	}
	return vendor, product
}
