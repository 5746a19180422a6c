package host

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle/internal/means"
)

// TestRingAsDmesg: the kernel's call gives the messages that dmesg prints, and stamps the
// further lines of a message, which dmesg indents below the first.
func TestRingAsDmesg(t *testing.T) {
	means.Root(t)
	dmesg := means.Tool(t, "dmesg")
	read := func(text []byte) (all []LogLine) {
		LogText{Boot: time.Unix(0, 0)}.Lines(string(text), func(l LogLine) {
			l.Text = strings.TrimLeft(l.Text, " ")
			all = append(all, l)
		})
		return all
	}
	for try := 0; ; try++ {
		ring, err := kernelRing()
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(dmesg).Output()
		if err != nil {
			t.Fatal(err)
		}
		got, want := read(ring), read(stamped(out))
		if len(got) == 0 || len(want) == 0 {
			t.Fatalf("%d lines, and %d of dmesg", len(got), len(want))
		}
		// The kernel may have said something in between, and a full ring have lost its oldest.
		if i := slices.Index(got, want[0]); i > 0 && i < 100 {
			got = got[i:]
		} else if i := slices.Index(want, got[0]); i > 0 && i < 100 {
			want = want[i:]
		}
		n := min(len(got), len(want))
		if slices.Equal(got[:n], want[:n]) && max(len(got), len(want))-n < 100 {
			return
		}
		if try < 3 {
			continue
		}
		for i := range n {
			if got[i] != want[i] {
				t.Fatalf("line %d:\n%+v\nand of dmesg:\n%+v", i+1, got[i], want[i])
			}
		}
		t.Fatalf("%d lines, and %d of dmesg", len(got), len(want))
	}
}

// stamped gives the indented lines of dmesg the stamp of the line above.
func stamped(dmesg []byte) (out []byte) {
	var stamp []byte
	for line := range bytes.Lines(dmesg) {
		if end := bytes.Index(line, []byte("] ")); line[0] == '[' && end > 0 {
			stamp = line[:end+2]
		} else {
			out = append(out, stamp...)
		}
		out = append(out, line...)
	}
	return out
}

func TestRingText(t *testing.T) {
	for raw, want := range map[string]string{
		"<6>[    0.000000] Linux version 6.12\n<30>[    1.5] b\tc\\\n": "[    0.000000] Linux version 6.12\n[    1.5] b\tc\\\n",
		"<6>[    2.000000] br\xff0: port 1(\x1b[31mup)\n":              "[    2.000000] br\\xff0: port 1(\\x1b[31mup)\n",
		"<2047>[    3.0] facility":                                     "[    3.0] facility",
		"[    4.0] no priority\n":                                      "[    4.0] no priority\n",
		"<6>printk.time is off\n":                                      "",
		"<":                                                            "",
		"<6>":                                                          "",
	} {
		if got, err := ringText([]byte(raw)); string(got) != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v, expected %q", raw, got, err, want)
		}
	}
}
