package counters_test

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gosnmp/gosnmp"

	"fettle/internal/means"
	"fettle/tools/measure/counters"
)

// madeUp is an agent with objects of the test's own.
type madeUp struct {
	mu    sync.Mutex
	of    map[string]gosnmp.SnmpPDU
	asked int // requests that were no walk
	fails gosnmp.SNMPError
	odd   func([]gosnmp.SnmpPDU) []gosnmp.SnmpPDU
}

// Columns of the interfaces' tables.
const (
	colDescr, colIn32, colOut32 = ".1.3.6.1.2.1.2.2.1.2", ".1.3.6.1.2.1.2.2.1.10", ".1.3.6.1.2.1.2.2.1.16"
	colName, colIn64, colOut64  = ".1.3.6.1.2.1.31.1.1.1.1", ".1.3.6.1.2.1.31.1.1.1.6", ".1.3.6.1.2.1.31.1.1.1.10"
	colSpeed, colGap            = ".1.3.6.1.2.1.31.1.1.1.15", ".1.3.6.1.2.1.31.1.1.1.19"
	upTime, tableChange         = ".1.3.6.1.2.1.1.3.0", ".1.3.6.1.2.1.31.1.5.0"
)

func (a *madeUp) set(oid string, kind gosnmp.Asn1BER, value any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if value == nil {
		delete(a.of, oid)
		return
	}
	a.of[oid] = gosnmp.SnmpPDU{Name: oid, Type: kind, Value: value}
}

func (a *madeUp) requests() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked
}

func at(column string, index int) string { return column + "." + strconv.Itoa(index) }

// card gives the agent an interface.
func (a *madeUp) card(index int, name string, in, out uint64) {
	a.set(at(colName, index), gosnmp.OctetString, name)
	a.set(at(colIn64, index), gosnmp.Counter64, in)
	a.set(at(colOut64, index), gosnmp.Counter64, out)
	a.set(at(colGap, index), gosnmp.TimeTicks, uint32(0))
	a.set(at(colSpeed, index), gosnmp.Gauge32, uint32(100*index))
}

// before orders objects by the numbers of their names.
func before(a, b string) int {
	return slices.CompareFunc(strings.Split(a, "."), strings.Split(b, "."), func(a, b string) int {
		x, _ := strconv.Atoi(a)
		y, _ := strconv.Atoi(b)
		return cmp.Compare(x, y)
	})
}

func (a *madeUp) answer(p *gosnmp.SnmpPacket) []gosnmp.SnmpPDU {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []gosnmp.SnmpPDU
	if p.PDUType == gosnmp.GetBulkRequest || p.PDUType == gosnmp.GetNextRequest {
		for _, v := range p.Variables {
			var names []string
			for oid := range a.of {
				if before(oid, v.Name) > 0 {
					names = append(names, oid)
				}
			}
			slices.SortFunc(names, before)
			for _, oid := range names[:min(len(names), max(int(p.MaxRepetitions), 1))] {
				out = append(out, a.of[oid])
			}
			if len(names) == 0 {
				out = append(out, gosnmp.SnmpPDU{Name: v.Name, Type: gosnmp.EndOfMibView})
			}
		}
		return out
	}
	a.asked++
	for _, v := range p.Variables {
		o, ok := a.of[v.Name]
		if !ok {
			o = gosnmp.SnmpPDU{Name: v.Name, Type: gosnmp.NoSuchInstance}
		}
		out = append(out, o)
	}
	if a.odd != nil {
		out = a.odd(out)
	}
	return out
}

