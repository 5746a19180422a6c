package trace

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// struct blk_io_trace of include/uapi/linux/blktrace_api.h: 48 bytes in the
// recording machine's byte order, then pdu_len bytes of the event's own.
const (
	blkMagic   = 0x656174 // its upper 24 bits; the lowest 8 are the version, 7
	blkVersion = 7
	blkRecord  = 48

	blkQueue    = 1 // __BLK_TA_QUEUE and others, the lower 16 bits of action
	blkIssue    = 7
	blkComplete = 8

	blkRead    = 1 << 16 // BLK_TC_*, the upper 16 bits
	blkWrite   = 1 << 17
	blkNotify  = 1 << 26
	blkDiscard = 1 << 29
)

var blkActions = map[string]uint32{"": blkQueue, "Q": blkQueue, "D": blkIssue, "C": blkComplete}

// blktrace reads the binary records of one CPU, or what `blkparse -d` wrote of all.
func (b *builder) blktrace(in *bufio.Reader, name string) error {
	action, ok := blkActions[b.opt.Action]
	if !ok {
		return fmt.Errorf("%s: action %q of a binary trace: it is Q, D or C", name, b.opt.Action)
	}
	var order binary.ByteOrder = binary.LittleEndian
	if head, err := in.Peek(4); err == nil && binary.BigEndian.Uint32(head)>>8 == blkMagic {
		order = binary.BigEndian
	}
	rec := make([]byte, blkRecord)
	for at := int64(0); ; {
		if _, err := io.ReadFull(in, rec); err == io.EOF {
			return nil
		} else if err != nil {
			return &Error{File: name, Offset: at, Err: fmt.Errorf("the record is cut off: %w", err)}
		}
		magic := order.Uint32(rec)
		if magic>>8 != blkMagic {
			return &Error{File: name, Offset: at, Err: fmt.Errorf("no record of blktrace: magic number %#x", magic)}
		}
		if v := magic & 0xff; v != blkVersion {
			return &Error{File: name, Offset: at, Err: fmt.Errorf("record of version %d; fettle reads version %d", v, blkVersion)}
		}
		pdu := int64(order.Uint16(rec[46:]))
		if err := b.blkRecord(rec, order, action); err != nil {
			return &Error{File: name, Offset: at, Err: err}
		}
		if n, err := io.CopyN(io.Discard, in, pdu); err != nil {
			return &Error{File: name, Offset: at + blkRecord + n, Err: fmt.Errorf("the record's data is cut off: %w", err)}
		}
		at += blkRecord + pdu
	}
}

func (b *builder) blkRecord(rec []byte, order binary.ByteOrder, action uint32) error {
	act := order.Uint32(rec[28:])
	if act&0xffff != action || act&blkNotify != 0 || act&blkDiscard != 0 || act&(blkRead|blkWrite) == 0 {
		return nil
	}
	ns, sector, length := order.Uint64(rec[8:]), order.Uint64(rec[16:]), order.Uint32(rec[24:])
	dev := order.Uint32(rec[36:])
	if sector > math.MaxInt64/512 || ns > math.MaxInt64 {
		return fmt.Errorf("sector %d at %d ns is out of range", sector, ns)
	}
	// MAJOR and MINOR of the kernel's own dev_t.
	if !b.wants(fmt.Sprintf("%d,%d", dev>>20, dev&(1<<20-1))) {
		return nil
	}
	return b.add(int64(sector)*512, int64(length), act&blkWrite != 0, int64(ns))
}
