package notify

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle/engine/trap"
	"fettle/internal/config"
	"fettle/internal/means"
)

// A summary cannot add a header: RFC 5322 section 2.2 ends a field at a line's end.
func TestHeadersAreOneLine(t *testing.T) {
	m := &Message{Text: "x\r\nBcc: victim@example.org\n\nbody\x00\x1b[31m"}
	head, _, _ := strings.Cut(string(mailText(&config.Channel{Mail: config.Words{"root"}}, m)), "\n\n")
	for line := range strings.Lines(head) {
		if strings.HasPrefix(line, "Bcc:") || strings.HasPrefix(line, "body") {
			t.Errorf("the header has a line of the summary's:\n%s", head)
		}
	}
	if strings.ContainsAny(head, "\r\x00\x1b") {
		t.Errorf("control characters in the header: %q", head)
	}
}

// What a URL or a header holds stays one value of curl's configuration.
func TestQuotesForCurl(t *testing.T) {
	srv, received := receiver(t, http.StatusOK)
	odd := `a"b\c\n--output /tmp/owned`
	r := request{method: "POST", url: srv.URL, headers: [][2]string{{"X-Odd", odd}}, body: []byte("x")}
	if err := (Sender{Curl: means.Tool(t, "curl")}).ask(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if all := received(); len(all) != 1 || all[0].header.Get("X-Odd") != odd {
		t.Errorf("%+v, want a header %q", all, odd)
	}
}

// A channel that takes what it is given and never answers ends with its time limit,
// and keeps none of the others from being told.
func TestChannelsHaveALimit(t *testing.T) {
	out := filepath.Join(t.TempDir(), "told.prom")
	s := Sender{Sendmail: script(t, "exec sleep 60\n"), Timeout: 200 * time.Millisecond}
	channels := []config.Channel{{Mail: config.Words{"root"}}, {Textfile: out}}
	began := time.Now()
	err := s.Tell(t.Context(), t.TempDir(), channels, runOf(found("x", trap.Warning, "one")))
	if err == nil || !strings.Contains(err.Error(), "telling mail to root") {
		t.Errorf("a mail server that hangs: %v", err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("a channel with a limit of 200 ms took %s", took)
	}
	if _, err := os.Stat(out); err != nil {
		t.Errorf("the channel after it was not told: %v", err)
	}
	if got := System().Timeout; got != time.Minute {
		t.Errorf("a usual system gives a channel %s", got)
	}
}
