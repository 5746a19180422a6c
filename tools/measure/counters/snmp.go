package counters

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gosnmp/gosnmp"
)

// Objects of RFC 3418 (SNMPv2-MIB) and RFC 2863 (IF-MIB).
const (
	oidUpTime        = ".1.3.6.1.2.1.1.3.0"
	oidTableChange   = ".1.3.6.1.2.1.31.1.5.0" // ifTableLastChange
	oidDescr         = ".1.3.6.1.2.1.2.2.1.2"
	oidIn32          = ".1.3.6.1.2.1.2.2.1.10" // ifInOctets
	oidOut32         = ".1.3.6.1.2.1.2.2.1.16" // ifOutOctets
	oidName          = ".1.3.6.1.2.1.31.1.1.1.1"
	oidIn64          = ".1.3.6.1.2.1.31.1.1.1.6"  // ifHCInOctets
	oidOut64         = ".1.3.6.1.2.1.31.1.1.1.10" // ifHCOutOctets
	oidHighSpeed     = ".1.3.6.1.2.1.31.1.1.1.15" // Mbit/s
	oidDiscontinuity = ".1.3.6.1.2.1.31.1.1.1.19"
)

// AgentLag is how old a counter may be that an agent answers with. Net-SNMP
// keeps the interface table for 3 s (seen with 5.9.3); switches read their
// hardware every 10 s or so.
const AgentLag = 15 * time.Second

// SNMP is an agent and how to talk to it.
type SNMP struct {
	Host    string
	Port    uint16 // 0 is 161
	Bits    int    // 64: ifHCInOctets; 32: ifInOctets; 0: 64 where the agent has them
	Timeout time.Duration
	Retries int
	// Trust takes ifHighSpeed for a bound that the interface cannot exceed.
	// Virtual interfaces exceed theirs; ifConnectorPresent does not tell them
	// apart (Net-SNMP says true of a veth).
	Trust bool
	Secrets
	// Version 3.
	User       string
	Auth, Priv string // protocols; empty: none
}

// snmp is an agent being polled.
type snmp struct {
	g     *gosnmp.GoSNMP
	c     SNMP
	names []string // restricted to these; empty: all
	ifs   []*agentIf
	up    uint64 // sysUpTime of the last answer, 1/100 s
	upAt  time.Time
	boots uint64 // restarts of the agent seen
	table int64  // ifTableLastChange; -1 before the first answer
	stale bool   // interfaces came or went: list them again
}

// agentIf is one interface of an agent.
type agentIf struct {
	name   string
	index  int
	bits   int
	speed  float64 // bits a second
	told   bool    // the agent has ifCounterDiscontinuityTime
	disc   uint64
	epoch  uint64
	absent bool
}

// OpenSNMP asks an agent for its interfaces; names restricts what is polled.
func OpenSNMP(ctx context.Context, c SNMP, names []string) (Source, error) {
	if c.Port == 0 {
		c.Port = 161
	}
	g := &gosnmp.GoSNMP{Target: c.Host, Port: c.Port, Transport: "udp", Timeout: c.Timeout, Retries: c.Retries, MaxOids: gosnmp.MaxOids,
		MaxRepetitions: 25, Version: gosnmp.Version2c, Community: c.Community, Context: ctx}
	if c.User != "" {
		if err := c.version3(g); err != nil {
			return nil, err
		}
	}
	s := &snmp{g: g, c: c, names: names, table: -1}
	if err := g.Connect(); err != nil {
		return nil, s.why("asking for the interfaces", err)
	}
	if err := s.list(); err != nil {
		g.Close()
		return nil, err
	}
	return s, nil
}

func (s *snmp) Close() error { return s.g.Close() }

// list reads the interfaces' names, and whether they have 64-bit counters.
func (s *snmp) list() error {
	names, err := s.walk(oidName)
	if err == nil && len(names) == 0 { // agents before RFC 2863 have ifDescr alone
		names, err = s.walk(oidDescr)
	}
	if err != nil {
		return s.why("listing the interfaces", err)
	}
	known := map[string]*agentIf{}
	for _, i := range s.ifs {
		known[i.name] = i
		i.absent = true
	}
	var have []string
	for _, v := range names {
		if b, ok := v.Value.([]byte); ok {
			have = append(have, string(b))
		}
	}
	if s.ifs == nil {
		if err := missing(s.names, have); err != nil {
			return err
		}
	}
	for _, v := range names {
		name, ok := v.Value.([]byte)
		index, err := strconv.Atoi(v.Name[strings.LastIndexByte(v.Name, '.')+1:])
		if !ok || err != nil || len(s.names) > 0 && !slices.Contains(s.names, string(name)) {
			continue
		}
		i := known[string(name)]
		if i == nil {
			if len(s.ifs) >= maxSeries {
				return fmt.Errorf("%s has more than %d interfaces: name those that matter", s.c.Host, maxSeries)
			}
			i = &agentIf{name: string(name)}
			known[i.name] = i
			s.ifs = append(s.ifs, i)
		}
		// Of several with one name the last: Net-SNMP keeps an interface that
		// is gone for five minutes beside its successor (interface_fadeout).
		i.absent, i.index = false, index
	}
	return s.kinds()
}

