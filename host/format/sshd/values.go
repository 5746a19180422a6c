package sshd

import (
	"fmt"
	"strconv"
	"strings"

	"fettle/internal/lazy"
)

// canonical turns the arguments of a line into values as sshd -T prints them.
// rest is the line after its keyword, args the same in words.
func (k *keyword) canonical(args []string, rest string) ([]string, error) {
	if k.kind == kIgnored {
		return nil, nil
	}
	if len(args) == 0 {
		return nil, fmt.Errorf("%s lacks its argument", k.name)
	}
	switch k.kind {
	case kRest:
		v := strings.TrimLeft(rest, white)
		if strings.HasSuffix(k.name, "command") && k.name != "forcecommand" && !strings.HasPrefix(v, "/") && !strings.EqualFold(v, "none") {
			return nil, fmt.Errorf("%s must be an absolute path", k.name)
		}
		return []string{none(v)}, nil
	case kAppend, kFirst, kFirstEach:
		for _, a := range args {
			if a == "" {
				return nil, fmt.Errorf("%s has an empty argument", k.name)
			}
		}
		if k.name == "hostkey" || k.name == "hostcertificate" {
			return one(k, args, func(s string) (string, error) { return none(s), nil })
		}
		return k.list(args)
	case kSubsystem:
		if len(args) < 2 {
			return nil, fmt.Errorf("subsystem lacks its command")
		}
		return []string{strings.Join(args, " ")}, nil
	case kRekey:
		return rekey(args)
	case kQoS:
		return qos(args)
	case kOpen:
		return opens(k.name, args)
	case kKeyOption:
		return keyOptions(args)
	case kListen:
		return listen(args)
	}
	return one(k, args, k.scalar)
}

// one reads a single argument and refuses more.
func one(k *keyword, args []string, read func(string) (string, error)) ([]string, error) {
	if args[0] == "" {
		return nil, fmt.Errorf("%s has an empty argument", k.name)
	}
	v, err := read(args[0])
	if err == nil && len(args) > 1 {
		err = fmt.Errorf("%s takes one argument, and another word follows it", k.name)
	}
	return []string{v}, err
}

func none(s string) string {
	if strings.EqualFold(s, "none") {
		return "none"
	}
	return s
}

func (k *keyword) scalar(s string) (string, error) {
	switch k.kind {
	case kFlag:
		return word(k.name, s, "yes no")
	case kMulti:
		return word(k.name, s, k.words)
	case kInt:
		n, err := strconv.ParseInt(s, 10, 32)
		if err != nil {
			return "", fmt.Errorf("%s: not a number", k.name)
		}
		if n < 0 {
			return "", fmt.Errorf("%s: must not be negative", k.name)
		}
		return strconv.FormatInt(n, 10), nil
	case kTime:
		if k.name == "unusedconnectiontimeout" && strings.EqualFold(s, "none") {
			return "none", nil
		}
		n, ok := seconds(s)
		if !ok {
			return "", fmt.Errorf("%s: not a time", k.name)
		}
		if k.name == "unusedconnectiontimeout" && n == 0 {
			return "none", nil
		}
		return strconv.FormatInt(n, 10), nil
	case kMask:
		n, err := strconv.ParseUint(s, 8, 9)
		if err != nil {
			return "", fmt.Errorf("%s: not an octal mask", k.name)
		}
		return fmt.Sprintf("0%o", n), nil
	case kPort:
		n, ok := port(s)
		if !ok {
			return "", fmt.Errorf("port: not a port")
		}
		return strconv.Itoa(n), nil
	case kStartups:
		return startups(s)
	case kNetBlock:
		return netBlock(s)
	}
	if k.name == "persourcemaxstartups" && s != "none" {
		n, err := strconv.ParseInt(s, 10, 32)
		return strconv.FormatInt(n, 10), err
	}
	return none(s), nil
}

// word finds s among words, each "word" or "word=as printed".
func word(name, s, words string) (string, error) {
	for w := range strings.FieldsSeq(words) {
		in, out, ok := strings.Cut(w, "=")
		if !ok {
			out = in
		}
		// PermitTunnel and the forms of log names compare as they are written.
		if strings.EqualFold(in, s) && (name != "permittunnel" || in == s) {
			return out, nil
		}
	}
	return "", fmt.Errorf("%s: none of its values", name)
}

var timePart = lazy.Regexp(`^([0-9]+)([sSmMhHdDwW]?)`)

// seconds follows convtime (misc.c): "600", "10m", "1h30m".
func seconds(s string) (int64, bool) {
	total := int64(0)
	if s == "" {
		return 0, false
	}
	for s != "" {
		m := timePart().FindStringSubmatch(s)
		if m == nil {
			return 0, false
		}
		n, err := strconv.ParseInt(m[1], 10, 31)
		mult := map[string]int64{"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}[strings.ToLower(m[2])]
		if err != nil || (1<<31-1-total)/mult < n {
			return 0, false
		}
		total += n * mult
		s = s[len(m[0]):]
	}
	return total, true
}
