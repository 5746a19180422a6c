//go:build !race

// The figures of programs under the race detector say nothing.

package emulate

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fettle/fleet/hub"
	"fettle/fleet/hub/bus"
	"fettle/fleet/hub/message"
	"fettle/fleet/hub/store/storetest"
	"fettle/internal/chart"
	"fettle/internal/chart/draw"
	"fettle/internal/means"
)

// figures are those of one size of the fleet.
type figures struct {
	Agents    int
	Connect   float64            // seconds, of those that came with this step
	Reports   float64            // until their first reports are stored
	Added     int                // so many
	Sweeps    []float64          // seconds from the question to the last answer acknowledged
	Processor map[string]float64 // seconds of it, of the last sweep, by part
	Rest      map[string]float64 // MB by part, a while after it
	Peak      map[string]float64 // at most in the sweeps
	Pages     map[string]float64 // milliseconds, the median of nine
}

// measured is a cluster: three NATS servers, two hubs, PostgreSQL and the agents.
type measured struct {
	t     *testing.T
	parts map[string][]int // processes
	hubs  []*part
	many  []*part
	webs  []string
	ask   func()

	postgres int
}

// TestCluster measures a cluster of three NATS servers, two hubs and PostgreSQL with as many agents as EMULATE_CLUSTER
// lists: "1000,3000,10000,20000,50000". The folder EMULATE_OUT gets the figures as JSON, and plots of them.
func TestCluster(t *testing.T) {
	means.Long(t, "measures a cluster with many agents")
	list := os.Getenv("EMULATE_CLUSTER")
	if list == "" {
		list = "300,600"
	}
	m := newMeasured(t)
	var all []figures
	for s := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n > 3*perServer {
			t.Fatalf("EMULATE_CLUSTER: %s", s)
		}
		was := 0
		if len(all) > 0 {
			was = all[len(all)-1].Agents
		}
		all = append(all, m.step(was, n))
		t.Logf("%+v", all[len(all)-1])
		if out := os.Getenv("EMULATE_OUT"); out != "" {
			if err := write(out, all); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// write writes figures and their plots into a folder.
func write(dir string, all []figures) error {
	b, err := json.MarshalIndent(all, "", "  ")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "hub-cluster.json"), append(b, '\n'), 0o644)
	}
	times := chart.Plot{Name: "hub-cluster-times", Title: "How long agents take, by their number", X: "agents", Y: "seconds"}
	memory := chart.Plot{Name: "hub-cluster-memory", Title: "Memory at rest, by the number of agents", X: "agents", Y: "MB"}
	curve := func(p *chart.Plot, name string, y func(figures) float64) {
		c := chart.Curve{Name: name}
		for _, f := range all {
			c.X, c.Y = append(c.X, float64(f.Agents)), append(c.Y, y(f))
		}
		p.Curves = append(p.Curves, c)
	}
	connect, reports := map[int]float64{}, map[int]float64{} // of all until then
	sumC, sumR := 0.0, 0.0
	for _, f := range all {
		sumC, sumR = sumC+f.Connect, sumR+f.Reports
		connect[f.Agents], reports[f.Agents] = sumC, sumR
	}
	curve(&times, "to connect", func(f figures) float64 { return connect[f.Agents] })
	curve(&times, "until first reports are stored", func(f figures) float64 { return reports[f.Agents] })
	curve(&times, "until all are asked and answered", func(f figures) float64 { return slices.Min(f.Sweeps) })
	for _, part := range []string{"nats", "hubs", "postgres"} {
		curve(&memory, map[string]string{"nats": "three NATS servers", "hubs": "two hubs", "postgres": "PostgreSQL"}[part],
			func(f figures) float64 { return f.Rest[part] })
	}
	for _, p := range []chart.Plot{times, memory} {
		var svg bytes.Buffer
		if err == nil {
			err = draw.Write(&svg, p, "svg")
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, p.Name+".svg"), svg.Bytes(), 0o644)
		}
	}
	return err
}

