package confine

import (
	"bytes"
	"errors"
	"io/fs"
	"testing"

	"fettle/host"
	"fettle/internal/means"
)

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzFrame(f *testing.F) {
	var b bytes.Buffer
	writeFrame(&b, frame{kind: kindMessage, num: 7, body: []byte(`{"place":1}`)})
	f.Add(b.Bytes())
	f.Add([]byte("\xff\xff\xff\xffM\x00\x00\x00\x00"))
	f.Add([]byte("\x00\x00\x00\x00B\x00\x00\x00\x00"))
	f.Add([]byte("\x01\x00\x00\x00B\x00\x00\x00\x00x"))
	f.Fuzz(func(t *testing.T, in []byte) {
		fr, err := readFrame(bytes.NewReader(in), ofChild)
		if err != nil {
			return
		}
		if len(fr.body) > ofChild(fr.kind) {
			t.Fatalf("a frame %q of %d bytes", fr.kind, len(fr.body))
		}
		var out bytes.Buffer
		writeFrame(&out, fr)
		if !bytes.HasPrefix(in, out.Bytes()) {
			t.Fatalf("read %q, wrote %q", in, out.Bytes())
		}
	})
}

func TestErrorsCross(t *testing.T) {
	for _, err := range append(append([]error{}, wireErrors...), errors.New("something else"),
		&fs.PathError{Op: "open", Path: "/x", Err: fs.ErrPermission}) {
		_, got := unpack(pack(nil, err))
		if got.Error() != err.Error() {
			t.Errorf("%v became %v", err, got)
		}
		for _, is := range wireErrors {
			if errors.Is(got, is) != errors.Is(err, is) {
				t.Errorf("%v: is %v changed", err, is)
			}
		}
	}
	for _, body := range []string{"", "\x01", "\x01{", "\x01{\"is\":99}", "\x01{\"is\":-1}"} {
		if _, err := unpack([]byte(body)); err == nil || errors.Is(err, host.ErrAbsent) {
			t.Errorf("%q: %v", body, err)
		}
	}
	if b, err := unpack(pack([]byte("text"), nil)); string(b) != "text" || err != nil {
		t.Error(string(b), err)
	}
}

func TestProcEntries(t *testing.T) {
	for name, want := range map[string]bool{
		"/proc/1/maps": true, "/proc/1/fdinfo/3": true, "/proc/12/smaps_rollup": true,
		"/proc/1/environ": false, "/proc/1/mem": false, "/proc/self/maps": false, "/proc/1/../1/maps": false, "/proc/1/root/etc/shadow": false,
		"/proc/1/maps/../environ": false, "/proc/1/fdinfo/../environ": false, "/etc/passwd": false, "/proc/1/maps\n": false, "/proc/": false,
	} {
		if procFile.MatchString(name) != want {
			t.Errorf("%q: %t", name, !want)
		}
	}
}
