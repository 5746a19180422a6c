package powercut

import (
	"errors"
	"fmt"
	"os"

	"fettle/host"
	"fettle/host/mdraid"
)

// lies are told of the root and the array.
func (rc raidCase) lies() []lie {
	all := []lie{
		{"a configuration that is the old one", confFixed, mounted, func(*disk) error {
			return os.WriteFile(confDir+"/mdadm.conf", []byte(confText), 0o640)
		}, "fettle had said that mdadm.conf is mended"},
		{"half a configuration", confFixed, mounted, halve(confDir + "/mdadm.conf"), "neither the old nor the new one"},
		{"no journal", listFixed, mounted, func(*disk) error { return os.RemoveAll(state + "/changes") }, "fettle had said"},
		{"copies that differ", listUndone, ending, func(d *disk) error { return rc.scribble(d) }, "the copies differ"},
		{"a configuration changed behind the undo", listFixed, ending, func(*disk) error {
			return os.Chmod(confDir+"/mdadm.conf", 0o600)
		}, "has mode"},
	}
	if rc.Members > 2 { // the last two copies of a mirror of two cannot both go
		all = append(all, lie{"two members out", listFixed, assembled, func(d *disk) error {
			for _, i := range []int{0, 2} {
				if _, err := d.b.Run("mdadm", array, "--fail", d.parts[i]); err != nil {
					return err
				}
			}
			return nil
		}, "2 members are missing"})
	}
	return all
}

// scribble writes to the last sectors of what the array keeps on one member.
func (rc raidCase) scribble(d *disk) error {
	raw, err := host.ReadMDMember(base(d.parts[0]))
	if err != nil {
		return err
	}
	sb, err := mdraid.Parse(raw.Superblock)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(d.parts[0], os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(record(0)[:4096], int64(sb.DataOffset+sb.Size-8)*sector)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("writing to %s behind md: %w", d.parts[0], err)
	}
	return nil
}
