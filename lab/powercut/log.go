package powercut

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Flags of an entry: LOG_*_FLAG of drivers/md/dm-log-writes.c, Linux 6.1.
const (
	Flush    = 1 << 0
	FUA      = 1 << 1
	Discard  = 1 << 2
	Mark     = 1 << 3
	Metadata = 1 << 4 // REQ_META was set
)

// The log begins with a superblock of one sector; then, for every entry, one
// sector that describes it (and holds the text of a mark), and what was
// written. All numbers are little-endian.
const (
	logMagic   = 0x6a736677736872 // WRITE_LOG_MAGIC
	logVersion = 1
	entryHead  = 32 // bytes of struct log_write_entry
	maxEntries = 1 << 22
)

// Entry is one write, flush, discard or mark.
type Entry struct {
	Sector  uint64 // where, in sectors of the log
	Sectors uint64 // how many
	Flags   uint64
	Mark    string // of a mark

	at     int64 // where the data is in the log, in bytes
	issued int   // its place in the order in which the kernel logged it
}

// Log is what dm-log-writes recorded.
type Log struct {
	SectorSize int // bytes
	Entries    []Entry

	r io.ReaderAt
}

// ReadLog reads the descriptions of a log of size bytes; the data stays where it is.
func ReadLog(r io.ReaderAt, size int64) (*Log, error) {
	var head [28]byte
	if _, err := r.ReadAt(head[:], 0); err != nil {
		return nil, fmt.Errorf("reading the superblock of the log of writes: %w", err)
	}
	le := binary.LittleEndian
	n, ss := le.Uint64(head[16:]), le.Uint32(head[24:])
	switch {
	case le.Uint64(head[0:]) != logMagic:
		return nil, errors.New("not a log of dm-log-writes: its magic number is missing")
	case le.Uint64(head[8:]) != logVersion:
		return nil, fmt.Errorf("a log of dm-log-writes of version %d; version %d is known", le.Uint64(head[8:]), logVersion)
	case ss < 512 || ss > 1<<16 || ss&(ss-1) != 0:
		return nil, fmt.Errorf("a log with sectors of %d bytes", ss)
	case n > maxEntries:
		return nil, fmt.Errorf("a log of %d entries; at most %d are read", n, maxEntries)
	}
	l := &Log{SectorSize: int(ss), r: r}
	at, sector := int64(ss), make([]byte, ss)
	for i := range n {
		if at > size-int64(ss) {
			return nil, fmt.Errorf("the log ends within entry %d of %d", i, n)
		}
		if _, err := r.ReadAt(sector, at); err != nil {
			return nil, fmt.Errorf("reading entry %d of the log: %w", i, err)
		}
		at += int64(ss)
		e := Entry{Sector: le.Uint64(sector[0:]), Sectors: le.Uint64(sector[8:]), Flags: le.Uint64(sector[16:]), at: at, issued: int(i)}
		length := le.Uint64(sector[24:])
		switch {
		case e.Sector > 1<<50 || e.Sectors > 1<<40:
			return nil, fmt.Errorf("entry %d of the log is damaged: %d sectors at %d", i, e.Sectors, e.Sector)
		case e.Flags&Mark != 0:
			if length > uint64(ss)-entryHead {
				return nil, fmt.Errorf("entry %d of the log is damaged: a mark of %d bytes", i, length)
			}
			e.Mark = strings.Clone(string(sector[entryHead : entryHead+length]))
		case e.Flags&Discard == 0: // a discard has sectors, and no data in the log
			if int64(e.Sectors) > (size-at)/int64(ss) {
				return nil, fmt.Errorf("the log ends within the data of entry %d of %d", i, n)
			}
			at += int64(e.Sectors) * int64(ss)
		}
		l.Entries = append(l.Entries, e)
	}
	return l, nil
}

// Apply writes entry i to a disk: its first sectors alone where there are
// more, as a cut may leave a write that was under way. A discard leaves zeros.
func (l *Log) Apply(disk io.WriterAt, i int, sectors uint64) error {
	e := l.Entries[i]
	n := min(e.Sectors, sectors)
	if e.Flags&Mark != 0 || n == 0 {
		return nil
	}
	const piece = 1 << 20
	buf := make([]byte, min(piece, int64(n)*int64(l.SectorSize)))
	to, end := int64(e.Sector)*int64(l.SectorSize), int64(e.Sector+n)*int64(l.SectorSize)
	for from := e.at; to < end; {
		b := buf[:min(int64(len(buf)), end-to)]
		if e.Flags&Discard == 0 {
			if _, err := l.r.ReadAt(b, from); err != nil {
				return fmt.Errorf("reading the data of entry %d: %w", i, err)
			}
		}
		if _, err := disk.WriteAt(b, to); err != nil {
			return fmt.Errorf("replaying entry %d: %w", i, err)
		}
		from, to = from+int64(len(b)), to+int64(len(b))
	}
	return nil
}

// MarkAt is the index of the first mark of this text, or -1.
func (l *Log) MarkAt(text string) int {
	for i, e := range l.Entries {
		if e.Flags&Mark != 0 && e.Mark == text {
			return i
		}
	}
	return -1
}
