// Package dbus reads properties over D-Bus's private sockets, such as systemd's: as much of the
// protocol as that takes (D-Bus Specification 0.38). Questions go out together, which is what makes it cheap.
package dbus

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
)

// Call is a call of a method whose arguments are strings.
type Call struct {
	Path, Interface, Member string
	Args                    []string
}

// Reply is what a call was answered; Name is that of the error, where it is one.
type Reply struct {
	Name string
	Body []byte
	Sig  string
}

// maxMessage bounds one message, and with it what is allocated for it.
const maxMessage = 16 << 20

// Conn is a connection to a server's private socket. Methods may not be called concurrently.
type Conn struct {
	c      net.Conn
	r      *bufio.Reader
	serial uint32
	done   func() bool
}

// Dial connects to a socket. The connection ends with ctx.
func Dial(ctx context.Context, socket string) (*Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, err
	}
	if at, ok := ctx.Deadline(); ok {
		c.SetDeadline(at)
	}
	out := &Conn{c: c, r: bufio.NewReaderSize(c, 64<<10), done: context.AfterFunc(ctx, func() { c.Close() })}
	if err := out.login(); err != nil {
		out.Close()
		return nil, fmt.Errorf("logging in at %s: %w", socket, err)
	}
	return out, nil
}

// Close ends the connection.
func (c *Conn) Close() error {
	c.done()
	return c.c.Close()
}

// login is the EXTERNAL mechanism: the kernel tells the server who is at the other end. BEGIN goes out
// with it, as sd-bus has it: systemd waits for ever for the rest of what it has read together with BEGIN.
func (c *Conn) login() error {
	uid := hex.EncodeToString([]byte(strconv.Itoa(os.Geteuid())))
	if _, err := io.WriteString(c.c, "\x00AUTH EXTERNAL "+uid+"\r\nBEGIN\r\n"); err != nil {
		return err
	}
	line, err := c.r.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !strings.HasPrefix(string(line), "OK ") {
		return fmt.Errorf("%q", strings.TrimSpace(string(line)))
	}
	return nil
}

// Ask makes all calls and gives got each reply, in the order of the calls.
func (c *Conn) Ask(calls []Call, got func(i int, r Reply) error) error {
	first := c.serial + 1
	sent := make(chan error, 1)
	var out []byte
	for _, call := range calls {
		c.serial++
		out = append(out, call.message(c.serial)...)
	}
	go func() {
		_, err := c.c.Write(out)
		sent <- err
	}()
	early := map[int]Reply{}
	for next := 0; next < len(calls); {
		i, r, err := c.receive(first)
		if err != nil {
			return errors.Join(err, c.c.Close(), <-sent)
		}
		if i < next || i >= len(calls) {
			continue // a signal, or of another Ask
		}
		for early[i] = r; ; next++ {
			r, there := early[next]
			if !there {
				break
			}
			delete(early, next)
			if err := got(next, r); err != nil {
				return errors.Join(err, c.c.Close())
			}
		}
	}
	return <-sent
}

// Kinds of messages, and fields of their headers.
const (
	methodCall, methodReturn, methodError = 1, 2, 3

	fieldPath, fieldInterface, fieldMember, fieldError, fieldReplySerial, fieldSignature = 1, 2, 3, 4, 5, 8
)

func (c Call) message(serial uint32) []byte {
	le := binary.LittleEndian
	var body []byte
	for _, a := range c.Args {
		body = text(pad(body, 4), a)
	}
	var f []byte
	for _, s := range []struct {
		code  byte
		sig   byte
		value string
	}{{fieldPath, 'o', c.Path}, {fieldInterface, 's', c.Interface}, {fieldMember, 's', c.Member}} {
		f = text(append(pad(f, 8), s.code, 1, s.sig, 0), s.value)
	}
	if sig := strings.Repeat("s", len(c.Args)); sig != "" {
		f = append(pad(f, 8), fieldSignature, 1, 'g', 0, byte(len(sig)))
		f = append(append(f, sig...), 0)
	}
	out := []byte{'l', methodCall, 0, 1}
	out = le.AppendUint32(out, uint32(len(body)))
	out = le.AppendUint32(out, serial)
	out = le.AppendUint32(out, uint32(len(f)))
	return append(pad(append(out, f...), 8), body...)
}

func text(b []byte, s string) []byte {
	return append(append(binary.LittleEndian.AppendUint32(b, uint32(len(s))), s...), 0)
}

func pad(b []byte, to int) []byte {
	for len(b)%to != 0 {
		b = append(b, 0)
	}
	return b
}

// receive reads one message: of a reply, which call since first it answers; of others -1.
func (c *Conn) receive(first uint32) (int, Reply, error) {
	var head [16]byte
	if _, err := io.ReadFull(c.r, head[:]); err != nil {
		return -1, Reply{}, err
	}
	if head[0] != 'l' || head[3] != 1 {
		return -1, Reply{}, errors.New("the message is in a form of D-Bus that is not read here")
	}
	le := binary.LittleEndian
	body, fields := int64(le.Uint32(head[4:])), int64(le.Uint32(head[12:]))
	fields += (8 - fields%8) % 8
	if body+fields > maxMessage {
		return -1, Reply{}, fmt.Errorf("the message has %d bytes: refused", body+fields)
	}
	b := make([]byte, fields+body)
	if _, err := io.ReadFull(c.r, b); err != nil {
		return -1, Reply{}, err
	}
	r := Reply{Body: b[fields:]}
	at := -1
	d := decoder{b: b[:fields]}
	for d.at < int(le.Uint32(head[12:])) && d.err == nil {
		d.align(8)
		code := d.byte()
		switch v := d.variant(); code {
		case fieldReplySerial:
			serial, _ := v.(uint64)
			at = int(int64(serial) - int64(first))
		case fieldError:
			r.Name, _ = v.(string)
		case fieldSignature:
			r.Sig, _ = v.(string)
		}
	}
	if head[1] != methodReturn && head[1] != methodError {
		at = -1
	}
	if head[1] == methodError && r.Name == "" {
		r.Name = "an error without a name"
	}
	return at, r, d.err
}
