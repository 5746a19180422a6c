package serialname

import "testing"

// TestSums: real messages, cut short, without their ends, and with the bytes that xmodem replaces.
func TestSums(t *testing.T) {
	for _, c := range []struct {
		sum, says string
		right     bool
	}{
		{"nmea", "$GNRMC,,V,,,,,,,,,,N*4D", true}, {"nmea", "$GNRMC,,V,,,,,,,,,,N*4E", false}, {"nmea", "$*00", true}, {"nmea", "$*", false},
		{"nmea", "$A", false}, {"nmea", "0", false}, {"nmea", "$AB*1x", false},
		{"modbus", "\x01\x83\x02\xc0\xf1", true}, {"modbus", "\x01\x83\x02\xf1\xc0", false}, {"modbus", "\x01\x83\x02\xc0\x00", false},
		{"modbus", "\xff\xff", false}, {"modbus", "\x01\x7e\x80", false}, {"modbus", "\x01\x01\xc1\xe0", true}, {"modbus", "", false},
		{"xmodem", "(PI30\x9a\x0b\r", true}, {"xmodem", "(PI30\x9a\x0b", false}, {"xmodem", "(PI30\x9a\x0c\r", false},
		{"xmodem", "\x00\x00\r", false}, {"xmodem", "\x00\x00\x00\r", true}, {"xmodem", "\r", false},
	} {
		if sums[c.sum]([]byte(c.says)) != c.right {
			t.Errorf("%s of %q: %v", c.sum, c.says, !c.right)
		}
	}
	for c, want := range map[byte]byte{'(': ')', '\r': 14, '\n': 11, 'x': 'x', ')': ')'} {
		if got := escaped(c); got != want {
			t.Errorf("%q is sent as %q, want %q", c, got, want)
		}
	}
}