// listens starts the agent, and says how to ask it.
func (a *madeUp) listens(t *testing.T) counters.SNMP {
	t.Helper()
	c, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	go func() {
		b := make([]byte, 65536)
		for {
			n, from, err := c.ReadFrom(b)
			if err != nil {
				return
			}
			g := gosnmp.GoSNMP{Version: gosnmp.Version2c}
			p, err := g.SnmpDecodePacket(slices.Clone(b[:n]))
			if err != nil {
				continue
			}
			out := gosnmp.SnmpPacket{Version: gosnmp.Version2c, Community: p.Community, PDUType: gosnmp.GetResponse, RequestID: p.RequestID,
				Variables: a.answer(p)}
			a.mu.Lock()
			if a.fails != 0 && p.PDUType == gosnmp.GetRequest {
				out.Error = a.fails
			}
			a.mu.Unlock()
			if m, err := out.MarshalMsg(); err == nil {
				c.WriteTo(m, from)
			}
		}
	}()
	return counters.SNMP{Host: "127.0.0.1", Port: uint16(c.LocalAddr().(*net.UDPAddr).Port), Timeout: means.Patience,
		Secrets: counters.Secrets{Community: "public"}}
}

func newAgent(cards int) *madeUp {
	a := &madeUp{of: map[string]gosnmp.SnmpPDU{}}
	a.set(upTime, gosnmp.TimeTicks, uint32(100_000))
	a.set(tableChange, gosnmp.TimeTicks, uint32(5))
	for i := 1; i <= cards; i++ {
		a.card(i, fmt.Sprint("eth", i), uint64(i)<<40, uint64(i)<<41)
	}
	return a
}

