package bmc

import (
	"slices"
	"strings"
	"testing"

	"fettle/host/format/dmi"
)

func TestParseUARTs(t *testing.T) {
	for text, want := range map[string][]int{
		"serinfo:1.0 driver revision:\n0: uart:16550A port:000003F8 irq:4 tx:0 rx:0\n1: uart:16550A port:000002F8 irq:3 tx:4 rx:0 " +
			"RTS|CTS\n2: uart:unknown port:000003E8 irq:4\n": {0, 1},
		"1: uart:16550A port:000002F8 irq:3\n":        {1},
		"4: uart:16550A port:0000E000 irq:17\n":       nil, // on a PCI card
		"0: uart:16550A mmio:0xFE030000 irq:4\n":      nil,
		"1: uart:16550A port:000003F8 irq:4\nx\n0:\n": nil, // not what a PC calls COM2
	} {
		if got := parseUARTs(text); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func connector(internal, internalType, external, externalType string) dmi.Record {
	return dmi.Record{Type: 8, Values: map[string]string{"Internal Reference Designator": internal, "Internal Connector Type": internalType,
		"External Reference Designator": external, "External Connector Type": externalType, "Port Type": "Serial Port 16550A Compatible"}}
}

func TestUnplugged(t *testing.T) {
	plug := connector("COM1", "9 Pin Dual Inline (pin 10 cut)", "COM A", "DB-9 male")
	usb := dmi.Record{Type: 8, Values: map[string]string{"Port Type": "USB", "External Connector Type": "None"}}
	for name, tt := range map[string]struct {
		records []dmi.Record
		unit    int
		err     string
	}{
		"the second":    {[]dmi.Record{plug, usb, connector("COM2", "None", "Not Specified", "None")}, 1, ""},
		"by letter":     {[]dmi.Record{plug, connector("", "None", "COM B", "None")}, 1, ""},
		"first":         {[]dmi.Record{connector("JCOM_1", "None", "", "None"), connector("COM2", "None", "COM2", "DB-9 male")}, 0, ""},
		"by ttyS":       {[]dmi.Record{connector("ttyS2", "None", "", "None")}, 2, ""},
		"serial port":   {[]dmi.Record{connector("", "None", "Serial Port 2", "None")}, 1, ""},
		"none":          {[]dmi.Record{plug, usb}, 0, "of 1 serial ports that dmidecode lists 0 have"},
		"both":          {[]dmi.Record{connector("COM1", "None", "", "None"), connector("COM2", "None", "", "None")}, 0, "lists 2 have"},
		"a header":      {[]dmi.Record{plug, connector("COM2", "9 Pin Dual Inline (pin 10 cut)", "", "None")}, 0, "lists 0 have"},
		"not by number": {[]dmi.Record{connector("Debug", "None", "J9", "None")}, 0, "lists 0 have"},
	} {
		unit, _, err := unplugged(tt.records)
		if (err == nil) != (tt.err == "") || err == nil && unit != tt.unit || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %d, %v", name, unit, err)
		}
	}
}
