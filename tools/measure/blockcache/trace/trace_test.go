package trace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"fettle/internal/means"
)

const block = 65536

func read(t *testing.T, format, text string) *Trace {
	t.Helper()
	tr, err := Read(strings.NewReader(text), "t", format, Options{BlockSize: block})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestFormats(t *testing.T) {
	for _, c := range []struct {
		name, text string
		format     string // that must be found out
		blocks     []uint32
		writes     []bool
		times      []int64
	}{
		{"blkparse", `  8,0    1        1     1.000000000   697  A   R 128 + 8 <- (8,1) 64
  8,0    1        2     1.000000100   697  Q   R 128 + 8 [fio]
  8,0    1        3     1.000000200   697  G   R 128 + 8 [fio]
  8,0    0        1     2.500000000   698  Q  WS 120 + 16 [fio]
  8,0    0        2     2.600000000   698  Q FWS [jbd2]
  8,0    0        3     2.700000000   698  Q   D 0 + 2048 [fstrim]
  8,0    0        4     2.800000000     0  C   R 128 + 8 [0]
  8,0    0        5     2.900000000     0  m   N cfq698 Not idling
CPU0 (8,0):
 Reads Queued:           1,        4KiB	 Writes Queued:           1,        8KiB

Throughput (R/W): 0KiB/s / 0KiB/s
Events (8,0): 7 entries
`, "blkparse", []uint32{1, 0, 1}, []bool{false, true, true}, []int64{0, 1499999900, 1499999900}},
		{"iolog v3", "fio version 3 iolog\n21 /dev/sda add\n283 /dev/sda open\n288 /dev/sda read 65536 4096\n305 /dev/sda write 0 4096\n305 " +
			"/dev/sda sync 0 0\n391 /dev/sda close\n",
			"iolog", []uint32{1, 0}, []bool{false, true}, []int64{0, 17000}},
		{"iolog v2", "fio version 2 iolog\n/dev/sda add\n/dev/sda open\n/dev/sda read 0 4096\n/dev/sda wait 500 0\n/dev/sda read 196608 " +
			"65536\n/dev/sda trim 0 4096\n/dev/sda close\n",
			"iolog", []uint32{0, 3}, nil, []int64{0, 500000}},
		{"csv with a header", "timestamp,host,op,offset,size\n1.5,a," +
			"Read,65536,131072\n2.5,a,Write,0,512\n", "csv", []uint32{1, 2, 0}, []bool{false, false, true}, []int64{0, 0, 1e9}},
		{"csv of sectors", "# made by hand\nlba;sectors\n127;2\n", "csv", []uint32{0, 1}, nil, nil},
		{"csv of objects", "obj_id\n7\n9\n7\n", "", []uint32{7, 9, 7}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			format := ""
			if c.format == "" {
				format = "csv"
			}
			tr := read(t, format, c.text)
			if !reflect.DeepEqual(tr.Blocks, c.blocks) || !reflect.DeepEqual(tr.Writes, c.writes) || !reflect.DeepEqual(tr.Times, c.times) {
				t.Errorf("blocks %v, writes %v, times %v; want %v, %v, %v", tr.Blocks, tr.Writes, tr.Times, c.blocks, c.writes, c.times)
			}
		})
	}
}

// TestColumns is the MSR Cambridge form: no header, Windows' clock.
func TestColumns(t *testing.T) {
	opt := Options{BlockSize: block, Columns: strings.Split("time-100ns,-,-,op,offset,size,-", ",")}
	tr, err := Read(
		strings.NewReader("128166372003061629,hm,1,Read,383496192,32768,413\n128166372013061629,hm,1,Write,310983680,4096,1\n"),
		"hm",
		"csv",
		opt,
	)
	if err != nil {
		t.Fatal(err)
	}
	if want := []uint32{5851, 5852, 4745}; !reflect.DeepEqual(tr.Blocks, want) || tr.Times[2] != 1e9 {
		t.Errorf("blocks %v at %v", tr.Blocks, tr.Times)
	}
}