// TestAgentsAnswers: each interface has the figures that its agent gives it, among many; what comes, goes or starts again is told.
func TestAgentsAnswers(t *testing.T) {
	a := newAgent(12)
	src, err := counters.OpenSNMP(t.Context(), a.listens(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	read := func() map[string]counters.Reading {
		t.Helper()
		all, err := src.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		of := map[string]counters.Reading{}
		for _, r := range all {
			if _, ok := of[r.Name]; ok {
				t.Errorf("%s is there twice", r.Name)
			}
			of[r.Name] = r
		}
		return of
	}
	asked := a.requests()
	got := read()
	if n := a.requests() - asked; len(got) != 12 || n != 2 {
		t.Errorf("%d readings by %d requests", len(got), n)
	}
	for i := 1; i <= 12; i++ {
		name := fmt.Sprint("eth", i)
		if r, want := got[name], (counters.Reading{Name: name, Index: i, In: uint64(i) << 40, Out: uint64(i) << 41}); r != want {
			t.Errorf("%+v, want %+v", r, want)
		}
		if f := src.Facts(got[name]); f.Width != 64 || !f.Told || f.MaxRate != 0 || f.Lag != counters.AgentLag || f.Queues != 0 {
			t.Errorf("%s: %+v", name, f)
		}
	}
	// One started again, and one alone.
	a.set(at(colGap, 11), gosnmp.TimeTicks, uint32(7))
	now := read()
	for name, r := range now {
		want := got[name].Epoch
		if name == "eth11" {
			want++
		}
		if r.Epoch != want {
			t.Errorf("%s: epoch %d, want %d", name, r.Epoch, want)
		}
	}
	// The agent itself did: all of them.
	a.set(upTime, gosnmp.TimeTicks, uint32(50))
	for name, r := range read() {
		if r.Epoch != now[name].Epoch+1<<32 {
			t.Errorf("%s: epoch %d after the agent's start, was %d", name, r.Epoch, now[name].Epoch)
		}
	}
	// An index is another's now; one has no counter any more.
	a.card(3, "other", 33, 34)
	a.set(at(colIn64, 4), 0, nil)
	for name, r := range read() {
		if r.Absent != (name == "eth3" || name == "eth4") {
			t.Errorf("%+v", r)
		}
	}
	a.set(at(colName, 4), 0, nil)
	now = read() // listed anew
	if r := now["other"]; r.Index != 3 || r.In != 33 || r.Out != 34 || len(now) != 11 {
		t.Errorf("%d readings, %+v", len(now), r)
	}
	if _, ok := now["eth4"]; ok {
		t.Errorf("what is gone is read: %+v", now["eth4"])
	}
	// The agent says that its table has changed: the reading after the next has the new one.
	a.card(13, "new", 1, 2)
	if now = read(); len(now) != 11 {
		t.Errorf("%d readings", len(now))
	}
	a.set(tableChange, gosnmp.TimeTicks, uint32(6))
	read()
	if now = read(); len(now) != 12 || now["new"].In != 1 || now["new"].Index != 13 {
		t.Errorf("%d readings, %+v", len(now), now["new"])
	}
	// Under one name the last counts.
	a.card(14, "new", 3, 4)
	a.set(tableChange, gosnmp.TimeTicks, uint32(7))
	read()
	if now = read(); now["new"].Index != 14 || now["new"].In != 3 {
		t.Errorf("%+v", now["new"])
	}
	// What the agent may not say.
	for what, c := range map[string]struct {
		fails gosnmp.SNMPError
		odd   func([]gosnmp.SnmpPDU) []gosnmp.SnmpPDU
		want  string
	}{
		"an error": {gosnmp.TooBig, nil, "polling of 127.0.0.1:"},
		"too few":  {0, func(vs []gosnmp.SnmpPDU) []gosnmp.SnmpPDU { return vs[1:] }, "the agent answered 41 of 42 questions"},
		"something other": {0, func(vs []gosnmp.SnmpPDU) []gosnmp.SnmpPDU { vs[0], vs[1] = vs[1], vs[0]; return vs },
			"the agent answered " + tableChange},
	} {
		a.mu.Lock()
		a.fails, a.odd = c.fails, c.odd
		a.mu.Unlock()
		if all, err := src.Read(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) || all != nil {
			t.Errorf("%s: %v, %v", what, all, err)
		}
	}
}

// TestAgentsOfOldKinds: agents without 64 bits, without names, without a word of gaps; and what was asked for and is not there.
func TestAgentsOfOldKinds(t *testing.T) {
	open := func(a *madeUp, change func(*counters.SNMP), names ...string) (counters.Source, error) {
		t.Helper()
		c := a.listens(t)
		if change != nil {
			change(&c)
		}
		src, err := counters.OpenSNMP(t.Context(), c, names)
		if err == nil {
			t.Cleanup(func() { src.Close() })
		}
		return src, err
	}
	a := newAgent(0)
	for i, name := range []string{"lan0", "lan1"} {
		a.set(at(colDescr, i+1), gosnmp.OctetString, name)
		a.set(at(colIn32, i+1), gosnmp.Counter32, uint32(10+i))
		a.set(at(colOut32, i+1), gosnmp.Counter32, uint32(20+i))
	}
	src, err := open(a, nil, "lan1")
	if err != nil {
		t.Fatal(err)
	}
	// Its interfaces have no ifName, so nothing says whose the counters are.
	all, err := src.Read(t.Context())
	if err != nil || len(all) != 1 || all[0] != (counters.Reading{Name: "lan1", Index: 2, In: 11, Out: 21}) {
		t.Errorf("%+v, %v", all, err)
	} else if f := src.Facts(all[0]); f.Width != 32 || f.Queues != 1 || f.Told {
		t.Errorf("%+v", f)
	}
	both := newAgent(2)
	both.set(at(colIn32, 2), gosnmp.Counter32, uint32(5))
	both.set(at(colOut32, 2), gosnmp.Counter32, uint32(6))
	if src, err = open(both, func(c *counters.SNMP) { c.Bits, c.Trust = 32, true }, "eth2"); err != nil {
		t.Fatal(err)
	}
	all, err = src.Read(t.Context())
	if err != nil || len(all) != 1 || all[0] != (counters.Reading{Name: "eth2", Index: 2, In: 5, Out: 6}) {
		t.Errorf("32 bits: %+v, %v", all, err)
	} else if f := src.Facts(all[0]); f.Width != 32 || f.MaxRate != 200e6 || !f.Told {
		t.Errorf("%+v", f)
	}
	if f := src.Facts(counters.Reading{Name: "none"}); f.Width != 64 || f.MaxRate != 0 || f.Told {
		t.Errorf("of nobody: %+v", f)
	}
	for what, c := range map[string]struct {
		a      *madeUp
		change func(*counters.SNMP)
		names  []string
		want   string
	}{
		"no 64 bits":      {a, func(c *counters.SNMP) { c.Bits = 64 }, nil, `127.0.0.1 has no 64-bit counters of "lan0" (ifHCInOctets)`},
		"no such":         {both, nil, []string{"eth9"}, "eth9: there is no such interface; there are eth1, eth2"},
		"another version": {both, func(c *counters.SNMP) { c.Host = "host.invalid" }, nil, "there is no such host"},
	} {
		if src, err := open(c.a, c.change, c.names...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v", what, src, err)
		}
	}
	both.mu.Lock()
	both.fails = gosnmp.GenErr
	both.mu.Unlock()
	if _, err := open(both, nil); err == nil || !strings.Contains(err.Error(), `asking for the counters of "eth1" of 127.0.0.1:`) {
		t.Errorf("an agent that fails: %v", err)
	}
}

// TestKeysOfUsers: what version 3 cannot do is said before anybody is asked, and no key is shown.
func TestKeysOfUsers(t *testing.T) {
	c := newAgent(0).listens(t)
	c.User, c.Timeout = "anna", time.Millisecond
	for _, k := range []struct{ auth, authKey, priv, privKey, want string }{
		{"", "", "", "", ""}, {"sha", "12345678", "", "", ""}, {"SHA-512", "12345678", "aes-256", "12345678", ""},
		{"SHA", "1234567", "", "", `the authentication key of user "anna" must have 8 characters at least`},
		{"SHA", "12345678", "AES", "1234567", `the privacy key of user "anna" must have 8 characters at least`},
		{"SHA-1", "12345678", "", "", `"SHA-1" is no authentication protocol: there are MD5, SHA, SHA-224, SHA-256, SHA-384, SHA-512`},
		{"SHA", "12345678", "ROT13", "12345678", `"ROT13" is no privacy protocol: there are DES, AES, AES-192, AES-256`},
		{"", "", "AES", "12345678", "privacy requires authentication"},
	} {
		c.Auth, c.AuthKey, c.Priv, c.PrivKey = k.auth, k.authKey, k.priv, k.privKey
		_, err := counters.OpenSNMP(t.Context(), c, nil)
		if err == nil || errors.Is(err, counters.ErrBadSNMP) != (k.want != "") || !strings.Contains(err.Error(), k.want) ||
			strings.Contains(err.Error(), "1234567") {
			t.Errorf("%+v: %v", k, err)
		}
	}
}

// TestIndexesThatAreNotTold: an interface is another only where both of its readings say which it is.
func TestIndexesThatAreNotTold(t *testing.T) {
	for _, c := range []struct {
		indexes [2]int
		epochs  [2]uint64
		want    counters.Event
	}{{[2]int{0, 7}, [2]uint64{1, 1}, counters.Rise}, {[2]int{7, 0}, [2]uint64{1, 1}, counters.Rise}, {[2]int{0, 0}, [2]uint64{1,
		1}, counters.Rise},
		{[2]int{7, 7}, [2]uint64{1, 1}, counters.Rise}, {[2]int{7, 8}, [2]uint64{1, 1}, counters.Recreated},
		{[2]int{0, 7}, [2]uint64{1, 2}, counters.Reset}} {
		s := poll(time.Second, counters.Facts{Width: 64, Trusted: true, Told: true}, 100, 200)
		for i := range s.Samples {
			s.Samples[i].Index, s.Samples[i].Epoch = c.indexes[i], c.epochs[i]
		}
		if v := counters.Judge(s); len(v.Intervals) != 1 || v.Intervals[0].Event != c.want {
			t.Errorf("%+v: %v, want %s", c, v.Intervals, c.want)
		}
	}
}
