package render

import (
	"fmt"
	"strings"

	"fettle/internal/chart"
	"fettle/internal/jsondoc"
	"fettle/internal/ui"
	"fettle/tools/measure/login/cause"
)

// LoginServer is what the experiments of fettle measure login --server-side found.
type LoginServer struct{ *cause.Report }

// Text is the steps of a login as bars, and what each cause costs.
func (r LoginServer) Text(t Terminal) string {
	var b strings.Builder
	b.WriteString(
		ui.Wrap(
			fmt.Sprintf(
				"Logins of %s from %s: %s; any login here takes %s of that",
				ui.Visible(r.User),
				r.Client,
				seconds(r.Total),
				seconds(r.Floor),
			),
			t.Width,
			"",
			"  ",
		) + "\n",
	)
	bars := chart.Bars{}
	for _, s := range r.Steps {
		bars.Bars = append(bars.Bars, chart.Bar{Name: ui.Cut(ui.Visible(s.Name), 50), Value: s.Seconds})
	}
	fmt.Fprintf(&b, "  seconds\n%s\n", bars.Text(t.Width, t.block()))
	if len(r.Causes) == 0 && r.Delay() < cause.Slow {
		fmt.Fprintf(&b, "Nothing is slow: %s.\n", seconds(r.Total))
	} else {
		fmt.Fprintf(&b, "Explained: %s of %s (%.0f %%)\n", seconds(r.Explained()), seconds(r.Delay()), 100*r.Explained()/max(r.Delay(), 0.001))
	}
	b.WriteString(causesText(r.Causes, t.Width))
	if len(r.IfTried) > 0 {
		b.WriteString("Only for clients that try it:\n" + causesText(r.IfTried, t.Width))
	}
	b.WriteString(unexaminedText(r.Unknown, t.Width))
	return b.String()
}

type loginServerDocument struct {
	jsondoc.Envelope
	*cause.Report
}

// Document is the experiments as JSON, from which fettle on another host reads
// them back.
func (r LoginServer) Document() any {
	return loginServerDocument{jsondoc.New("login-server"), r.Report}
}