func newMeasured(t *testing.T) *measured {
	dir := t.TempDir()
	first := filepath.Join(dir, "hub0")
	if err := hub.OpenDir(first); err != nil {
		t.Fatal(err)
	}
	keys, err := bus.LoadKeys(first)
	if err != nil {
		t.Fatal(err)
	}
	conf := keys.ServerConfig()
	if _, err := bus.OwnCertificate(dir, []string{"127.0.0.1"}); err != nil {
		t.Fatal(err)
	}
	ca := filepath.Join(dir, bus.CAFile)
	servers := means.NewNATS(t, dir, filepath.Join(dir, "nats.pem"), filepath.Join(dir, "nats-key.pem"), "3G", conf)
	m := &measured{t: t, parts: map[string][]int{}}
	for _, s := range servers.Servers {
		m.parts["nats"] = append(m.parts["nats"], s.Process.Pid)
	}
	for _, a := range servers.Addrs {
		means.Dial(t, "tcp", a).Close()
	}
	pg := storetest.NewServer(t)
	m.parts["postgres"], m.postgres = []int{pg.PID()}, pg.PID()
	database := pg.Database(t)
	time.Sleep(5 * time.Second) // the servers elect a leader
	second := filepath.Join(dir, "hub1")
	if err := os.CopyFS(second, os.DirFS(first)); err != nil { // the keys
		t.Fatal(err)
	}
	for i, port := range means.Ports(t, 2) {
		own := fmt.Sprintf("127.0.0.1:%d", port)
		p := newPart(t, "EMULATE_ONE_HUB="+[]string{first, second}[i], "EMULATE_NATS="+servers.URLs(), "EMULATE_CA="+ca,
			"EMULATE_DATABASE="+database, "EMULATE_WEB="+own)
		m.parts["hubs"] = append(m.parts["hubs"], p.Process.Pid)
		m.webs = append(m.webs, "http://"+own)
		m.hubs = append(m.hubs, p)
	}
	heard(t, m.hubs)
	for i, addr := range servers.Addrs {
		p := newPart(t, "EMULATE_MANY="+first, "EMULATE_NATS="+addr, "EMULATE_CA="+ca, fmt.Sprintf("EMULATE_FIRST=%d", i*perServer))
		m.many = append(m.many, p)
		m.parts["agents"] = append(m.parts["agents"], p.Process.Pid)
	}
	pool, err := hub.Pool(ca)
	if err != nil {
		t.Fatal(err)
	}
	nc, err := bus.ConnectTo(servers.URLs(), keys, &tls.Config{RootCAs: pool}, func(s string) { t.Log(s) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	m.ask = func() {
		if err := bus.Ask(nc, "", message.NewAsk("now", false, 0)); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// step lets the fleet grow, and measures it.
func (m *measured) step(from, to int) figures {
	m.t.Helper()
	f := figures{Agents: to, Added: to - from, Pages: map[string]float64{}}
	start := time.Now()
	lap := func() float64 {
		s := time.Since(start).Seconds()
		start = time.Now()
		return s
	}
	do(m.t, m.many, func(i int) string { return fmt.Sprintf("connect %d", share(i, to)) })
	f.Connect = lap()
	do(m.t, m.many, func(i int) string { return fmt.Sprintf("report %d %d", share(i, from), share(i, to)) })
	f.Reports = lap()
	stop := m.watch()
	for range 3 {
		before := m.processor()
		start = time.Now()
		m.ask()
		do(m.t, m.many, func(i int) string { return fmt.Sprintf("answered %d", share(i, to)) })
		f.Sweeps = append(f.Sweeps, lap())
		f.Processor = m.processor()
		for part := range before {
			f.Processor[part] -= before[part]
		}
	}
	f.Peak = stop()
	time.Sleep(15 * time.Second)
	f.Rest = m.memory()
	for _, page := range []string{"/", "/changes", "/traps", "/trap/units-failed", "/hosts", "/host/h0000007", "/coverage",
		"/search?q=web00"} {
		f.Pages[page] = m.page(page)
	}
	return f
}

// share is how many of n agents are a part's.
func share(part, n int) int { return (n + part) / 3 }

// processor is the time that each part has computed, in seconds.
func (m *measured) processor() map[string]float64 {
	out := map[string]float64{}
	for part, pids := range m.processes() {
		for _, p := range pids {
			out[part] += processor(p)
		}
	}
	return out
}

func (m *measured) memory() map[string]float64 {
	out := map[string]float64{}
	for part, pids := range m.processes() {
		out[part] = resident(pids...)
	}
	return out
}

// processes are those of each part, PostgreSQL's children too.
func (m *measured) processes() map[string][]int {
	out := maps.Clone(m.parts)
	out["postgres"] = family(m.postgres)
	return out
}

// watch looks at the memory until stop, which returns the most that each part had.
func (m *measured) watch() (stop func() map[string]float64) {
	most, end, ended := map[string]float64{}, make(chan bool), make(chan bool)
	go func() {
		for {
			for part, mb := range m.memory() {
				most[part] = max(most[part], mb)
			}
			select {
			case <-end:
				close(ended)
				return
			case <-time.After(time.Second):
			}
		}
	}()
	return func() map[string]float64 { close(end); <-ended; return most }
}

// page is how long a page takes, in milliseconds: the median of nine.
func (m *measured) page(path string) float64 {
	m.t.Helper()
	var all []float64
	for i := range 9 {
		start := time.Now()
		r, err := http.NewRequestWithContext(m.t.Context(), http.MethodGet, m.webs[i%2]+path, nil)
		if err != nil {
			m.t.Fatal(err)
		}
		r.Header.Set(visitor, "ann")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			m.t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != http.StatusOK {
			m.t.Errorf("%s: %s, %v", path, res.Status, err)
		}
		all = append(all, float64(time.Since(start).Microseconds())/1000)
	}
	slices.Sort(all)
	return all[len(all)/2]
}
