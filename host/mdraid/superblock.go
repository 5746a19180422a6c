// Package mdraid reads the version 1 superblocks of MD members and the bad
// blocks lists that they point to. Layout: struct mdp_superblock_1 of
// include/uapi/linux/raid/md_p.h (Linux 6.1); all fields are little endian.
package mdraid

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

const (
	magic      = 0xa92b4efc
	headerSize = 256  // bytes before dev_roles
	maxDevs    = 1920 // (4096 - 256) / 2, what fits the 4 KiB that a superblock may take
	// SectorSize is the unit of all sector numbers, in bytes.
	SectorSize = 512
	// SuperblockBytes is how much must be read to hold any superblock.
	SuperblockBytes = 4096
)

// Bits of Superblock.Features, MD_FEATURE_* of md_p.h.
const (
	FeatureBitmap      = 1 << 0
	FeatureRecovery    = 1 << 1
	FeatureReshape     = 1 << 2
	FeatureBadBlocks   = 1 << 3 // the list holds entries or has held some: it is in use
	FeatureReplacement = 1 << 4
	FeatureJournal     = 1 << 9
	FeaturePPL         = 1 << 10
)

// Superblock is what a member says of itself and its array.
type Superblock struct {
	Features    uint32
	SetUUID     string // as mdadm prints it: four groups of eight hexadecimal digits
	SetName     string // "host:0"
	Level       int32  // 0, 1, 4, 5, 6, 10; -1 is linear
	Size        uint64 // sectors of each member in use
	RaidDisks   uint32
	BitmapOff   int32  // sectors from the superblock; 0 is none
	DataOffset  uint64 // sectors
	DataSize    uint64 // sectors
	SuperOffset uint64 // sectors from the member's start
	DevNumber   uint32
	DeviceUUID  string
	DevFlags    uint8 // 1 write-mostly, 2 failfast
	Events      uint64
	ResyncOff   uint64 // sectors; all ones: in sync
	Role        Role
	// Bad blocks list: where it is and how large. BBLSize 0: the member has none.
	BBLShift  uint8  // entries count in units of 1<<shift sectors
	BBLSize   uint16 // sectors
	BBLOffset int32  // sectors from the superblock
}

// Role is a member's place in the array (dev_roles of md_p.h).
type Role uint16

const (
	RoleSpare   Role = 0xffff
	RoleFaulty  Role = 0xfffe
	RoleJournal Role = 0xfffd
)

func (r Role) String() string {
	switch r {
	case RoleSpare:
		return "spare"
	case RoleFaulty:
		return "faulty"
	case RoleJournal:
		return "journal"
	}
	return fmt.Sprintf("active %d", uint16(r))
}

// HasBBL reports whether the member has a bad blocks list, empty or not. It is
// what mdadm's examine_badblocks asks (super1.c): size and offset, not the
// feature bit, which the kernel sets only once an entry was written.
func (s *Superblock) HasBBL() bool { return s.BBLSize > 0 && s.BBLOffset != 0 }

// HasBitmap reports whether the member holds an internal write-intent bitmap.
func (s *Superblock) HasBitmap() bool { return s.Features&FeatureBitmap != 0 }

// WriteMostly and Failfast are set per member (--write-mostly, --failfast).
func (s *Superblock) WriteMostly() bool { return s.DevFlags&1 != 0 }
func (s *Superblock) Failfast() bool    { return s.DevFlags&2 != 0 }

// BBLStart is where the list begins, in bytes from the member's start.
func (s *Superblock) BBLStart() int64 {
	return (int64(s.SuperOffset) + int64(s.BBLOffset)) * SectorSize
}

// Positions lists where a version 1 superblock may be on a device of this
// many bytes, in bytes: 1.2, 1.1, 1.0 (md.c super_1_load).
func Positions(size int64) []int64 {
	pos := []int64{8 * SectorSize, 0}
	if end := (size/SectorSize - 16) &^ 7; end > 0 {
		pos = append(pos, end*SectorSize)
	}
	return pos
}

