package counters_test

import (
	"bufio"
	"fmt"
	"os"
	"testing"
	"time"

	"fettle/internal/means"
	"fettle/tools/measure/counters"
)

// queueStep is by how much the register moves at each question, in octets.
const queueStep = 700_000_000

// register answers snmpd's pass_persist questions (snmpd.conf(5)) for one
// interface, vif1.0, whose 64-bit counter is the sum of two 32-bit registers:
// what xen-netback before Linux 4.10 shows. Each question moves it on by queueStep.
func register() {
	var q [2]uint32
	q[0], q[1] = 4_000_000_000, 1_000_000_000
	in := bufio.NewScanner(os.Stdin)
	answer := func(oid string) (typ, value string) {
		switch oid {
		case ".1.3.6.1.2.1.31.1.1.1.1.1":
			return "string", "vif1.0"
		case ".1.3.6.1.2.1.31.1.1.1.6.1":
			q[0] += queueStep / 2
			q[1] += queueStep / 2
			return "counter64", fmt.Sprint(uint64(q[0]) + uint64(q[1]))
		case ".1.3.6.1.2.1.31.1.1.1.10.1":
			return "counter64", "0"
		case ".1.3.6.1.2.1.31.1.1.1.15.1":
			return "gauge", "10000"
		case ".1.3.6.1.2.1.31.1.1.1.19.1":
			return "timeticks", "0"
		}
		return "", ""
	}
	for in.Scan() {
		switch in.Text() {
		case "PING":
			fmt.Println("PONG")
			continue
		case "":
			return
		}
		next := in.Text() == "getnext"
		in.Scan()
		oid := in.Text()
		if next {
			if oid == ".1.3.6.1.2.1.31.1.1.1.1" || oid == ".1.3.6.1.2.1.31.1.1.1" {
				oid = ".1.3.6.1.2.1.31.1.1.1.1.1"
			} else {
				oid = "none"
			}
		}
		if typ, value := answer(oid); typ != "" {
			fmt.Printf("%s\n%s\n%s\n", oid, typ, value)
		} else {
			fmt.Println("NONE")
		}
	}
}

// TestNetbackThroughSNMP: behind SNMP's 64 bits stand two 32-bit registers.
func TestNetbackThroughSNMP(t *testing.T) {
	t.Parallel()
	means.Tool(t, "snmpd")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	inNamespace(t, func() {
		defer agent(t, agentConf+"pass_persist .1.3.6.1.2.1.31.1.1.1 "+self+"\n", "-I", "-ifTable,ifXTable")()
		src, err := counters.OpenSNMP(t.Context(), v2c("right-community"), []string{"vif1.0"})
		if err != nil {
			t.Error(err)
			return
		}
		defer src.Close()
		rec, err := counters.Record(t.Context(), src, counters.Plan{Interval: 50 * time.Millisecond, For: 2 * time.Second})
		if err != nil {
			t.Error(err)
			return
		}
		s := rec.Series[0]
		// 700 MB in 50 ms are 112 Gbit/s. A busy machine polls late, and then early.
		s.Facts.Queues, s.Facts.Lag, s.Facts.MaxRate = 2, 60*time.Millisecond, 250e9
		v := counters.Judge(s)
		partial, wrong := 0, 0
		for _, iv := range v.Intervals {
			if iv.Event == counters.PartialWrap {
				partial++
			}
			if iv.Octets != queueStep {
				wrong++
			}
		}
		if w := v.Width; w.Bits != 32 || w.Confidence < 0.99 || !w.Summed {
			t.Errorf("the width behind 64 bits: %+v", w)
		}
		if partial < 3 || wrong > 0 {
			t.Errorf("%d intervals, %d partial wraps, %d wrong: %v", len(v.Intervals), partial, wrong, v.Intervals)
		}
	})
}
