package acl

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The binary form is that of include/uapi/linux/posix_acl_xattr.h: a version,
// then entries of tag, permissions and ID, all little endian.
const (
	xattrVersion = 2
	headerSize   = 4
	entrySize    = 8
	noID         = 1<<32 - 1 // ACL_UNDEFINED_ID
)

// ParseXattr reads the value of one of the two extended attributes. A value
// of no entries is an empty list: the kernel takes it for "no list". Anything
// else is a complete list, or an error.
func ParseXattr(b []byte) (ACL, error) {
	if len(b) < headerSize {
		return nil, fmt.Errorf("ACL attribute of %d bytes is shorter than its header", len(b))
	}
	if v := binary.LittleEndian.Uint32(b); v != xattrVersion {
		return nil, fmt.Errorf("ACL attribute of version %d; only version %d is known", v, xattrVersion)
	}
	b = b[headerSize:]
	if len(b)%entrySize != 0 {
		return nil, errors.New("ACL attribute ends in the middle of an entry")
	}
	var a ACL
	for ; len(b) > 0; b = b[entrySize:] {
		e := Entry{Tag: Tag(binary.LittleEndian.Uint16(b)), Perm: Perm(binary.LittleEndian.Uint16(b[2:]))}
		if e.Tag.named() {
			e.ID = binary.LittleEndian.Uint32(b[4:])
		}
		a = append(a, e)
	}
	if len(a) == 0 {
		return nil, nil
	}
	if err := a.Valid(); err != nil {
		return nil, fmt.Errorf("ACL attribute: %w", err)
	}
	return a, nil
}

// Xattr is the value to give setxattr(2): sorted, and with a mask computed
// when the list needs one and has none. The kernel refuses lists that are not
// Valid.
func (a ACL) Xattr() []byte {
	if _, ok := a.Find(Mask, 0); !ok {
		a = a.WithMask()
	}
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, headerSize+entrySize*len(a)), xattrVersion)
	for _, e := range a.Sorted() {
		id := e.ID
		if !e.Tag.named() {
			id = noID
		}
		b = binary.LittleEndian.AppendUint16(b, uint16(e.Tag))
		b = binary.LittleEndian.AppendUint16(b, uint16(e.Perm))
		b = binary.LittleEndian.AppendUint32(b, id)
	}
	return b
}
