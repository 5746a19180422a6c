package render

import (
	"fmt"
	"strings"
	"time"

	"fettle/internal/chart"
	"fettle/internal/jsondoc"
	"fettle/internal/ui"
	"fettle/internal/units"
	"fettle/tools/measure/ksm"
)

// KSM is what fettle measure ksm measured.
type KSM ksm.Result

// mostProcesses are in the text; JSON has all.
const mostProcesses = 15

// Plot is the memory saved over time.
func (k KSM) Plot() *chart.Plot {
	p := &chart.Plot{Name: "saved", Title: "Memory saved by KSM", X: "seconds", Y: "MiB"}
	for _, r := range k.Runs {
		p.Curves = append(p.Curves, r.SavedCurve(r.Name))
	}
	return p
}

// Text is the plot, a table of the settings, and the processes.
func (k KSM) Text(t Terminal) string {
	var b strings.Builder
	fmt.Fprint(&b, k.Plot().Text(min(t.Width, 100), 10), "\n")
	table := ui.Table{Header: []string{"setting", "saved", "ksmd CPU", "MiB/CPU s", "worst min", "passes", "parted"},
		Right: []bool{false, true, true, true, true, true, true}}
	for _, r := range k.Runs {
		table.Rows = append(
			table.Rows,
			[]string{ui.Visible(r.Name), units.Size(r.Last().Saved() * r.Page), units.Duration(r.CPU()), perCPU(r.Series),
				fmt.Sprintf(
					"%.1f %%",
					100*r.WorstShare(),
				), fmt.Sprint(r.Last().Scans - r.First().Scans), fmt.Sprint(r.Last().Breaks - r.First().Breaks)},
		)
	}
	b.WriteString(table.Text(t.Width, "", ui.Painter(t.Colour)))
	b.WriteString(
		ui.Wrap("saved: at the end. MiB/CPU s: saved in addition, for a second of ksmd's CPU time. worst min: ksmd's share of one CPU in its"+
			" busiest minute. parted: merged pages that a write parted again.", t.Width, "", ""),
	)
	if last := k.Runs[len(k.Runs)-1].Last(); last.HasProfit {
		fmt.Fprintf(&b, "\nSaved less the kernel's records of pages: %s\n", signedSize(last.Profit))
	}
	return b.String() + k.processesText(t)
}

func (k KSM) processesText(t Terminal) string {
	var b strings.Builder
	switch {
	case k.Unknown != nil:
		b.WriteString("\n" + ui.Wrap(k.Unknown.Error()+".", t.Width, "", ""))
	case len(k.Processes) == 0 && k.Closed == 0:
		b.WriteString("\nNo process has merged pages.\n")
		if last := k.Runs[len(k.Runs)-1].Last(); last.Saved() == 0 {
			b.WriteString(ui.Wrap("None offers memory to KSM: only what a program marks with MADV_MERGEABLE (QEMU marks its guests') or "+
				"prctl(PR_SET_MEMORY_MERGE) is merged. The figures above say nothing about the settings.", t.Width, "", ""))
		}
	case len(k.Processes) > 0:
		table := ui.Table{
			Header: []string{"process", "name", "merged", "known", "saved less records"},
			Right:  []bool{true, false, true, true, true},
		}
		for _, p := range k.Processes[:min(len(k.Processes), mostProcesses)] {
			profit := "-"
			if p.HasProfit {
				profit = signedSize(p.Profit)
			}
			table.Rows = append(
				table.Rows,
				[]string{fmt.Sprint(p.PID), ui.Visible(p.Comm), units.Size(p.Merging * k.Page), units.Size(p.Known * k.Page), profit},
			)
		}
		b.WriteString("\n" + table.Text(t.Width, "", ui.Painter(t.Colour)))
		if more := len(k.Processes) - mostProcesses; more > 0 {
			fmt.Fprintf(&b, "and %s\n", units.Count(more, "more process", "more processes"))
		}
	}
	if k.Closed > 0 {
		b.WriteString(
			ui.Wrap(
				fmt.Sprintf("Could not inspect %s of other users: run this as root.", units.Count(k.Closed, "process", "processes")),
				t.Width,
				"",
				"",
			),
		)
	}
	return b.String()
}

// perCPU is the MiB saved in addition for a second of CPU time.
func perCPU(s ksm.Series) string {
	bytes, ok := s.SavedPerCPU()
	if !ok {
		return "-"
	}
	return fmt.Sprintf("%.0f", bytes/(1<<20))
}

func signedSize(n int64) string {
	if n < 0 {
		return "-" + units.Size(-n)
	}
	return units.Size(n)
}

type ksmDocument struct {
	jsondoc.Envelope
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

// Document is fettle measure ksm --format json.
func (k KSM) Document() any {
	d := ksmDocument{Envelope: jsondoc.New("ksm"), PageBytes: k.Page, Runs: []ksmTrial{}, Processes: []ksmProcess{}, Closed: k.Closed}
	if k.Unknown != nil {
		d.Unasked = k.Unknown.Error()
	}
	for _, r := range k.Runs {
		d.Runs = append(d.Runs, trialDocument(r))
	}
	for _, p := range k.Processes {
		q := ksmProcess{PID: p.PID, Name: p.Comm, MergedBytes: p.Merging * k.Page, KnownBytes: p.Known * k.Page}
		if p.HasProfit {
			q.Profit = &p.Profit
		}
		d.Processes = append(d.Processes, q)
	}
	return d
}

func trialDocument(r ksm.Run) ksmTrial {
	first, last := r.First(), r.Last()
	t := ksmTrial{
		Setting:     r.Name,
		Seconds:     inSeconds(r.Took()),
		SavedBytes:  int64(last.Saved() * r.Page),
		GainedBytes: r.Saved(),
		CPUSeconds:  inSeconds(r.CPU()),
		WorstMinute: round4(r.WorstShare()),
		Passes:      last.Scans - first.Scans,
		Parted:      last.Breaks - first.Breaks,
		Readings:    []ksmSample{},
	}
	if last.HasProfit {
		t.Profit = &last.Profit
	}
	for _, s := range r.States {
		t.Readings = append(
			t.Readings,
			ksmSample{
				inSeconds(s.At.Sub(first.At)),
				s.Saved() * r.Page,
				s.Known() * r.Page,
				inSeconds(s.CPU - first.CPU),
				s.Breaks - first.Breaks,
			},
		)
	}
	return t
}

// inSeconds rounds to milliseconds.
func inSeconds(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }
