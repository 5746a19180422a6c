// Package bmc finds the serial port on which a BMC shows its host, reads
// ipmitool's output about serial over LAN, and recognises the vendors' default
// logins of BMCs.
package bmc

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// SOL are the settings of serial over LAN, as `ipmitool sol info` prints them.
type SOL struct {
	Known   bool // the BMC told whether it is enabled
	Enabled bool
	Speed   int // bits per second; 0: as the serial port's, or not told
}

// ParseSOL reads the output of `ipmitool sol info`.
func ParseSOL(text string) SOL {
	var s SOL
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(name) {
		case "Enabled":
			s.Known, s.Enabled = value == "true" || value == "false", value == "true"
		case "Volatile Bit Rate (kbps)":
			if kbps, err := strconv.ParseFloat(value, 64); err == nil && kbps > 0 && kbps < 1e6 {
				s.Speed = int(math.Round(kbps * 1000))
			}
		}
	}
	return s
}

// Silent says why a console may show nothing: reasons that the BMC's settings
// give, the surest first, and then what is left.
func Silent(s SOL, power string, speed int) []string {
	var out []string
	if strings.Contains(power, "is off") {
		out = append(out, "the host is switched off (ipmitool chassis power on)")
	}
	if s.Known && !s.Enabled {
		out = append(out, "serial over LAN is disabled in the BMC (ipmitool sol set enabled true 1)")
	}
	if s.Speed != 0 && speed != 0 && s.Speed != speed {
		out = append(
			out,
			fmt.Sprintf(
				"the BMC's end of the port runs at %d bits per second, and %d are expected (ipmitool sol set volatile-bit-rate %s 1)",
				s.Speed,
				speed,
				kbps(speed),
			),
		)
	}
	if len(out) == 0 {
		out = append(
			out,
			"the host may wait for a key: press Enter",
			"or what runs there writes to another port or to the screen alone (fettle explain netboot-serial), or the firmware does not "+
				"redirect its console to the BMC's port",
		)
	}
	return out
}

// kbps is a speed as ipmitool wants it: "115.2".
func kbps(speed int) string { return strconv.FormatFloat(float64(speed)/1000, 'f', -1, 64) }

// defaults are logins as BMCs came from their makers (the makers' manuals). Newer
// ones print a password of their own on a label: laws ask for that.
var defaults = []struct{ user, password, maker string }{
	{
		"ADMIN",
		"ADMIN",
		"Supermicro",
	}, {"root", "calvin", "Dell (iDRAC)"}, {"USERID", "PASSW0RD", "IBM and Lenovo"}, {"admin", "admin", "several makers"},
	{
		"root",
		"changeme",
		"Sun and Oracle (ILOM)",
	}, {"root", "0penBmc", "OpenBMC"}, {"admin", "password", "several makers"}, {"root", "root", "several makers"},
	{
		"Administrator",
		"Admin@9000",
		"Huawei",
	}, {"root", "Huawei12#$", "Huawei"}, {"sysadmin", "superuser", "AMI"}, {"root", "superuser", "AMI"},
	{"admin", "cmb9.admin", "Advantech and others"},
}

// DefaultOf is the maker that ships a login; empty: nobody known.
func DefaultOf(user, password string) string {
	for _, d := range defaults {
		if d.user == user && d.password == password {
			return d.maker
		}
	}
	return ""
}
