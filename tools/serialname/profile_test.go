package serialname

import (
	"strings"
	"testing"
	"time"

	"fettle/host/hosttest"
	"fettle/internal/means"
)

// What shipped profiles send has the checksum that they ask of the answer.
func TestRequestsHaveTheirSums(t *testing.T) {
	all, err := Profiles(t.Context(), hosttest.New(t, "-- root/etc/x --\n"))
	if err != nil || len(all) < 7 {
		t.Fatal(len(all), err)
	}
	for _, p := range all {
		for _, s := range p.Send {
			if p.Sum != "" && !sums[p.Sum](s) {
				t.Errorf("%s sends % x without a right %s sum", p.Name, s, p.Sum)
			}
		}
		if p.Limit() > maxProfileLimit {
			t.Errorf("%s may take %s", p.Name, p.Limit())
		}
	}
}

func TestBadProfiles(t *testing.T) {
	const good = "[Profile]\nAbout=x\nSpeed=9600\nListen=1s\nExpect=abc\n"
	if p, err := ParseProfile("/a/b.profile", []byte(good)); err != nil || p.Name != "b" || p.Listen != time.Second {
		t.Fatal(p, err)
	}
	long := strings.Repeat("x", 1001)
	for _, more := range []string{
		"Speed=300 600 1200 2400 4800 9600 19200 38400 57600 115200\nListen=1s\nSend=\"a\"\nSend=\"b\"\n",
		"Listen=29s\n", "Listen=50ms\n",
		"Expect=" + long[1:] + "\n", "Send=\"" + long[:256] + "\"\n", "Sum=nmea\n"} {
		if _, err := ParseProfile("/a/b.profile", []byte(good+more)); err != nil {
			t.Errorf("%.40s: %v", more, err)
		}
	}
	for text, want := range map[string]string{
		good[:strings.Index(good, "Expect")]: "needs About", strings.Replace(good, "Listen=1s\n", "", 1): "needs About",
		strings.Replace(good, "Speed=9600\n", "", 1): "needs About", strings.Replace(good, "About=x\n", "", 1): "needs About",
		good + "Send=\"" + long[:257] + "\"\n": "1 to 256 bytes", good + "Expect=" + long + "\n": "more than 1000",
		good + "Listen=49ms\n": "expected a time", good + "Listen=x\n": "expected a time", good + "Speed=x\n": "not a usual rate",
		good + "Listen=30s\n": "30s at most", "Speed\n": "b.profile:1",
		"":                    "needs About",
		"[Other]\nAbout=x\n":  "one section is [Profile]",
		good + "Speed=1234\n": "not a usual rate",
		good + "Listen=1h\n":  "expected a time",
		good + "Listen=-1s\n": "expected a time",
		good + "Speed=300 600 1200 2400 4800 9600 19200 38400\nListen=20s\n": "30s at most",
		good + "Send=AT\n":     "in double quotes",
		good + "Send=\"\"\n":   "1 to 256 bytes",
		good + "Expect=(\n":    "missing closing )",
		good + "Expect=x*\n":   "matches silence",
		good + "Sum=md5\n":     "expected nmea",
		good + "Run=/bin/sh\n": "expected About",
	} {
		if _, err := ParseProfile("/a/b.profile", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, expected %q", text, err, want)
		}
	}
	if _, err := ParseProfile("/a/b c.profile", []byte(good)); err == nil {
		t.Error("a profile's name has a blank")
	}
}

// An admin's own profile counts where nobody else may write it, and hides a
// shipped one.
func TestOwnProfiles(t *testing.T) {
	const text = `-- stat/etc/fettle/serial --
mode 0755 type dir
-- root/etc/fettle/serial/banner.profile --
[Profile]
About=mine
Speed=9600
Listen=1s
Expect=mine
-- root/etc/fettle/serial/theirs.profile --
[Profile]
About=theirs
Speed=9600
Listen=1s
Expect=theirs
-- stat/etc/fettle/serial/theirs.profile --
mode 0644 uid 1000
`
	all, err := Profiles(t.Context(), hosttest.New(t, text))
	if err == nil || !strings.Contains(err.Error(), "must belong to root") {
		t.Error(err)
	}
	for _, p := range all {
		if p.Name == "theirs" || p.Name == "banner" && p.About != "mine" {
			t.Errorf("%+v", p)
		}
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

// FuzzProfile: no text makes a profile that recognises silence, takes for
// ever, or panics.
func FuzzProfile(f *testing.F) {
	f.Add([]byte("[Profile]\nAbout=x\nSpeed=9600\nSend=\"AT\\r\"\nListen=1s\nExpect=abc\nSum=nmea\n"), []byte("$abc*00"))
	f.Add([]byte("[Profile]\nAbout=x\nSpeed=300 9600\nListen=50ms\nExpect=.{1,3}\nSum=modbus\n"), []byte{1, 3, 2, 0, 0x17, 0xf8, 0x4a})
	f.Fuzz(func(t *testing.T, text, heard []byte) {
		p, err := ParseProfile("x.profile", text)
		if err != nil {
			return
		}
		if _, ok := p.Recognise(nil); ok || p.Limit() > maxProfileLimit {
			t.Errorf("recognises silence, or takes %s", p.Limit())
		}
		p.Recognise(heard[:min(len(heard), maxHeard)])
	})
}
