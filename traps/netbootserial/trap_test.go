package netbootserial

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/engine/trap/traptest"
	"fettle/host/hosttest"
	"fettle/internal/means"
	"fettle/tools/netboot/menu"
)

func TestGolden(t *testing.T) { traptest.Golden(t, &Trap) }

// spcrTTYS1 is a firmware's table that names ttyS1 at 115200.
var spcrTTYS1 = "-- raw/sys/firmware/acpi/tables/SPCR --\n\"SPCR\\x50" + strings.Repeat(
	"\\x00",
	35,
) + "\\x01\\x08\\x00\\x00\\xf8\\x02" + strings.Repeat(
	"\\x00",
	12,
) + "\\x07" + strings.Repeat(
	"\\x00",
	21,
) + "\"\n"

// TestDropIn: a shell makes of GRUB's settings what is meant, whatever they were.
func TestDropIn(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(dir+"/x.cfg", []byte(grubSettings(menu.Console{Port: 1, Speed: 57600}, true)), 0o600)
	out, err := exec.Command(means.Tool(t, "sh"), "-c", `GRUB_CMDLINE_LINUX="a b=c"; . "$0"; echo `+
		`"$GRUB_CMDLINE_LINUX|$GRUB_TERMINAL|$GRUB_SERIAL_COMMAND"`, dir+"/x.cfg").
		CombinedOutput()
	if want := "a b=c console=tty0 console=ttyS1,57600n8|console serial|serial --unit=1 --speed=57600\n"; err != nil || string(out) != want {
		t.Errorf("%q, %v; want %q", out, err, want)
	}
}

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
		"nobody told":    {silent, "/srv/tftp", nil, "nothing shows which serial port"},
		"no such port":   {silent, "/srv/tftp", []string{"port=ttyS7"}, "expected ttyS0"},
		"no speed":       {silent, "/srv/tftp", []string{"port=ttyS0", "speed=fast"}, "not a speed"},
		"a circle":       {"-- root/srv/tftp/syslinux.cfg --\ninclude syslinux.cfg\n", "/srv/tftp", nil, "in a circle"},
		"no menu":        {"-- root/srv/tftp/a --\n", "/srv/tftp", nil, "no boot menu"},
		"not there":      {"-- root/srv/tftp/a --\n", "/srv/other", nil, "does not exist"},
		"no console":     {silent, here, nil, "no serial console"},
		"no update-grub": {spcrTTYS1 + "-- root/proc/cmdline --\nquiet\n-- units --\n", here, nil, "not set up by update-grub"},
		"named already": {spcrTTYS1 + "-- root/proc/cmdline --\nquiet\n-- root/usr/sbin/update-grub --\n-- root/etc/default/grub.d/50-x.cfg " +
			"--\nGRUB_CMDLINE_LINUX=\"console=ttyS0\"\n-- units --\n", here, nil, "50-x.cfg names a serial console"},
		"the host's own": {spcrTTYS1 + "-- root/proc/cmdline --\nquiet\n-- root/usr/sbin/update-grub --\n-- root/etc/default/grub " +
			"--\nGRUB_TIMEOUT=5\n-- units --\n", here, nil, "show this host on ttyS1 at 115200"},
		"a getty alone": {spcrTTYS1 + "-- root/proc/cmdline --\nconsole=ttyS1,115200n8\n-- units --\nserial-getty@ttyS1.service loaded " +
			"inactive dead disabled\n", here, nil, "show this host on ttyS1 at 115200"},
		"done": {"-- root/srv/tftp/pxelinux.cfg/default --\nserial 1 " +
			"115200\nlabel a\nkernel linux\nappend console=ttyS1,115200n8\n", "/srv/tftp", nil, "already"},
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
			if f, ok := s.(step.File); ok && string(f.Was) == string(f.Content) {
				t.Errorf("%s: a step that changes nothing", name)
			}
		}
	}
}
