package openpgpkeyservers

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"fettle/conf/openpgp"
	"fettle/host"
	"fettle/host/hosttest"
	"fettle/internal/means"
	"fettle/remedy"
	"fettle/remedy/step"
	"fettle/trap"
	"fettle/trap/traptest"
)

func TestGolden(t *testing.T) { traptest.Golden(t, &Trap) }

func TestAlive(t *testing.T) {
	for _, c := range [][2]string{
		{"keyserver subkeys.pgp.net\n", "keyserver hkps://new\n"},
		{"keyserver hkp://WWWKEYS.nl.pgp.net:11371 # old\r\n", "keyserver hkps://new # old\r\n"},
		{"gpg --keyserver=hkps://hkps.pool.sks-keyservers.net --recv-keys 1", "gpg --keyserver=hkps://new --recv-keys 1"},
		{"gpg --keyserver 'keys.gnupg.net' -r 1; echo subkeys.pgp.net\n", "gpg --keyserver 'hkps://new' -r 1; echo subkeys.pgp.net\n"},
		{"# keyserver subkeys.pgp.net\n", "# keyserver subkeys.pgp.net\n"},
		{"keyserver notpgp.net.example.org\n", "keyserver notpgp.net.example.org\n"},
		{"keyserver-options auto-key-retrieve\n", "keyserver-options auto-key-retrieve\n"},
		{"keyserver hkps://keyserver.ubuntu.com\n", "keyserver hkps://keyserver.ubuntu.com\n"},
	} {
		if got := alive(c[0], "hkps://new"); got != c[1] {
			t.Errorf("%q: %q, want %q", c[0], got, c[1])
		}
	}
}

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
	if _, err = plan(t.Context(), h, trap.Finding{Subject: "/etc/apt/trusted.gpg.d/old.asc"}); !errors.As(err, &refused) || !strings.Contains(err.Error(), "publisher") {
		t.Errorf("an expired key: %v", err)
	}
}

func FuzzNames(f *testing.F) {
	f.Add("keyserver hkp://subkeys.pgp.net:11371\n")
	f.Fuzz(func(t *testing.T, text string) {
		if again := alive(text, "hkps://keyserver.ubuntu.com"); alive(again, "hkps://keyserver.ubuntu.com") != again {
			t.Fatal("the second time changes more")
		}
	})
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }
