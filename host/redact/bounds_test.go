package redact

import (
	"strings"
	"testing"
)

// TestShapes: what replaces something has its shape, at the bounds of each form too.
func TestShapes(t *testing.T) {
	// A port's GUID, eight bytes with colons or dashes between.
	for _, in := range []string{"00:11:22:33:44:55:66:77", "00-11-22-33-44-55-66-77", "0011:2233:4455:6677"} {
		out := redactor(t).scrambled(in)
		for i := range in {
			sep := in[i] == ':' || in[i] == '-'
			if len(out) != len(in) || sep != (out[i] == ':' || out[i] == '-') || sep && out[i] != in[i] {
				t.Errorf("%s became %s", in, out)
				break
			}
		}
		if out == in {
			t.Errorf("%s stayed", in)
		}
	}
	// An address of 64 bytes is the longest that is looked at: here one with a dotted tail.
	if tok := addressToken(strings.Repeat("f", 64)); len(tok) != 64 {
		t.Errorf("64 letters of an address: %q", tok)
	}
	if tok := addressToken(strings.Repeat("f", 65)); tok != "" {
		t.Errorf("65 letters of an address: %q", tok)
	}
	if tok := addressToken(strings.Repeat("f", 64) + ":"); tok != "" {
		t.Errorf("64 letters of an address and a colon: %q", tok)
	}
}

// TestErrorNumbers: a number of up to three digits behind "user" is one of an error.
func TestErrorNumbers(t *testing.T) {
	r := redactor(t)
	for in, kept := range map[string]bool{"999": true, "-13": true, "1000": false} {
		if out := r.namedInLog(in); (out == in) != kept {
			t.Errorf("%s became %s", in, out)
		}
	}
}

// TestSerialLength: an everyday word with a digit may be a serial number from five letters on.
func TestSerialLength(t *testing.T) {
	r := redactor(t)
	for name, want := range map[string]bool{"eth0": false, "ttys0": true} {
		if !harmless(name) {
			t.Fatalf("%s is no everyday word", name)
		}
		r.LearnSerial(name)
		if _, known := r.names[name]; known != want {
			t.Errorf("%s is known: %t", name, known)
		}
	}
}

// TestWordsBehindOptions: each word of an option that interfaces(5) does not have is replaced,
// and what the first option of a module names.
func TestWordsBehindOptions(t *testing.T) {
	r := redactor(t)
	for line, out := range map[string]string{
		"  description uplink of jane acme": r.interfacesLine("/etc/network/interfaces", "  description uplink of jane acme"),
		"options snd-hda-intel id=janebox":  r.moduleLine("options snd-hda-intel id=janebox"),
		"options foo label=jane bar=2":      r.moduleLine("options foo label=jane bar=2"),
	} {
		if strings.Contains(out, "jane") || strings.Contains(out, "acme") || !strings.HasPrefix(out, line[:8]) {
			t.Errorf("%s became %s", line, out)
		}
	}
}