// record is one of blktrace's, as its header documents it.
func record(order binary.AppendByteOrder, action uint32, ns, sector uint64, length, dev uint32, pdu string) []byte {
	b := order.AppendUint32(nil, 0x65617407)
	b = order.AppendUint32(b, 1)
	b = order.AppendUint64(b, ns)
	b = order.AppendUint64(b, sector)
	b = order.AppendUint32(b, length)
	b = order.AppendUint32(b, action)
	b = order.AppendUint32(b, 42)
	b = order.AppendUint32(b, dev)
	b = order.AppendUint32(b, 0)
	b = order.AppendUint16(b, 0)
	b = order.AppendUint16(b, uint16(len(pdu)))
	return append(b, pdu...)
}

const (
	queueRead  = blkRead | 1<<20 | blkQueue // BLK_TC_QUEUE
	queueWrite = blkWrite | 1<<20 | blkQueue
)

func TestBlktrace(t *testing.T) {
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		var b []byte
		b = append(b, record(order, blkNotify, 0, 0, 0, 8<<20, "fio\x00")...)
		b = append(b, record(order, queueWrite, 2000, 256, 4096, 8<<20, "")...)
		b = append(b, record(order, queueRead, 1000, 128, 65536+512, 8<<20, "pdu")...)
		b = append(b, record(order, queueRead|blkDiscard, 3000, 0, 4096, 8<<20, "")...)
		b = append(b, record(order, blkRead|1<<23|blkComplete, 3000, 0, 4096, 8<<20, "")...)
		tr := read(t, "", string(b))
		if want := []uint32{1, 2, 2}; !reflect.DeepEqual(tr.Blocks, want) || !reflect.DeepEqual(tr.Writes, []bool{false, false, true}) ||
			tr.Times[2] != 1000 {
			t.Errorf("%v: blocks %v, writes %v, times %v", order, tr.Blocks, tr.Writes, tr.Times)
		}
		if _, err := Read(bytes.NewReader(b[:len(b)-9]), "t", "", Options{BlockSize: block}); err == nil ||
			!strings.Contains(err.Error(), "t: at byte ") {
			t.Errorf("a file cut off: %v", err)
		}
	}
}

// TestAsBlkparse reads binary records with blkparse too: both ways lead to the
// same requests.
func TestAsBlkparse(t *testing.T) {
	blkparse := means.Tool(t, "blkparse")
	dir := t.TempDir()
	var b []byte
	for i := range uint64(50) {
		action := uint32(queueRead)
		if i%3 == 0 {
			action = queueWrite
		}
		b = append(b, record(binary.LittleEndian, action, i*1_000_003, i*i*64, 4096, 8<<20|1, "")...)
	}
	if err := os.WriteFile(filepath.Join(dir, "sda1.blktrace.0"), b, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(blkparse, "-i", "sda1")
	cmd.Dir = dir
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	got, want := read(t, "", string(text)), read(t, "", string(b))
	got.Name, want.Name = "", ""
	if len(want.Blocks) != 50 || !reflect.DeepEqual(got, want) {
		t.Errorf("of blkparse's text %+v, of the records %+v", got, want)
	}
}

// TestOracle writes, packs and reads libCacheSim's format.
func TestOracle(t *testing.T) {
	tr, err := Workload{Pattern: "zipf:0.9", Blocks: 100, Requests: 1000, Seed: 1, BlockSize: block, Rate: 10}.Make()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := WriteOracle(&b, tr); err != nil {
		t.Fatal(err)
	}
	z, _ := zstd.NewWriter(nil)
	packed := z.EncodeAll(b.Bytes(), nil)
	var got *Trace
	means.Within(t, "reading what is packed", func() {
		got, err = Read(bytes.NewReader(packed), "x.oracleGeneral.zst", "", Options{BlockSize: block})
	})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Blocks, tr.Blocks) || got.BlockSize != 0 || got.Times[999] != 99e9 {
		t.Errorf("%d requests come back, the last at %d ns", len(got.Blocks), got.Times[999])
	}
}

