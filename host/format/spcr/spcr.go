// Package spcr reads the ACPI table with which firmware names its serial
// console (Serial Port Console Redirection Table, SPCR.docx of Microsoft,
// revision 4). Where a BMC offers serial over LAN, that is its port.
package spcr

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"fettle/host"
)

// Path is where Linux shows the table; root alone may read it.
const Path = "/sys/firmware/acpi/tables/SPCR"

// Port is the console of the firmware.
type Port struct {
	// Unit is of ttyS; -1: the UART is not one of a PC's four (memory-mapped).
	Unit int
	// Address is of the UART, in I/O space where IO is set, else in memory.
	Address uint64
	IO      bool
	Speed   int // bits per second; 0: as the firmware left it
}

// Read asks a host; absent is a firmware without the table.
func Read(ctx context.Context, h *host.Host) (Port, error) {
	b, err := h.ReadFile(ctx, Path)
	if err != nil {
		return Port{}, err
	}
	p, err := Parse(b)
	if err != nil {
		return p, fmt.Errorf("%s: %w", Path, err)
	}
	return p, nil
}

// units by I/O port: COM1 to COM4 (arch/x86/include/asm/serial.h).
var units = map[uint64]int{0x3f8: 0, 0x2f8: 1, 0x3e8: 2, 0x2e8: 3}

// Unit is ttyS's number of an I/O port; -1: none of COM1 to COM4.
func Unit(address uint64) int {
	if u, ok := units[address]; ok {
		return u
	}
	return -1
}

// speeds by the table's byte 58.
var speeds = map[byte]int{0: 0, 3: 9600, 4: 19200, 6: 57600, 7: 115200}

// Parse reads the table: the Generic Address Structure of the UART is at 40,
// its speed at 58.
func Parse(b []byte) (Port, error) {
	if len(b) < 59 || string(b[:4]) != "SPCR" || int64(binary.LittleEndian.Uint32(b[4:])) > int64(len(b)) {
		return Port{}, errors.New("no SPCR table, or one that is cut off")
	}
	p := Port{Unit: -1, IO: b[40] == 1, Address: binary.LittleEndian.Uint64(b[44:])}
	if p.IO {
		p.Unit = Unit(p.Address)
	}
	speed, ok := speeds[b[58]]
	if !ok {
		return p, fmt.Errorf("its speed is coded %d, which the table's specification does not know", b[58])
	}
	p.Speed = speed
	return p, nil
}
