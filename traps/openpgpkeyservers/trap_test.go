package openpgpkeyservers

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/engine/trap/traptest"
	"fettle/host"
	"fettle/host/format/keyservers"
	"fettle/host/format/openpgp"
	"fettle/host/hosttest"
)

func TestGolden(t *testing.T) { traptest.Golden(t, &Trap) }

func TestPlan(t *testing.T) {
	src, _ := hosttest.Load(t, "testdata/trapped.txtar")
	h := host.New(src)
	p, err := plan(t.Context(), h, trap.Finding{Subject: "/etc/apt/trusted.gpg.d/armored.gpg"})
	if err != nil {
		t.Fatal(err)
	}
	f, ok := p.Steps[0].(step.File)
	if !ok || openpgp.FormOf(f.Content) != openpgp.Binary || bytes.Contains(f.Content, []byte("BEGIN")) {
		t.Errorf("%+v", p)
	}
	var refused *remedy.Refusal
	if _, err = plan(t.Context(), h, trap.Finding{Subject: "/etc/apt/trusted.gpg.d/old.asc"}); !errors.As(err, &refused) ||
		!strings.Contains(err.Error(), "publisher") {
		t.Errorf("an expired key: %v", err)
	}
}

// TestPlanGone: what DNS does not have is replaced, too.
func TestPlanGone(t *testing.T) {
	h := hosttest.New(t, "-- root/etc/gnupg/gpg.conf --\nkeyserver hkps://keys.example.org\nkeyserver hkps://Old.example.org:443\n")
	f, err := Trap.Choose(
		trap.Finding{Subject: "/etc/gnupg/gpg.conf", Facts: trap.FactsOf(facts{[]string{"old.example.org"}})},
		[]string{"keyserver=hkps://new.example.org"},
	)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan(t.Context(), h, f)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(p.Steps[0].(step.File).Content); got != "keyserver hkps://keys.example.org\nkeyserver hkps://new.example.org\n" {
		t.Errorf("%q", got)
	}
}

// TestIgnores: which forms of a file apt skips, by its version, and by sqv.
func TestIgnores(t *testing.T) {
	const keybox, none = "it is a GnuPG keybox", "it contains no OpenPGP keys"
	const armoredGPG, binaryASC = "it is ASCII-armored, but its name ends in .gpg", "it is binary, but its name ends in .asc"
	const notASC = "it is ASCII-armored, but its name does not end in .asc"
	old, gpgv, sqv := verifier{old: true}, verifier{}, verifier{sqv: true}
	for _, c := range []struct {
		v      verifier
		signed bool
		name   string
		form   openpgp.Form
		want   string
	}{
		{sqv, true, "a.gpg", openpgp.Armored, ""}, {sqv, true, "a.asc", openpgp.Binary, ""}, {sqv, true, "a", openpgp.Armored, ""},
		{sqv, true, "a.gpg", openpgp.Keybox, keybox}, {sqv, true, "a.gpg", openpgp.Unknown, none},
		{sqv, false, "a.gpg", openpgp.Armored, armoredGPG}, {sqv, false, "a.asc", openpgp.Binary, binaryASC},
		{gpgv, true, "a.gpg", openpgp.Armored, notASC}, {gpgv, true, "a", openpgp.Armored, notASC}, {gpgv, true, "a.asc", openpgp.Armored, ""},
		{gpgv, true, "a.asc", openpgp.Binary, binaryASC}, {gpgv, true, "a", openpgp.Binary, ""}, {gpgv, true, "a", openpgp.Keybox, keybox},
		{gpgv, false, "a", openpgp.Armored, ""},
		{old, true, "a.gpg", openpgp.Keybox, ""}, {old, false, "a.gpg", openpgp.Keybox, keybox}, {old, true, "a", openpgp.Armored, ""},
		{old, true, "a.gpg", openpgp.Armored, armoredGPG}, {old, true, "a.asc", openpgp.Armored, ""}, {old, true, "a", openpgp.Unknown, none},
	} {
		if got := c.v.ignores(keyservers.AptFile{Path: "/etc/apt/keyrings/" + c.name, SignedBy: c.signed}, c.form); got != c.want {
			t.Errorf("%+v: %q, want %q", c, got, c.want)
		}
	}
}

// TestVerifierOf: apt 3.0 and what led to it verifies with sqv where that is installed.
func TestVerifierOf(t *testing.T) {
	for packages, want := range map[string]verifier{
		"apt 1.8.2": {old: true}, "apt 2.6.1": {old: true}, "apt 2.8.3\nsqv 1": {old: true}, "apt 2.9.1": {}, "apt 2.9.1\nsqv 1": {sqv: true},
		"apt 3.0.4\nsqv 1": {sqv: true}, "apt 3.0.4": {}, "apt 1.9\nsqv 1": {old: true}, "sqv 1": {old: true}, "apt x": {old: true},
	} {
		if got, err := verifierOf(t.Context(), hosttest.New(t, "-- packages --\n"+packages+"\n")); err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", packages, got, err, want)
		}
	}
	if _, err := verifierOf(t.Context(), hosttest.New(t, "-- denied/var/lib/dpkg/status --\n")); err == nil {
		t.Error("packages that may not be read")
	}
}
