package powercut

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Device mapper's own interface, include/uapi/linux/dm-ioctl.h: a mark in the
// log must come right after the fsync it tells of, and dmsetup takes longer
// than that to start.

const (
	dmControl = "/dev/mapper/control"
	dmHead    = 312 // bytes of struct dm_ioctl, without its 7 bytes of data at the end
	dmSpec    = 40  // bytes of struct dm_target_spec
	dmReply   = 4096

	// Numbers of the commands; DM_DEV_SUSPEND without the flag resumes.
	dmDevCreate, dmDevRemove, dmDevSuspend, dmTableLoad, dmTableStatus, dmTargetMsg = 3, 4, 6, 9, 12, 14

	dmNoFlush = 1 << 11 // DM_NOFLUSH_FLAG: do not make the target flush for a status
)

// target is one line of a device's table.
type target struct {
	start, sectors uint64 // of 512 bytes
	kind, params   string
}

// dm does one command on the device of this name. It returns what the kernel
// wrote after the head, and the device's minor number.
func dm(nr uintptr, name string, flags, targets uint32, data []byte) (reply []byte, minor uint32, err error) {
	buf := make([]byte, max(dmHead+len(data), dmReply))
	le := binary.NativeEndian
	le.PutUint32(buf[0:], 4) // DM_VERSION_MAJOR; the minor version is the least that is needed
	le.PutUint32(buf[12:], uint32(len(buf)))
	le.PutUint32(buf[16:], dmHead)
	le.PutUint32(buf[20:], targets)
	le.PutUint32(buf[28:], flags)
	copy(buf[48:48+127], name)
	copy(buf[dmHead:], data)
	f, err := os.OpenFile(dmControl, os.O_RDWR, 0)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	request := uintptr(3<<30 | dmHead<<16 | 0xfd<<8 | nr) // _IOWR(DM_IOCTL, nr, struct dm_ioctl)
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, f.Fd(), request, uintptr(unsafe.Pointer(&buf[0]))); e != 0 {
		return nil, 0, fmt.Errorf("device mapper, command %d on %s: %w", nr, name, e)
	}
	dev := le.Uint64(buf[40:])
	return buf[min(int(le.Uint32(buf[16:])), len(buf)):], unix.Minor(dev), nil
}

// mapDevice makes a device and returns its node.
func mapDevice(name string, table ...target) (string, error) {
	if _, _, err := dm(dmDevCreate, name, 0, 0, nil); err != nil {
		return "", err
	}
	var data []byte
	for _, t := range table {
		n := (dmSpec + len(t.params) + 1 + 7) &^ 7
		spec := make([]byte, n)
		le := binary.NativeEndian
		le.PutUint64(spec[0:], t.start)
		le.PutUint64(spec[8:], t.sectors)
		le.PutUint32(spec[20:], uint32(n))
		copy(spec[24:39], t.kind)
		copy(spec[dmSpec:], t.params)
		data = append(data, spec...)
	}
	_, _, err := dm(dmTableLoad, name, 0, uint32(len(table)), data)
	var minor uint32
	if err == nil {
		_, minor, err = dm(dmDevSuspend, name, 0, 0, nil)
	}
	if err != nil {
		dm(dmDevRemove, name, 0, 0, nil)
		return "", err
	}
	return fmt.Sprint("/dev/dm-", minor), nil
}

// unmapDevice removes a device. Who held it may need a moment to let go.
func unmapDevice(name string) error {
	var err error
	for range 100 {
		if _, _, err = dm(dmDevRemove, name, 0, 0, nil); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}

// mark puts a word into the log that a log-writes device keeps.
func mark(name, text string) error {
	data := append(make([]byte, 8), "mark "+text+"\x00"...) // struct dm_target_msg
	_, _, err := dm(dmTargetMsg, name, 0, 0, data)
	return err
}

// status is what the device's only target says of itself.
func status(name string) (string, error) {
	reply, _, err := dm(dmTableStatus, name, dmNoFlush, 0, nil)
	if err != nil || len(reply) < dmSpec {
		return "", err
	}
	text, _, _ := bytes.Cut(reply[dmSpec:], []byte{0})
	return string(text), nil
}
