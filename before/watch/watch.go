// Package watch has systemd run fettle after once, when the next start has settled.
package watch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"fettle/host/fact/startup"
	"fettle/internal/files"
)

// Unit is the name of the unit that does it.
const Unit = "fettle-after.service"

// Units is where the admin's units are (systemd.unit(5)).
const Units = "/etc/systemd/system"

const wants = "multi-user.target.wants"

// Limit is how long the unit waits for the start to settle.
const Limit = "10m"

// text orders the unit behind the target that wants it: then systemd does not order the target
// behind the unit (systemd 252, src/core/target.c, target_add_default_dependencies). It is
// simple and no oneshot: a start that waits for it would not settle.
const text = `# Written by fettle before reboot --watch. It removes itself when it has run;
# systemctl disable ` + Unit + ` takes it back before.
[Unit]
Description=Tell what did not come back after the restart (fettle after)
After=multi-user.target graphical.target

[Service]
Type=simple
ExecStart="%s" after --watched
StandardOutput=journal+console
RuntimeMaxSec=15min

[Install]
WantedBy=multi-user.target
`

// Arm writes and enables the unit in a folder of units. bin is the absolute path of fettle,
// which only root may be able to change: the caller has looked.
func Arm(units, bin string) error {
	d, err := files.Folder(units)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := files.WriteFile(units+"/"+Unit, fmt.Appendf(nil, text, startup.Quoted(bin)), 0o644); err != nil {
		return err
	}
	if err := d.Mkdir(wants, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	link := wants + "/" + Unit
	if err := d.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return errors.Join(d.Symlink("../"+Unit, link), synced(d, wants), synced(d, "."))
}

// Disarm removes the unit: it runs once, however that ends.
func Disarm(units string) error {
	d, err := files.Folder(units)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close()
	for _, name := range []string{wants + "/" + Unit, Unit} {
		if err := d.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return synced(d, ".")
}

func synced(d *os.Root, name string) error {
	f, err := d.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
