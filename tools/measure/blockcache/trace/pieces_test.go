package trace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestWhatIsRefused: the message names the place and what is there.
func TestWhatIsRefused(t *testing.T) {
	const v2, v3 = "fio version 2 iolog\n", "fio version 3 iolog\n"
	le := binary.LittleEndian
	far := strings.Repeat("9", 60)
	for _, c := range []struct{ name, format, text, want string }{
		{"the end of a disk", "iolog", v2 + "f read 9223372036854775807 4096\n",
			"t:2: offset 9223372036854775807 and length 4096 go past the end of any disk"},
		{"before a disk", "iolog", v2 + "f read -1 4096\n", "t:2: offset -1 is negative"},
		{"offset of an iolog", "iolog", v2 + "f read x 4096\n", `t:2: offset "x" and length "4096" are no bytes`},
		{"length of an iolog", "iolog", v2 + "f read 0 y\n", `t:2: offset "0" and length "y" are no bytes`},
		{"one field", "iolog", v2 + "f\n", `t:2: "f" is no line of an iolog of version 2`},
		{"two fields", "iolog", v2 + "f read\n", `t:2: "f read" is no line of an iolog of version 2`},
		{"three fields", "iolog", v2 + "f read 0\n", `t:2: "f read 0" is no line of an iolog of version 2`},
		{"five fields", "iolog", v2 + "f read 0 1 2\n", `t:2: "f read 0 1 2" is no line of an iolog of version 2`},
		{"a wait of nothing", "iolog", v2 + "f wait\n", `t:2: "f wait" is no line of an iolog of version 2`},
		{"a wait of x", "iolog", v2 + "f wait x\n", `t:2: "f wait x": a wait has microseconds, and version 3 has no waits`},
		{"a wait of three", "iolog", v3 + "5 f wait 1\n", `t:2: "5 f wait 1": a wait has microseconds, and version 3 has no waits`},
		{"a negative wait", "iolog", v2 + "f wait -1\n", "a wait has microseconds"},
		{"centuries", "iolog", v2 + "f wait 9223372036854775\nf wait 1\n", "t:3: the waits add up to more than 290 years"},
		{"a wait of centuries", "iolog", v2 + "f wait 9223372036854776\n", "a wait has microseconds"},
		{"time of an iolog", "iolog", v3 + "x f read 0 1\n", `t:2: time: "x" is no number of microseconds`},
		{"negative time of an iolog", "iolog", v3 + "-1 f read 0 1\n", `t:2: time: "-1" is no number of microseconds`},
		{"time alone", "iolog", v3 + "12\n", `t:2: "12" is no line of an iolog of version 3`},
		{"a first line of 60", "iolog", far + "\n", `t:1: "` + far + `" is not the first line`},
		{"a first line of 61", "iolog", far + "9\n", `t:1: "` + far + `..." is not the first line`},

		{"sector", "blkparse", " 8,0 1 1 0.000000001 1 Q R -1 + 8 [x]\n", `t:1: "-1" is no sector`},
		{"a sector too far", "blkparse", fmt.Sprintf(" 8,0 1 1 0.1 1 Q R %d + 8 [x]\n", math.MaxInt64/512+1), `" is no sector`},
		{"sectors", "blkparse", " 8,0 1 1 0.000000001 1 Q R 1 + -8 [x]\n", `t:1: "-8" is no number of sectors`},
		{"more than a gigabyte", "blkparse", " 8,0 1 1 0.000000001 1 Q R 1 + 2097153 [x]\n", `t:1: "2097153" is no number of sectors`},
		{"no count", "blkparse", " 8,0 1 1 0.000000001 1 Q R 1 + x [x]\n", `t:1: "x" is no number of sectors`},
		{"negative time", "blkparse", " 8,0 1 1 -1.5 1 Q R 1 + 8 [x]\n", `t:1: time: "-1.5" is no number of seconds`},
		{"time after all", "blkparse", " 8,0 1 1 9223372036.0 1 Q R 1 + 8 [x]\n", `t:1: time: "9223372036.0" is no number of seconds`},

		{"sector of a record", "blktrace", string(record(le, queueRead, 77, math.MaxInt64/512+1, 512, 1, "")),
			fmt.Sprintf("t: at byte 0: sector %d at 77 ns is out of range", math.MaxInt64/512+1)},
		{"time of a record", "blktrace", string(record(le, queueRead, 5, 1, 512, 1, "abc")) +
			string(record(le, queueRead, math.MaxInt64+1, 3, 512, 1, "")),
			"t: at byte 51: sector 3 at 9223372036854775808 ns is out of range"},
		{"data of a record", "blktrace", string(record(le, queueRead, 5, 1, 512, 1, "abc"))[:50], "t: at byte 50: the record's data is cut off"},
		{"second magic", "blktrace", string(record(le, queueRead, 5, 1, 512, 1, "")) + strings.Repeat("x", 48),
			"t: at byte 48: no record of blktrace: magic number 0x78787878"},

		{"times far apart", "csv", "time,offset\n0,1\n2305843010,1\n", `t:3: time "2305843010" is too far from that of the first request`},
		{"times far back", "csv", "time,offset\n2305843010,1\n0,1\n", `t:3: time "0" is too far from that of the first request`},
		{"no time", "csv", "time,offset\n,1\n", `t:2: time "" is no number`},
		{"an endless time", "csv", "time,offset\nInf,1\n", `t:2: time "Inf" is no number`},
		{"no operation", "csv", "op,offset\n,1\n", "t:2: the operation is empty"},
		{"operation left out", "csv", "offset,op\n1\n", "t:2: has 1 columns; op is column 2"},
		{"time left out", "csv", "offset,time\n1\n", "t:2: has 1 columns; time is column 2"},
		{"id left out", "csv", "time,id\n1\n", "t:2: has 1 columns; id is column 2"},
		{"size left out", "csv", "offset,size\n1\n", "t:2: has 1 columns; size is column 2"},
		{"size", "csv", "offset,size\n1,big\n", `t:2: size "big" is no number of its kind`},
		{"an id", "csv", "id\nseven\n", `t:2: id "seven" is no number`},
		{"a sector", "csv", "sector\n18014398509481984\n", `t:2: sector "18014398509481984" is no number of its kind`},
		{"the same twice", "csv", "offset,op,rw\n", "t:1: two columns are op"},
		{"two clocks", "csv", "offset,time,time_ms\n", "t:1: two columns are time"},

		{"no later one", "oracleGeneral", strings.Repeat("\x00", 40) + "\x05" + strings.Repeat("\x00", 7) + strings.Repeat("\x00", 16) +
			"\x02\x00\x00\x00\x00\x00\x00\x00", "t: at byte 48: request 2 says that its next access is request 2, which is no later one"},
		{"binary, with a comma", "", "\x00,\n", "t: is not a trace with a known beginning"},
		{"a comment alone", "", "# a,b\n", "t: is not a trace with a known beginning"},
		{"a text, and a table", "", "hello\na,b\n",
			"t: is not a trace with a known beginning; name its format, one of blkparse, blktrace, iolog, csv, oracleGeneral"},
	} {
		_, err := Read(strings.NewReader(c.text), "t", c.format, Options{BlockSize: block})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", c.name, err, c.want)
		}
	}
}

