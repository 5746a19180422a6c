package draw

import (
	"errors"
	"io"

	"fettle/internal/chart"
)

// Picture draws p in a format: "svg" or "png".
func Picture(w io.Writer, p chart.Picture, format string) error {
	switch {
	case p.Plot != nil:
		return Write(w, *p.Plot, format)
	case p.Bars != nil:
		return WriteBars(w, *p.Bars, format)
	}
	return errors.New("a picture of nothing")
}
