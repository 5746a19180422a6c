package measure

import (
	"math"

	"fettle/measure/disks"
	"fettle/report"
)

type diskGroup struct {
	Name    string       `json:"name"`
	Kind    string       `json:"kind"`
	Members []diskMember `json:"members"`
	Enough  bool         `json:"compared"` // false: its members did too little
	Slow    []slowMember `json:"slow"`
}

type diskMember struct {
	Disk      string   `json:"disk"`
	Seconds   float64  `json:"seconds"`
	Reads     float64  `json:"reads"`
	Writes    float64  `json:"writes"`
	ReadMS    float64  `json:"read_ms"`  // mean
	WriteMS   float64  `json:"write_ms"` // mean
	ReadByte  float64  `json:"read_bytes"`
	WriteByte float64  `json:"write_bytes"`
	Busy      *float64 `json:"busy,omitempty"` // 0 to 1
}

type slowMember struct {
	Disk      string  `json:"disk"`
	Direction string  `json:"direction"`
	Times     float64 `json:"times"`          // its siblings' median
	Gain      float64 `json:"gain,omitempty"` // none where no request waits for all
}

func disksJSON(look diskLook) disksDocument {
	out := []diskGroup{}
	for _, g := range look.groups {
		v := g.Judge()
		d := diskGroup{Name: g.Name, Kind: g.Kind, Enough: v.Compared, Slow: []slowMember{}}
		for _, m := range g.Members {
			dm := diskMember{m.Name, m.Time.Seconds(), m.Reads, m.Writes, m.ReadWait.Seconds() * 1000, m.WriteWait.Seconds() * 1000, m.ReadBytes, m.WriteBytes, nil}
			if m.Busy >= 0 {
				dm.Busy = &m.Busy
			}
			d.Members = append(d.Members, dm)
		}
		for _, s := range v.Slow {
			d.Slow = append(d.Slow, slowMember{s.Member, string(s.Direction), round2(s.Ratio), round2(s.Gain)})
		}
		out = append(out, d)
	}
	return disksDocument{report.NewEnvelope("disks"), out, poolsJSON(look)}
}

// disksDocument is what fettle measure disks --format json prints.
type disksDocument struct {
	report.Envelope
	Groups []diskGroup `json:"groups"`
	Pools  []diskPool  `json:"pools"`
}

func round2(v float64) float64 { return math.Round(v*100) / 100 }

// diskPool is how a pool of ZFS spreads its writes.
type diskPool struct {
	Name    string      `json:"name"`
	Rule    string      `json:"rule"`
	Assumed bool        `json:"rule_assumed"` // the module's parameters are not known
	Vdevs   []diskShare `json:"vdevs"`
	Enough  bool        `json:"compared"` // false: too little was written
	Lags    string      `json:"lags,omitempty"`
}

type diskShare struct {
	Vdev      string   `json:"vdev"`
	Alloc     float64  `json:"alloc_bytes"`
	Free      float64  `json:"free_bytes"`
	Predicted float64  `json:"predicted"` // shares are 0 to 1
	Low       float64  `json:"low"`
	High      float64  `json:"high"`
	Written   *float64 `json:"written,omitempty"`
	Bytes     float64  `json:"written_bytes"`
}

func poolsJSON(look diskLook) []diskPool {
	out := []diskPool{}
	for _, p := range look.pools {
		data := p.Data()
		shares := look.rule.Shares(data)
		compared := disks.Compare(shares)
		d := diskPool{Name: p.Name, Rule: look.rule.String(), Assumed: look.rule.Assumed, Enough: compared.Enough && look.over > 0}
		if compared.Lags != nil && d.Enough {
			d.Lags = compared.Lags.Vdev
		}
		for i, s := range shares {
			share := diskShare{s.Vdev, data[i].Alloc, data[i].Free, round4(s.Predicted), round4(s.Low), round4(s.High), nil, s.WrittenBytes}
			if s.Written >= 0 {
				share.Written = new(round4(s.Written))
			}
			d.Vdevs = append(d.Vdevs, share)
		}
		out = append(out, d)
	}
	return out
}

func round4(v float64) float64 { return math.Round(v*1e4) / 1e4 }
