package ssh

import (
	"slices"
	"strings"
	"testing"
)

// TestSSHIsGivenNothing: a host that is checked gets no keys, no display and no
// terminal of the admin's, and ssh asks nobody anything.
func TestSSHIsGivenNothing(t *testing.T) {
	f := &Client{control: "/run/x/100%"}
	a := f.args("web", "true")
	for _, o := range []string{"BatchMode=yes", "ForwardAgent=no", "ForwardX11=no", "ClearAllForwardings=yes", "PermitLocalCommand=no",
		"RequestTTY=no", "RemoteCommand=none", "ControlPath=/run/x/100%%/%C"} {
		if i := slices.Index(a, o); i < 1 || a[i-1] != "-o" {
			t.Errorf("ssh is not told -o %s: %q", o, a)
		}
	}
	if n := len(a); a[n-3] != "--" || a[n-2] != "web" || a[n-1] != "true" {
		t.Errorf("a host may be taken for an option: %q", a)
	}
	if a := f.Anew().args("web", "true"); !slices.Contains(a, "ControlPath=none") ||
		slices.ContainsFunc(a, func(s string) bool { return strings.Contains(s, "%C") }) {
		t.Errorf("a new connection is asked of an old one: %q", a)
	}
}
