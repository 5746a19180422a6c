// Package synthetic generates fleets for tests and measurements: reports of any
// number of hosts, made of outcomes that the checks gave on the golden hosts.
// The same numbers always give the same fleet.
package synthetic

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"fettle/engine/trap"
	"fettle/fleet/hub/message"
	"fettle/host"
	"fettle/host/fact/machine"
	"fettle/report"
)

// corpus is what the checks of all traps say of their golden hosts, packed: see
// TestCorpus.
//
//go:embed corpus.json.zst
var corpus []byte

// Sample is what one trap's check said.
type Sample struct {
	report.TrapInfo
	Outcomes [][]trap.Outcome `json:"outcomes"` // of each golden host that tells something
}

// Samples are those of all traps.
var Samples = sync.OnceValue(func() []Sample {
	b, err := message.Swell(corpus)
	if err != nil {
		panic(err)
	}
	var out []Sample
	if err := json.Unmarshal(b, &out); err != nil {
		panic(err)
	}
	return out
})

// Fleet is a number of made-up hosts.
type Fleet struct {
	Seed  uint64
	Hosts int
	// PerHost is about how many traps tell something on a host.
	PerHost float64
	Start   time.Time // the day on which the fleet's days begin
}

var (
	sites  = []string{"ams", "ber", "cdg", "dub", "fra", "lhr", "prg", "waw"}
	duties = []string{"web", "db", "cache", "build", "mail", "store"}
	oses   = []string{"Debian 11", "Debian 12", "Debian 12", "Debian 13", "Ubuntu 22.04", "Ubuntu 24.04"}
)

// Name of a host.
func (f Fleet) Name(i int) string {
	return fmt.Sprintf("%s%05d.%s.example.org", duties[i%len(duties)], i, sites[i/len(duties)%len(sites)])
}

// Group of a host: its duty at its site.
func (f Fleet) Group(i int) string {
	return sites[i/len(duties)%len(sites)] + "-" + duties[i%len(duties)]
}

// Document is what fettle check says of a host on a day. A trap's outcomes
// stay for weeks, and are then others, or gone.
func (f Fleet) Document(i, day int) *report.Document {
	id := rand.New(rand.NewPCG(f.Seed, uint64(i)))
	at := f.Start.Add(time.Duration(day)*24*time.Hour + time.Duration(id.IntN(3600))*time.Second)
	meta := report.Meta{Host: f.Name(i), Kind: host.KindLive, Version: "1.0", Started: at,
		Identity: host.Identity{
			Hostname: f.Name(i),
			Sysname:  "Linux",
			Release:  fmt.Sprintf("6.1.0-%d-amd64", 20+id.IntN(8)),
			Machine:  "x86_64",
			Time:     at,
			BootID:   fmt.Sprintf("%016x", id.Uint64()),
		},
		Machine: machine.Facts{Distribution: oses[id.IntN(len(oses))], Kind: "KVM guest", Up: time.Duration(1+day) * 24 * time.Hour}}
	var results []trap.Result
	var infos []report.TrapInfo
	all := Samples()
	for t := range all {
		s := &all[t]
		infos = append(infos, s.TrapInfo)
		results = append(results, trap.Result{Trap: s.ID, Outcomes: f.outcomes(s, i, t, day), Took: time.Millisecond})
	}
	d := report.NewDocument(meta, nil, results, 200*time.Millisecond)
	d.Traps = infos
	return d
}

// outcomes of a trap on a host: few traps are met by many hosts, and many by few.
func (f Fleet) outcomes(s *Sample, i, t, day int) []trap.Outcome {
	clear := []trap.Outcome{{Trap: s.ID, Status: trap.Clear, Summary: "is as it should be"}}
	if len(s.Outcomes) == 0 {
		return clear
	}
	// Weeks of a host and trap begin on days of their own.
	own := rand.New(rand.NewPCG(f.Seed^uint64(t)<<32, uint64(i)))
	era := (day + own.IntN(40)) / 40
	r := rand.New(rand.NewPCG(f.Seed+uint64(era)*0x9e3779b97f4a7c15, uint64(i)<<16|uint64(t)))
	perHost := f.PerHost
	if perHost == 0 {
		perHost = 4
	}
	// Zipf's law: the k-th trap is met 1/k as often as the first.
	weight := 1 / (float64(t) + 3) / weights()
	if r.Float64() > weight*perHost {
		return clear
	}
	return s.Outcomes[r.IntN(len(s.Outcomes))]
}

// weights is the sum of those of all traps.
var weights = sync.OnceValue(func() (sum float64) {
	for k := range Samples() {
		sum += 1 / (float64(k) + 3)
	}
	return sum
})

// State is what is sent of a host on a day.
func (f Fleet) State(i, day int) message.State { return message.StateOf(f.Document(i, day)) }

// Agent is the name of a host's agent.
func (f Fleet) Agent(i int) string { return fmt.Sprintf("h%07d", i) }
