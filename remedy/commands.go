package remedy

import (
	"fettle/internal/octets"
	"fettle/internal/shell"
	"fmt"
	"strconv"
)

// Commands are the exact commands that an admin would type for the same
// effect, for reading; fettle makes its changes itself. Arguments are quoted
// for a POSIX shell. A file step has none: its diff says it.
func Commands(s Step) []string {
	if s, ok := s.(action); ok {
		var out []string
		for _, argv := range s.commands() {
			out = append(out, shell.Join(argv))
		}
		return out
	}
	return nil
}

func (s File) commands() [][]string   { return nil }
func (s Remove) commands() [][]string { return [][]string{{"rm", "--", s.Path}} }

func (s Perm) commands() (out [][]string) {
	if o := s.owner(); o != "" {
		out = append(out, []string{"chown", o, "--", s.Path})
	}
	if s.Mode >= 0 {
		out = append(out, []string{"chmod", fmt.Sprintf("%04o", s.Mode), "--", s.Path})
	}
	return out
}

// owner is chown's argument; empty when both stay.
func (s Perm) owner() string {
	o := ""
	if s.UID >= 0 {
		o = strconv.Itoa(s.UID)
	}
	if s.GID >= 0 {
		o += ":" + strconv.Itoa(s.GID)
	}
	return o
}

func (s ACL) commands() (out [][]string) {
	for _, p := range [...]struct{ remove, text string }{{"-b", s.Access}, {"-k", s.Default}} {
		var argv []string
		switch {
		case p.text == "":
			continue
		case p.text == "none" && p.remove == "-b":
			// -b would drop the default ACL too; without named entries and mask only the mode is left.
			argv = []string{"setfattr", "-x", "system.posix_acl_access"}
		case p.text == "none":
			argv = []string{"setfacl", "-k"}
		case p.remove == "-k":
			argv = []string{"setfacl", "-d", "--set", p.text}
		default:
			argv = []string{"setfacl", "--set", p.text}
		}
		out = append(out, append(argv, "--", s.Path))
	}
	return out
}

func (s Sysctl) commands() [][]string {
	// sysctl(8) takes the path with slashes, where interface names with dots are safe.
	return [][]string{{"sysctl", "-w", s.Key + "=" + s.Value}}
}

func (s Sysfs) commands() [][]string {
	return [][]string{{"sh", "-c", "echo " + shell.Quote(s.Value) + " > " + shell.Quote(s.Path)}}
}

func (s Unit) commands() [][]string {
	if s.Name == "" {
		return [][]string{{"systemctl", s.Act}}
	}
	return [][]string{{"systemctl", s.Act, s.Name}}
}

func (s LinkMTU) commands() [][]string {
	return [][]string{{"ip", "link", "set", "dev", octets.Name(s.Link), "mtu", strconv.Itoa(s.MTU)}}
}

func (s SolicitRouter) commands() [][]string {
	return [][]string{{"rdisc6", "-1", "--", octets.Name(s.Link)}}
}

func (s Command) commands() [][]string { return [][]string{s.Do} }
