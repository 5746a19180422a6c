package cause

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"fettle/host/format/nameservice"
)

// HostSources are the sources of names of hosts in the text of an
// nsswitch.conf(5), in their order, without actions and without the words of
// comments.
func HostSources(text string) []string {
	var out []string
	for _, s := range nameservice.ParseSwitch(text).Sources("hosts") {
		if !s.Commented && !slices.Contains(out, s.Name) {
			out = append(out, s.Name)
		}
	}
	return out
}

// answered are the files in which the client's address has a name: the
// host's own /etc/nsswitch.conf and /etc/hosts, with files asked first and a
// line for the address. All other lookups stay as they are.
func answered(nsswitch, hosts []byte, addr string) map[string][]byte {
	text := strings.TrimSuffix(string(nsswitch), "\n") + "\nhosts: files" // the last line counts
	for _, s := range nameservice.ParseSwitch(string(nsswitch)).Sources("hosts") {
		if !s.Commented {
			text += " " + s.String()
		}
	}
	return map[string][]byte{
		"/etc/nsswitch.conf": []byte(text + "\n"),
		"/etc/hosts":         []byte(fmt.Sprintf("%s fettle-login.invalid\n%s", addr, hosts)),
	}
}

// readOr reads a file; one that is absent is empty, and present is false.
func readOr(name string) (b []byte, present bool, err error) {
	b, err = os.ReadFile(name)
	if os.IsNotExist(err) {
		return nil, false, nil
	}
	return b, err == nil, err
}
