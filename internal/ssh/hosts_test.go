package ssh

import (
	"slices"
	"strings"
	"testing"
)

func TestParseHosts(t *testing.T) {
	got, err := ParseHosts("f", "\ufeffa, b # c\n\nroot@c\nssh://x@[2001:db8::1]:2222\na\n", []string{"z"}, nil)
	want := []string{"z", "a", "b", "root@c", "ssh://x@[2001:db8::1]:2222"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	for in, want := range map[string]string{
		"ok\n-oProxyCommand=x\n":  `f:2: host "-oProxyCommand=x" begins with -`,
		"a b":                     `f:1: host "a b" contains ' '`,
		"a;reboot":                `f:1: host "a;reboot" contains ';'`,
		"$(x)":                    `f:1:`,
		"a$HOME":                  `f:1: host "a$HOME" contains '$'`,
		"a`x`":                    "f:1: host \"a`x`\" contains '`'",
		"root@-oProxyCommand=x":   `f:1: host "root@-oProxyCommand=x" has a name that begins with -`,
		"a@b@-x":                  `f:1: host "a@b@-x" has a name that begins with -`,
		"@":                       `f:1: host "@" lacks a name beside the @`,
		"root@":                   `f:1: host "root@" lacks`,
		strings.Repeat("a", 5000): `f:1: host "` + strings.Repeat("a", 100) + `" is longer`,
	} {
		if _, err := ParseHosts("f", in, nil, nil); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v", in, err)
		}
	}
}