// kinds asks of new interfaces which counters they have, and their speed.
func (s *snmp) kinds() error {
	for _, i := range s.ifs {
		if i.bits != 0 || i.absent {
			continue
		}
		vs, err := s.get([]string{i.oid(oidIn64), i.oid(oidHighSpeed), i.oid(oidDiscontinuity)})
		if err != nil {
			return s.why("asking for the counters of "+strconv.Quote(i.name), err)
		}
		i.bits = 32
		if vs[0].Type == gosnmp.Counter64 && s.c.Bits != 32 {
			i.bits = 64
		} else if s.c.Bits == 64 {
			return fmt.Errorf("%s has no 64-bit counters of %q (ifHCInOctets)", s.c.Host, i.name)
		}
		if n, ok := number(vs[1]); ok {
			i.speed = float64(n) * 1e6
		}
		_, i.told = number(vs[2])
	}
	return nil
}

func (i *agentIf) oid(column string) string { return column + "." + strconv.Itoa(i.index) }

func (s *snmp) walk(oid string) ([]gosnmp.SnmpPDU, error) {
	var all []gosnmp.SnmpPDU
	err := s.g.BulkWalk(oid, func(v gosnmp.SnmpPDU) error {
		if len(all) == 100_000 { // an agent can go on forever
			return errors.New("more than 100,000 interfaces")
		}
		all = append(all, v)
		return nil
	})
	return all, err
}

func (s *snmp) get(oids []string) ([]gosnmp.SnmpPDU, error) {
	p, err := s.g.Get(oids)
	if err != nil {
		return nil, err
	}
	if p.Error != gosnmp.NoError {
		return nil, fmt.Errorf("the agent answered %s", p.Error)
	}
	if len(p.Variables) != len(oids) {
		return nil, fmt.Errorf("the agent answered %d of %d questions", len(p.Variables), len(oids))
	}
	for k, v := range p.Variables {
		if v.Name != oids[k] {
			return nil, fmt.Errorf("the agent answered %s when asked for %s", v.Name, oids[k])
		}
	}
	return p.Variables, nil
}

func number(v gosnmp.SnmpPDU) (uint64, bool) {
	switch v.Type {
	case gosnmp.Counter32, gosnmp.Counter64, gosnmp.Gauge32, gosnmp.TimeTicks, gosnmp.Integer, gosnmp.Uinteger32:
		return gosnmp.ToBigInt(v.Value).Uint64(), true
	}
	return 0, false
}

// perRequest interfaces are asked for at once: a request of 42 objects fits
// into one frame, and so does its answer.
const perRequest = 10

func (s *snmp) Read(ctx context.Context) ([]Reading, error) {
	s.g.Context = ctx
	if s.stale {
		if err := s.list(); err != nil {
			return nil, err
		}
		s.stale = false
	}
	var out []Reading
	here := slices.DeleteFunc(slices.Clone(s.ifs), func(i *agentIf) bool { return i.absent })
	for part := range slices.Chunk(here, perRequest) {
		oids := []string{oidUpTime, oidTableChange}
		for _, i := range part {
			in, sent := oidIn64, oidOut64
			if i.bits == 32 {
				in, sent = oidIn32, oidOut32
			}
			oids = append(oids, i.oid(in), i.oid(sent), i.oid(oidDiscontinuity), i.oid(oidName))
		}
		vs, err := s.get(oids)
		if err != nil {
			return nil, s.why("polling", err)
		}
		s.uptime(vs[0])
		if n, ok := number(vs[1]); ok && int64(n) != s.table {
			s.stale, s.table = s.table >= 0 || s.stale, int64(n)
		}
		for k, i := range part {
			out = append(out, s.reading(i, vs[2+4*k:6+4*k]))
		}
	}
	return out, nil
}

func (s *snmp) reading(i *agentIf, vs []gosnmp.SnmpPDU) Reading {
	r := Reading{Name: i.name, Index: i.index}
	in, ok1 := number(vs[0])
	sent, ok2 := number(vs[1])
	if d, ok := number(vs[2]); ok && d != i.disc {
		i.epoch, i.disc = i.epoch+1, d
	}
	name, ok := vs[3].Value.([]byte)
	if !ok1 || !ok2 || ok && string(name) != i.name { // gone, or another's index by now
		s.stale, r.Absent = true, true
	}
	r.In, r.Out, r.Epoch = in, sent, i.epoch+s.boots<<32
	return r
}

// uptime notices that the agent was started again. sysUpTime itself wraps
// after 497 days.
func (s *snmp) uptime(v gosnmp.SnmpPDU) {
	up, ok := number(v)
	if !ok {
		return
	}
	now := time.Now()
	if up < s.up && s.up+uint64(now.Sub(s.upAt).Milliseconds()/10)+6000 < math.MaxUint32 {
		s.boots++
	}
	s.up, s.upAt = up, now
}

func (s *snmp) Facts(r Reading) Facts {
	f := Facts{Width: 64, Lag: AgentLag}
	for _, i := range s.ifs {
		if i.name != r.Name {
			continue
		}
		f.Told = i.told
		if i.bits == 32 {
			// Counter32 is what the agent cuts to 32 bits; nothing narrower is
			// added up in it that is known of.
			f.Width, f.Queues = 32, 1
		}
		if s.c.Trust && i.speed > 0 {
			f.MaxRate = i.speed
		}
	}
	return f
}
