// Package packaging tests what goes into packages, and what goes into others'
// monitoring.
package packaging

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"fettle/internal/means"
)

// golden is a report in a format, as fettle writes it.
func golden(t *testing.T, format string) []byte {
	t.Helper()
	b, err := os.ReadFile("../report/testdata/golden/" + format)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestPrometheusRules(t *testing.T) {
	promtool := means.Tool(t, "promtool")
	for _, args := range [][]string{{"check", "rules", "fettle.rules.yml"}, {"test", "rules", "fettle.rules.test.yml"},
		{"check", "rules", "fettle-hub.rules.yml"}, {"test", "rules", "fettle-hub.rules.test.yml"}} {
		cmd := exec.Command(promtool, args...)
		cmd.Dir = "engines/prometheus"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}

// TestDashboard has a real Prometheus scrape what fettle writes, and asks it
// each query of the dashboard; the rules must alert.
func TestDashboard(t *testing.T) {
	means.Short(t, "takes seconds")
	daemon := means.Tool(t, "prometheus")
	page := regexp.MustCompile(`(?m)^fettle_run_timestamp_seconds .*$`).
		ReplaceAll(golden(t, "prometheus"), fmt.Appendf(nil, "fettle_run_timestamp_seconds %d", time.Now().Add(-48*time.Hour).Unix()))
	exporter := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		w.Write(page)
	}))
	defer exporter.Close()
	dir := t.TempDir()
	rules, err := filepath.Abs("engines/prometheus/fettle.rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	conf := fmt.Sprintf(
		"global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [%s]\n"+
			"scrape_configs:\n- job_name: node\n  static_configs: [{targets: [%q]}]\n",
		rules,
		strings.TrimPrefix(exporter.URL, "http://"),
	)
	if err := os.WriteFile(filepath.Join(dir, "p.yml"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	cmd := exec.Command(daemon, "--config.file="+filepath.Join(dir, "p.yml"), "--storage.tsdb.path="+dir, "--web.listen-address="+addr)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	// ask returns how many series answer a query, or why none do.
	ask := func(query string) (series []map[string]string, err error) {
		r, err := http.Get("http://" + addr + "/api/v1/query?" + url.Values{"query": {query}}.Encode())
		if err != nil {
			return nil, err
		}
		defer r.Body.Close()
		var a struct {
			Status, Error string
			Data          struct {
				Result []struct{ Metric map[string]string }
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
			return nil, err
		}
		if a.Status != "success" {
			return nil, fmt.Errorf("%s: %s", a.Status, a.Error)
		}
		for _, s := range a.Data.Result {
			series = append(series, s.Metric)
		}
		return series, nil
	}
	var alerts []map[string]string
	for i := 0; len(alerts) == 0; i++ {
		if i > 300 {
			t.Fatalf("no alert after 30 s:\n%s", log.Bytes())
		}
		time.Sleep(100 * time.Millisecond)
		alerts, _ = ask(`ALERTS{alertstate="firing",alertname="FettleSilent"}`)
	}
	firing, err := ask(`ALERTS{alertstate="firing"}`)
	got := map[string]int{}
	for _, a := range firing {
		got[a["alertname"]]++
	}
	if err != nil || got["FettleCritical"] != 1 || got["FettleWarning"] != 1 || got["FettleSilent"] != 1 || len(got) != 3 {
		t.Errorf("firing: %v, %v", got, err)
	}
	for title, query := range dashboardQueries(t) {
		query = strings.ReplaceAll(query, "$instance", ".*")
		if series, err := ask(query); err != nil || len(series) == 0 {
			t.Errorf("panel %q: %d series, %v: %s", title, len(series), err, query)
		}
	}
}

// dashboardQueries are the queries of the dashboard's panels, by title.
func dashboardQueries(t *testing.T) map[string]string {
	t.Helper()
	b, err := os.ReadFile("engines/grafana/fettle.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct {
			ID      int
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatal(err)
	}
	out, ids := map[string]string{}, map[int]bool{}
	for _, p := range d.Panels {
		if ids[p.ID] || p.GridPos.X+p.GridPos.W > 24 || p.GridPos.W == 0 {
			t.Errorf("panel %q: its id %d or place %+v", p.Title, p.ID, p.GridPos)
		}
		ids[p.ID] = true
		for _, target := range p.Targets {
			out[p.Title] = target.Expr
		}
	}
	if len(out) < 8 {
		t.Errorf("%d panels", len(out))
	}
	return out
}

// TestCheckmk: the local check makes one line of Checkmk's of each line of a plugin's.
func TestCheckmk(t *testing.T) {
	script, err := os.ReadFile("engines/checkmk/fettle")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		says   string
		status int
		want   string
	}{
		{string(golden(t, "nagios")), 2, `^2 "fettle" critical=1\|warning=1\|notice=1\|unknown=1\|clear=3\|not_applicable=1\|accepted=1\|known=1\|time=3\.012 3 found \(1 critical.*unknown beta $`},
		{"FETTLE OK - 0 found; 3 clear, 0 not applicable, 0 unknown | critical=0;;;0 time=0.100s;;;0\n", 0,
			`^0 "fettle" critical=0\|time=0\.100 0 found; 3 clear`},
		{"FETTLE UNKNOWN - f.yaml:2:3: unknown field\n", 3, `^3 "fettle" - f.yaml:2:3: unknown field$`},
		{"", 127, `^3 "fettle" - fettle gave no report$`},
	} {
		dir := t.TempDir()
		plugin := filepath.Join(dir, "fettle")
		if err := os.WriteFile(filepath.Join(dir, "says"), []byte(c.says), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(plugin, fmt.Appendf(nil, "#!/bin/sh\ncat %s/says\nexit %d\n", dir, c.status), 0o755); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("/bin/sh", "-c", strings.ReplaceAll(string(script), "/usr/bin/fettle", plugin)).CombinedOutput()
		if err != nil || !regexp.MustCompile(c.want).Match(bytes.TrimRight(out, "\n")) || bytes.Count(out, []byte("\n")) != 1 {
			t.Errorf("%q: %v\n%s", c.says, err, out)
		}
	}
}

// TestZabbix: what the template takes out of a report is there.
func TestZabbix(t *testing.T) {
	b, err := os.ReadFile("engines/zabbix/fettle.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(b, &map[string]any{}); err != nil {
		t.Fatal(err)
	}
	var report map[string]any
	if err := json.Unmarshal(golden(t, "json"), &report); err != nil {
		t.Fatal(err)
	}
	paths := regexp.MustCompile(`- \$\.(\S+)`).FindAllStringSubmatch(string(b), -1)
	if len(paths) < 4 {
		t.Errorf("%d paths", len(paths))
	}
	for _, p := range paths {
		at := any(report)
		for name := range strings.SplitSeq(p[1], ".") {
			m, ok := at.(map[string]any)
			if at = m[name]; !ok || at == nil {
				t.Errorf("a report has no %s", p[1])
				break
			}
		}
	}
	uuids := regexp.MustCompile(`uuid: ([0-9a-f]{32})\n`).FindAllStringSubmatch(string(b), -1)
	seen := map[string]bool{}
	for _, u := range uuids {
		seen[u[1]] = true
	}
	if n := strings.Count(string(b), "uuid:"); n != len(seen) {
		t.Errorf("%d of %d uuids are good and its own", len(seen), n)
	}
}

// TestZabbixTakesIt: a real Zabbix imports the template, twice, its agent runs what
// fettle.conf says, and what is found there raises the triggers.
func TestZabbixTakesIt(t *testing.T) {
	long(t, "runs Zabbix's server, frontend and agent in a Debian root", "mmdebstrap", "systemd-nspawn")
	root := debianWith(
		t,
		"base-zabbix",
		"bookworm",
		"systemd-sysv,dbus,sudo,curl,jq,postgresql,zabbix-server-pgsql,zabbix-frontend-php,zabbix-agent,php-cli,php-pgsql",
	)
	for _, d := range []string{"packages", "result"} {
		if err := os.Mkdir(filepath.Join(root, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	run(t, "cp", built(t, "fettle_*_amd64.deb"), filepath.Join(root, "packages/fettle.deb"))
	run(t, "cp", "-r", "engines/zabbix", filepath.Join(root, "packages"))
	script, err := os.ReadFile("testdata/zabbix.sh")
	if err != nil {
		t.Fatal(err)
	}
	run(
		t,
		"systemd-nspawn",
		"-q",
		"--register=no",
		"--keep-unit",
		"--private-network",
		"--resolv-conf=off",
		"-D",
		root,
		"--pipe",
		"/bin/sh",
		"-c",
		string(script),
	)
	said := func(name string) string {
		b, err := os.ReadFile(filepath.Join(root, "result", name))
		if err != nil {
			t.Error(err)
		}
		return string(b)
	}
	t.Logf("%s%s%s%s", said("keys"), said("triggers"), said("values"), said("fired"))
	for line := range strings.Lines(said("told")) {
		if want := strings.TrimSpace(line) + " 0\n"; !strings.Contains(said("values"), want) {
			t.Errorf("fettle says %s, Zabbix has\n%s%s", line, said("values"), said("log"))
		}
	}
	if n := strings.Count(said("keys"), "\n"); n < 4 || strings.Count(said("values"), "\n") != n-1 {
		t.Errorf("%d items, of which have values:\n%s", n, said("values"))
	}
	if s := said("fired"); !strings.Contains(s, "1 fettle found traps\n") {
		t.Errorf("triggers:\n%s", s)
	}
}
