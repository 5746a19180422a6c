package counterwrap

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/engine/trap/traptest"
	"fettle/host"
	"fettle/host/hosttest"
	"fettle/internal/means"
)

func TestGolden(t *testing.T) { traptest.Golden(t, &Trap) }

func TestNarrow(t *testing.T) {
	for _, c := range []struct {
		release, machine string
		yes              bool
	}{
		{"3.2.0-4-amd64", "x86_64", false}, {"3.15.10", "x86_64", false}, {"3.16.0-4-amd64", "x86_64", true},
		{"4.9.0-3-amd64", "x86_64", true}, {"4.4.0-210-generic", "x86_64", true}, {"4.10.0-14-generic", "x86_64", false},
		{"5.4.0", "x86_64", false}, {"6.1.0-13-686", "i686", true}, {"2.6.32-5-xen-amd64", "x86_64", false}, {"4.9", "aarch64", true},
	} {
		yes, _, err := narrow(host.Identity{Release: c.release, Machine: c.machine})
		if yes != c.yes || err != nil {
			t.Errorf("%s %s: %v %v, want %v", c.release, c.machine, yes, err, c.yes)
		}
	}
	if _, _, err := narrow(host.Identity{Release: "next"}); err == nil {
		t.Error("a kernel without a version is judged")
	}
}

func TestTargets(t *testing.T) {
	for _, c := range []struct {
		text   string
		yes    bool
		sure   bool
		speaks string
	}{
		{"2:public@router", true, true, "2:public@router:::::2"},
		{"-2:public@router", true, true, "-2:public@router:::::2"},
		{"2:pub:lic@router:1161", true, true, "2:pub:lic@router:1161::::2"},
		{`2:p\@b@router:161:2:5:1`, true, true, `2:p\@b@router:161:2:5:1:2`},
		{"2:public@router:::::1|fn", true, true, "2:public@router:::::2|fn"},
		{"2:public@[2001:db8::1]", true, true, "2:public@[2001:db8::1]:::::2"},
		{`\Gig 0/1:public@router`, true, true, `\Gig 0/1:public@router:::::2`},
		{"/192.0.2.1:public@router:::::2", false, true, ""},
		{"#eth0:public@router:::::3", false, true, ""},
		{"ifInOctets.1&ifOutOctets.1:public@router:::::2", true, true, "ifHCInOctets.1&ifHCOutOctets.1:public@router:::::2"},
		{"ifHCInOctets.1&ifHCOutOctets.1:public@router:::::2", false, true, ""},
		{"1.3.6.1.4.1.2021.10.1.5.1&1.3.6.1.4.1.2021.10.1.5.2:public@localhost", false, true, ""},
		{".1.3.6.1.2.1.2.2.1.10.3&.1.3.6.1.2.1.2.2.1.16.3:public@localhost:::::2", true, true, ""},
		{"2:public@router + 3:public@router", false, false, ""},
		{"`/bin/prog`", false, true, ""},
	} {
		yes, sure, p := mrtgConf{}.asks32(mrtgTarget{text: c.text})
		if yes != c.yes || sure != c.sure {
			t.Errorf("%s: 32 bits %v, sure %v; want %v %v", c.text, yes, sure, c.yes, c.sure)
		}
		if c.speaks != "" && p.speaks2() != c.speaks {
			t.Errorf("%s becomes %s, want %s", c.text, p.speaks2(), c.speaks)
		}
	}
	for s, want := range map[string]time.Duration{"5": 5 * time.Minute, "1": time.Minute, "0:30": 30 * time.Second,
		"1:30": 90 * time.Second, "": 0, "x": 0, "-1": 0} {
		if d, _ := mrtgInterval(s); d != want {
			t.Errorf("Interval: %q is %s, want %s", s, d, want)
		}
	}
}

func findings(t *testing.T, file string) (*host.Host, []trap.Outcome) {
	t.Helper()
	src, _ := hosttest.Load(t, "testdata/"+file+".txtar")
	h := host.New(src)
	var out []trap.Outcome
	for _, o := range traptest.Run(t, &Trap, h) {
		noCommunity(t, fmt.Sprintf("%+v", o))
		if o.Status == trap.Found {
			out = append(out, o)
		}
	}
	return h, out
}

func noCommunity(t *testing.T, s string) {
	t.Helper()
	if strings.Contains(s, "secret-community") {
		t.Errorf("a community is shown: %s", s)
	}
}

// TestPlanMRTG: the plan changes the lines that matter and no other, and shows
// no community. What it cannot change it refuses.
func TestPlanMRTG(t *testing.T) {
	h, found := findings(t, "trapped-mrtg")
	p, err := plan(t.Context(), h, found[0])
	if err != nil {
		t.Fatal(err)
	}
	f := p.Steps[0].(step.File)
	want := strings.Replace(string(f.Was), "2:secret-community@switch1\n", "2:secret-community@switch1:::::2\n", 1)
	if string(f.Content) != want || !f.Secret {
		t.Errorf("secret %v, content:\n%s\nwant:\n%s", f.Secret, f.Content, want)
	}
	noCommunity(t, p.Title+strings.Join(p.Notes, "\n")+f.Describe())
	if v := judgeMRTG("f", f.Content); len(v.bad) > 0 || v.unsure != "" {
		t.Errorf("after the plan: %+v", v)
	}
	_, err = plan(t.Context(), h, found[1])
	var no *remedy.Refusal
	if !errors.As(err, &no) || !strings.Contains(no.Why, "Target[nohc] in line 4") {
		t.Errorf("noHC: %v, want a refusal that names it", err)
	}
	noCommunity(t, fmt.Sprint(err))
}