// TestWhatIsTaken: as much as may be, and what is passed over.
func TestWhatIsTaken(t *testing.T) {
	const v2, v3 = "fio version 2 iolog\n", "fio version 3 iolog\n"
	for _, c := range []struct {
		name, format, text string
		opt                Options
		requests           int
		first              uint32
		times              []int64
		writes             []bool
	}{
		{name: "a gigabyte", format: "iolog", text: v2 + "f read 65536 1073741824\n", requests: 1 << 14, first: 1},
		{name: "a gigabyte of sectors", format: "blkparse", text: " 8,0 1 1 0.1 1 Q R 256 + 2097152 [x]\n", requests: 1 << 14, first: 2},
		{name: "the last byte of a block", format: "iolog", text: v2 + "f read 65535 1\n", requests: 1},
		{name: "the first of the next", format: "iolog", text: v2 + "f read 65535 2\n", requests: 2},
		{name: "no bytes", format: "iolog", text: v2 + "f read 0 0\nf read 65536 1\n", requests: 1, first: 1},
		{name: "the last block", format: "csv", opt: Options{BlockSize: 512}, text: "block\n4294967294\n", requests: 1, first: Never - 1},
		{name: "waits", format: "iolog", text: v2 + "f read 0 1\nf wait 3\nf read 0 1\n\nf wait 4 x\nf datasync 0 0\nf read 0 1\n", requests: 3,
			times: []int64{0, 3000, 7000}},
		{name: "another file of fio's", format: "iolog", opt: Options{Device: "g"},
			text: v2 + "f read 0 1\ng read 65536 1\nf read 0 1\n", requests: 1, first: 1},
		{name: "another device", format: "blkparse", opt: Options{Device: "8,1"}, requests: 1, first: 1,
			text: " 8,0 1 1 0.1 1 Q R 0 + 8 [x]\n 8,1 1 1 0.2 1 Q R 128 + 8 [x]\n"},
		{name: "another event", format: "blkparse", opt: Options{Action: "C"}, requests: 1, first: 1,
			text: " 8,0 1 1 0.1 1 Q R 0 + 8 [x]\n 8,0 1 1 0.2 1 C R 128 + 8 [x]\n"},
		{name: "seconds without a point", format: "blkparse", requests: 2, times: []int64{0, 1_250_000_000},
			text: " 8,0 1 1 9 1 Q R 0 + 8 [x]\n 8,0 1 1 10.25 1 Q R 128 + 8 [x]\n"},
		{name: "nanoseconds", format: "blkparse", requests: 2, times: []int64{0, 1},
			text: " 8,0 1 1 0.000000001 1 Q R 0 + 8 [x]\n 8,0 1 1 0.000000002999 1 Q R 128 + 8 [x]\n"},
		{name: "lines of another kind", format: "blkparse", requests: 1,
			text: "x,0 1 1 0.1 1 Q R 0 + 8 [x]\n8, 1 1 0.1 1 Q R 0 + 8 [x]\n8,0 1 1 0.1 1 Q R 0 + 8 [x]\n" +
				"8,0 1 1 0.1 1 Q R 0 / 8 [x]\n8,0 1 1 0.1 1 Q N 0 + 8 [x]\n"},
		{name: "order of time", format: "iolog", text: v3 + "30 f read 131072 1\n10 f write 0 1\n20 f read 65536 1\n10 f read 0 1\n", requests: 4,
			times: []int64{0, 0, 10_000, 20_000}, writes: []bool{true, false, false, false}},
		{name: "times of milliseconds, since 1970", format: "csv", text: "time_ms,offset\n1700000000000,0\n1700000000001.5,65536\n", requests: 2,
			times: []int64{0, 1_500_000}},
		{name: "times that one is", format: "csv", text: "time-us,offset\n7,0\n7,65536\n", requests: 2},
		{name: "operations", format: "csv", requests: 6, writes: []bool{false, true, false, true, false, true},
			text: "op,offset\nget,0\nSET,0\n0,0\n1,0\nRA,0\nwfs,0\ntrim,0\n2,0\n"},
		{name: "quotes, blanks and comments", format: "csv", text: "\"Offset\" , Size\n# none\n \"65536\" , 1 \r\n\n", requests: 1, first: 1},
		{name: "columns that were named", format: "csv", opt: Options{Columns: []string{"-", "sector", "sectors"}},
			text: "offset;128;129\n", requests: 2, first: 1},
		{name: "a table after a comment", text: "# a comment\noffset;size\n65536;1\n", requests: 1, first: 1},
		{name: "blkparse after its notes", text: "note\n  8,0    1        1     1.000000000   697  Q   R 128 + 8 [x]\n", requests: 1, first: 1},
	} {
		if c.opt.BlockSize == 0 {
			c.opt.BlockSize = block
		}
		tr, err := Read(strings.NewReader(c.text), "t", c.format, c.opt)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if tr.Len() != c.requests || tr.Blocks[0] != c.first || !slices.Equal(tr.Times, c.times) || !slices.Equal(tr.Writes, c.writes) {
			t.Errorf("%s: %d requests from block %d, at %v, writes %v; want %d from %d, at %v, %v",
				c.name, tr.Len(), tr.Blocks[0], tr.Times, tr.Writes, c.requests, c.first, c.times, c.writes)
		}
		if tr.BlockSize != c.opt.BlockSize || tr.Span != int64(slices.Max(tr.Blocks))+1 {
			t.Errorf("%s: blocks of %d bytes, %d of them", c.name, tr.BlockSize, tr.Span)
		}
	}
}

