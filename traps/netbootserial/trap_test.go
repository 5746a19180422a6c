package netbootserial

import (
	"errors"
	"strings"
	"testing"

	"fettle/host/hosttest"
	"fettle/remedy"
	"fettle/remedy/step"
	"fettle/trap"
	"fettle/trap/traptest"
)

func TestGolden(t *testing.T) { traptest.Golden(t, &Trap) }

func TestPlan(t *testing.T) {
	silent := "-- root/srv/tftp/grub/grub.cfg --\nmenuentry 'a' {\n linux /linux vga=788 --- quiet\n}\n"
	for name, tt := range map[string]struct {
		host    string
		subject string
		with    []string
		title   string // or the refusal
	}{
		"said":           {silent, "/srv/tftp", []string{"port=ttyS1", "speed=57600"}, "to ttyS1 at 57600"},
		"said port":      {silent, "/srv/tftp", []string{"port=ttyS2"}, "to ttyS2 at 115200"},
		"by the others":  {silent + "menuentry 'b' {\n linux /linux console=ttyS1,9600n8\n}\n", "/srv/tftp", nil, "to ttyS1 at 9600"},
		"nobody told":    {silent, "/srv/tftp", nil, "nothing tells which serial port"},
		"no such port":   {silent, "/srv/tftp", []string{"port=ttyS7"}, "none of ttyS0"},
		"no speed":       {silent, "/srv/tftp", []string{"port=ttyS0", "speed=fast"}, "no speed"},
		"a circle":       {"-- root/srv/tftp/syslinux.cfg --\ninclude syslinux.cfg\n", "/srv/tftp", nil, "in a circle"},
		"no menu":        {"-- root/srv/tftp/a --\n", "/srv/tftp", nil, "no boot menu"},
		"not there":      {"-- root/srv/tftp/a --\n", "/srv/other", nil, "does not exist"},
		"the host's own": {silent, here, nil, "by hand"},
		"done":           {"-- root/srv/tftp/pxelinux.cfg/default --\nserial 1 115200\nlabel a\nkernel linux\nappend console=ttyS1,115200n8\n", "/srv/tftp", nil, "already"},
	} {
		f, err := Trap.Choose(trap.Finding{Subject: tt.subject}, tt.with)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Trap.Plan(t.Context(), hosttest.New(t, tt.host), f)
		var refused *remedy.Refusal
		switch {
		case err == nil && (!strings.HasSuffix(p.Title, tt.title) || len(p.Steps) == 0):
			t.Errorf("%s: %q, %d steps", name, p.Title, len(p.Steps))
		case err != nil && (!errors.As(err, &refused) || !strings.Contains(err.Error(), tt.title)):
			t.Errorf("%s: %v; want %q", name, err, tt.title)
		}
		for _, s := range p.Steps {
			if f := s.(step.File); string(f.Was) == string(f.Content) {
				t.Errorf("%s: a step that changes nothing", name)
			}
		}
	}
}
