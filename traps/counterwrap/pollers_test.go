package counterwrap

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"fettle/engine/remedy"
	"fettle/engine/trap"
	"fettle/engine/trap/traptest"
	"fettle/host/hosttest"
)

// told is a verdict on one line.
func told(v verdict) string {
	var parts []string
	for _, e := range v.bad {
		parts = append(parts, e.Source+" "+e.Value)
	}
	if v.unsure != "" {
		parts = append(parts, "unsure: "+v.unsure)
	}
	if !v.asks {
		parts = append(parts, "asks for nothing")
	}
	return strings.Join(parts, "; ")
}

// TestConfigurations: what is asked for, how often, and where that may wrap.
func TestConfigurations(t *testing.T) {
	const fast = "MaxBytes[_]: 125000000\n"
	mrtg := func(line, target, how string) string {
		return "f:" + line + " Target[" + target + "]: " + how + ", MaxBytes 125000000, every 5m0s"
	}
	for _, c := range []struct {
		name  string
		judge func(string, []byte) verdict
		text  string
		want  string
	}{
		{"a switch", judgeMRTG, fast + "Target[A]: 2:c@h\n", mrtg("2", "a", "SNMP version 1")},
		{"templates", judgeMRTG, fast + "Target[_]: 2:c@h\nTarget[^]: 2:c@h\nTarget[$]: 2:c@h\n", "asks for nothing"},
		{"no speed", judgeMRTG, "Target[a]: 2:c@h\n", "unsure: f:1: Target[a] has no MaxBytes, so the speed of its link is not known"},
		{"no speed that is one", judgeMRTG, "MaxBytes[a]: 0\nMaxBytes[_]: x\nTarget[a]: 2:c@h\n",
			"unsure: f:3: Target[a] has no MaxBytes, so the speed of its link is not known"},
		{"the faster way", judgeMRTG, "MaxBytes1[a]: 125000000\nMaxBytes2[a]: 1000\nTarget[a]: 2:c@h\n", mrtg("3", "a", "SNMP version 1")},
		{"its own speed", judgeMRTG, fast + "MaxBytes[a]: 1000\nTarget[a]: 2:c@h\n", ""},
		{"just fast enough", judgeMRTG, "Interval: 1\nMaxBytes[a]: 71582788\nTarget[a]: 2:c@h\n", ""},
		{"just too slow", judgeMRTG, "Interval: 64:00\nMaxBytes[a]: 1118482\nTarget[a]: 2:c@h\n",
			"f:3 Target[a]: SNMP version 1, MaxBytes 1118482, every 1h4m0s"},
		{"just what wraps", judgeMRTG, "Interval: 0:01\nMaxBytes[a]: 4294967296\nTarget[a]: 2:c@h\n",
			"f:3 Target[a]: SNMP version 1, MaxBytes 4294967296, every 1s"},
		{"an interval that is none", judgeMRTG, "Interval: 0\nInterval: 1000001\nInterval: 1:x\n" + fast + "Target[a]: 2:c@h\n", mrtg("5", "a",
			"SNMP version 1")},
		{"of version 2", judgeMRTG, fast + "Target[a]: 2:c@h:::::2\n", ""},
		{"without 64 bits", judgeMRTG, fast + "noHC[a]: Yes\nTarget[a]: 2:c@h:::::2\nTarget[b]: 2:c@h:::::2\n", mrtg("3", "a", "noHC")},
		{"none without them", judgeMRTG, fast + "noHC[_]: yes\nTarget[a]: 2:c@h:::::2\n", mrtg("3", "a", "noHC")},
		{"with them", judgeMRTG, fast + "noHC[_]: no\nTarget[a]: 2:c@h:::::2\n", ""},
		{"by name", judgeMRTG, fast + "Target[a]: ifOutOctets.1&ifOutOctets.2:c@h:::::2\n", mrtg("2", "a", "ifInOctets by name")},
		{"by number", judgeMRTG, fast + "Target[a]: 1.3.6.1.2.1.2.2.1.16.1&1.3.6.1.2.1.2.2.1.16.2:c@h:::::2\n", mrtg("2", "a",
			"ifInOctets by name")},
		{"added up", judgeMRTG, fast + "Target[a]: 2:c@h +\n  3:c@h\n\n# x\nTarget[b]: 4:c@h\n",
			mrtg("6", "b", "SNMP version 1") + "; unsure: f:2: Target[a] is of a form that fettle does not read (several added up?)"},
		{"added up by name", judgeMRTG, fast + "Target[a]: ifInOctets.1&ifOutOctets.1:c@h + ifInOctets.2&ifOutOctets.2:c@h\n", mrtg("2", "a",
			"ifInOctets by name")},
		{"a program", judgeMRTG, fast + "Target[a]: `/bin/x`\n", "asks for nothing"},
		{"a program, then an agent that has 64 bits", judgeMRTG,
			"Target[a]: `/bin/x`\nTarget[b]: ifHCInOctets.1&ifHCOutOctets.1:c@h:::::2\nTarget[c]: `/bin/x`\n", ""},
		{"a line that goes on from nothing", judgeMRTG, "  x\nno key\n  Target[a]: 2:c@h\n", "asks for nothing"},

		{"Munin", judgeMunin, "[snmp_*]\nenv.version 1\nenv.version 2\n\tenv.version 1",
			"f:2 env.version 1, every 5m0s; f:4 env.version 1, every 5m0s"},
		{"Munin, for all", judgeMunin, "[*]\nenv.version 1\n", "f:2 env.version 1, every 5m0s"},
		{"Munin, of others", judgeMunin, "env.version 1\n[df*]\nenv.version 1\n", "asks for nothing"},
		{"Munin, others after", judgeMunin, "[snmp_x]\n# env.version 1\n[df*]\nenv.version 1\n", ""},

		{"Telegraf", judgeTelegraf, "interval = \"60s\"\n# oid = \"IF-MIB::ifTable\"\noid = \"IF-MIB::ifTable\"\noid = '.1.3.6.1.2.1.2.2'\n",
			"f:3 32-bit octet counters, every 1m0s; f:4 32-bit octet counters, every 1m0s"},
		{"Telegraf, often enough", judgeTelegraf, "interval = \"34s\"\noid = \"IF-MIB::ifTable\"\n", ""},
		{"Telegraf, just too rarely", judgeTelegraf, "interval = \"34.4s\"\noid = \"IF-MIB::ifTable\"\n",
			"f:2 32-bit octet counters, every 34.4s"},
		{"Telegraf, by default", judgeTelegraf, "interval = \"1s\"\ninterval = \"x\"\noid = \"IF-MIB::ifTable\"\n", ""},
		{"Telegraf, the wide table too", judgeTelegraf, "interval = \"60s\"\noid = \"IF-MIB::ifTable\"\noid = \"IF-MIB::ifXTable\"\n", ""},
		{"Telegraf, something else", judgeTelegraf, "interval = \"60s\"\noid = \"IF-MIB::ifTableX\"\n", "asks for nothing"},
		{"collectd", judgeCollectd, "Interval 300\nValues \"ifInOctets\" \"ifOutOctets\"\n", "f:2 32-bit octet counters, every 5m0s"},
		{"collectd, by default", judgeCollectd, "Values \"ifInOctets\"\nInterval 1000000\n", ""},
		{"collectd, the longest that counts", judgeCollectd, "Interval 999999\nValues 1.3.6.1.2.1.2.2.1.16\n",
			"f:2 32-bit octet counters, every 277h46m39s"},
		{"collectd, wide", judgeCollectd, "Interval 300\nValues \"ifHCInOctets\"\n", ""},
	} {
		if got := told(c.judge("f", []byte(c.text))); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

// TestOfPrometheus: of what kind modules are, which of them a job takes, and how often.
func TestOfPrometheus(t *testing.T) {
	const narrow = "  narrow:\n    metrics:\n    - oid: 1.3.6.1.2.1.2.2.1.10\n    - oid: 1.3.6.1.2.1.2.2.1.16\n"
	const wide = "  if_mib:\n    metrics:\n    - oid: 1.3.6.1.2.1.2.2.1.16\n    - oid: 1.3.6.1.2.1.31.1.1.1.10\n"
	const auths = "auths:\n  old:\n    version: 1\n  public_v2:\n    version: 2\n"
	const job = "[{job_name: a, metrics_path: /snmp, params: {module: [narrow]}"
	const elsewhere = "unsure: f: which modules and credentials are used is set in Prometheus, which has no job for them in " +
		prometheusFile
	const partly = "unsure: f: not all requested modules are in /etc/prometheus/prometheus.yml"
	const bad = "f:4 module narrow reads no 64-bit counters; job a asks every "
	for _, c := range []struct{ name, snmp, prometheus, want string }{
		{"no Prometheus here, wide", "modules:\n" + wide, "", ""}, {"no Prometheus here, narrow", "modules:\n" + narrow, "", elsewhere},
		{"no Prometheus here, version 1 of what is wide", auths + "modules:\n" + wide, "", ""},
		{"nothing of interfaces", auths + "modules:\n  ups:\n    version: 1\n    - oid: 1.3.6.1.4.1.318.1\n", "scrape_configs: []",
			"asks for nothing"},
		{"no job, wide", auths + "modules:\n" + wide, "scrape_configs: []", ""}, {"no job, narrow", "modules:\n" + narrow,
			"scrape_configs: []", elsewhere},
		{"a narrow one", "modules:\n" + narrow, "scrape_configs: " + job + "}]", bad + "1m"},
		{"every so often", "modules:\n" + narrow, "global: {scrape_interval: 15s}\nscrape_configs: " + job + "}]", bad + "15s"},
		{"a job's own", "modules:\n" + narrow, "global: {scrape_interval: 15s}\nscrape_configs: " + job + ", scrape_interval: 2m}]", bad + "2m"},
		{"after one of another kind, and one that is wide", "modules:\n" + narrow + wide,
			"scrape_configs: [{job_name: x}, {metrics_path: /snmp}, " + job[1:] + "}]", bad + "1m"},
		{"before one that comes from elsewhere", "modules:\n" + narrow + wide,
			"scrape_configs: [{metrics_path: /snmp, http_sd_configs: [{}]}, " + job[1:] + "}]", bad + "1m; " + partly},
		{"jobs in other files", "modules:\n" + narrow, "scrape_config_files: [x]", partly},
		{"jobs in other files, all wide", "modules:\n" + wide, "scrape_config_files: [x]", ""},
		{"credentials of version 1", auths + "modules:\n" + wide, "scrape_configs: [{job_name: a, metrics_path: /snmp, params: {auth: [old]}}]",
			"f:9 module if_mib is polled by SNMP version 1, which has no 64-bit counters; job a asks every 1m"},
		{"a module of version 1, of old", "if_mib:\n  version: 1\n  metrics:\n  - oid: 1.3.6.1.2.1.2.2.1.16\n  - oid: 1.3.6.1.2.1.31.1.1.1.6\n",
			"scrape_configs: [{job_name: a, metrics_path: /snmp}]",
			"f:4 module if_mib is polled by SNMP version 1, which has no 64-bit counters; job a asks every 1m"},
		{"a module of version 1, and no job",
			"if_mib:\n  version: 1\n  metrics:\n  - oid: 1.3.6.1.2.1.2.2.1.16\n  - oid: 1.3.6.1.2.1.31.1.1.1.6\n", "", elsewhere},
		{"labels that choose another module", "modules:\n" + narrow, "scrape_configs: [{metrics_path: /snmp, params: {module: [ups]}, " +
			"static_configs: [{labels: {__param_module: narrow}}]}]", partly},
		{"labels that choose nothing", "modules:\n" + narrow, "scrape_configs: [{metrics_path: /snmp, params: {module: [ups]}, " +
			"static_configs: [{labels: {x: narrow}}], relabel_configs: [{target_label: instance}]}]", ""},
		{"credentials chosen by relabelling", "modules:\n" + narrow, "scrape_configs: [{metrics_path: /snmp, params: {module: [ups]}, " +
			"relabel_configs: [{target_label: __param_auth}]}]", partly},
	} {
		var conf *scrapeConf
		if c.prometheus != "" {
			conf = &scrapeConf{}
			if err := yaml.Unmarshal([]byte(c.prometheus), conf); err != nil {
				t.Fatal(err)
			}
		}
		if got := told(judgeSNMP("f", []byte(c.snmp), conf)); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

// TestOutcomes: of each file on its own, also after one that cannot be read.
func TestOutcomes(t *testing.T) {
	const mrtg = "MaxBytes[_]: 125000000\nTarget[a]: 2:c@h\n"
	const narrow = "modules:\n  narrow:\n    metrics:\n    - oid: 1.3.6.1.2.1.2.2.1.10\n"
	const jobs = "-- root/etc/prometheus/prometheus.yml --\nscrape_configs: [{job_name: a, metrics_path: /snmp, params: {module: [narrow]}}]\n"
	const links = `-- table/links --
[{"ifindex":7,"ifname":"vif1.0","flags":["UP"],"mtu":1500,"operstate":"UP","link_type":"ether","addr_info":[]},
 {"ifindex":8,"ifname":"vif2.0","flags":["UP"],"mtu":1500,"operstate":"UP","link_type":"ether","addr_info":[]}]
`
	const old = "release: 4.9.0-3-amd64\n"
	bytes := func(vif, name, n string) string {
		return "-- root/sys/class/net/" + vif + "/statistics/" + name + " --\n" + n + "\n"
	}
	queue := func(vif string) string { return "-- root/sys/class/net/" + vif + "/queues/rx-0/rps_cpus --\n0\n" }
	for _, c := range []struct{ name, text, want string }{
		{"a folder that is closed, a file that is, and one that is not",
			"-- denied/etc/telegraf/telegraf.d --\n-- denied/etc/mrtg.cfg --\n-- root/etc/mrtg/a.cfg --\n" + mrtg,
			"unknown /etc/mrtg.cfg, found /etc/mrtg/a.cfg, unknown /etc/telegraf/telegraf.d"},
		{"Munin that asks for errors alone, then MRTG",
			"-- link/etc/munin/plugins/snmp_a_if_err_1 --\nx\n-- root/etc/munin/plugin-conf.d/x --\n[snmp_*]\nenv.version 1\n" +
				"-- root/etc/mrtg.cfg --\n" + mrtg, "found /etc/mrtg.cfg"},
		{"Munin", "-- link/etc/munin/plugins/snmp_a_if_err_1 --\nx\n-- link/etc/munin/plugins/snmp_a_if_1 --\nx\n" +
			"-- root/etc/munin/plugin-conf.d/x --\n[snmp_*]\nenv.version 1\n", "found /etc/munin/plugin-conf.d/x"},
		{"Munin's plugins denied", "-- denied/etc/munin/plugins --\n-- root/etc/mrtg.cfg --\n" + mrtg,
			"found /etc/mrtg.cfg, unknown /etc/munin/plugins"},
		{"Prometheus's file denied", "-- denied/etc/prometheus/prometheus.yml --\n-- root/etc/prometheus/snmp.yml --\n" + narrow +
			"-- root/etc/snmp_exporter/snmp.yml --\n" + narrow,
			"unknown /etc/prometheus/snmp.yml, unknown /etc/snmp_exporter/snmp.yml"},
		{"Prometheus's file broken", "-- root/etc/prometheus/prometheus.yml --\n\t{\n-- root/etc/prometheus/snmp.yml --\n" + narrow,
			"unknown /etc/prometheus/snmp.yml"},
		{"one exporter's file denied", jobs + "-- denied/etc/prometheus/snmp.yml --\n-- root/etc/snmp_exporter/snmp.yml --\n" + narrow,
			"unknown /etc/prometheus/snmp.yml, found /etc/snmp_exporter/snmp.yml"},
		{"both", jobs + "-- root/etc/prometheus/snmp.yml --\n" + narrow + "-- root/etc/snmp_exporter/snmp.yml --\n" + narrow,
			"found /etc/prometheus/snmp.yml, found /etc/snmp_exporter/snmp.yml"},
		{"Xen", old + links + "-- root/sys/hypervisor/type --\nxen\n", "found xen-netback, not-applicable pollers"},
		{"by its folder", old + links + "-- root/proc/xen/x --\n", "found xen-netback, not-applicable pollers"},
		{"another", old + links + "-- root/sys/hypervisor/type --\nkvm\n", "not-applicable xen-netback, not-applicable pollers"},
		{"not told", old + links + "-- denied/sys/hypervisor/type --\n", "unknown xen-netback, not-applicable pollers"},
		{"no queues of the first, more than they hold of the second", old + links + "-- root/proc/xen/x --\n" + bytes("vif1.0", "rx_bytes",
			"9000000000") + queue("vif2.0") +
			bytes("vif2.0", "tx_bytes", "4294967297"), "clear xen-netback, not-applicable pollers"},
		{"just what they hold", old + links + "-- root/proc/xen/x --\n" + queue("vif1.0") + bytes("vif1.0", "rx_bytes", "4294967296"),
			"found xen-netback, not-applicable pollers"},
		{"an unknown kernel", "release: next\n" + links + "-- root/proc/xen/x --\n", "unknown xen-netback, not-applicable pollers"},
	} {
		var got []string
		for _, o := range traptest.Run(t, &Trap, hosttest.New(t, c.text)) {
			if o.Subject == netback && !strings.Contains(c.text, "vif") {
				continue
			}
			got = append(got, fmt.Sprintf("%s %s", o.Status, o.Subject))
		}
		if said := strings.Join(got, ", "); said != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, said, c.want)
		}
	}
}

// TestPlansOfMRTG: what is changed, and which lines keep fettle from it.
func TestPlansOfMRTG(t *testing.T) {
	const fast = "MaxBytes[_]: 125000000\n"
	for _, c := range []struct{ name, text, want string }{
		{"a slow one first", "MaxBytes[s]: 1\nTarget[s]: 2:c@h\n" + fast + "Target[a]: 2:c@h\n", "Line 4: Target[a] asks h by SNMP version 2"},
		{"by name", fast + "Target[a]: ifInOctets.1&ifOutOctets.1:c@h:::::2\n", "Line 2: Target[a] asks h by SNMP version 2"},
		{"by number", fast + "Target[a]: 1.3.6.1.2.1.2.2.1.10.1&1.3.6.1.2.1.2.2.1.16.1:c@h\n",
			"fettle cannot change these: Target[a] in line 2 in FILE"},
		{"over two lines, and another", fast +
			"Target[a]: 2:c@h:\n :\n :::2|f\nTarget[b]: 2:c@h\nTarget[c]: 2:c@h +\n  ifInOctets.1&ifOutOctets.1:c@h\nTarget[d]: 3:c@h\n",
			"fettle cannot change all of FILE: Target[c] in line 6. Let them ask by SNMP version 2"},
		{"none of them", fast + "noHC[_]: yes\nTarget[a]: 2:c@h:::::2\n", "fettle cannot change these: Target[a] in line 3 in FILE"},
	} {
		h := hosttest.New(t, "-- root/etc/mrtg.cfg --\n"+c.text)
		p, err := plan(t.Context(), h, trap.Finding{Subject: "/etc/mrtg.cfg", Facts: trap.FactsOf(facts{Poller: "MRTG"})})
		got := strings.Join(p.Notes, "; ")
		var no *remedy.Refusal
		if errors.As(err, &no) {
			got = strings.ReplaceAll(no.Why, "/etc/mrtg.cfg", "FILE")
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
	for _, poller := range []string{"MRTG", "Munin"} {
		if _, err := plan(t.Context(), hosttest.New(t, "-- root/etc/x --\n"), trap.Finding{Subject: "/gone",
			Facts: trap.FactsOf(facts{Poller: poller})}); err == nil {
			t.Errorf("%s: a plan for a file that is gone", poller)
		}
	}
	if _, err := plan(t.Context(), hosttest.New(t, "-- root/etc/x --\n"), trap.Finding{Subject: "/x"}); err == nil {
		t.Error("a plan without facts")
	}
}