// TestSeveralFiles: they are one trace, in the order of time.
func TestSeveralFiles(t *testing.T) {
	dir := t.TempDir()
	le := binary.LittleEndian
	for name, text := range map[string]string{
		"cpu.0":    string(record(le, queueRead, 1000, 0, 512, 1, "")) + string(record(le, queueRead, 3000, 256, 512, 1, "")),
		"cpu.1":    string(record(le, queueWrite, 2000, 128, 512, 1, "")),
		"mon.csv":  "time,offset\n100,0\n200,65536\n",
		"tue.csv":  "time,offset\n1000,131072\n1000,196608\n",
		"sun.csv":  "time,offset\n50.5,262144\n",
		"ms.csv":   "time-ms,offset\n50,262144\n",
		"plain":    "offset,size\n0,1\n",
		"id.csv":   "id\n5\n",
		"next.csv": "offset\n5\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		files  string
		blocks []uint32
		times  []int64
		err    string
	}{
		{"cpu.0 cpu.1", []uint32{0, 1, 2}, []int64{0, 1000, 2000}, ""},
		{"tue.csv mon.csv sun.csv", []uint32{4, 0, 1, 2, 3}, []int64{0, 49.5e9, 149.5e9, 949.5e9, 949.5e9}, ""},
		{"plain next.csv", nil, nil, "DIR/plain, DIR/next.csv: several files are put in order by time, and these have none"},
		{"id.csv next.csv", nil, nil, "DIR/id.csv, DIR/next.csv: mixes addresses and ids of objects"},
		{"mon.csv ms.csv", nil, nil, "DIR/ms.csv:1: its times are of time-ms, and those of the files before are of time"},
		{"mon.csv gone", nil, nil, "open DIR/gone: no such file or directory"},
		{"", nil, nil, "no trace to read"},
	} {
		files := strings.Fields(c.files)
		for i := range files {
			files[i] = filepath.Join(dir, files[i])
		}
		tr, err := Open("", Options{BlockSize: block}, files...)
		if strings.Contains(c.files, "csv") {
			tr, err = Open("csv", Options{BlockSize: block}, files...)
		}
		if c.err != "" {
			if want := strings.ReplaceAll(c.err, "DIR", dir); err == nil || err.Error() != want {
				t.Errorf("%s: %v, want %s", c.files, err, want)
			}
			continue
		}
		if err != nil || !slices.Equal(tr.Blocks, c.blocks) || !slices.Equal(tr.Times, c.times) || tr.Name != filepath.Base(files[0]) {
			t.Errorf("%s: %+v (%v), want %v at %v", c.files, tr, err, c.blocks, c.times)
		}
	}
}

