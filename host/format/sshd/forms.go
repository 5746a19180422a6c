package sshd

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"fettle/internal/lazy"
)

var three = lazy.Regexp(`^\s*([+-]?[0-9]+)(?::([+-]?[0-9]+):([+-]?[0-9]+))?`)

// startups reads "10" and "10:30:100" as sscanf does: what follows is ignored.
func startups(s string) (string, error) {
	m := three().FindStringSubmatch(s)
	if m == nil {
		return "", fmt.Errorf("maxstartups: neither a number nor start:rate:full")
	}
	begin, err := strconv.Atoi(m[1])
	rate, full := 30, begin
	if m[2] != "" {
		rate, _ = strconv.Atoi(m[2])
		full, _ = strconv.Atoi(m[3])
	} else if strings.Contains(s, ":") {
		err = strconv.ErrSyntax
	}
	if err != nil || begin <= 0 || begin > full || rate < 1 || rate > 100 {
		return "", fmt.Errorf("maxstartups: not allowed")
	}
	return fmt.Sprintf("%d:%d:%d", begin, rate, full), nil
}

func netBlock(s string) (string, error) {
	a, b, two := strings.Cut(s, ":")
	n, err := strconv.Atoi(a)
	m := 128
	if two && err == nil {
		m, err = strconv.Atoi(b)
	}
	if err != nil || n < 0 || n > 32 || m < 0 || m > 128 {
		return "", fmt.Errorf("persourcenetblocksize: not allowed")
	}
	return fmt.Sprintf("%d:%d", n, m), nil
}

var scaled = lazy.Regexp(`^([0-9]+)(?:\.([0-9]*))?([bkmgtpe]?)$`)

// rekey reads RekeyLimit: bytes, and seconds. An interval that is not given is "".
func rekey(args []string) ([]string, error) {
	out := []string{"0", ""}
	if args[0] != "default" {
		m := scaled().FindStringSubmatch(strings.ToLower(args[0]))
		if m == nil {
			return nil, fmt.Errorf("rekeylimit: not a size")
		}
		shift := uint(10 * strings.Index("bkmgtpe", m[3]))
		if m[3] == "" {
			shift = 0
		}
		n, err := strconv.ParseUint(m[1], 10, 62)
		if err != nil || n > 1<<(62-shift) {
			return nil, fmt.Errorf("rekeylimit: too large")
		}
		n <<= shift
		if m[2] != "" {
			f, _ := strconv.ParseFloat("0."+m[2], 64)
			n += uint64(f * float64(uint64(1)<<shift))
		}
		if n != 0 && n < 16 {
			return nil, fmt.Errorf("rekeylimit: too small")
		}
		out[0] = strconv.FormatUint(n, 10)
	}
	if len(args) > 1 && args[1] != "none" {
		n, ok := seconds(args[1])
		if !ok {
			return nil, fmt.Errorf("rekeylimit: not a time")
		}
		out[1] = strconv.FormatInt(n, 10)
	}
	if len(args) > 2 {
		return nil, fmt.Errorf("rekeylimit takes two arguments, and another word follows them")
	}
	return out, nil
}

// qosNames are the names of IPQoS and their values (misc.c, ipqos[]). sshd
// prints the first name that a value has.
var qosNames = []struct {
	name  string
	value uint64
}{
	{"af11", 0x28}, {"af12", 0x30}, {"af13", 0x38}, {"af21", 0x48}, {"af22", 0x50}, {"af23", 0x58}, {"af31", 0x68}, {"af32", 0x70},
	{"af33", 0x78}, {"af41", 0x88}, {"af42", 0x90}, {"af43", 0x98}, {"cs0", 0x00}, {"cs1", 0x20}, {"cs2", 0x40}, {"cs3", 0x60},
	{"cs4", 0x80}, {"cs5", 0xa0}, {"cs6", 0xc0}, {"cs7", 0xe0}, {"ef", 0xb8}, {"le", 0x01}, {"lowdelay", 0x10}, {"throughput", 0x08},
	{"reliability", 0x04},
}

// qosName reads one value of IPQoS, a name or a number in C's forms.
func qosName(s string) (string, error) {
	n, nerr := strconv.ParseUint(strings.ToLower(s), 0, 8)
	if strings.EqualFold(s, "none") {
		return "none", nil
	}
	for _, q := range qosNames {
		if strings.EqualFold(q.name, s) || nerr == nil && q.value == n {
			return q.name, nil
		}
	}
	if nerr != nil || strings.Contains(s, "_") {
		return "", fmt.Errorf("ipqos: none of its values")
	}
	return fmt.Sprintf("0x%02x", n), nil
}

