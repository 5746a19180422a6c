package app

import (
	"time"

	"fettle/engine/run"
	"fettle/internal/build"
	"fettle/report"
)

// Meta is what a report says of a run that began at started.
func Meta(ab run.About, started time.Time) report.Meta {
	return report.Meta{
		Host:     ab.Name,
		Kind:     ab.Kind,
		Identity: ab.Identity,
		Machine:  ab.Machine,
		Version:  build.Version(),
		Warning:  ab.Warning,
		Started:  started,
	}
}
