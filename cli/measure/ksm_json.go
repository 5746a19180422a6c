package measure

import (
	"math"
	"os"
	"time"

	"fettle/measure/ksm"
	"fettle/report"
)

// ksmDocument is what fettle measure ksm --format json prints.
type ksmDocument struct {
	report.Envelope
	PageBytes uint64       `json:"page_bytes"`
	Runs      []ksmTrial   `json:"runs"`
	Processes []ksmProcess `json:"processes"`
	// Unasked is why processes are missing.
	Unasked string `json:"processes_unknown,omitempty"`
	Closed  int    `json:"processes_not_inspected"`
}

type ksmTrial struct {
	Setting     string      `json:"setting"`
	Seconds     float64     `json:"seconds"`
	SavedBytes  int64       `json:"saved_bytes"` // at the end
	GainedBytes int64       `json:"gained_bytes"`
	CPUSeconds  float64     `json:"cpu_seconds"`
	WorstMinute float64     `json:"worst_minute_share"` // of one CPU
	Passes      uint64      `json:"passes"`
	Parted      uint64      `json:"parted_pages"`
	Profit      *int64      `json:"profit_bytes,omitempty"` // Linux 6.4
	Readings    []ksmSample `json:"readings"`
}

type ksmSample struct {
	Seconds    float64 `json:"seconds"`
	SavedBytes uint64  `json:"saved_bytes"`
	KnownBytes uint64  `json:"known_bytes"`
	CPUSeconds float64 `json:"cpu_seconds"`
	Parted     uint64  `json:"parted_pages"`
}

type ksmProcess struct {
	PID         int    `json:"pid"`
	Name        string `json:"name"`
	MergedBytes uint64 `json:"merged_bytes"`
	KnownBytes  uint64 `json:"known_bytes"`
	Profit      *int64 `json:"profit_bytes,omitempty"`
}

func ksmJSON(runs []ksmRun, procs []ksm.Process, closed int, perr error) ksmDocument {
	page := pageBytes()
	d := ksmDocument{Envelope: report.NewEnvelope("ksm"), PageBytes: page, Runs: []ksmTrial{}, Processes: []ksmProcess{}, Closed: closed}
	if perr != nil {
		d.Unasked = perr.Error()
	}
	for _, r := range runs {
		first, last := r.First(), r.Last()
		t := ksmTrial{Setting: r.name, Seconds: inSeconds(r.Took()), SavedBytes: int64(last.Saved() * page), GainedBytes: r.Saved(), CPUSeconds: inSeconds(r.CPU()),
			WorstMinute: round4(share(r.WorstMinute(), r.Series)), Passes: last.Scans - first.Scans, Parted: last.Breaks - first.Breaks, Readings: []ksmSample{}}
		if last.HasProfit {
			t.Profit = &last.Profit
		}
		for _, s := range r.States {
			t.Readings = append(t.Readings, ksmSample{inSeconds(s.At.Sub(first.At)), s.Saved() * page, s.Known() * page, inSeconds(s.CPU - first.CPU), s.Breaks - first.Breaks})
		}
		d.Runs = append(d.Runs, t)
	}
	for _, p := range procs {
		q := ksmProcess{PID: p.PID, Name: p.Comm, MergedBytes: p.Merging * page, KnownBytes: p.Known * page}
		if p.HasProfit {
			q.Profit = &p.Profit
		}
		d.Processes = append(d.Processes, q)
	}
	return d
}

func pageBytes() uint64 { return uint64(os.Getpagesize()) }

// inSeconds rounds to milliseconds.
func inSeconds(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }

func round4(v float64) float64 { return math.Round(v*1e4) / 1e4 }