// TestPackedAndCut: a trace that was packed and cut off is no shorter trace.
func TestPackedAndCut(t *testing.T) {
	z, _ := zstd.NewWriter(nil)
	packed := z.EncodeAll([]byte("fio version 3 iolog\n1 f add\n1 f open\n"+strings.Repeat("2 f read 4096 4096\n", 1000)), nil)
	for _, n := range []int{5, 10, len(packed) / 2, len(packed) - 1} {
		_, err := Read(bytes.NewReader(packed[:n]), "x.zst", "iolog", Options{BlockSize: block})
		if err == nil || !strings.Contains(err.Error(), "x.zst:") || !strings.Contains(err.Error(), "the compressed file is truncated") {
			t.Errorf("%d bytes of %d: %v", n, len(packed), err)
		}
	}
	_, err := Open("", Options{BlockSize: block}, t.TempDir())
	if err == nil || !strings.HasSuffix(err.Error(), "is a folder, not a trace") {
		t.Errorf("a folder: %v", err)
	}
}

// TestWriteIolog comes back as it was.
func TestWriteIolog(t *testing.T) {
	tr, err := Workload{Pattern: "hot", Blocks: 100, Requests: 1000, Seed: 1, BlockSize: block, WritePct: 30}.Make()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := WriteIolog(&b, tr, "/dev/x", 4096); err != nil {
		t.Fatal(err)
	}
	got := read(t, "", b.String())
	if !reflect.DeepEqual(got.Blocks, tr.Blocks) || !reflect.DeepEqual(got.Writes, tr.Writes) {
		t.Error("other requests came back")
	}
}

func TestIdsThatDoNotFit(t *testing.T) {
	tr := read(t, "csv", "id\n18446744073709551615\n5\n18446744073709551615\n")
	if !tr.Renumbered || !reflect.DeepEqual(tr.Blocks, []uint32{0, 1, 0}) || tr.Span != 2 {
		t.Errorf("%+v", tr)
	}
}

// TestIdsThatFitUntilOneDoesNot: what was kept short before the first long id is
// numbered with the rest.
func TestIdsThatFitUntilOneDoesNot(t *testing.T) {
	tr := read(t, "csv", "id\n7\n5\n18446744073709551615\n5\n4294967295\n7\n")
	if !tr.Renumbered || !reflect.DeepEqual(tr.Blocks, []uint32{0, 1, 2, 1, 3, 0}) || tr.Span != 4 {
		t.Errorf("%+v", tr)
	}
}

// TestObjectsWhereAddressesAreWanted: they are refused before the rest, damaged here, is read.
func TestObjectsWhereAddressesAreWanted(t *testing.T) {
	_, err := Read(strings.NewReader("id\n7\nseven\n"), "t", "csv", Options{BlockSize: 4096, Addresses: true})
	if !errors.Is(err, ErrObjects) {
		t.Error(err)
	}
}

