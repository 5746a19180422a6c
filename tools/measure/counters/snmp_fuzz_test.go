package counters_test

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gosnmp/gosnmp"

	"fettle/tools/measure/counters"
)

// FuzzSNMP is an agent that answers what it likes, one datagram for each line of
// its text, and an error ever after: what it says is read or refused.
func FuzzSNMP(f *testing.F) {
	const name, in64, speed, gap = ".1.3.6.1.2.1.31.1.1.1.1.7", ".1.3.6.1.2.1.31.1.1.1.6.7", ".1.3.6.1.2.1.31.1.1.1.15.7",
		".1.3.6.1.2.1.31.1.1.1.19.7"
	beyond := answer(f, gosnmp.SnmpPDU{Name: ".1.3.6.1.2.1.31.1.1.1.2.7", Type: gosnmp.Integer, Value: 1})
	names := answer(f, gosnmp.SnmpPDU{Name: name, Type: gosnmp.OctetString, Value: "eth0"})
	kinds := answer(
		f,
		gosnmp.SnmpPDU{Name: in64, Type: gosnmp.Counter64, Value: uint64(1) << 40},
		gosnmp.SnmpPDU{Name: speed, Type: gosnmp.Gauge32, Value: uint32(1000)},
		gosnmp.SnmpPDU{Name: gap, Type: gosnmp.TimeTicks, Value: uint32(0)},
	)
	read := answer(
		f,
		gosnmp.SnmpPDU{Name: ".1.3.6.1.2.1.1.3.0", Type: gosnmp.TimeTicks, Value: uint32(100)},
		gosnmp.SnmpPDU{Name: ".1.3.6.1.2.1.31.1.5.0", Type: gosnmp.TimeTicks, Value: uint32(1)},
		gosnmp.SnmpPDU{
			Name:  in64,
			Type:  gosnmp.Counter64,
			Value: uint64(1) << 40,
		},
		gosnmp.SnmpPDU{Name: ".1.3.6.1.2.1.31.1.1.1.10.7", Type: gosnmp.Counter64, Value: uint64(1) << 41},
		gosnmp.SnmpPDU{
			Name:  gap,
			Type:  gosnmp.TimeTicks,
			Value: uint32(0),
		},
		gosnmp.SnmpPDU{Name: name, Type: gosnmp.OctetString, Value: "eth0"},
	)
	f.Add(strings.Join([]string{names, beyond, kinds, read}, separator))
	f.Add(strings.Join([]string{names, beyond, kinds, read, read}, separator))
	f.Add(strings.Join([]string{beyond, names, beyond, answer(f, gosnmp.SnmpPDU{Name: in64, Type: gosnmp.NoSuchInstance}), read}, separator))
	f.Add(names + separator + names)

	agent, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { agent.Close() })
	var script atomic.Pointer[[]string]
	refusal := answer(f)
	go func() {
		request := make([]byte, 65536)
		for {
			_, from, err := agent.ReadFrom(request)
			if err != nil {
				return
			}
			next := refusal
			if lines := *script.Load(); len(lines) > 0 {
				rest := lines[1:]
				next = lines[0]
				script.Store(&rest)
			}
			agent.WriteTo([]byte(next), from)
		}
	}()
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.Split(text, separator)
		if len(text) > 8000 {
			return
		}
		script.Store(&lines)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		src, err := counters.OpenSNMP(
			ctx,
			counters.SNMP{Host: "127.0.0.1", Port: uint16(agent.LocalAddr().(*net.UDPAddr).Port), Timeout: 5 * time.Millisecond,
				Secrets: counters.Secrets{Community: "public"}},
			nil,
		)
		for range 2 {
			if err != nil {
				break
			}
			var readings []counters.Reading
			readings, err = src.Read(ctx)
			for _, r := range readings {
				src.Facts(r)
			}
		}
		if err != nil && strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("an error of more than one clean line: %q", err)
		}
	})
}

// separator stands between datagrams.
const separator = "\r\n--\r\n"

// answer is a datagram that answers any request; one without variables says
// that it failed.
func answer(f *testing.F, vars ...gosnmp.SnmpPDU) string {
	f.Helper()
	p := gosnmp.SnmpPacket{Version: gosnmp.Version2c, Community: "public", PDUType: gosnmp.GetResponse, Variables: vars}
	if len(vars) == 0 {
		p.Error = gosnmp.GenErr
	}
	b, err := p.MarshalMsg()
	if err != nil {
		f.Fatal(err)
	}
	return string(b)
}