func TestDevicesAreNamed(t *testing.T) {
	var log strings.Builder
	log.WriteString("fio version 2 iolog\n")
	for _, i := range []int{8, 3, 1, 2, 0, 4, 5, 7, 6, 3} {
		fmt.Fprintf(&log, "d%d read 0 1\n", i)
	}
	all := "d0: 1 requests, d1: 1 requests, d2: 1 requests, d3: 2 requests, " +
		"d4: 1 requests, d5: 1 requests, d6: 1 requests, d7: 1 requests, ..."
	fio := log.String()
	for device, want := range map[string]string{
		"":   "t: requests of several devices (" + all + "): choose one with --device",
		"d9": "t: no request of device d9; it has: " + all,
	} {
		if _, err := Read(strings.NewReader(fio), "t", "iolog", Options{BlockSize: block, Device: device}); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if tr, err := Read(strings.NewReader(fio), "t", "iolog", Options{BlockSize: block, Device: "d3"}); err != nil || tr.Len() != 2 {
		t.Errorf("of one device: %+v %v", tr, err)
	}
	if _, err := Read(strings.NewReader("fio version 2 iolog\n"), "t", "iolog", Options{BlockSize: block, Device: "d3"}); err == nil ||
		err.Error() != "t: holds no read or write request" {
		t.Errorf("of none: %v", err)
	}
}

func TestBoundsOfOptions(t *testing.T) {
	for size, good := range map[int64]bool{511: false, 512: true, 1 << 30: true, 1<<30 + 1: false, 0: false} {
		tr, err := Read(strings.NewReader("offset\n0\n"), "t", "csv", Options{BlockSize: size})
		if (err == nil) != good || good && tr.BlockSize != size {
			t.Errorf("blocks of %d bytes: %v", size, err)
		}
		if want := fmt.Sprintf("a cache block of %d bytes: it is 512 bytes to 1 GiB", size); !good && err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
		if _, err := Open("csv", Options{BlockSize: size}, filepath.Join(t.TempDir(), "none")); err == nil || good != os.IsNotExist(err) {
			t.Errorf("a file, with blocks of %d bytes: %v", size, err)
		}
	}
	_, err := Read(strings.NewReader("a,b\n"), "t", "csv", Options{BlockSize: 512, Columns: []string{"offset", "what"}})
	if err == nil || err.Error() != `t:1: unknown column "what": expected one of `+ColumnNames {
		t.Error(err)
	}
	_, err = Read(bytes.NewReader(record(binary.LittleEndian, queueRead, 1, 1, 512, 1, "")), "t", "", Options{BlockSize: 512, Action: "G"})
	if err == nil || err.Error() != `t: action "G" of a binary trace: it is Q, D or C` {
		t.Error(err)
	}
	two := Options{BlockSize: 512, MaxRequests: 2}
	if tr, err := Read(strings.NewReader("id\n1\n2\n"), "t", "csv", two); err != nil || tr.Len() != 2 {
		t.Errorf("as many as may be: %v", err)
	}
	for _, text := range []string{"id\n1\n2\n3\n", "offset,size\n0,1025\n"} {
		if _, err := Read(strings.NewReader(text), "t", "csv", two); err == nil ||
			!strings.HasSuffix(err.Error(), "more than 2 requests; raise --max-requests, or cut the trace") {
			t.Errorf("one more: %v", err)
		}
	}
}

// TestIdsAreNumberedWhereTheyLieFarApart: what is counted by block then takes memory for the objects that there are.
func TestIdsAreNumberedWhereTheyLieFarApart(t *testing.T) {
	for _, c := range []struct {
		ids        string
		want       []uint32
		renumbered bool
	}{
		{"16777215 3 16777215", []uint32{1<<24 - 1, 3, 1<<24 - 1}, false},
		{"16777216 3 16777216", []uint32{0, 1, 0}, true},
		{"4294967294 7 7", []uint32{0, 1, 1}, true},
		{"4294967295 7 4294967295 7", []uint32{0, 1, 0, 1}, true},
		{"4294967296 0", []uint32{0, 1}, true}, // the same in 32 bits
	} {
		tr := read(t, "csv", "id\n"+strings.ReplaceAll(c.ids, " ", "\n")+"\n")
		if !slices.Equal(tr.Blocks, c.want) || tr.Renumbered != c.renumbered || tr.BlockSize != 0 {
			t.Errorf("%s: %v, numbered %v, blocks of %d bytes", c.ids, tr.Blocks, tr.Renumbered, tr.BlockSize)
		}
	}
}

// broken takes no more after some bytes.
type broken int

var errFull = errors.New("the disk is full")

func (b *broken) Write(p []byte) (int, error) {
	if *b -= broken(len(p)); *b < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestWhatIsWritten(t *testing.T) {
	tr := &Trace{BlockSize: 4096, Blocks: []uint32{7, 2, 7}, Span: 8, Writes: []bool{false, true, false},
		Times: []int64{0, 1_999_999_999, 1 << 62}}
	var b bytes.Buffer
	if err := WriteIolog(&b, tr, "/dev/x", 512); err != nil {
		t.Fatal(err)
	}
	want := "fio version 2 iolog\n/dev/x add\n/dev/x open\n/dev/x read 28672 512\n/dev/x write 8192 512\n/dev/x read 28672 512\n/dev/x close\n"
	if b.String() != want {
		t.Errorf("an iolog:\n%swant\n%s", b.String(), want)
	}
	b.Reset()
	if err := WriteOracle(&b, tr); err != nil {
		t.Fatal(err)
	}
	type rec struct {
		Sec  uint32
		ID   uint64
		Size uint32
		Next int64
	}
	got := make([]rec, 3)
	if err := binary.Read(&b, binary.LittleEndian, got); err != nil || b.Len() > 0 {
		t.Fatal(err, b.Len())
	}
	if want := []rec{{0, 7, 1, 2}, {1, 2, 1, -1}, {math.MaxUint32, 7, 1, -1}}; !reflect.DeepEqual(got, want) {
		t.Errorf("oracleGeneral: %v, want %v", got, want)
	}
	if err := WriteIolog(&b, &Trace{Blocks: []uint32{1}, Span: 2}, "/dev/x", 512); err == nil {
		t.Error("objects have no addresses")
	}
	long := &Trace{BlockSize: 4096, Blocks: make([]uint32, 10_000), Span: 1}
	for _, room := range []broken{0, 70_000} {
		one, other := room, room
		if err := WriteIolog(&one, long, "/dev/x", 512); !errors.Is(err, errFull) {
			t.Errorf("an iolog with room for %d bytes: %v", room, err)
		}
		if err := WriteOracle(&other, long); !errors.Is(err, errFull) {
			t.Errorf("oracleGeneral with room for %d bytes: %v", room, err)
		}
	}
}

func TestBoundsOfWorkloads(t *testing.T) {
	good := Workload{Pattern: "uniform", Blocks: 10, Requests: 10, BlockSize: block}
	for _, c := range []struct {
		change func(*Workload)
		want   string // "": it is made
	}{
		{func(w *Workload) { w.Blocks = Never - 1 }, ""},
		{func(w *Workload) { w.Blocks = Never }, "a device of 4294967295 blocks: it has 1 to 4294967294"},
		{func(w *Workload) { w.Blocks, w.Requests = 1, 1 }, ""},
		{func(w *Workload) { w.Requests = 0 }, "0 requests: it is 1 to 4294967294"},
		{func(w *Workload) { w.Requests = Never }, "4294967295 requests: it is 1 to 4294967294"},
		{func(w *Workload) { w.WritePct = 100 }, ""},
		{func(w *Workload) { w.WritePct = 100.5 }, "100.5 % of the requests cannot write: it is 0 to 100"},
		{func(w *Workload) { w.WritePct = -1 }, "-1 % of the requests cannot write: it is 0 to 100"},
		{func(w *Workload) { w.Rate = 1e9 }, ""},
		{func(w *Workload) { w.Rate = 1.1e9 }, "1.1e+09 requests a second: it is 0 to 1e9"},
		{func(w *Workload) { w.Rate = math.NaN() }, "NaN requests a second: it is 0 to 1e9"},
		{func(w *Workload) { w.Pattern = "uniform:1" }, `workload "uniform:1": uniform has no parameter`},
		{func(w *Workload) { w.Pattern = "zipf:10" }, ""},
		{func(w *Workload) { w.Pattern, w.Blocks = "zipf:0.5", 1 }, ""},
		{func(w *Workload) { w.Pattern = "zipf:10.5" }, "zipf:THETA with THETA above 0, at most 10, and not 1"},
		{func(w *Workload) { w.Pattern = "zipf:0" }, "zipf:THETA with THETA above 0, at most 10, and not 1"},
		{func(w *Workload) { w.Pattern = "hot:50:100" }, ""},
		{func(w *Workload) { w.Pattern = "hot:50:101" }, `workload "hot:50:101": hot:BLOCKS:REQUESTS, both in percent, such as hot:10:90`},
		{func(w *Workload) { w.Pattern = "moved:100:50" },
			`workload "moved:100:50": moved:BLOCKS:REQUESTS, both in percent, such as moved:10:90`},
		{func(w *Workload) { w.Pattern = "hot:10" }, "both in percent"},
		{func(w *Workload) { w.Pattern = "hot:x:10" }, "both in percent"},
		{func(w *Workload) { w.Pattern = "hot:10:0" }, "both in percent"},
		{func(w *Workload) { w.Pattern, w.Blocks = "hot", 1 }, `workload "hot": a device of 1 blocks has none left that are not hot`},
		{func(w *Workload) { w.Pattern, w.Blocks = "hot", 2 }, ""},
	} {
		w := good
		c.change(&w)
		tr, err := w.Make()
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v: %v, want %s", w, err, c.want)
			}
			continue
		}
		if err != nil || tr.Len() != w.Requests || tr.Span != w.Blocks || tr.BlockSize != w.BlockSize || tr.Name != w.Pattern {
			t.Errorf("%+v: %+v %v", w, tr, err)
			continue
		}
		top := slices.Max(tr.Blocks)
		if int64(top) >= w.Blocks || (tr.Writes != nil) != (w.WritePct > 0) || (tr.Times != nil) != (w.Rate > 0) {
			t.Errorf("%+v: blocks up to %d, writes %v, times %v", w, top, tr.Writes, tr.Times)
		}
	}
}

