package powercut

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"fettle/engine/remedy"
	"fettle/host/mdraid"
	"fettle/internal/means"
	"fettle/lab"
)

// TestParts: to which disk a sector belongs, and to what there.
func TestParts(t *testing.T) {
	d := &disk{members: 2}
	if d.size() != 72*mib {
		t.Errorf("a disk of %d bytes", d.size())
	}
	for _, c := range []struct {
		at    int64
		part  int
		class string
	}{
		{0, 0, "root"}, {rootSize - sector, 0, "root"}, {rootSize, 1, "metadata"}, {rootSize + 128<<10 - sector, 1, "metadata"},
		{rootSize + 128<<10, 1, "data"}, {rootSize + diskSize - sector, 1, "data"}, {rootSize + diskSize, 2, "metadata"},
		{rootSize + 2*diskSize - sector, 2, "data"},
	} {
		if s := uint64(c.at / sector); d.part(s) != c.part || d.class(s) != c.class {
			t.Errorf("byte %d: part %d, %s", c.at, d.part(s), d.class(s))
		}
	}
}

// TestCompare: where two copies differ, in runs of sectors, from where the array's data begins.
func TestCompare(t *testing.T) {
	const offset, size = 8, 2*mib/sector + 3
	one := bytes.Repeat([]byte{7}, (offset+size)*sector)
	other := bytes.Clone(one)
	for _, s := range []int{0, 1, 5, 6, mib/sector - 1, mib / sector, size - 1} {
		other[(offset+s)*sector+sector-1]++
	}
	other[offset*sector-1]++ // before the data
	d := &disk{}
	for i, b := range [][]byte{{}, one, append(other, 1)} { // and after it
		name := filepath.Join(t.TempDir(), fmt.Sprint(i))
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
		d.parts = append(d.parts, name)
	}
	got, err := compare(d, &mdraid.Superblock{Size: size, DataOffset: offset}, []int{1, 2})
	var spans []span
	for _, x := range got {
		spans = append(spans, x.span)
	}
	want := []span{{0, 2}, {5, 7}, {mib/sector - 1, mib/sector + 1}, {size - 1, size}}
	if err != nil || !slices.Equal(spans, want) || got[1].String() != "sectors 5 to 6 of members [1 2]" {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	d.parts[0] += "x"
	if _, err := compare(d, &mdraid.Superblock{Size: size}, []int{1, 0}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestTally: each result is counted by what came of it.
func TestTally(t *testing.T) {
	s := &tally{cuts: 9}
	for _, r := range []result{
		{lost: true, err: errors.New("x")}, {forced: true, missing: 1, resume: true, finished: true}, {missing: 2, data: true, resume: true},
		{missing: 3, finished: true}, {finished: true},
	} {
		s.add(r)
	}
	want := "x 9 5 1 1 1 2 1 1/2 2/3"
	if got := strings.Join(s.cells("x"), " "); got != want || s.bad != 1 {
		t.Errorf("%s, %d bad, want %s", got, s.bad, want)
	}
}

// TestFactsAt: what was said before the cut is known, nothing of later.
func TestFactsAt(t *testing.T) {
	l := &Log{Entries: []Entry{{Flags: Mark, Mark: begun}, {Sectors: 1}, {Flags: Mark, Mark: writerMark + "0"}, {Mark: "none"},
		{Flags: Mark, Mark: writerMark + "11"}, {Flags: Mark, Mark: ended}}}
	for prefix, want := range map[int]facts{
		0: {0, map[string]bool{}}, 2: {0, map[string]bool{begun: true}}, 4: {1, map[string]bool{begun: true}},
		5: {12, map[string]bool{begun: true}}, 6: {12, map[string]bool{begun: true, ended: true}},
	} {
		if got := factsAt(l, Cut{Prefix: prefix}); !reflect.DeepEqual(got, want) {
			t.Errorf("before entry %d: %+v, want %+v", prefix, got, want)
		}
	}
}

// TestFinish: what a change has to become when it is resumed, and whether an undo is done.
func TestFinish(t *testing.T) {
	for p, want := range map[remedy.Phase]remedy.Phase{
		remedy.Applying: remedy.Applied, remedy.Undoing: remedy.TakenBack, remedy.Applied: remedy.Applied, remedy.TakenBack: remedy.TakenBack,
		"": "",
	} {
		if got := finish(p); got != want || finishUndo(p) != (p == "" || p == remedy.TakenBack) {
			t.Errorf("%q: %q, undone %v", p, got, finishUndo(p))
		}
	}
}

// TestIntact: all records that were durable are there, as they were written; what follows may be
// anything.
func TestIntact(t *testing.T) {
	name := filepath.Join(t.TempDir(), "records")
	good := slices.Concat(record(0), record(1), record(2))
	bad := bytes.Clone(good)
	bad[2*recordSize-1]++
	for _, c := range []struct {
		what string
		b    []byte
		n    int
		why  string
	}{
		{"all", good, 3, ""}, {"more than was said", good[:len(good)-1], 2, ""}, {"one is cut off", good[:len(good)-1], 3, "record 2 of 3: "},
		{"one is missing", good, 4, "record 3 of 4: "}, {"one is another", bad, 2, "record 1 of 2 is not what was written"},
		{"another was not durable", bad, 1, ""},
	} {
		if err := os.WriteFile(name, c.b, 0o600); err != nil {
			t.Fatal(err)
		}
		err := intact(name, c.n)
		if (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	if err := intact(name+"x", 0); err != nil {
		t.Errorf("nothing was durable, not even the file: %v", err)
	}
	if err := intact(name+"x", 1); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// TestDiffers: in what files are not as they should be.
func TestDiffers(t *testing.T) {
	want := world{"a": {"rw", "1", 5}, "b": {"rw", "2", 5}}
	for _, c := range []struct {
		is    world
		times bool
		said  []string // in this order
	}{
		{world{"a": {"rw", "1", 5}, "b": {"rw", "2", 5}}, true, nil},
		{world{"a": {"rw", "1", 6}, "b": {"rw", "2", 5}}, false, nil},
		{world{"a": {"rw", "1", 6}, "b": {"rw", "2", 5}}, true, []string{"a is {rw 1 6}, expected {rw 1 5}"}},
		{world{"a": {"r", "1", 5}, "b": {"rw", "3", 5}}, false, []string{"a is ", "b is "}},
		{world{"a": {"rw", "1", 5}, "c": {}}, false, []string{"b is missing", "c is there"}},
	} {
		got := strings.Split(c.is.differs(want, c.times), "; ")
		if len(c.said) == 0 && got[0] != "" || len(c.said) > 0 && len(got) != len(c.said) {
			t.Errorf("%v: %q", c.is, got)
		}
		for i, s := range c.said {
			if !strings.HasPrefix(got[i], s) {
				t.Errorf("%v: %q, want %q", c.is, got, c.said)
			}
		}
	}
}

// TestLies: a lie is told at its time alone, and noticed where the trial says what it is about.
func TestLies(t *testing.T) {
	told := 0
	f := &lie{name: "l", when: assembled, want: "broken", tell: func(*disk) error { told++; return os.ErrInvalid }}
	for s, want := range map[stage]error{noLie: nil, mounted: nil, assembled: os.ErrInvalid, ending: nil} {
		if err := f.at(s, nil); !errors.Is(err, want) {
			t.Errorf("stage %d: %v", s, err)
		}
	}
	if err := (*lie)(nil).at(assembled, nil); err != nil || told != 1 {
		t.Errorf("%v, told %d times", err, told)
	}
	for _, c := range []struct {
		err error
		ok  bool
	}{{nil, false}, {errors.New("it is broken"), true}, {errors.New("something else"), false}} {
		if err := f.noticed(result{err: c.err}); (err == nil) != c.ok {
			t.Errorf("%v: %v", c.err, err)
		}
	}
}

// TestReplayAll: each cut is tried on the disk as it leaves it, the lies at their marks, too; what is
// wrong anywhere fails the whole.
func TestReplayAll(t *testing.T) {
	if _, err := os.Stat("/sys/block/md0"); err == nil {
		means.Left(t, "this machine has an array md0, which a trial would stop")
	}
	dir := t.TempDir()
	l := written(begun, bytes.Repeat([]byte{1}, sector), "flush", "told", bytes.Repeat([]byte{2}, sector), "flush", ended)
	for i := range l.Entries {
		if l.Entries[i].Mark == "flush" {
			l.Entries[i] = Entry{Flags: Flush}
		}
	}
	l.SectorSize = sector
	broken := errors.New("it is broken")
	for _, c := range []struct {
		name  string
		lies  []lie
		fails func(n int, f *lie) error
		why   string // empty: no error
		lied  int
	}{
		{"all is well", nil, func(int, *lie) error { return nil }, "", 0},
		{"one is not", nil, func(n int, _ *lie) error { return map[int]error{1: broken}[n] }, "1 of ", 0},
		{"a lie that is noticed", []lie{{name: "l", mark: "told", want: "broken"}}, func(_ int, f *lie) error {
			if f != nil {
				return broken
			}
			return nil
		}, "", 1},
		{"a lie that is not", []lie{{name: "l", mark: "told", want: "broken"}}, func(int, *lie) error { return nil }, "1 of ", 1},
		{"a lie that has no place", []lie{{name: "l", mark: "never"}}, func(int, *lie) error { return nil }, "1 of ", 0},
	} {
		d := &disk{file: filepath.Join(dir, "disk"), spare: filepath.Join(dir, "spare")}
		for _, name := range []string{d.file, d.spare} {
			if err := os.WriteFile(name, make([]byte, 64*sector), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		lied, tried := 0, 0
		var line bytes.Buffer
		bench := &lab.Bench{Teller: lab.NewTeller(&line)}
		err := replayAll(t.Context(), bench, d, l, 0, func(_ *disk, _ *Log, cut Cut, n int, f *lie) result {
			want := make(memory, 64*sector)
			for i := range cut.Prefix {
				if err := l.Apply(want, i, 1<<40); err != nil {
					t.Fatal(err)
				}
			}
			if is, err := os.ReadFile(d.file); err != nil || !bytes.Equal(is, want) {
				t.Errorf("%s: at %s the disk is not as it must be: %v", c.name, cut, err)
			}
			if f != nil {
				lied++
			} else {
				tried++
			}
			return result{err: c.fails(n, f)}
		}, c.lies)
		if (err == nil) != (c.why == "") || err != nil && !strings.HasPrefix(err.Error(), c.why) || lied != c.lied || tried < 3 {
			t.Errorf("%s: %v; %d tried, %d lies told", c.name, err, tried, lied)
		}
		if err := bench.Finish(); err != nil {
			t.Fatal(err)
		}
		said := ""
		for frame := range strings.Lines(line.String()) {
			f := strings.Fields(frame)
			b, err := base64.StdEncoding.DecodeString(f[len(f)-1])
			if err != nil {
				t.Fatal(err)
			}
			said = string(b) // the last has all
		}
		for _, want := range []string{`["all","`, fmt.Sprintf(`"%d","0","0","0","0","0","`, tried), "7 writes in the log, 2 flushes and FUA writes.",
			fmt.Sprintf("%d of %d lies were told on purpose", lied, len(c.lies)), fmt.Sprintf("%d states in ", tried)} {
			if !strings.Contains(said, want) {
				t.Errorf("%s: no %s in %s", c.name, want, said)
			}
		}
		if (c.why != "") != strings.Contains(said, map[bool]string{true: "lies were told: their marks",
			false: "it is broken"}[c.lied == 0 && c.lies != nil]) &&
			c.name != "a lie that is not" {
			t.Errorf("%s: what is wrong is not noted: %s", c.name, said)
		}
	}
	// Copies that differed are told of, with the cut.
	var line bytes.Buffer
	bench := &lab.Bench{Teller: lab.NewTeller(&line)}
	if err := replayAll(t.Context(), bench, &disk{file: filepath.Join(dir, "disk"), spare: filepath.Join(dir, "spare")}, l, 0,
		func(_ *disk, _ *Log, _ Cut, n int, _ *lie) result {
			return result{differed: map[int]string{0: "0", 1: "8"}[n], about: "as it was"}
		}, nil); err != nil {
		t.Error(err)
	}
	if err := bench.Finish(); err != nil {
		t.Fatal(err)
	}
	said := line.String()[strings.LastIndex(line.String(), " ")+1:]
	if b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(said)); err != nil || !strings.Contains(string(b),
		"In 1 arrays md's check found") ||
		!strings.Contains(string(b), "trial 1, power cut at entry ") || !strings.Contains(string(b), ": 8 sectors differed; as it was") {
		t.Errorf("copies that differed: %s, %v", b, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d := &disk{file: filepath.Join(dir, "disk"), spare: filepath.Join(dir, "spare")}
	none := func(*disk, *Log, Cut, int, *lie) result { t.Error("tried"); return result{} }
	if err := replayAll(ctx, &lab.Bench{Teller: lab.NewTeller(&bytes.Buffer{})}, d, l, 0, none, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for _, mark := range []string{begun, ended} {
		l.Entries[l.MarkAt(mark)].Mark = "x"
		if err := replayAll(t.Context(), nil, d, l, 0, none, nil); err == nil || !strings.Contains(err.Error(), "lacks its marks") {
			t.Errorf("without the mark %s: %v", mark, err)
		}
		l.Entries[l.MarkAt("x")].Mark = mark
	}
}

// TestCopyFile: a copy is the same byte for byte, with its holes.
func TestCopyFile(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	f, err := os.Create(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int64{0, 1 << 20, 3<<20 - 5} {
		if _, err := f.WriteAt([]byte("data"), at); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(f.Truncate(4<<20), f.Close()); err != nil {
		t.Fatal(err)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // it would close what was forgotten
	before := len(means.OpenFiles(t))
	for range 2 {
		if err := copyFile(from, to); err != nil {
			t.Fatal(err)
		}
	}
	if open := means.OpenFiles(t); len(open) > before {
		t.Errorf("open are %v, %d before", open, before)
	}
	want, err := os.ReadFile(from)
	got, gerr := os.ReadFile(to)
	if err != nil || gerr != nil || !bytes.Equal(got, want) {
		t.Errorf("%d and %d bytes, %v, %v", len(got), len(want), err, gerr)
	}
	for _, c := range [][2]string{{from + "x", to}, {from, dir + "/no/folder"}, {dir, to}} {
		if copyFile(c[0], c[1]) == nil {
			t.Errorf("copied %s to %s", c[0], c[1])
		}
	}
}

// TestLongEntries: a write of several MiB is on the disk as it was logged, whole or as far as a cut lets it come.
func TestLongEntries(t *testing.T) {
	data := make([]byte, 3*mib+sector)
	for i := range data {
		data[i] = byte(i>>9) ^ byte(i>>17)
	}
	l := &Log{SectorSize: sector, r: bytes.NewReader(append([]byte("head"), data...)), Entries: []Entry{{Sector: 2,
		Sectors: uint64(len(data) / sector), at: 4},
		{Sector: 3, Sectors: 2 * mib / sector, Flags: Discard}}}
	for _, n := range []int{len(data) / sector, 2*mib/sector + 1, 1} {
		got := make(memory, 4*mib)
		if err := l.Apply(got, 0, uint64(n)); err != nil {
			t.Fatal(err)
		}
		want := make([]byte, 4*mib)
		copy(want[2*sector:], data[:n*sector])
		if !bytes.Equal(got, want) {
			t.Errorf("%d sectors: the disk is another", n)
		}
		if err := l.Apply(got, 1, 1<<40); err != nil {
			t.Fatal(err)
		}
		clear(want[3*sector : 3*sector+2*mib])
		if !bytes.Equal(got, want) {
			t.Errorf("%d sectors, and some discarded: the disk is another", n)
		}
	}
}

type brokenDisk struct{}

func (brokenDisk) WriteAt([]byte, int64) (int, error) { return 0, errors.New("no disk") }
func (brokenDisk) ReadAt([]byte, int64) (int, error)  { return 0, errors.New("no log") }

// until is a log that cannot be read from a byte on.
type until struct {
	io.ReaderAt
	end int64
}

func (u until) ReadAt(b []byte, at int64) (int, error) {
	if at >= u.end {
		return 0, errors.New("no log")
	}
	return u.ReaderAt.ReadAt(b, at)
}

// TestDisksThatFail: a log that cannot be read, or a disk that cannot be written to, is an error.
func TestDisksThatFail(t *testing.T) {
	l := small(t)
	if err := l.Apply(brokenDisk{}, 0, 1); err == nil || !strings.Contains(err.Error(), "replaying entry 0: no disk") {
		t.Error(err)
	}
	if err := l.Apply(brokenDisk{}, 0, 0); err != nil {
		t.Errorf("of no sector: %v", err)
	}
	if err := (Cut{Some: []Piece{{0, 1}}}).Write(l, brokenDisk{}); err == nil {
		t.Error("a part that was not written")
	}
	b := &Log{SectorSize: l.SectorSize, Entries: slices.Clone(l.Entries), r: brokenDisk{}}
	if err := b.Apply(make(memory, 64<<10), 0, 1); err == nil || !strings.Contains(err.Error(), "reading the data of entry 0: no log") {
		t.Error(err)
	}
	for _, cuts := range [][]Cut{{{Prefix: 1}}, {{Some: []Piece{{0, 1}}}}} {
		if _, err := Distinct(b, cuts); err == nil {
			t.Errorf("%v: no error", cuts)
		}
	}
	whole := written(record(0))
	whole.r = brokenDisk{}
	if _, err := impossible(whole, func(uint64) int { return 0 }); err == nil {
		t.Error("blocks that cannot be read are possible")
	}
	if _, err := impossible(written(writerMark+"x"), func(uint64) int { return 0 }); err == nil {
		t.Error("a record without its number")
	}
	packed := unpack(t, "writes.log.gz")
	for at, want := range map[int64]string{512: "reading entry 0 of the log: no log", 2560: "reading entry 2 of the log: no log"} {
		if _, err := ReadLog(until{bytes.NewReader(packed), at}, int64(len(packed))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a log that cannot be read from %d on: %v", at, err)
		}
	}
	if _, err := ReadLog(brokenDisk{}, 1<<20); err == nil {
		t.Error("a log that cannot be read")
	}
}