func TestPlanMunin(t *testing.T) {
	h, found := findings(t, "trapped-munin")
	p, err := plan(t.Context(), h, found[0])
	if err != nil {
		t.Fatal(err)
	}
	f := p.Steps[0].(step.File)
	if want := strings.Replace(string(f.Was), "  env.version 1\n", "  env.version 2\n", 1); string(f.Content) != want || !f.Secret {
		t.Errorf("secret %v, content:\n%s\nwant:\n%s", f.Secret, f.Content, want)
	}
	noCommunity(t, p.Title+strings.Join(p.Notes, "\n")+f.Describe())
	if v := judgeMunin("f", f.Content); len(v.bad) > 0 || !v.asks {
		t.Errorf("after the plan: %+v", v)
	}
}

func TestRefusals(t *testing.T) {
	for file, want := range map[string]string{"trapped": "Debian 10 and later", "trapped-32-bit-kernel": "64-bit kernel",
		"trapped-others": "ifHCInOctets", "trapped-prometheus": "ifHCInOctets"} {
		h, found := findings(t, file)
		if len(found) == 0 {
			t.Errorf("%s: nothing found", file)
		}
		for _, f := range found {
			_, err := plan(t.Context(), h, f)
			var no *remedy.Refusal
			if !errors.As(err, &no) || !strings.Contains(no.Why, want) {
				t.Errorf("%s: %v, want a refusal with %q", file, err, want)
			}
		}
	}
}

// TestSNMPJobs: which modules and credentials a job asks for, and what comes of it.
func TestSNMPJobs(t *testing.T) {
	const conf = "auths:\n  old:\n    version: 1\n    community: secret-community\nmodules:\n" +
		"  if_mib:\n    metrics:\n    - oid: 1.3.6.1.2.1.2.2.1.16\n    - oid: 1.3.6.1.2.1.31.1.1.1.10\n  narrow:\n    metrics:\n    - oid: " +
		"\"1.3.6.1.2.1.2.2.1.10\"\n" +
		"  ups:\n    metrics:\n    - oid: 1.3.6.1.4.1.318.1\n"
	for jobs, want := range map[string]string{
		"[]": "unsure",
		"[{job_name: a, metrics_path: /metrics}]":                                                 "unsure",
		"[{job_name: a, metrics_path: /snmp}]":                                                    "fine",
		"[{job_name: a, metrics_path: /snmp, params: {module: [narrow]}}]":                        "bad",
		"[{job_name: a, metrics_path: /exporter/snmp/, params: {module: ['ups,narrow']}}]":        "bad",
		"[{job_name: a, metrics_path: /snmp, params: {module: [narrow, if_mib]}}]":                "fine",
		"[{job_name: a, metrics_path: /snmp, params: {module: [if_mib], auth: [old]}}]":           "bad",
		"[{job_name: a, metrics_path: /snmp, params: {module: [ups]}}]":                           "fine",
		"[{job_name: a, metrics_path: /snmp, file_sd_configs: [{files: [x]}]}]":                   "unsure",
		"[{job_name: a, metrics_path: /snmp, relabel_configs: [{target_label: __param_module}]}]": "unsure",
		"[{job_name: a, metrics_path: /snmp, static_configs: [{targets: " +
			"[x], labels: {__param_auth: old}}], params: {module: [if_mib]}}]": "unsure",
	} {
		var c scrapeConf
		if err := yaml.Unmarshal([]byte("scrape_configs: "+jobs), &c); err != nil {
			t.Fatal(err)
		}
		v := judgeSNMP("f", []byte(conf), &c)
		got := "fine"
		switch {
		case len(v.bad) > 0:
			got = "bad"
		case v.unsure != "":
			got = "unsure"
		}
		if got != want || !v.asks {
			t.Errorf("%s: %s, want %s: %+v", jobs, got, want, v)
		}
		noCommunity(t, fmt.Sprintf("%+v", v))
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzPollers(f *testing.F) {
	for _, s := range []string{"Target[a]: 2:c@h\nMaxBytes[a]: 125000000\n", "Interval: 1:30\n x\nTarget[_]: x\n",
		"Target[a]: ifInOctets.1&ifO" +
			"utOctets.1:c@[::1]:::::2|f\n",
		"[agent]\n interval = \"1m\"\noid = \"IF-MIB::ifTable\"\n", "Interval 300\nValues \"ifInOctets\"\n", "[snmp_*]\nenv.version 1\n",
		"modules:\n  a:\n    metrics:\n    - name: x\n      oid: 1.3.6.1.2.1.2.2.1.10\nauths:\n  b:\n    version: 1\n", "a:\n  version: 1\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, p := range known {
			p.judge("f", b)
		}
		judgeSNMP("f", b, &scrapeConf{Jobs: []scrapeJob{{Path: "/snmp", Params: map[string][]string{"module": {"a"}, "auth": {"b"}}}}})
		c := parseMRTG(b)
		for _, x := range c.targets {
			if p, ok := x.port(); ok && strings.Count(p.speaks2(), "@") < 1 {
				t.Errorf("%q becomes %q", x.text, p.speaks2())
			}
			if x.line > x.last {
				t.Errorf("lines %d..%d", x.line, x.last)
			}
		}
	})
}
