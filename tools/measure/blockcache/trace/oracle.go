package trace

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// oracleRecord is a record of libCacheSim's oracleGeneral, little-endian and
// without gaps: uint32 seconds, uint64 id, uint32 size, int64 the number of the
// next request for the same id, -1 when there is none.
const oracleRecord = 24

func (b *builder) oracle(in *bufio.Reader, name string) error {
	b.expect(b.bytes / oracleRecord)
	rec := make([]byte, oracleRecord)
	for at := int64(0); ; at += oracleRecord {
		if _, err := io.ReadFull(in, rec); err == io.EOF {
			return nil
		} else if err != nil {
			return &Error{File: name, Offset: at, Err: fmt.Errorf("the record is cut off: %w", err)}
		}
		sec, id := binary.LittleEndian.Uint32(rec), binary.LittleEndian.Uint64(rec[4:])
		next := int64(binary.LittleEndian.Uint64(rec[16:]))
		if n := at / oracleRecord; next >= 0 && next <= n && next != 0 {
			return &Error{
				File:   name,
				Offset: at,
				Err:    fmt.Errorf("request %d says that its next access is request %d, which is no later one: no oracleGeneral trace", n, next),
			}
		}
		if err := b.addID(id, false, int64(sec)*1_000_000_000); err != nil {
			return &Error{File: name, Offset: at, Err: err}
		}
	}
}

// WriteOracle writes t as oracleGeneral, for libCacheSim. Every object is of
// size 1, so that a cache's size is a number of blocks.
func WriteOracle(w io.Writer, t *Trace) error {
	out := bufio.NewWriterSize(w, 1<<16)
	var rec [oracleRecord]byte
	for i, next := range t.NextAccess() {
		sec := int64(0)
		if t.Times != nil {
			sec = min(t.Times[i]/1_000_000_000, math.MaxUint32)
		}
		n := int64(-1)
		if next != Never {
			n = int64(next)
		}
		binary.LittleEndian.PutUint32(rec[0:], uint32(sec))
		binary.LittleEndian.PutUint64(rec[4:], uint64(t.Blocks[i]))
		binary.LittleEndian.PutUint32(rec[12:], 1)
		binary.LittleEndian.PutUint64(rec[16:], uint64(n))
		if _, err := out.Write(rec[:]); err != nil {
			return err
		}
	}
	return out.Flush()
}

// WriteIolog writes t as an iolog of version 2 that fio replays on a device;
// each request is of length bytes at the start of its block.
func WriteIolog(w io.Writer, t *Trace, device string, length int64) error {
	if t.BlockSize == 0 {
		return fmt.Errorf("a trace of objects has no addresses to replay")
	}
	out := bufio.NewWriterSize(w, 1<<16)
	fmt.Fprintf(out, "fio version 2 iolog\n%s add\n%s open\n", device, device)
	for i, b := range t.Blocks {
		op := "read"
		if t.Writes != nil && t.Writes[i] {
			op = "write"
		}
		fmt.Fprintf(out, "%s %s %d %d\n", device, op, int64(b)*t.BlockSize, length)
	}
	fmt.Fprintf(out, "%s close\n", device)
	return out.Flush()
}
