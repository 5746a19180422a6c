package check

import (
	"io"
	"time"

	"fettle/report"
)

// fleetCSV writes the rows of each host when it is done.
type fleetCSV struct {
	w     io.Writer
	began bool
}

func (f *fleetCSV) begin() error {
	if f.began {
		return nil
	}
	f.began = true
	return report.CSVHeader(f.w)
}

func (f *fleetCSV) host(name string, h *hostReport) error {
	if err := f.begin(); err != nil {
		return err
	}
	if err := report.CSVRows(f.w, name, h.doc.Results); err != nil || h.err == nil {
		return err
	}
	return report.CSVFailed(f.w, name, h.err.Error())
}

func (f *fleetCSV) end(*fleetReport, time.Duration) error { return f.begin() }
