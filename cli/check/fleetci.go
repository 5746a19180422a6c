package check

import (
	"io"
	"time"

	"fettle/internal/junit"
	"fettle/report"
)

// fleetJUnit writes a suite for each host when it is done.
type fleetJUnit struct {
	out *junit.Stream
	opt report.Options
}

func (f *fleetJUnit) host(name string, h *hostReport) error {
	return f.out.Add(report.JUnitHost(name, &h.doc, f.opt, h.err))
}

func (f *fleetJUnit) end(*fleetReport, time.Duration) error { return f.out.End() }

// fleetSARIF writes a run for each host when it is done.
type fleetSARIF struct {
	list listWriter
	opt  report.Options
}

func newFleetSARIF(w io.Writer, opt report.Options) *fleetSARIF {
	return &fleetSARIF{listWriter{w: w, list: "runs"}, opt}
}

func (f *fleetSARIF) host(name string, h *hostReport) error {
	return f.list.add(report.SARIFLog([]report.SARIFRun{}), report.SARIFHost(name, &h.doc, f.opt, h.err))
}

func (f *fleetSARIF) end(*fleetReport, time.Duration) error {
	return f.list.end(report.SARIFLog([]report.SARIFRun{}))
}
