package accounts

import (
	"context"
	"slices"
	"strings"

	"fettle/host"
)

// nsswitch is the services of each database of nsswitch.conf(5).
type nsswitch map[string][]string

// readSwitch reads /etc/nsswitch.conf; a host without one uses files alone
// for passwd and group (glibc, nss/nss_database.c).
func readSwitch(ctx context.Context, h *host.Host) (nsswitch, error) {
	b, err := h.ReadFile(ctx, "/etc/nsswitch.conf")
	if host.IsAbsent(err) {
		return nsswitch{}, nil
	}
	if err != nil {
		return nil, err
	}
	return parseSwitch(string(b)), nil
}

func parseSwitch(text string) nsswitch {
	sw := nsswitch{}
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		db, services, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		db = strings.TrimSpace(db)
		for services != "" {
			// "[NOTFOUND=return]" is an action, not a service.
			if before, after, ok := strings.Cut(services, "["); ok {
				sw[db] = append(sw[db], strings.Fields(before)...)
				_, services, _ = strings.Cut(after, "]")
				continue
			}
			sw[db] = append(sw[db], strings.Fields(services)...)
			break
		}
	}
	return sw
}

// elsewhere lists the services of these databases that know accounts which
// no file of the host shows.
func (sw nsswitch) elsewhere(databases ...string) []string {
	var out []string
	for _, db := range databases {
		for _, s := range sw[db] {
			switch s {
			case "files", "altfiles", "compat", "db", "cache":
			case "systemd", "mymachines":
				// Dynamic users of services and of containers: nobody logs in as these.
			default:
				if !slices.Contains(out, s) {
					out = append(out, s)
				}
			}
		}
	}
	return out
}

func (sw nsswitch) uses(service string) bool {
	return slices.Contains(sw["passwd"], service) || slices.Contains(sw["group"], service)
}
