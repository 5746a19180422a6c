package draw

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"fettle/internal/chart"
)

var phases = chart.Bars{Name: "login", Title: "web1 <&>", X: "seconds", Bars: []chart.Bar{
	{Name: "connect", Value: 0.02, Low: 0.01, High: 0.03},
	{Name: "auth none", Value: 1, Low: 0.9, High: 1.4},
	{Name: "session open", Value: 0.5, Low: 0.5, High: 0.5},
}}

func TestWriteBars(t *testing.T) {
	var b bytes.Buffer
	if err := WriteBars(&b, phases, "svg"); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for d := xml.NewDecoder(&b); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	at := -1
	for _, want := range []string{"session open", "auth none", "connect"} { // drawn from below
		i := strings.Index(text, want)
		if i < at {
			t.Errorf("%s is out of order", want)
		}
		at = i
	}
	if err := WriteBars(io.Discard, chart.Bars{Title: "empty"}, "svg"); err != nil {
		t.Error(err)
	}
	if err := WriteBars(io.Discard, phases, "gif87"); err == nil {
		t.Error("a format that nobody knows")
	}
}
