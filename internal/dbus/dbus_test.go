package dbus

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"net"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle/internal/means"
)

// reply is a message of a server: of the kind, to the call of that serial, with fields besides.
func reply(kind byte, serial uint32, sig string, body []byte) []byte {
	le := binary.LittleEndian
	f := le.AppendUint32([]byte{fieldReplySerial, 1, 'u', 0}, serial)
	f = append(append(pad(f, 8), fieldSignature, 1, 'g', 0, byte(len(sig))), sig...)
	f = append(f, 0)
	if kind == methodError {
		f = text(append(pad(f, 8), fieldError, 1, 's', 0), "org.example.No")
	}
	out := le.AppendUint32([]byte{'l', kind, 0, 1}, uint32(len(body)))
	out = le.AppendUint32(le.AppendUint32(out, 7), uint32(len(f)))
	return append(pad(append(out, f...), 8), body...)
}

// serve is a server that logs one client in and says what it has to say once the first call has come.
func serve(t *testing.T, says func(serial uint32) []byte) *Conn {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		r := bufio.NewReader(c)
		r.ReadString('\n')
		r.ReadString('\n')
		io.WriteString(c, "OK 1234deadbeef\r\n")
		head := make([]byte, 16)
		if _, err := io.ReadFull(r, head); err == nil {
			c.Write(says(binary.LittleEndian.Uint32(head[8:])))
			io.Copy(io.Discard, r)
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), means.Patience)
	t.Cleanup(cancel)
	m, err := Dial(ctx, l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// properties is the body of GetAll's reply: one of each form that systemd has.
func properties() []byte {
	le := binary.LittleEndian
	var b []byte
	entry := func(name, sig string, value func()) {
		b = text(pad(b, 8), name)
		b = append(append(append(b, byte(len(sig))), sig...), 0)
		value()
	}
	entry("Id", "s", func() { b = text(pad(b, 4), "a.service") })
	entry("Job", "(uo)", func() { b = text(le.AppendUint32(pad(b, 8), 7), "/job/7") })
	entry("Transient", "b", func() { b = le.AppendUint32(pad(b, 4), 1) })
	entry("Conditions", "a(sbbsi)", func() {
		b = le.AppendUint32(pad(b, 4), 8)
		b = append(pad(b, 8), "skipped!"...)
	})
	entry("WantedBy", "as", func() {
		names := text(pad(text(nil, "multi-user.target"), 4), "x.target")
		b = append(le.AppendUint32(pad(b, 4), uint32(len(names))), names...)
	})
	entry("Stamp", "t", func() { b = le.AppendUint64(pad(b, 8), 1<<40) })
	entry("MainPID", "u", func() { b = le.AppendUint32(pad(b, 4), 42) })
	return append(pad(le.AppendUint32(nil, uint32(len(b))), 8), b...)
}

// TestAsk: replies come in any order, with signals between them, and are given in that of the calls.
func TestAsk(t *testing.T) {
	m := serve(t, func(first uint32) []byte {
		return slices.Concat(reply(methodError, first+1, "s", text(nil, "no")), reply(4, 0, "", nil),
			reply(methodReturn, first, "a{sv}", properties()))
	})
	got := map[string]any{}
	var order []string
	err := m.Ask(make([]Call, 2), func(i int, r Reply) error {
		order = append(order, r.Sig+" "+r.Name)
		if i == 0 {
			return r.Properties(func(name string, v any) { got[name] = v })
		}
		return nil
	})
	want := map[string]any{"Id": "a.service", "Job": nil, "Transient": true, "Conditions": nil,
		"WantedBy": []string{"multi-user.target", "x.target"}, "Stamp": uint64(1 << 40), "MainPID": uint64(42)}
	if err != nil || !reflect.DeepEqual(got, want) || strings.Join(order, "|") != "a{sv} |s org.example.No" {
		t.Errorf("%v, %q, %v", got, order, err)
	}
}

// TestSilence: a server that does not answer is waited for no longer than the context lasts.
func TestSilence(t *testing.T) {
	m := serve(t, func(uint32) []byte { return nil })
	m.c.SetDeadline(time.Now().Add(50 * time.Millisecond))
	if err := m.Ask(make([]Call, 3), func(int, Reply) error { return nil }); err == nil {
		t.Error("no error")
	}
}

func TestRows(t *testing.T) {
	le := binary.LittleEndian
	row := text(le.AppendUint32(pad(text(nil, "a"), 4), 5), "/o")
	b := append(pad(le.AppendUint32(nil, uint32(len(row))), 8), row...)
	var got [][]string
	if err := (Reply{Sig: "a(suo)", Body: b}).Rows(func(row []string) { got = append(got, row) }); err != nil ||
		!reflect.DeepEqual(got, [][]string{{"a", "", "/o"}}) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

// FuzzProperties: no body makes the reader fail but with an error.
func FuzzProperties(f *testing.F) {
	f.Add("a{sv}", properties())
	f.Add("v", []byte{1, 'v', 0, 1, 'v', 0, 1, 'v', 0})
	f.Add("a(s)", []byte{255, 255, 255, 255, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, sig string, body []byte) {
		r := Reply{Sig: sig, Body: body}
		r.Properties(func(string, any) {})
		r.Variant()
		r.Rows(func([]string) {})
	})
}
