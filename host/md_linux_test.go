package host

import (
	"encoding/binary"
	"errors"
	"testing"
)

// disk is a device whose block at bad cannot be read.
type disk struct {
	b   []byte
	bad int64
}

var errMedium = errors.New("input/output error")

func (d disk) ReadAt(p []byte, off int64) (int, error) {
	if off <= d.bad && d.bad < off+int64(len(p)) {
		return 0, errMedium
	}
	return copy(p, d.b[off:]), nil
}

func superblock(at, listOffset int64, sectors uint16) []byte {
	b := make([]byte, 1<<20)
	le, sb := binary.LittleEndian, b[at:]
	le.PutUint32(sb, mdMagic)
	le.PutUint32(sb[4:], 1)
	le.PutUint32(sb[8:], mdFeatureBadBlocks)
	le.PutUint64(sb[144:], uint64(at/mdSectorBytes))
	le.PutUint16(sb[186:], sectors)
	le.PutUint32(sb[188:], uint32(int32(listOffset/mdSectorBytes)))
	return b
}

func TestMDMember(t *testing.T) {
	unused, ended := superblock(4096, 8192, 8), superblock(4096, 8192, 8)
	unused[4096+8] = 0
	for i := range 8 {
		ended[4096+8192+16+i] = 0xff // after two entries
	}
	for _, c := range []struct {
		name       string
		d          disk
		found      bool
		list       int
		wantFailed bool
	}{
		{"a list", disk{superblock(4096, 8192, 8), -1}, true, 4096, false},
		{"a list that never had an entry", disk{unused, -1}, true, 0, false},
		{"nothing behind the end mark", disk{ended, -1}, true, 24, false},
		{"no list", disk{superblock(4096, 0, 0), -1}, true, 0, false},
		{"no superblock", disk{make([]byte, 1<<20), -1}, false, 0, false},
		{"the superblock cannot be read", disk{superblock(4096, 8192, 8), 4096}, false, 0, true},
		{"the list cannot be read", disk{superblock(4096, 8192, 8), 4096 + 8192}, true, 0, true},
		{"another place cannot be read", disk{superblock(4096, 8192, 8), 0}, true, 4096, false},
		{"the list lies behind the end", disk{superblock(4096, 1<<20, 8), -1}, true, 0, true},
		{"the list lies before the beginning", disk{superblock(4096, -8192, 8), -1}, true, 0, true},
		{"too small for a superblock", disk{make([]byte, 512), -1}, false, 0, false},
	} {
		m := MDMember{Size: int64(len(c.d.b))}
		err := m.readFrom(c.d)
		if (err != nil) != c.wantFailed || (m.Superblock != nil) != c.found || len(m.BadBlocks) != c.list {
			t.Errorf("%s: error %v, superblock %v, list of %d bytes", c.name, err, m.Superblock != nil, len(m.BadBlocks))
		}
	}
}
