package host

import (
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
	} {
		f := strings.Fields(line)
		if err := (Command{Name: f[0], Args: f[1:]}).Allowed(); (err == nil) != want {
			t.Errorf("%s: %v", line, err)
		}
	}
}
