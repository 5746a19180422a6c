package lab

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// room is what the supervisor is told about memory: MiB of the machine, and
// of its disk.
func room(memMiB, disk int) string { return fmt.Sprintf("%d+%d", memMiB, disk) }

func parseRoom(s string) (memMiB, disk int, err error) {
	a, b, _ := strings.Cut(s, "+")
	memMiB, err = strconv.Atoi(a)
	if err == nil {
		disk, err = strconv.Atoi(b)
	}
	if err != nil {
		err = fmt.Errorf("this verb is for fettle lab alone: %w", err)
	}
	return memMiB, disk, err
}

// makeDisk makes an empty sparse file.
func makeDisk(mib int) error {
	f, err := os.OpenFile(diskFile, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Truncate(int64(mib) << 20)
}

// wantsRestart tells whether the guest had marked its disk before it ended,
// and takes the mark away. User-Mode Linux starts itself again; qemu, which
// ends as well when the guest's kernel panics, is started by the supervisor.
func wantsRestart() bool {
	f, err := os.OpenFile(diskFile, os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	b := make([]byte, len(RestartMark))
	if _, err := f.ReadAt(b, 0); err != nil || string(b) != RestartMark {
		return false
	}
	_, err = f.WriteAt(bytes.Repeat([]byte{0}, len(b)), 0)
	return err == nil
}
