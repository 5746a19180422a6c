package lab

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

// Client is a second machine, without a disk, on a wire to eth0 of the first. It
// boots over the network, and only when it is told to: its serial port and its
// monitor (qemu's) are devices of the first, as a BMC would have them.
type Client struct {
	UEFI bool `json:",omitempty"` // else BIOS
	// MemMiB is its memory; 0 is 1024, with which Debian's installer runs.
	MemMiB int `json:",omitempty"`
}

// What the first machine has of its client.
const (
	ClientMAC     = "52:54:00:12:34:56"
	ClientSerial  = "/dev/vport0p1" // COM2, which Linux calls ttyS1: the BMC's port on many boards
	ClientMonitor = "/dev/vport0p2"
)

// clientModules drive what the first machine has of its client.
var clientModules = []string{"virtio_pci", "virtio_net", "virtio_console"}

// The sockets between the two, below the supervisor's own /tmp.
const (
	clientWire    = "/tmp/client-wire"
	clientSerial  = "/tmp/client-serial"
	clientMonitor = "/tmp/client-monitor"
)

// ovmf is the firmware of a client with UEFI (Debian's package ovmf).
const ovmf = "/usr/share/ovmf/OVMF.fd"

// files are those of this machine that a client needs.
func (c *Client) files() []string {
	if c.UEFI {
		return []string{ovmf}
	}
	return []string{"/usr/lib/ipxe/qemu/pxe-virtio.rom"}
}

func (c *Client) memory() int {
	if c.MemMiB == 0 {
		return 1024
	}
	return c.MemMiB
}

// argv starts the client, stopped: its monitor begins it.
func (c *Client) argv(kvm bool) ([]string, error) {
	qemu, err := FindTool("qemu-system-x86_64")
	if err != nil {
		return nil, err
	}
	accel := "tcg"
	if kvm {
		accel = "kvm"
	}
	argv := []string{
		qemu,
		"-nodefaults",
		"-no-user-config",
		"-display",
		"none",
		"-S",
		"-accel",
		accel,
		"-m",
		fmt.Sprint(c.memory()),
		"-vga",
		"std",
		"-serial",
		"null",
		"-serial",
		"unix:" + clientSerial + ",server=on,wait=off",
		"-monitor",
		"unix:" + clientMonitor + ",server=on,wait=off",
		"-netdev",
		"stream,id=wire,server=on,addr.type=unix,addr.path=" + clientWire,
		"-boot", // after DHCP got no answer in time
		"reboot-timeout=3000",
	}
	card := "virtio-net-pci,netdev=wire,bootindex=1,mac=" + ClientMAC
	if c.UEFI {
		// The firmware's own PXE: iPXE of 2019 hands shim a padded image, which it refuses.
		return append(argv, "-bios", ovmf, "-device", card+",romfile="), nil
	}
	return append(argv, "-device", card), nil
}

// beside are the arguments of the first machine's qemu.
func (c *Client) beside() []string {
	// The serial ports come first: Linux numbers them by their virtio device.
	return []string{"-device", "virtio-serial-pci",
		"-chardev", "socket,id=client,path=" + clientSerial, "-device", "virtserialport,nr=1,chardev=client",
		"-chardev", "socket,id=monitor,path=" + clientMonitor, "-device", "virtserialport,nr=2,chardev=monitor",
		"-netdev", "stream,id=wire,server=off,addr.type=unix,addr.path=" + clientWire, "-device", "virtio-net-pci,netdev=wire,romfile="}
}

// withClient puts a client's command before the first machine's, for the
// supervisor: how many words it has, and then they.
func withClient(client, argv []string) []string {
	return append(append([]string{strconv.Itoa(len(client))}, client...), argv...)
}

// splitClient takes the two apart again.
func splitClient(args []string) (client, argv []string, err error) {
	n, err := strconv.Atoi(args[0])
	if err != nil || n < 0 || n >= len(args)-1 {
		return nil, nil, fmt.Errorf("this verb is for fettle lab alone: %.40q", args[0])
	}
	return args[1 : 1+n], args[1+n:], nil
}

// awaitClient waits for the sockets of a client that was started.
func awaitClient(gone <-chan error) error {
	end := time.After(20 * time.Second)
	for _, s := range []string{clientWire, clientSerial, clientMonitor} {
		for {
			if _, err := os.Stat(s); err == nil {
				break
			}
			select {
			case err := <-gone:
				if err == nil {
					err = errors.New("exit status 0")
				}
				return fmt.Errorf("the client ended: %w", err)
			case <-end:
				return fmt.Errorf("the client made no socket %s", s)
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	return nil
}
