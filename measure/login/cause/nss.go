package cause

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// HostSources are the sources of the line "hosts" of nsswitch.conf(5), in
// their order, without actions. A text without the line has glibc's default
// (nss/nss_database.c since 2.34; "dns [!UNAVAIL=return] files" before 2.33
// asks the same two).
func HostSources(nsswitch string) []string {
	for line := range strings.Lines(nsswitch) {
		line, _, _ = strings.Cut(line, "#")
		db, rest, ok := strings.Cut(line, ":")
		if !ok || strings.TrimSpace(db) != "hosts" {
			continue
		}
		var out []string
		for rest != "" {
			before, after, action := strings.Cut(rest, "[")
			for _, s := range strings.Fields(before) {
				if !slices.Contains(out, s) {
					out = append(out, s)
				}
			}
			if !action {
				break
			}
			_, rest, _ = strings.Cut(after, "]")
		}
		return out
	}
	return []string{"files", "dns"}
}

// answered are the files in which the client's address has a name at once: the
// host's own /etc/nsswitch.conf and /etc/hosts, with files asked first and a
// line for the address. All other lookups stay as they are.
func answered(nsswitch, hosts []byte, addr string) map[string][]byte {
	var b strings.Builder
	done := false
	for line := range strings.Lines(string(nsswitch)) {
		text, _, _ := strings.Cut(line, "#")
		if db, rest, ok := strings.Cut(text, ":"); ok && strings.TrimSpace(db) == "hosts" && !done {
			line, done = "hosts: files "+strings.TrimSpace(rest)+"\n", true
		}
		b.WriteString(line)
	}
	if !done {
		b.WriteString("\nhosts: files dns\n")
	}
	return map[string][]byte{
		"/etc/nsswitch.conf": []byte(b.String()),
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
