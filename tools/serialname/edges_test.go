package serialname

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"

	"fettle/host/hosttest"
	"fettle/internal/sorted"
)

func TestNaturalOrder(t *testing.T) {
	names := []string{"ttyUSB10", "ttyUSB2", "ttyACM11", "ttyUSB1", "ttyACM3"}
	sorted.By(names, natural)
	if want := []string{"ttyACM3", "ttyACM11", "ttyUSB1", "ttyUSB2", "ttyUSB10"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}

// A device that is pulled out while sysfs is read answers with one of these.
func TestGone(t *testing.T) {
	for _, err := range []error{syscall.ENODEV, syscall.ENXIO, syscall.EIO} {
		if !gone(fmt.Errorf("reading: %w", &fs.PathError{Op: "read", Path: "/sys/x", Err: err})) {
			t.Errorf("%v does not tell that the device went", err)
		}
	}
	for _, err := range []error{syscall.EACCES, syscall.ENOENT, errors.New("x"), nil} {
		if gone(err) {
			t.Errorf("%v tells that the device went", err)
		}
	}
}

// A serial number is unique although the device has several ports of its own; it
// is not where a second device in another socket has it too.
func TestUnique(t *testing.T) {
	d := func(kernel, port, serial string) Device {
		return Device{Kernel: kernel, Port: port, Serial: serial, Vendor: "0403", Product: "6011"}
	}
	composite := []Device{d("ttyUSB0", "1-1", "A1"), d("ttyUSB1", "1-1", "A1")}
	if !Unique(&composite[0], composite) {
		t.Error("a second interface of the same device is taken for another device")
	}
	twins := []Device{d("ttyUSB0", "1-1", "A1"), d("ttyUSB1", "1-2", "A1")}
	if Unique(&twins[0], twins) {
		t.Error("two devices with one serial number pass for unique")
	}
	others := []Device{d("ttyUSB0", "1-1", "A1"), d("ttyUSB1", "1-2", "A2"),
		{Kernel: "ttyUSB2", Port: "1-3", Serial: "A1", Vendor: "0403", Product: "6001"}}
	if !Unique(&others[0], others) {
		t.Error("another product, or another number, counts as the same")
	}
	if none := d("ttyUSB0", "1-1", ""); Unique(&none, []Device{none}) {
		t.Error("no serial number is unique")
	}
}

// Processes that ended meanwhile are not counted among those that could not be asked.
func TestHolders(t *testing.T) {
	h := hosttest.New(t, `-- link/proc/7/fd/3 --
/dev/ttyUSB0
-- root/proc/7/comm --
minicom
-- root/proc/8/comm --
ended
-- root/proc/10/comm --
ended too
-- root/proc/9/comm --
root's
-- denied/proc/9/fd --
`)
	holders, unseen := Holders(t.Context(), h, []Device{{Kernel: "ttyUSB0"}})
	if got := fmt.Sprint(holders["ttyUSB0"]); !strings.HasPrefix(got, "[{7 minicom") || unseen != 1 {
		t.Errorf("%s, %d unseen; want minicom and 1", got, unseen)
	}
	h = hosttest.New(t, `-- link/proc/7/fd/0 --
/dev/null
-- link/proc/7/fd/3 --
/dev/ttyUSB0
-- link/proc/7/fd/4 --
/dev/ttyUSB0
-- link/proc/8/fd/3 --
/dev/ttyUSB0
-- root/proc/8/comm --
getty
-- link/proc/1x/fd/3 --
/dev/ttyUSB0
-- root/proc/2/comm --
ended
`)
	holders, unseen = Holders(t.Context(), h, []Device{{Kernel: "ttyUSB0"}})
	if fmt.Sprint(holders) != "map[ttyUSB0:[{7 } {8 getty}]]" || unseen != 0 {
		t.Errorf("%v, %d", holders, unseen)
	}
	if holders, unseen = Holders(t.Context(), h, nil); len(holders) != 0 || unseen != 0 {
		t.Errorf("of no device: %v, %d", holders, unseen)
	}
}
