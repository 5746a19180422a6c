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
