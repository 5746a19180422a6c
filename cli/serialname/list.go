package serialname

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/internal/jsondoc"
	"fettle/internal/ui"
	"fettle/tools/serialname"
)

// document is fettle serialname list --format json.
type document struct {
	jsondoc.Envelope
	Devices []port `json:"devices"`
	// Unseen is how many processes could not be asked what they hold open.
	Unseen int `json:"unseen"`
}

type port struct {
	serialname.Device
	// Shared: another device has the same vendor, product and serial number, or neither has one.
	Shared bool                `json:"shared"`
	Users  []serialname.Holder `json:"users"`
}

func listCmd(a *app.App) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "list",
		Short: "List USB serial devices, and what tells them apart",
		Long: `Lists the USB serial devices with vendor, product, serial number, the port they
are plugged into, their names below /dev, and the processes that have them open
(without root, only your own).

Exit status:
  0  done
  2  usage error
  3  the host could not be read`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return list(cmd.Context(), a, format) },
	}
	app.FormatFlag(c, &format, "text", "json")
	return c
}

func list(ctx context.Context, a *app.App, format string) error {
	s, h, done, err := survey(ctx, a)
	if err != nil {
		return err
	}
	defer done()
	users, unseen := serialname.Holders(ctx, h, s.Devices)
	doc := document{Envelope: jsondoc.New("serial-devices"), Devices: []port{}, Unseen: unseen}
	for i := range s.Devices {
		d := &s.Devices[i]
		p := port{Device: *d, Shared: !serialname.Unique(d, s.Devices) && sameKind(d, s.Devices), Users: users[d.Kernel]}
		if p.Users == nil {
			p.Users = []serialname.Holder{}
		}
		doc.Devices = append(doc.Devices, p)
	}
	if format == "json" {
		return a.JSON(doc)
	}
	return listText(a, doc)
}

// sameKind tells whether there is another device of the same vendor and product.
func sameKind(d *serialname.Device, all []serialname.Device) bool {
	return slices.ContainsFunc(all, func(o serialname.Device) bool { return o.IDs() == d.IDs() && o.Port != d.Port })
}

func listText(a *app.App, doc document) error {
	if len(doc.Devices) == 0 {
		_, err := fmt.Fprintln(a.Stdout, "There is no USB serial device.")
		return err
	}
	var b strings.Builder
	for i, p := range doc.Devices {
		if i > 0 {
			b.WriteByte('\n')
		}
		what := strings.TrimSpace(p.Manufacturer + " " + p.Model)
		fmt.Fprintf(&b, "%s  %s  %s\n", p.Dev(), p.IDs(), ui.Visible(what))
		serial := ui.Visible(p.Serial)
		switch {
		case p.Serial == "" && p.Shared:
			serial = "none, and another device of this kind is there"
		case p.Serial == "":
			serial = "none"
		case p.Shared:
			serial += ", which another device has too"
		}
		item(&b, "serial", serial)
		where := p.Port + ", interface " + p.Interface
		if p.SubPort != "" && p.SubPort != "0" {
			where += ", port " + p.SubPort + " of the adapter"
		}
		item(&b, "port", ui.Visible(where)+"  "+ui.Visible(p.IDPath))
		item(&b, "driver", ui.Visible(p.Driver))
		for _, l := range p.Links {
			item(&b, "name", "/dev/"+ui.Visible(l))
		}
		for _, u := range p.Users {
			item(&b, "open in", fmt.Sprintf("%s (%d)", ui.Visible(u.Name), u.PID))
		}
	}
	if doc.Unseen > 0 {
		b.WriteString("\n" + ui.Wrap("Processes of other users could not be inspected: that needs root.", ui.Width(a.Stdout), "", "") + "\n")
	}
	_, err := fmt.Fprint(a.Stdout, b.String())
	return err
}

func item(b *strings.Builder, name, value string) { fmt.Fprintf(b, "  %-8s %s\n", name, value) }
