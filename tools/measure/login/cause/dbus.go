package cause

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"time"
)

// SystemBus is where the system's D-Bus listens.
const SystemBus = "/run/dbus/system_bus_socket"

// PingLogind tells how long systemd-logind takes to answer over D-Bus. A
// logind that is not running is started by the call, as pam_systemd's would.
// An error says that there was no answer, and took how long that was waited for.
func PingLogind(ctx context.Context, bus string, limit time.Duration) (took time.Duration, err error) {
	start := time.Now()
	defer func() { took = time.Since(start) }()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", bus)
	if err != nil {
		return 0, fmt.Errorf("the system's D-Bus: %w", err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.SetDeadline(time.Now()) })()
	r := bufio.NewReaderSize(conn, 4096)
	// D-Bus specification, "Authentication Protocol": a null byte, the user's
	// number as hexadecimal text, then the binary protocol.
	uid := hex.EncodeToString([]byte(strconv.Itoa(os.Geteuid())))
	if _, err := fmt.Fprintf(conn, "\x00AUTH EXTERNAL %s\r\n", uid); err != nil {
		return 0, err
	}
	if ok, err := r.ReadSlice('\n'); err != nil || !bytes.HasPrefix(ok, []byte("OK ")) {
		return 0, fmt.Errorf("the system's D-Bus did not let us in: %w", orElse(err, "refused"))
	}
	hello := call(1, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "Hello")
	ping := call(2, "org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.DBus.Peer", "Ping")
	if _, err := conn.Write(append(append([]byte("BEGIN\r\n"), hello...), ping...)); err != nil {
		return 0, err
	}
	for {
		m, err := readMessage(r)
		switch {
		case err != nil && ctx.Err() != nil:
			return 0, fmt.Errorf("logind did not answer over D-Bus in %s", limit)
		case err != nil:
			return 0, fmt.Errorf("the system's D-Bus hung up: %w", err)
		case m.reply != 2:
		case m.kind == 3:
			return 0, fmt.Errorf("asking logind over D-Bus: %s", m.name)
		default:
			return 0, nil
		}
	}
}

func orElse(err error, s string) error {
	if err != nil {
		return err
	}
	return errors.New(s)
}

// call makes a method call without arguments (D-Bus specification, "Message
// Format"): fixed header, then an array of fields, each a byte and a variant,
// aligned to 8.
func call(serial uint32, dest, path, iface, member string) []byte {
	var f []byte
	for _, h := range []struct {
		code byte
		sig  byte
		val  string
	}{{1, 'o', path}, {2, 's', iface}, {3, 's', member}, {6, 's', dest}} {
		f = pad(f, 8)
		f = append(f, h.code, 1, h.sig, 0)
		f = binary.LittleEndian.AppendUint32(pad(f, 4), uint32(len(h.val)))
		f = append(append(f, h.val...), 0)
	}
	m := []byte{'l', 1, 0, 1} // little endian, method call, no flags, version 1
	m = binary.LittleEndian.AppendUint32(m, 0)
	m = binary.LittleEndian.AppendUint32(m, serial)
	m = binary.LittleEndian.AppendUint32(m, uint32(len(f)))
	return pad(append(m, f...), 8)
}

func pad(b []byte, n int) []byte {
	for len(b)%n != 0 {
		b = append(b, 0)
	}
	return b
}

type message struct {
	kind  byte   // 2 is a return, 3 an error, 4 a signal
	reply uint32 // the serial of the call that it answers
	name  string // of an error
}

// maxMessage is more than any answer to a Ping.
const maxMessage = 1 << 16

// readMessage reads one message and what we want of its header.
func readMessage(r io.Reader) (m message, err error) {
	head := make([]byte, 16)
	if _, err := io.ReadFull(r, head); err != nil {
		return m, err
	}
	var order binary.ByteOrder = binary.LittleEndian
	if head[0] == 'B' {
		order = binary.BigEndian
	}
	m.kind = head[1]
	body, fields := order.Uint32(head[4:]), order.Uint32(head[12:])
	if body > maxMessage || fields > maxMessage {
		return m, errors.New("a message is too long")
	}
	rest := make([]byte, (fields+7)/8*8+body)
	if _, err := io.ReadFull(r, rest); err != nil {
		return m, err
	}
	f := rest[:fields]
	for at := 0; at+4 <= len(f); {
		if at%8 != 0 { // 16 bytes of header: f is aligned as the message is
			at++
			continue
		}
		code, sig := f[at], f[at+2]
		if f[at+1] != 1 { // a signature of more than one letter is none that we know
			return m, nil
		}
		at += 4
		switch sig {
		case 'u':
			if at+4 > len(f) {
				return m, io.ErrUnexpectedEOF
			}
			if code == 5 {
				m.reply = order.Uint32(f[at:])
			}
			at += 4
		case 's', 'o':
			if at+4 > len(f) {
				return m, io.ErrUnexpectedEOF
			}
			n := int(order.Uint32(f[at:]))
			if n < 0 || n > len(f)-at-5 {
				return m, io.ErrUnexpectedEOF
			}
			if code == 4 {
				m.name = string(f[at+4 : at+4+n])
			}
			at += 4 + n + 1
		case 'g':
			if at >= len(f) {
				return m, io.ErrUnexpectedEOF
			}
			at += 2 + int(f[at])
		default:
			return m, nil
		}
	}
	return m, nil
}
