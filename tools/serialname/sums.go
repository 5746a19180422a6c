package serialname

import (
	"bytes"
	"strconv"
)

// sums are the checksums that a profile can ask for, over what it matched.
var sums = map[string]func([]byte) bool{"nmea": nmeaSum, "modbus": modbusSum, "xmodem": xmodemSum}

// nmeaSum is the exclusive or of what is between $ and * (NMEA 0183).
func nmeaSum(b []byte) bool {
	body, sum, ok := bytes.Cut(bytes.TrimPrefix(b, []byte("$")), []byte("*"))
	want, err := strconv.ParseUint(string(sum), 16, 8)
	if !ok || err != nil {
		return false
	}
	x := byte(0)
	for _, c := range body {
		x ^= c
	}
	return x == byte(want)
}

// modbusSum is the CRC-16 at the end, low byte first (Modbus over Serial Line
// V1.02, 6.2.2).
func modbusSum(b []byte) bool {
	if len(b) < 4 {
		return false
	}
	crc := uint16(0xffff)
	for _, c := range b[:len(b)-2] {
		crc ^= uint16(c)
		for range 8 {
			low := crc & 1
			if crc >>= 1; low != 0 {
				crc ^= 0xa001
			}
		}
	}
	return b[len(b)-2] == byte(crc) && b[len(b)-1] == byte(crc>>8)
}

// xmodemSum is the CRC-16/XMODEM before the final carriage return, high byte
// first; bytes that would end or begin a message are one higher.
func xmodemSum(b []byte) bool {
	b, ok := bytes.CutSuffix(b, []byte("\r"))
	if !ok || len(b) < 3 {
		return false
	}
	crc := uint16(0)
	for _, c := range b[:len(b)-2] {
		crc ^= uint16(c) << 8
		for range 8 {
			high := crc & 0x8000
			if crc <<= 1; high != 0 {
				crc ^= 0x1021
			}
		}
	}
	return b[len(b)-2] == escaped(byte(crc>>8)) && b[len(b)-1] == escaped(byte(crc))
}

func escaped(c byte) byte {
	if c == '(' || c == '\r' || c == '\n' {
		return c + 1
	}
	return c
}
