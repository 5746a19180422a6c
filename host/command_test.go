package host

import (
	"slices"
	"strings"
	"testing"
)

func TestAllowed(t *testing.T) {
	for line, want := range map[string]bool{
		"systemctl show --property=Id,Type -- ssh.service": true,
		"systemctl show ssh.service":                       true,
		"systemctl list-units --all --no-legend":           true,
		"systemctl list-units":                             true,
		"systemctl show -- --host=x.service":               true, // a name
		"systemctl":                                        false,
		"systemctl restart ssh.service":                    false,
		"systemctl show --host=admin@192.0.2.1":            false, // starts ssh
		"systemctl show -H 192.0.2.1":                      false,
		"systemctl show -M box":                            false,
		"systemctl list-unit-files --root=/mnt":            false,
		"systemctl list-unit-files --image=/tmp/x":         false,
		"systemctl show ssh.service --user":                false,
		"mdadm --examine /dev/sda1":                        true,
		"mdadm --examine /dev/../etc/shadow":               false,
		"mdadm --stop /dev/md0":                            false,
		"rpm -qa --qf %{NAME}":                             true,
		"rpm -qa --eval %{lua:x}":                          false,
		"cat /etc/shadow":                                  false,
		"ss -ltn":                                          true,
		"ss -K dst 192.0.2.1":                              false, // ends connections
		"dmidecode":                                        true,
		"dmidecode --dump-bin /etc/x":                      false,
		"ipmitool -I open sol info 1":                      true,
		"ipmitool -I open sol set enabled true 1":          false,
		"ipmitool -I lanplus -H 192.0.2.1 sol info 1":      false,
		"dmsetup status":                                   true,
		"dmsetup targets":                                  true,
		"dmsetup remove x":                                 false,
		"dmsetup status --udevcookie 1":                    false,
		"lvs -a":                                           false,
		"lvs -a --reportformat json --units b --config activation{x=1} -o lv_name a": false,
	} {
		f := strings.Fields(line)
		if err := (Command{Name: f[0], Args: f[1:]}).Allowed(); (err == nil) != want {
			t.Errorf("%s: %v", line, err)
		}
	}
	lvs := []string{"-a", "--reportformat", "json", "--units", "b", "--config", LVMReadOnly, "-o", "vg_name,lv_name"}
	if err := (Command{Name: "lvs", Args: lvs}).Allowed(); err != nil {
		t.Error(err)
	}
	for at, bad := range map[int]string{6: LVMReadOnly + ` shell{history_size=9}`, 8: "lv_name --driverloaded y", 0: "--all"} {
		args := slices.Clone(lvs)
		args[at] = bad
		if err := (Command{Name: "lvs", Args: args}).Allowed(); err == nil {
			t.Errorf("lvs %q is allowed", args)
		}
	}
}
