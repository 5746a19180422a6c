package accounts

import (
	"slices"

	"fettle/host/format/nameservice"
)

// known are services that know accounts, of which one counts even when it
// is in a comment: see nameservice.Source.
var known = map[string]bool{
	"sss":        true,
	"ldap":       true,
	"winbind":    true,
	"nis":        true,
	"nisplus":    true,
	"hesiod":     true,
	"vas4":       true,
	"centrifydc": true,
}

// elsewhere lists the services of these databases that know accounts which
// no file of the host shows.
func elsewhere(sw *nameservice.Switch, databases ...string) []string {
	var out []string
	for _, db := range databases {
		for _, s := range sw.Sources(db) {
			if s.Commented && !known[s.Name] { // a word of the comment
				continue
			}
			switch s.Name {
			case "files", "altfiles", "compat", "db", "cache":
			case "systemd", "mymachines":
				// Dynamic users of services and of containers: nobody logs in as these.
			default:
				if !slices.Contains(out, s.Name) {
					out = append(out, s.Name)
				}
			}
		}
	}
	return out
}

func uses(sw *nameservice.Switch, service string) bool {
	return sw.Has("passwd", service) || sw.Has("group", service)
}
