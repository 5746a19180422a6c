package counters_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle/internal/means"
	"fettle/tools/measure/counters"
)

const rrdHead = `<?xml version="1.0"?><rrd><version>0003</version><step>300</step><lastupdate>1700000100</lastupdate>
<ds><name> in </name><type> COUNTER </type></ds>
<rra><cf>AVERAGE</cf><pdp_per_row>1</pdp_per_row><database>`

func prom(values string) string {
	return `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"node_network_receive_bytes_total","device":` +
		`"eth0"},"values":[` + values + `]}]}}`
}

func TestRead(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"two columns", "1700000000,100\n1700000060,200\n", "column 2: 100@0 200@60"},
		{"semicolons", "time;rx;tx\n1700000000;1;2\n1700000060;3;4\n", "rx: 1@0 3@60\ntx: 2@0 4@60"},
		{"one line an interface", "time,iface,ifindex,rx_bytes\n1700000000,eth0,2," +
			"1\n1700000000,eth1,3,7\n1700000060,eth0,2,5\n", "eth0 rx_bytes: 1@0#2 5@60#2\neth1 rx_bytes: 7@0#3"},
		{"gaps and comments", "# from the switch\ntime,rx\n2023-11-14T22:13:20Z," +
			"1\n2023-11-14T22:14:20Z,NaN\n2023-11-14 22:15:20,U\n1700000180,9\n", "rx: 1@0 -@60 -@120 9@180"},
		{"the agent restarted", "time,uptime,discontinuity,rx\n1700000000,100,0," +
			"5\n1700000060,160,0,6\n1700000120,20,0,7\n1700000180,80,4711,8\n", "rx: 5@0 6@60 7@120/1 8@180/2"},
		{"Prometheus", prom(`[1700000000,"12345678901234567"],` +
			`[1700000060.5,"1.5e+10"],[1700000120,"NaN"]`), "eth0 node_network_receive_bytes_total: 12345678901234567@0 " +
			"15000000000@60 -@120"},
		{"rrdtool", rrdHead + `<row><v>1.0e+01</v></row><row><v>NaN</v></row></database></rra></rrd>`, "in: -@-500 3000@-200 -@100"},
	} {
		t.Run(c.name, func(t *testing.T) {
			all, err := counters.Read("FILE", strings.NewReader(c.text))
			if err != nil {
				t.Fatal(err)
			}
			if got := show(all); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func show(all []counters.Series) string {
	var lines []string
	for _, s := range all {
		l := s.Name + ":"
		for _, x := range s.Samples {
			v := fmt.Sprint(x.V)
			if x.Gone {
				v = "-"
			}
			l += fmt.Sprintf(" %s@%d", v, int(x.T.Sub(time.Unix(1700000000, 0)).Seconds()))
			if x.Index > 0 {
				l += fmt.Sprintf("#%d", x.Index)
			}
			if x.Epoch > 0 {
				l += fmt.Sprintf("/%d", x.Epoch)
			}
		}
		lines = append(lines, l)
	}
	return strings.Join(lines, "\n")
}

func TestReadErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "FILE: is empty: no readings"},
		{"white space", " \n", "FILE: is empty: no readings"},
		{"one reading", "1700000000,1\n", "FILE: holds one reading: a rate needs two"},
		{"all missing", "1700000000,U\n1700000001,NaN\n", "FILE: holds no reading of a counter"},
		{"clock back", "time,rx\n1700000060,1\n1700000000,2\n", "FILE:3: 2023-11-14T22:13:20Z is before the reading above it " +
			"(2023-11-14T22:14:20Z): the clock went back, or the readings are not sorted"},
		{"twice", "1700000000,1\n1700000000,2\n", "FILE:2: a second reading at 2023-11-14T22:13:20Z"},
		{"negative", "1700000000,1\n1700000001,-5\n", "FILE:2: -5: a counter is never negative"},
		{"a rate", "1700000000,1.5\n", "FILE:1: 1.5 is not a whole number of octets: give the counter itself, not its rate"},
		{"text", "1700000000,many\n", `FILE:1: "many" is not a number of octets`},
		{"infinite", "1700000000,Inf\n", `FILE:1: "Inf" is not a number of octets`},
		{"66 bits", "1700000000,40000000000000000000\n", "FILE:1: 40000000000000000000 does not fit into 64 bits"},
		{"no time", "rx,tx\n1,2\n", `FILE:1: no column of times: "rx" is neither a time nor the name of such a column (time, timestamp, ...)`},
		{"bad time", "time,rx\nyesterday,2\n", `FILE:2: "yesterday" is not a time: expected seconds since 1970 or RFC 3339`},
		{"short line", "time,rx\n1700000000\n", "FILE:2: not as many columns as the first line has (cut off?)"},
		{"open quotes", "time,rx\n1700000000,\"1\n", `FILE:2: extraneous or missing " in quoted-field`},
		{"cut gzip", "\x1f\x8b\x08\x00abc", "unpacking FILE: it is cut off"},
		{"no counter", "time,iface\n1700000000,eth0\n", "FILE:1: no column of counters"},
		{"one column", "1700000000\n", `FILE:1: expected a time and a counter, and there is one column: "1700000000"`},
		{"other JSON", `{"a":1}`, "FILE: is JSON, but not an answer of Prometheus' query_range (no data.resultType)"},
		{"instant query", `{"status":"success","data":{"resultType":"vector","result":[]}}`, "FILE: holds a vector: only the answer of a " +
			"range query holds a series (resultType matrix)"},
		{"error", `{"status":"error","error":"parse error"}`, "FILE: Prometheus answered with an error: parse error"},
		{"cut JSON", "{\"status\":\n", "FILE:2: broken JSON: unexpected EOF"},
		{"no matches", `{"status":"success","data":{"resultType":"matrix","result":[]}}`, "FILE: holds no reading of a counter"},
		{"rate()", prom(`[1700000000,"1.25"]`), "FILE: eth0 node_network_receive_bytes_total, value 1: 1.25 is not a whole number of octets: " +
			"give the counter itself, not its rate"},
		{"not a pair", prom(`[1700000000]`), "FILE: eth0 node_network_receive_bytes_total, " +
			"value 1: [1700000000] is not a pair of time and value"},
		{"other XML", "<html></html>", "FILE:1: is XML, but not of `rrdtool dump`: it begins with <html>"},
		{"cut XML", rrdHead + "<row>", "FILE:3: broken XML: XML syntax error on line 3: unexpected EOF"},
		{"row of two", rrdHead + "<row><v>1</v><v>2</v></row>", "FILE:3: a row of 2 values for 1 data sources"},
		{"no rate", rrdHead + "<row><v>x</v></row>", `FILE:3: "x" is not a rate`},
		{"binary", "RRD\x000003", "FILE: is a binary RRD file: give what `rrdtool dump` makes of it"},
		{"gauge", strings.Replace(rrdHead, "COUNTER", "GAUGE", 1) + "</database></rra></rrd>", "FILE: no data source of type COUNTER or DERIVE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := counters.Read("FILE", strings.NewReader(c.text))
			if err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func packed(b []byte) []byte {
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write(b)
	w.Close()
	return z.Bytes()
}

func TestGzip(t *testing.T) {
	good := packed([]byte("1700000000,1\n1700000060,2\n"))
	if all, err := counters.Read("FILE", bytes.NewReader(good)); err != nil || len(all) != 1 {
		t.Errorf("%v %v", all, err)
	}
	if _, err := counters.Read("FILE", bytes.NewReader(good[:len(good)-9])); err == nil || err.Error() != "unpacking FILE: it is cut off" {
		t.Errorf("cut off: %v", err)
	}
	defer counters.LowerText(2 << 20)()
	bomb := packed(make([]byte, 3<<20)) // 3 kB of gzip
	if _, err := counters.Read("FILE", bytes.NewReader(bomb)); err == nil ||
		err.Error() != "FILE: larger than fettle reads (2 MiB unpacked)" {
		t.Errorf("bomb: %v", err)
	}
}

// TestRealRRD lets rrdtool itself record a 32-bit counter at 100 Mbit/s that
// wraps, and reads what it dumps.
func TestRealRRD(t *testing.T) {
	rrdtool := means.Tool(t, "rrdtool")
	file := filepath.Join(t.TempDir(), "a.rrd")
	run := func(args ...string) []byte {
		t.Helper()
		out, err := exec.Command(rrdtool, args...).Output()
		if err != nil {
			t.Fatalf("rrdtool %v: %v", args, err)
		}
		return out
	}
	run("create", file, "--start", "1699999800", "--step", "300", "DS:in:COUNTER:600:0:U", "DS:load:GAUGE:600:0:U",
		"RRA:AVERAGE:0.5:6:10", "RRA:AVERAGE:0.5:1:20", "RRA:MAX:0.5:1:20")
	for i := range 12 {
		v := uint64(i) * 300 * 100e6 / 8 & (1<<32 - 1)
		run("update", file, fmt.Sprintf("%d:%d:0", 1700000100+i*300, v))
	}
	all, err := counters.Read("dump", bytes.NewReader(run("dump", file)))
	if err != nil || len(all) != 1 || all[0].Name != "in" || !all[0].Rates {
		t.Fatalf("%+v %v", all, err)
	}
	v := counters.Judge(all[0])
	n := 0
	for _, iv := range v.Intervals {
		if iv.Rate > 99.9e6 && iv.Rate < 100.1e6 && iv.To.Unix() >= 1700000400 {
			n++
		}
		if iv.Mark == counters.Certain {
			t.Errorf("rrdtool's rates are never certain: %v", iv)
		}
	}
	if n != 11 || !v.Crowded {
		t.Errorf("%d rates of 100 Mbit/s, want 11; crowded %v, want true (87 %% of 2^32 in 5 minutes)", n, v.Crowded)
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{"1700000000,1\n1700000060,2\n", "time;if;rx\n1;a;2\n2;a;U\n", prom(`[1,"2"],[2,"3"]`),
		rrdHead + "<row><v>1</v></row></database></rra></rrd>", "\xef\xbb\xbftime\trx\n1\t2\n2\t1\n", "\"a\n", "time,uptime,rx\n1,2,3\n"} {
		f.Add([]byte(s))
	}
	f.Add(packed([]byte("1,2\n2,3\n")))
	f.Fuzz(func(t *testing.T, b []byte) {
		all, err := counters.Read("f", bytes.NewReader(b))
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("an error of more than one clean line: %q", err)
			}
			return
		}
		for _, s := range all {
			counters.Judge(s)
		}
	})
}
