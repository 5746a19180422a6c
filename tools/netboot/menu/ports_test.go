package menu

import "testing"

// What a serial line of each loader means: the addresses of COM1 to COM4 as in
// arch/x86/include/asm/serial.h, GRUB's units and ports, and both loaders'
// default of 9600 baud (syslinux's doc/syslinux.txt; GRUB's manual, "serial").
func TestSerialLines(t *testing.T) {
	for _, c := range []struct {
		dialect Dialect
		line    string
		want    Console
	}{
		{Syslinux, "serial 0", Console{0, 9600}},
		{Syslinux, "SERIAL 1 115200", Console{1, 115200}},
		{Syslinux, "serial 0x3f8 19200", Console{0, 19200}},
		{Syslinux, "serial 0x2f8", Console{1, 9600}},
		{Syslinux, "serial 0x3e8", Console{2, 9600}},
		{Syslinux, "serial 0x2e8", Console{3, 9600}},
		{GRUB, "serial", Console{0, 9600}},
		{GRUB, "serial --unit=1 --speed=115200", Console{1, 115200}},
		{GRUB, "serial --port=com1", Console{1, 9600}},
		{GRUB, "serial --port 2 --speed 57600", Console{2, 57600}},
	} {
		f := File{Dialect: c.dialect}
		if got, ok := f.serialLine(c.line); !ok || got != c.want {
			t.Errorf("%q: %+v, %v; want %+v", c.line, got, ok, c.want)
		}
	}
	for _, line := range []string{"serialise", "# serial 0", "label serial"} {
		if got, ok := (&File{Dialect: GRUB}).serialLine(line); ok {
			t.Errorf("%q is taken for %+v", line, got)
		}
	}
}