// TestLoadsOverTime: requests come at their rate, some of them write, and what is hot moves once, to the other end.
func TestLoadsOverTime(t *testing.T) {
	tr, err := Workload{Pattern: "moved:10:100", Blocks: 1000, Requests: 10_000, Seed: 2, BlockSize: block, WritePct: 30, Rate: 2000}.Make()
	if err != nil {
		t.Fatal(err)
	}
	writes := 0
	met := map[uint32]int{}
	for i, b := range tr.Blocks {
		if first, low, high := i < 5000, b < 100, b >= 900; first && !low || !first && !high {
			t.Fatalf("request %d is for block %d", i, b)
		}
		met[b]++
		if tr.Writes[i] {
			writes++
		}
		if want := int64(i) * 500_000; tr.Times[i]-want > 1 || want-tr.Times[i] > 1 {
			t.Fatalf("request %d comes at %d ns, want %d", i, tr.Times[i], want)
		}
	}
	if len(met) != 200 || writes < 2800 || writes > 3200 {
		t.Errorf("%d blocks are hot, want 200; %d of 10000 requests write, want 3000", len(met), writes)
	}
}

func TestRegroupRefuses(t *testing.T) {
	tr := &Trace{BlockSize: 4096, Blocks: []uint32{0, 15, 16}, Span: 17}
	for _, size := range []int64{2048, 4097, 0} {
		want := fmt.Sprintf("requests in blocks of 4096 bytes cannot be put into blocks of %d bytes", size)
		if got, err := tr.Regroup(size); err == nil || err.Error() != want {
			t.Errorf("blocks of %d bytes: %+v %v", size, got, err)
		}
	}
	same, err := tr.Regroup(4096)
	if err != nil || !reflect.DeepEqual(same, tr) {
		t.Errorf("into the same: %+v %v", same, err)
	}
	if _, err := (&Trace{Blocks: []uint32{1}, Span: 2}).Regroup(4096); err == nil {
		t.Error("objects have no size")
	}
	if got, err := tr.Regroup(65536); err != nil || got.BlockSize != 65536 || got.Span != 2 || tr.Blocks[2] != 16 || tr.Span != 17 {
		t.Errorf("%+v of %+v (%v)", got, tr, err)
	}
}
