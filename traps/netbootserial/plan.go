package netbootserial

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/tools/netboot/bmc"
	"fettle/tools/netboot/menu"
)

// plan rewrites all menus of one folder. The subject is the folder; fettle
// netboot serial names one that need not be served.
func plan(ctx context.Context, h *host.Host, f trap.Finding) (remedy.Plan, error) {
	if f.Subject == here {
		return planHere(ctx, h, f)
	}
	m, err := menu.Read(ctx, h, f.Subject)
	var loop *menu.Loop
	switch {
	case errors.As(err, &loop), errors.Is(err, menu.ErrNone), host.IsAbsent(err):
		return remedy.Plan{}, remedy.Refuse("%s: %s", f.Subject, err.Error())
	case err != nil:
		return remedy.Plan{}, err
	}
	c, from, err := choose(ctx, h, m, f.Chosen("port"), f.Chosen("speed"))
	if err != nil {
		return remedy.Plan{}, err
	}
	p := remedy.Plan{
		Title: "send the boot menus of " + f.Subject + " to " + c.String(),
		Notes: []string{
			"The port and its speed are " + from + ".",
			"Hosts that boot from here with only a screen see the loader's menu on both, and the installer on the serial port only.",
		},
		Vanishes: "no TFTP server of this host is configured to serve the folder, so the check does not cover it",
	}
	for _, e := range m.Rewrite(c) {
		p.Steps = append(p.Steps, step.File{Path: e.Path, Content: []byte(e.New), Was: []byte(e.Old)})
	}
	if len(p.Steps) == 0 {
		return p, remedy.Refuse("every boot entry of %s talks to %s already", f.Subject, c.String())
	}
	return p, nil
}

// choose is what the admin says, else what most entries use, else what this
// host's firmware names.
func choose(ctx context.Context, h *host.Host, m *menu.Menus, port, speed string) (menu.Console, string, error) {
	c, from := menu.Console{Port: -1, Speed: 115200}, ""
	if most, ok := m.Most(); ok {
		c, from = most, "those that most entries use"
	} else if p, err := bmc.Find(ctx, h); err == nil && p.Unit >= 0 {
		c.Port, from = p.Unit, "those that this host's firmware or BMC offers ("+p.From+")"
		if p.Speed > 0 {
			c.Speed = p.Speed
		}
	}
	if port != "" {
		from = "as you said"
	} else if c.Port < 0 {
		return c, "", remedy.Refuse("nothing shows which serial port is wanted: name it (port=ttyS1, often the BMC's; ipmitool sol info and " +
			"dmidecode -t 8 show it)")
	} else {
		port = c.Device()
	}
	c, err := spoken(port, speed, c.Speed)
	return c, from, err
}

// spoken reads a port and, where one was said, a speed.
func spoken(port, speed string, otherwise int) (menu.Console, error) {
	if speed != "" {
		n, err := strconv.Atoi(speed)
		if err != nil {
			return menu.Console{}, remedy.Refuse("%s is not a speed in bits per second", fmt.Sprintf("%q", speed))
		}
		otherwise = n
	}
	c, err := menu.Parse(port, otherwise)
	if err != nil {
		return c, remedy.Refuse("%s", err.Error())
	}
	return c, nil
}
