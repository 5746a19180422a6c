package capture

import (
	"encoding/json"
	"strings"
	"testing"

	"fettle/host"
	"fettle/host/redact"
)

// TestJournalIsRedacted: what programs log holds passwords, names, addresses.
func TestJournalIsRedacted(t *testing.T) {
	r, err := redact.New([]byte("0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	in := host.Journal{Failed: host.Log{Source: "journalctl", Lines: 1, Messages: []host.Message{
		{By: "app", Unit: "app.service", Text: "error: login of zaphod at 203.0.113.7 with password=Slartibartfast failed", Count: 3},
		{By: "app", Unit: "app.service", Text: "started with --token Magrathea42xyz on heartofgold.example.org"},
	}}}
	b, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	out, ok := redactJournal(r, b)
	if !ok {
		t.Fatal("dropped")
	}
	for _, secret := range []string{"zaphod", "203.0.113.7", "Slartibartfast", "Magrathea", "heartofgold"} {
		if strings.Contains(string(out), secret) {
			t.Errorf("%s is left in %s", secret, out)
		}
	}
	var back host.Journal
	if err := json.Unmarshal(out, &back); err != nil || back.Failed.Messages[0].Count != 3 ||
		!strings.HasPrefix(back.Failed.Messages[0].Text, "error: ") {
		t.Errorf("%v %+v", err, back.Failed)
	}
}