func TestBadInput(t *testing.T) {
	for _, c := range []struct{ name, format, text, want string }{
		{"empty", "", "", "t: is empty"},
		{"no trace", "", "hello\n", "is not a trace with a known beginning"},
		{"another format", "pcap", "x", `trace format "pcap" is not known`},
		{"no requests", "iolog", "fio version 2 iolog\n", "t: holds no read or write request"},
		{"old iolog", "iolog", "rw, 0, 4096\n", "t:1: "},
		{"wait in version 3", "iolog", "fio version 3 iolog\n1 f wait 500 0\n", "t:2: "},
		{"length of an iolog", "iolog", "fio version 2 iolog\nf read 0 -4096\n", "t:2: "},
		{"request too long", "iolog", "fio version 2 iolog\nf read 0 4096\nf read 0 99999999999999\n", "t:3: a request of 99999999999999 bytes"},
		{"offset too high", "iolog", "fio version 2 iolog\nf read 9223372036854775807 4096\n", "t:2: offset"},
		{"more blocks than can be counted", "iolog", "fio version 2 iolog\nf read 900000000000000000 4096\n", "--block-size"},
		{"unknown action", "iolog", "fio version 2 iolog\nf burn 0 4096\n", `t:2: action "burn" is not known`},
		{"two files", "iolog", "fio version 2 iolog\na read 0 4096\nb read 0 4096\n", "a: 1 requests, b: 1 requests): choose one with --device"},
		{"sector", "blkparse", " 8,0 1 1 0.000000001 1 Q R 99999999999999999999 + 8 [x]\n", "t:1: "},
		{"time of blkparse", "blkparse", " 8,0 1 1 0.x 1 Q R 1 + 8 [x]\n", "t:1: time: "},
		{"csv without where", "csv", "time,size\n", "t:1: one column must tell where"},
		{"csv with two wheres", "csv", "offset,lba\n", "2 do"},
		{"csv line too short", "csv", "time,offset\n1\n", "t:2: has 1 columns; offset is column 2"},
		{"csv number", "csv", "offset\n12\nx\n", `t:3: offset "x"`},
		{"csv time", "csv", "time,offset\nNaN,1\n", "t:2: time"},
		{"magic", "blktrace", strings.Repeat("x", 48), "t: at byte 0: no record of blktrace"},
		{"version", "blktrace", "\x06tae" + strings.Repeat("\x00", 44), "record of version 6"},
		{"oracle cut off", "oracleGeneral", strings.Repeat("\x00", 30), "t: at byte 24: the record is cut off"},
		{"oracle that is none", "oracleGeneral",
			strings.Repeat("\x01", 16) + "\x02" + strings.Repeat("\x00", 7) + strings.Repeat("\x01", 16) + "\x01" + strings.Repeat("\x00", 7),
			"t: at byte 24: request 1 says " +
				"that its next access is request 1"},
		{"a line too long", "iolog", "fio version 2 iolog\n" + strings.Repeat("x", 70000), "t:2: a line of more than"},
	} {
		_, err := Read(strings.NewReader(c.text), "t", c.format, Options{BlockSize: block})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", c.name, err, c.want)
		}
		var e *Error
		if err != nil && !errors.As(err, &e) && c.format != "pcap" {
			t.Errorf("%s: %T is not about a place in a file", c.name, err)
		}
	}
	if _, err := Read(strings.NewReader("offset\n1\n2\n"), "t", "csv", Options{BlockSize: block, MaxRequests: 1}); err == nil ||
		!strings.Contains(err.Error(), "t:3: more than 1 requests") {
		t.Errorf("too many requests: %v", err)
	}
	if _, err := Open("", Options{BlockSize: block}, "/nonexistent"); !os.IsNotExist(err) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestBomb: a zstd file that unpacks to more than any memory is read only up to the bound.
func TestBomb(t *testing.T) {
	z, _ := zstd.NewWriter(nil)
	packed := z.EncodeAll(bytes.Repeat([]byte("4096\n"), 4<<20), nil)
	packed = append(z.EncodeAll([]byte("offset\n"), nil), packed...)
	if _, err := Read(bytes.NewReader(packed), "t", "csv", Options{BlockSize: block, MaxRequests: 1000}); err == nil ||
		!strings.Contains(err.Error(), "more than 1000 requests") {
		t.Errorf("%v", err)
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzRead(f *testing.F) {
	f.Add("", []byte("fio version 3 iolog\n1 f read 0 4096\n2 f write 1 5\n"))
	f.Add("", []byte(" 8,0 1 1 0.000000001 1 Q R 1 + 8 [x]\n"))
	f.Add("", append(record(binary.LittleEndian, queueRead, 1, 2, 3, 4, "p"), record(binary.LittleEndian, queueWrite, 0, 2, 3, 4, "")...))
	f.Add("", record(binary.BigEndian, queueRead, 1, 2, 3, 4, "p"))
	f.Add("csv", []byte("time,op,offset,size\n1,R,5,6\n"))
	f.Add("csv", []byte("id\n5\n"))
	f.Add("oracleGeneral", bytes.Repeat([]byte{0}, 48))
	f.Add("", append(bytes.Clone(zstdMagic), 1, 2, 3))
	f.Fuzz(func(t *testing.T, format string, data []byte) {
		tr, err := Read(bytes.NewReader(data), "t", format, Options{BlockSize: 4096, MaxRequests: 1 << 18})
		if err != nil {
			return
		}
		if tr.Len() == 0 || tr.Writes != nil && len(tr.Writes) != tr.Len() || tr.Times != nil && len(tr.Times) != tr.Len() {
			t.Fatalf("%d requests, %d writes, %d times", tr.Len(), len(tr.Writes), len(tr.Times))
		}
		for i, b := range tr.Blocks {
			if int64(b) >= tr.Span {
				t.Fatalf("block %d of a span of %d", b, tr.Span)
			}
			if tr.Times != nil && (tr.Times[i] < 0 || i > 0 && tr.Times[i] < tr.Times[i-1]) {
				t.Fatalf("request %d at %d", i, tr.Times[i])
			}
		}
	})
}
