package tmpfiles

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"fettle/host"
	"fettle/host/format/osrelease"
)

// unanswered is a specifier whose value the host did not tell.
type unanswered struct{ spec, why string }

func (e *unanswered) Error() string { return "specifier " + e.spec + " has no value here: " + e.why }

// specifiers expands the specifiers of tmpfiles.d(5), table 1, for the system
// instance.
type specifiers struct {
	ctx context.Context
	h   *host.Host
}

func (s *specifiers) expand(text string) (string, error) {
	if !strings.Contains(text, "%") {
		return text, nil
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '%' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		c := text[i+1]
		// "%" before anything but a letter or digit means itself (systemd 236).
		if c != '%' && !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9') {
			b.WriteByte('%')
			continue
		}
		i++
		v, err := s.value(c)
		if err != nil {
			return "", err
		}
		b.WriteString(v)
	}
	return b.String(), nil
}

func (s *specifiers) value(c byte) (string, error) {
	id := s.h.Identity()
	spec := "%" + string(c)
	need := func(v, what string) (string, error) {
		if v == "" {
			return "", &unanswered{spec, what + " is not known"}
		}
		return v, nil
	}
	switch c {
	case '%':
		return "%", nil
	case 't':
		return "/run", nil
	case 'S':
		return "/var/lib", nil
	case 'C':
		return "/var/cache", nil
	case 'L':
		return "/var/log", nil
	case 'T':
		return "/tmp", nil
	case 'V':
		return "/var/tmp", nil
	case 'h':
		return "/root", nil
	case 'u', 'g':
		return "root", nil
	case 'U', 'G':
		return "0", nil
	case 'H':
		return need(id.Hostname, "the host name")
	case 'l':
		short, _, _ := strings.Cut(id.Hostname, ".")
		return need(short, "the host name")
	case 'v':
		return need(id.Release, "the kernel's release")
	case 'b':
		return need(strings.ReplaceAll(id.BootID, "-", ""), "the boot ID")
	case 'a':
		return architecture(id.Machine)
	case 'm':
		v, err := s.h.ReadString(s.ctx, "/etc/machine-id")
		if err != nil {
			return "", &unanswered{spec, err.Error()}
		}
		if !MachineID(v) {
			return "", &unanswered{spec, "/etc/machine-id holds no machine ID yet"}
		}
		return v, nil
	case 'o':
		return s.osRelease(spec, "ID")
	case 'w':
		return s.osRelease(spec, "VERSION_ID")
	case 'B':
		return s.osRelease(spec, "BUILD_ID")
	case 'W':
		return s.osRelease(spec, "VARIANT_ID")
	case 'M':
		return s.osRelease(spec, "IMAGE_ID")
	case 'A':
		return s.osRelease(spec, "IMAGE_VERSION")
	}
	return "", fmt.Errorf("unknown specifier %s", spec)
}

// MachineID reports whether s is a machine ID, machine-id(5): 32 lower case
// hexadecimal digits, not all zero.
func MachineID(s string) bool {
	return len(s) == 32 && strings.Trim(s, "0123456789abcdef") == "" && strings.Trim(s, "0") != ""
}

// architecture is the name that systemd gives a machine of uname(2), systemd.unit(5) ConditionArchitecture=.
func architecture(machine string) (string, error) {
	switch {
	case machine == "x86_64":
		return "x86-64", nil
	case machine == "aarch64":
		return "arm64", nil
	case len(machine) == 4 && machine[0] == 'i' && strings.HasSuffix(machine, "86"):
		return "x86", nil
	case strings.HasPrefix(machine, "armv") && strings.HasSuffix(machine, "l"):
		return "arm", nil
	case machine == "ppc64le":
		return "ppc64-le", nil
	case machine == "s390x", machine == "riscv64", machine == "ppc64":
		return machine, nil
	}
	return "", &unanswered{"%a", "the machine " + machine + " is not known"}
}

// osRelease reads one field of os-release(5); a field that is not there is empty.
func (s *specifiers) osRelease(spec, field string) (string, error) {
	f, err := osrelease.Read(s.ctx, s.h)
	if err == nil && !strings.HasSuffix(f.Path, "/os-release") { // systemd reads no other
		err = errors.New("there is no os-release")
	}
	if err != nil {
		return "", &unanswered{spec, err.Error()}
	}
	return f.Fields[field], nil
}
