package shell

import (
	"os/exec"
	"testing"
)

func TestQuotesWhereItIsNeeded(t *testing.T) {
	for in, want := range map[string]string{
		"":                "''",
		"az-AZ_09":        "az-AZ_09",
		"/srv/a.b:c=d,e":  "/srv/a.b:c=d,e",
		"+50%@host":       "+50%@host",
		"a b":             "'a b'",
		" ":               "' '",
		";reboot":         "';reboot'",
		"a`b":             "'a`b'", // the neighbours of the letters and digits in ASCII
		"a{b":             "'a{b'",
		"a[b":             "'a[b'",
		"a'b":             `'a'\''b'`,
		"'":               `''\'''`,
		"$HOME":           "'$HOME'",
		"*":               "'*'",
		"~":               "'~'",
		"a\nb":            "'a\nb'",
		"Büro":            "'Büro'",
		"a\"b\\c":         `'a"b\c'`,
		"#":               "'#'",
		"\xff":            "'\xff'",
		"0123456789":      "0123456789",
		"abcxyzABCXYZ":    "abcxyzABCXYZ",
		"x;y|z&(a)<b>!?^": "'x;y|z&(a)<b>!?^'",
	} {
		if got := Quote(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

// TestJoinIsReadBackByTheShell: what people copy is what was meant.
func TestJoinIsReadBackByTheShell(t *testing.T) {
	argv := []string{"printf", `%s|`, "", "a b", "it's", "$HOME", "`id`", `\`, "*", "a\nb", "plain"}
	if got, want := Join(argv[:4]), `printf '%s|' '' 'a b'`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	out, err := exec.Command("/bin/sh", "-c", Join(argv)).Output()
	if want := "|a b|it's|$HOME|`id`|\\|*|a\nb|plain|"; err != nil || string(out) != want {
		t.Errorf("the shell reads %q, %v; want %q", out, err, want)
	}
	if got := Join(nil); got != "" {
		t.Errorf("of nothing: %q", got)
	}
}
