package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"fettle/engine/trap"
)

// TestNoFacts: what plans are made of stays out of documents, recorded runs and lines, and
// stays with the result.
func TestNoFacts(t *testing.T) {
	r := trap.Result{Trap: "demo", Outcomes: []trap.Outcome{{
		Trap: "demo", Status: trap.Found, Subject: "x", Facts: trap.FactsOf(map[string]string{"command": "curl -u admin:hunter2"}),
	}}}
	doc, err := json.Marshal(NewDocument(Meta{}, nil, []trap.Result{r}, time.Second))
	if err != nil {
		t.Fatal(err)
	}
	var lines bytes.Buffer
	if err := newJSONL(&lines, Options{}).Result(r); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{string(doc), lines.String()} {
		if !strings.Contains(out, `"demo"`) || strings.Contains(out, "hunter2") || strings.Contains(out, `"facts"`) {
			t.Errorf("facts in %s", out)
		}
	}
	if len(r.Outcomes[0].Facts) == 0 {
		t.Error("the result itself lost its facts")
	}
}