// Parse reads a superblock from b, which starts at its magic. It checks magic,
// version, the number of devices and the checksum.
func Parse(b []byte) (*Superblock, error) {
	le := binary.LittleEndian
	if len(b) < headerSize {
		return nil, fmt.Errorf("md superblock: %d bytes, expected at least %d", len(b), headerSize)
	}
	if got := le.Uint32(b); got != magic {
		return nil, fmt.Errorf("md superblock: magic %08x, expected %08x", got, uint32(magic))
	}
	if v := le.Uint32(b[4:]); v != 1 {
		return nil, fmt.Errorf("md superblock: major version %d, expected 1", v)
	}
	devs := le.Uint32(b[220:])
	if devs > maxDevs || int(devs)*2+headerSize > len(b) {
		return nil, fmt.Errorf("md superblock: %d devices do not fit into %d bytes", devs, len(b))
	}
	if want, got := le.Uint32(b[216:]), Checksum(b[:headerSize+int(devs)*2]); want != got {
		return nil, errors.New("md superblock: its checksum does not fit its content")
	}
	s := &Superblock{
		Features: le.Uint32(b[8:]), SetUUID: uuid(b[16:32]), SetName: cstring(b[32:64]),
		Level: int32(le.Uint32(b[72:])), Size: le.Uint64(b[80:]), RaidDisks: le.Uint32(b[92:]),
		BitmapOff: int32(le.Uint32(b[96:])), DataOffset: le.Uint64(b[128:]), DataSize: le.Uint64(b[136:]),
		SuperOffset: le.Uint64(b[144:]), DevNumber: le.Uint32(b[160:]), DeviceUUID: uuid(b[168:184]),
		DevFlags: b[184], BBLShift: b[185], BBLSize: le.Uint16(b[186:]), BBLOffset: int32(le.Uint32(b[188:])),
		Events: le.Uint64(b[200:]), ResyncOff: le.Uint64(b[208:]), Role: RoleSpare,
	}
	if s.DevNumber < devs {
		s.Role = Role(le.Uint16(b[headerSize+2*s.DevNumber:]))
	}
	return s, nil
}

// Length is how many bytes of the superblock in b its checksum covers; 0 where
// b does not hold them.
func Length(b []byte) int {
	if len(b) < headerSize {
		return 0
	}
	devs := binary.LittleEndian.Uint32(b[220:])
	if devs > maxDevs || int(devs)*2+headerSize > len(b) {
		return 0
	}
	return headerSize + int(devs)*2
}

// Anonymous returns a copy of the superblock in b without the names of the
// host and of the array and without UUIDs, with its checksum put right where
// it was right before. It returns nil where b holds no superblock.
func Anonymous(b []byte) []byte {
	n := Length(b)
	if n == 0 {
		return nil
	}
	le := binary.LittleEndian
	good := le.Uint32(b[216:]) == Checksum(b[:n])
	out := append([]byte{}, b[:n]...)
	clear(out[16:64])   // set_uuid, set_name
	clear(out[168:184]) // device_uuid
	if good {
		le.PutUint32(out[216:], Checksum(out))
	}
	return out
}

// Checksum is calc_sb_1_csum of drivers/md/md.c: the sum of all 32-bit words
// with sb_csum taken as zero, a last half word, and the carries folded once.
func Checksum(b []byte) uint32 {
	le := binary.LittleEndian
	var sum uint64
	i := 0
	for ; i+4 <= len(b); i += 4 {
		if i != 216 {
			sum += uint64(le.Uint32(b[i:]))
		}
	}
	if len(b)-i == 2 {
		sum += uint64(le.Uint16(b[i:]))
	}
	return uint32(sum&0xffffffff) + uint32(sum>>32)
}

func uuid(b []byte) string {
	h := hex.EncodeToString(b)
	return strings.Join([]string{h[:8], h[8:16], h[16:24], h[24:32]}, ":")
}

func cstring(b []byte) string {
	s, _, _ := strings.Cut(string(b), "\x00")
	return strings.ToValidUTF8(s, "\uFFFD")
}
