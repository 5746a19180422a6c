package ssh

import (
	"errors"
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

func TestPatternsAreExpanded(t *testing.T) {
	expand := func(p string) ([]string, error) {
		switch p {
		case "web*":
			return []string{"web1", "web2"}, nil
		case "bad?":
			return []string{"-x"}, nil
		}
		return nil, errors.New("no host is called " + p)
	}
	got, err := ParseHosts("hosts", "db, web*, ,\nweb2,,web3", nil, expand)
	if want := []string{"db", "web1", "web2", "web3"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	for in, want := range map[string]string{"a\nb\nx*": "hosts:3: no host is called x*", "bad?": `hosts:1: host "-x" begins with -`} {
		if _, err := ParseHosts("hosts", in, nil, expand); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", in, err, want)
		}
	}
	if _, err := ParseHosts("hosts", "web*", nil, nil); err == nil || !strings.Contains(err.Error(), `contains '*'`) {
		t.Errorf("a pattern where none can be expanded: %v", err)
	}
}

func TestLongestHost(t *testing.T) {
	for n, good := range map[int]bool{1100: true, 1101: false} {
		if _, err := ParseHosts("f", strings.Repeat("a", n), nil, nil); (err == nil) != good {
			t.Errorf("of %d bytes: %v", n, err)
		}
	}
	for _, bad := range []string{"a\x7f", "a\x01", "a{b}", "a!"} {
		if _, err := ParseHosts("f", bad, nil, nil); err == nil || !strings.Contains(err.Error(), "which a host name cannot") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
