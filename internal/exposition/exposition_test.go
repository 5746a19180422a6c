package exposition

import (
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// TestReadByPrometheus: Prometheus' own parser reads back what was written.
func TestReadByPrometheus(t *testing.T) {
	var page Text
	page.Gauge("a_bytes", "Some bytes.")
	Add(&page, 1.5e300)
	page.Counter("b_total", "Of each.")
	odd := "q\"\\\nc\xff\x1b"
	Add(&page, 7, "x", "one", "y", odd)
	Add(&page, true, "x", "two", "y", "")
	p := expfmt.NewTextParser(model.UTF8Validation)
	families, err := p.TextToMetricFamilies(strings.NewReader(page.String()))
	if err != nil {
		t.Fatalf("%v\n%s", err, page.String())
	}
	if a := families["a_bytes"]; a.GetType().String() != "GAUGE" || a.GetHelp() != "Some bytes." ||
		a.Metric[0].GetGauge().GetValue() != 1.5e300 {
		t.Errorf("%v", a)
	}
	b := families["b_total"]
	if b.GetType().String() != "COUNTER" || len(b.Metric) != 2 || b.Metric[0].GetCounter().GetValue() != 7 ||
		b.Metric[1].GetCounter().GetValue() != 1 {
		t.Fatalf("%v", b)
	}
	if y := b.Metric[0].Label[1]; y.GetName() != "y" || !strings.HasPrefix(y.GetValue(), `q"\`) || strings.Contains(y.GetValue(), "\x1b") ||
		strings.Contains(y.GetValue(), "\xff") {
		t.Errorf("%q", y.GetValue())
	}
}
