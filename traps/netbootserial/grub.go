package netbootserial

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/format/osrelease"
	"fettle/tools/netboot/bmc"
	"fettle/tools/netboot/menu"
)

const (
	grubDefaults = "/etc/default/grub"
	grubConfig   = "/boot/grub/grub.cfg"
	updateGRUB   = "/usr/sbin/update-grub"
	// dropIn comes after those of cloud images (50-cloudimg-settings.cfg).
	dropIn = grubDefaults + ".d/zz-fettle-serial.cfg"
)

// grub is what GRUB is told, and what its generated menu says.
type grub struct {
	there  bool
	serial bool // its own menu appears on a serial port
	// ports are files that name a serial console for the kernel.
	ports []string
}

// readGRUB reads GRUB's settings as grub-mkconfig does: /etc/default/grub, then
// the drop-ins by name (Debian's and Ubuntu's), later ones over earlier ones.
func readGRUB(ctx context.Context, h *host.Host) (grub, error) {
	var g grub
	files := []string{grubDefaults}
	more, err := h.Glob(ctx, grubDefaults+".d", "*.cfg")
	if err != nil && !host.IsAbsent(err) {
		return g, err
	}
	slices.Sort(more)
	values := map[string]string{}
	for _, f := range append(files, more...) {
		text, err := h.ReadString(ctx, f)
		if host.IsAbsent(err) {
			continue
		}
		if err != nil {
			return g, err
		}
		g.there = true
		for name, v := range osrelease.Parse(text) {
			values[name] = v
			if strings.Contains(v, "console=ttyS") {
				g.ports = append(g.ports, f)
			}
		}
	}
	g.serial = slices.Contains(strings.Fields(values["GRUB_TERMINAL"]+" "+values["GRUB_TERMINAL_OUTPUT"]), "serial")
	return g, nil
}

// nextBoot tells whether every entry of the generated menu has the kernel talk to a
// port, and GRUB too.
func nextBoot(ctx context.Context, h *host.Host, want menu.Console) (bool, error) {
	m, err := menu.Read(ctx, h, path.Dir(grubConfig))
	if host.IsAbsent(err) {
		return false, nil
	}
	if err != nil || !m.OnSerial() {
		return false, err
	}
	systems := 0
	for _, l := range m.Lines() {
		if !slices.ContainsFunc(l.Words, func(w string) bool { return strings.HasPrefix(w, "root=") }) {
			continue // a memory test
		}
		systems++
		if c, _, _ := l.Sides(); c == nil || c.Port != want.Port || want.Speed != 0 && c.Speed != want.Speed {
			return false, nil
		}
	}
	return systems > 0, nil
}

// planHere makes the installed system itself talk on the port that its BMC shows:
// the kernel, GRUB, and a getty for the time before the next boot.
func planHere(ctx context.Context, h *host.Host, f trap.Finding) (remedy.Plan, error) {
	c, err := offeredHere(ctx, h, f)
	if err != nil {
		return remedy.Plan{}, err
	}
	unit := "serial-getty@" + c.Device() + ".service"
	p := remedy.Plan{Title: "show this host on " + c.String(),
		Notes: []string{
			"The kernel and GRUB use the port from the next boot on; systemd then " +
				"starts a getty there automatically. Until then there is only the getty.",
		}}
	line, err := h.ReadString(ctx, "/proc/cmdline")
	if err != nil {
		return p, err
	}
	talks := strings.Contains(" "+line, " console="+c.Device()+",")
	g, err := readGRUB(ctx, h)
	if err != nil {
		return p, err
	}
	if !talks || g.there && !g.serial {
		if there, err := h.Exists(ctx, updateGRUB); err != nil || !there {
			return p, remedy.Refuse("this system's boot loader is not set up by update-grub: see by hand (fettle explain netboot-serial)")
		}
		if !talks && len(g.ports) > 0 {
			return p, remedy.Refuse(
				"%s names a serial console, and the kernel runs without %s: change it there, then update-grub and reboot",
				g.ports[0],
				c.Device(),
			)
		}
		was, err := h.ReadFile(ctx, dropIn)
		if err != nil && !host.IsAbsent(err) {
			return p, err
		}
		p.Steps = append(p.Steps, step.File{Path: dropIn, Content: []byte(grubSettings(c, !talks)), Was: was},
			step.Command{Do: []string{updateGRUB}, Again: true, Limit: 5 * time.Minute})
	}
	u, err := h.Unit(ctx, unit)
	switch {
	case err == nil && u.ActiveState != "active":
		if talks { // else systemd's generator enables it for as long as the kernel uses the port
			p.Steps = append(p.Steps, step.Unit{Name: unit, Act: "enable"})
		}
		p.Steps = append(p.Steps, step.Unit{Name: unit, Act: "start"})
	case err != nil && !host.IsAbsent(err) && !errors.Is(err, host.ErrNoCommand):
		return p, err
	}
	if len(p.Steps) == 0 {
		return p, remedy.Refuse("nothing is left to change here but the speeds: %s", f.ByHand)
	}
	return p, nil
}

// offeredHere is the port that the admin names, else the BMC's.
func offeredHere(ctx context.Context, h *host.Host, f trap.Finding) (menu.Console, error) {
	offered, err := bmc.Find(ctx, h)
	switch {
	case nothing(err) && err != nil && f.Chosen("port") == "":
		return menu.Console{}, remedy.Refuse("%s: name the port (port=ttyS1)", err.Error())
	case err != nil && f.Chosen("port") == "":
		return menu.Console{}, err
	case err != nil:
		offered = bmc.Port{}
	}
	if offered.Speed == 0 {
		offered.Speed = offered.SOL.Speed
	}
	if offered.Speed == 0 {
		offered.Speed = 115200
	}
	port := f.Chosen("port")
	if port == "" {
		port = menu.Console{Port: offered.Unit}.Device()
	}
	return spoken(port, f.Chosen("speed"), offered.Speed)
}

// grubSettings is the drop-in, in grub-mkconfig's shell.
func grubSettings(c menu.Console, kernel bool) string {
	text := "# The serial console that the BMC shows: fettle explain netboot-serial\n"
	if kernel {
		text += fmt.Sprintf("GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX console=tty0 console=%s,%dn8\"\n", c.Device(), c.Speed)
	}
	return text + fmt.Sprintf("GRUB_TERMINAL=\"console serial\"\nGRUB_SERIAL_COMMAND=\"serial --unit=%d --speed=%d\"\n", c.Port, c.Speed)
}