func qos(args []string) ([]string, error) {
	if len(args) > 2 {
		return nil, fmt.Errorf("ipqos takes two arguments, and another word follows them")
	}
	var out []string
	for _, a := range args {
		v, err := qosName(a)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	if len(out) == 1 {
		out = append(out, out[0])
	}
	return []string{strings.Join(out, " ")}, nil
}

// opens reads PermitOpen and PermitListen.
func opens(name string, args []string) ([]string, error) {
	if args[0] == "any" || args[0] == "none" {
		if len(args) > 1 {
			return nil, fmt.Errorf("%s takes no more arguments", name)
		}
		return args, nil
	}
	var out []string
	for _, a := range args {
		if name == "permitlisten" && !strings.Contains(a, ":") {
			a = "*:" + a
		}
		i := strings.LastIndexByte(a, ':')
		if i < 0 {
			return nil, fmt.Errorf("%s: no port", name)
		}
		if _, ok := port(a[i+1:]); !ok && a[i+1:] != "*" {
			return nil, fmt.Errorf("%s: bad port", name)
		}
		out = append(out, a)
	}
	return out, nil
}

func keyOptions(args []string) ([]string, error) {
	touch, verify := false, false
	for _, a := range args {
		switch strings.ToLower(a) {
		case "none":
		case "touch-required":
			touch = true
		case "verify-required":
			verify = true
		default:
			return nil, fmt.Errorf("pubkeyauthoptions: none of its values")
		}
	}
	switch {
	case touch && verify:
		return []string{"touch-required verify-required"}, nil
	case touch:
		return []string{"touch-required"}, nil
	case verify:
		return []string{"verify-required"}, nil
	}
	return []string{"none"}, nil
}

// listen reads ListenAddress: one value "address port rdomain", port and
// rdomain possibly empty.
func listen(args []string) ([]string, error) {
	a, p := args[0], ""
	if strings.Contains(a, "[") || strings.Count(a, ":") < 2 {
		host, rest := a, ""
		if strings.HasPrefix(a, "[") {
			i := strings.IndexByte(a, ']')
			if i < 0 {
				return nil, fmt.Errorf("listenaddress: not an address and port")
			}
			host, rest = a[1:i], a[i+1:]
		} else if i := strings.IndexByte(a, ':'); i >= 0 {
			host, rest = a[:i], a[i:]
		}
		if rest != "" {
			n, ok := port(strings.TrimPrefix(rest, ":"))
			if !ok || rest[0] != ':' {
				return nil, fmt.Errorf("listenaddress: bad port")
			}
			p = strconv.Itoa(n)
		}
		a = host
	}
	rdomain := ""
	if len(args) > 1 {
		if args[1] != "rdomain" || len(args) != 3 {
			return nil, fmt.Errorf("listenaddress: the word after the address is not understood")
		}
		rdomain = args[2]
	}
	if a == "" || net.ParseIP(a) == nil && strings.ContainsAny(a, "\t ") {
		return nil, fmt.Errorf("listenaddress: not an address")
	}
	return []string{a + "\x00" + p + "\x00" + rdomain}, nil
}

// list checks the elements of keywords with several.
func (k *keyword) list(args []string) ([]string, error) {
	switch k.name {
	case "acceptenv":
		for _, a := range args {
			if strings.Contains(a, "=") {
				return nil, fmt.Errorf("acceptenv: not the name of a variable")
			}
		}
	case "setenv":
		var out []string
		seen := map[string]bool{}
		for _, a := range args {
			n, _, ok := strings.Cut(a, "=")
			if !ok {
				return nil, fmt.Errorf("setenv: not of the form NAME=VALUE")
			}
			if !seen[n] {
				out = append(out, a)
			}
			seen[n] = true
		}
		return out, nil
	case "authenticationmethods":
		for _, a := range args {
			if a == "any" && len(args) > 1 {
				return nil, fmt.Errorf("authenticationmethods: any must be the only method")
			}
			if err := methods(a); a != "any" && err != nil {
				return nil, err
			}
		}
	case "channeltimeout", "logverbose":
		if strings.EqualFold(args[0], "none") && len(args) > 1 {
			return nil, fmt.Errorf("%s: none must be the only value", k.name)
		}
		for _, a := range args {
			if k.name == "channeltimeout" && !strings.EqualFold(a, "none") && !channelTimeout(a) {
				return nil, fmt.Errorf("channeltimeout: not of the form TYPE=TIME")
			}
		}
	case "allowusers", "denyusers":
		for _, a := range args {
			if !userPattern(a) {
				return nil, fmt.Errorf("%s: a pattern with a bad address", k.name)
			}
		}
	}
	return args, nil
}

// channelTimeout reports whether s is "session:*=5m" (servconf.c, parse_timeout).
func channelTimeout(s string) bool {
	name, value, _ := strings.Cut(s, "=")
	_, ok := seconds(value)
	return ok && name != ""
}

// userPattern reports whether sshd takes USER@HOST (match.c, match_user without
// a user): what looks like an address with a mask must be a network.
func userPattern(s string) bool {
	i := strings.LastIndexByte(s, '@')
	if i < 0 {
		return true
	}
	if s[i+1:] == "" {
		return false
	}
	for h := range strings.SplitSeq(s[i+1:], ",") {
		h = strings.TrimPrefix(h, "!")
		if _, isAddr, ok := cidr(h); strings.Contains(h, "/") && isAddr && !ok && !strings.Contains(h, ":") {
			return false
		}
	}
	return true
}

// methods checks one list of AuthenticationMethods (auth2_methods_valid).
func methods(list string) error {
	seen := map[string]bool{}
	for m := range strings.SplitSeq(list, ",") {
		name, _, _ := strings.Cut(m, ":")
		switch name {
		case "publickey", "password", "keyboard-interactive", "hostbased", "gssapi-with-mic", "gssapi-keyex", "none":
		default:
			return fmt.Errorf("authenticationmethods: unknown method")
		}
		if seen[m] && name != "publickey" {
			return fmt.Errorf("authenticationmethods: a list names one method twice")
		}
		seen[m] = true
	}
	return nil
}
