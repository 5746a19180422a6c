package lab

import (
	"bytes"
	"strings"
	"testing"

	"fettle/internal/means"
)

func TestFramesSurviveConsoleNoise(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("\x1bc SeaBIOS (version 1.16)\r\n")
	writeFrame(&b, message{Hello: &hello{Kernel: "6.1"}})
	b.WriteString("[    1.2] some kernel line\n")
	writeFrame(&b, message{Done: true})
	var got []message
	if err := readFrames(&b, func(m message) { got = append(got, m) }); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].Hello.Kernel != "6.1" || !got[1].Done {
		t.Fatalf("got %+v", got)
	}
}

func TestDamagedFrameIsNotBelieved(t *testing.T) {
	var b bytes.Buffer
	writeFrame(&b, message{Stage: &Stage{Name: "check", OK: true}})
	whole := b.String()
	for _, damaged := range []string{whole[:len(whole)-6] + "\n", strings.Replace(whole, "@", "@1", 1), "@12\n", "@\n"} {
		if err := readFrames(strings.NewReader(damaged), func(m message) { t.Errorf("believed %q: %+v", damaged, m) }); err == nil {
			t.Errorf("%q: no error", damaged)
		}
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzFrames(f *testing.F) {
	var b bytes.Buffer
	writeFrame(&b, message{Done: true})
	f.Add(b.String())
	f.Add("@4 00000000 AAAA\n")
	f.Fuzz(func(t *testing.T, s string) { readFrames(strings.NewReader(s), func(message) {}) })
}

// TestDamageIsTold: how many bytes of how many came, and with which checksum.
func TestDamageIsTold(t *testing.T) {
	err := readFrames(strings.NewReader("@9 deadbeef AAAAAAAA\n"), nil)
	if want := "damaged frame from the guest: 6 bytes of 9, checksum deadbeef"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
