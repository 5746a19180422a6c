package host

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mdMagic and the offsets below are those of mdp_superblock_1,
// include/uapi/linux/raid/md_p.h; host/mdraid reads the rest.
const (
	mdMagic       = 0xa92b4efc
	mdSectorBytes = 512
	mdSuperBytes  = 4096
	// mdFeatureBadBlocks is MD_FEATURE_BAD_BLOCKS: the list has held entries.
	mdFeatureBadBlocks = 1 << 3
)

// readMD reads the superblock of each member that sysfs names, and the list
// it points to. Only devices that are members already are opened.
func readMD(ctx context.Context) ([]byte, error) {
	members, err := filepath.Glob("/sys/block/md*/md/dev-*")
	if err != nil {
		return nil, err
	}
	out := []MDMember{}
	for _, dir := range members {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		// sysfs writes "!" for the "/" in names such as cciss/c0d0.
		m := MDMember{Array: filepath.Base(filepath.Dir(filepath.Dir(dir))),
			Device: strings.ReplaceAll(strings.TrimPrefix(filepath.Base(dir), "dev-"), "!", "/")}
		if err := m.read(); errors.Is(err, fs.ErrPermission) {
			m.Denied = true
		} else if err != nil {
			m.Failed = err.Error()
		}
		out = append(out, m)
	}
	return json.Marshal(out)
}

// ReadMDMember reads what stands on one block device of this machine ("sda1"),
// whether it is a member of a running array or not. A device without a version 1
// superblock has none in the answer, and that is no error.
func ReadMDMember(device string) (MDMember, error) {
	m := MDMember{Device: device}
	err := m.read()
	return m, err
}

func (m *MDMember) read() error {
	// md writes superblocks past the page cache: only O_DIRECT sees what is there now.
	f, err := os.OpenFile("/dev/"+m.Device, os.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_DIRECT, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || st.Mode()&fs.ModeDevice == 0 {
		return errors.New("/dev/" + m.Device + " is not a block device")
	}
	if m.Size, err = f.Seek(0, 2); err != nil {
		return err
	}
	return m.readFrom(f)
}

// readFrom reads the superblock and the list out of a device of m.Size bytes.
func (m *MDMember) readFrom(f io.ReaderAt) error {
	le := binary.LittleEndian
	// Where versions 1.2, 1.1 and 1.0 keep it (drivers/md/md.c, super_1_load).
	var failed error
	for _, at := range []int64{8 * mdSectorBytes, 0, (m.Size/mdSectorBytes - 16) &^ 7 * mdSectorBytes} {
		if at < 0 || at+mdSuperBytes > m.Size {
			continue
		}
		b, err := readAligned(f, at, mdSuperBytes)
		if err != nil && failed == nil {
			failed = err // it may be the place where the superblock is
		}
		if err != nil || le.Uint32(b) != mdMagic || le.Uint32(b[4:]) != 1 ||
			le.Uint64(b[144:])*mdSectorBytes != uint64(at) {
			continue
		}
		// What lies behind the superblock and in a list that was never used
		// may be anybody's old data: it stays here.
		if n := 256 + 2*int64(le.Uint32(b[220:])); n < int64(len(b)) {
			b = b[:n]
		}
		m.Superblock = b
		size, off := int64(le.Uint16(b[186:]))*mdSectorBytes, int64(int32(le.Uint32(b[188:])))*mdSectorBytes
		if size == 0 || off == 0 {
			return nil
		}
		if at+off < 0 || at+off+size > m.Size {
			return fmt.Errorf("its superblock places the list of bad blocks at %d, outside of the device", at+off)
		}
		if le.Uint32(b[8:])&mdFeatureBadBlocks == 0 {
			return nil
		}
		list, err := readAligned(f, at+off, size)
		for n := 0; n+8 <= len(list); n += 8 {
			if le.Uint64(list[n:]) == math.MaxUint64 { // the end mark
				list = list[:n+8]
			}
		}
		m.BadBlocks = list
		return err
	}
	return failed
}

// readAligned reads n bytes for a descriptor opened with O_DIRECT: memory,
// offset and length on 4 KiB, the largest logical block that disks have
// (open(2)); what was read beyond is cut off.
func readAligned(f io.ReaderAt, at, n int64) ([]byte, error) {
	const block = 4096
	from := at &^ (block - 1)
	length := (at + n - from + block - 1) &^ (block - 1)
	b := make([]byte, length+block)
	shift := -int64(uintptr(unsafe.Pointer(&b[0]))) & (block - 1)
	b = b[shift : shift+length]
	got, err := f.ReadAt(b, from)
	if int64(got) < at-from+n {
		return nil, fmt.Errorf("reading %d bytes at %d: %w", n, at, err)
	}
	return b[at-from : at-from+n : at-from+n], nil
}
