package api

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle/fleet/hub/store"
)

// TestActs: who has rights over web alone acts on its hosts, and is told of no other; what was done
// is in the audit, with who, from where, on what and why.
func TestActs(t *testing.T) {
	const done = "200 {\"done\":true}"
	none := "404 {\"error\":\"no such object in this hub\"}"
	h := manyRows(t)
	today := h.now.Format(time.DateOnly)
	yesterday := h.now.AddDate(0, 0, -1).Format(time.DateOnly)
	for _, c := range []struct {
		as               Who
		path, body, want string
		audit            string // the latest act; empty: as before
	}{
		{nobody, "accept", `{"host":"w1","trap":"disk-full","subject":"/a","reason":"r"}`,
			`403 {"error":"this needs the role operator"}`, ""},
		{wes, "accept", `{"host":"d1","trap":"late-clock","reason":"r"}`, none, ""},
		{wes, "accept", `{"host":"w1","trap":"disk-full","subject":"/a","reason":"r","until":"` + yesterday + `"}`, `400 {"error":"until \"` +
			yesterday + `\": expected a day that is not past, as 2026-01-31"}`, ""},
		{wes, "accept", `{"host":"w1","trap":"disk-full","subject":"/a","reason":"r","until":"` + today + `"}`, done,
			"wes@192.0.2.2 accept: disk-full:/a on w1: r"},
		{wes, "unaccept", `{"host":"w1","trap":"disk-full","subject":"/a"}`, done,
			"wes@192.0.2.2 take acceptance back: disk-full:/a on w1: "},
		{wes, "unaccept", `{"host":"d1","trap":"late-clock"}`, none, ""},
		{ann, "unaccept", `{"host":"d1","trap":"late-clock"}`, done, "ann@192.0.2.1 take acceptance back: late-clock on d1: "},
		{wes, "accepted/rules", `{"trap":"disk-full","reason":"r"}`, `403 {"error":"name a group: you have no rights over all"}`, ""},
		{wes, "accepted/rules", `{"trap":"disk-full","reason":"r","group":"db"}`,
			`403 {"error":"you have no rights over the group \"db\""}`, ""},
		{wes, "accepted/rules", `{"trap":"nowhere","reason":"r","group":"web"}`,
			`400 {"error":"nowhere is not found there now: say by severity what is accepted"}`, ""},
		{wes, "accepted/rules", `{"trap":"disk-full","reason":"r","group":"web","until":"` + yesterday + `"}`, `400 {"error":"until \"` +
			yesterday + `\": expected a day that is not past, as 2026-01-31"}`, ""},
		{wes, "accepted/rules", `{"trap":"disk-full","reason":"r","group":"web","label":"env=test"}`, done,
			"wes@192.0.2.2 accept: disk-full on group web with label env=test: r"},
		{wes, "accepted/rules", `{"trap":"nowhere","reason":"r","group":"web","severity":"notice"}`, done,
			"wes@192.0.2.2 accept: nowhere on group web: r"},
		{ann, "accepted/rules", `{"trap":"late-clock","reason":"r"}`, done, "ann@192.0.2.1 accept: late-clock on all hosts: r"},
		{wes, "accepted/rules/1/remove", `{}`, none, ""},
		{wes, "accepted/rules/4/remove", `{}`, `403 {"error":"this needs rights over all groups of hosts"}`, ""},
		{wes, "accepted/rules/9/remove", `{}`, none, ""},
		{wes, "accepted/rules/3/remove", `{}`, done, "wes@192.0.2.2 take acceptance back: nowhere on group web: "},
		{ann, "accepted/rules/1/remove", `{}`, done, "ann@192.0.2.1 take acceptance back: late-clock on hosts without a group: "},
		{ann, "accepted/rules/4/remove", `{}`, done, "ann@192.0.2.1 take acceptance back: late-clock on all hosts: "},
		{wes, "ask", `{"host":"d1"}`, none, ""},
		{wes, "ask", `{"group":"db"}`, none, ""},
		{wes, "ask", `{"label":"x"}`, none, ""},
		{wes, "ask", `{"host":"w1"}`, done, "wes@192.0.2.2 ask for a run: w1: "},
		{wes, "ask", `{}`, done, "wes@192.0.2.2 ask for a run: 3 hosts: "},
		{ann, "ask", `{"label":"rack"}`, done, "ann@192.0.2.1 ask for a run: 1 host: "},
		{ann, "ask", `{"group":"db"}`, done, "ann@192.0.2.1 ask for a run: 2 hosts: "},
		{ann, "ask", `{}`, done, "ann@192.0.2.1 ask for a run: all hosts: "},
		{wes, "hosts/set", `{"hosts":"w1","group":"db"}`, `403 {"error":"you have no rights over the group \"db\""}`, ""},
		{wes, "hosts/set", `{"hosts":"w1","group":"-"}`, `403 {"error":"you have no rights over the group \"\""}`, ""},
		{wes, "hosts/set", `{"hosts":"w1, d1","label":"a=b"}`, none, ""},
		{wes, "hosts/set", `{"hosts":"w1, w2 ,w1","label":"b=2,a=1","remove":"env"}`, done,
			"wes@192.0.2.2 set host: w2: label a=1, label b=2, without label env"},
		{ann, "hosts/set", `{"hosts":"w1","group":"-","name":" www "}`, done, "ann@192.0.2.1 set host: w1: no group, name www"},
		{ann, "hosts/set", `{"hosts":"w1","group":"web","own_name":true}`, done, "ann@192.0.2.1 set host: w1: group web, its own name"},
	} {
		before := h.audit(1)
		w := h.ask(c.as, "/api/v1/"+c.path, c.body)
		if got := fmt.Sprint(w.Code, " ", strings.TrimSpace(w.Body.String())); got != c.want {
			t.Errorf("%s %s by %s: %s, want %s", c.path, c.body, c.as.Name, got, c.want)
		}
		want := c.audit
		if want == "" {
			want = before
		}
		if got := h.audit(1); got != want {
			t.Errorf("%s %s by %s: the audit says %q, want %q", c.path, c.body, c.as.Name, got, want)
		}
	}
	want := "[[w1] [w1 w2 t1] [d1] [d1 t2] []]"
	if got := fmt.Sprint(h.asked); got != want || h.asked[4] != nil {
		t.Errorf("asked: %s, want %s", got, want)
	}
	if got := h.columns(ann, "/api/v1/accepted/rules", "trap", "on", "severity", "reason", "until", "by"); got !=
		"disk-full:group web with label env=test:warning:r::wes" {
		t.Errorf("rules: %q", got)
	}
	h.API.Asker = nil
	if _, err := h.API.Ask(As(t.Context(), ann), AskQuery{}); !isBad(err) {
		t.Errorf("a hub that cannot ask: %v", err)
	}
}

// TestPlacing: what may be set, and what may not.
func TestPlacing(t *testing.T) {
	for _, c := range []struct {
		q    SetQuery
		n    int
		want string // Placed; empty: refused
	}{
		{SetQuery{}, 1, ""},
		{SetQuery{Name: "a"}, 1, "name a"},
		{SetQuery{Name: "a"}, 2, ""},
		{SetQuery{Name: "a", OwnName: true}, 1, ""},
		{SetQuery{OwnName: true}, 2, "its own name"},
		{SetQuery{Name: strings.Repeat("a", 255)}, 1, "name " + strings.Repeat("a", 255)},
		{SetQuery{Name: strings.Repeat("a", 256)}, 1, ""},
		{SetQuery{Name: "a\x07"}, 1, ""},
		{SetQuery{Group: "-"}, 2, "no group"},
		{SetQuery{Group: "a,b"}, 1, ""},
		{SetQuery{Label: "a=1, b="}, 2, "label a=1, label b="},
		{SetQuery{Label: "a"}, 1, ""},
		{SetQuery{Label: "a b=1"}, 1, ""},
		{SetQuery{Remove: "a,,b"}, 1, "without label a, without label b"},
	} {
		p, err := c.q.placing(c.n)
		if got := Placed(p); c.want != "" && (err != nil || got != c.want) || c.want == "" && !isBad(err) {
			t.Errorf("%.60v of %d hosts: %.60q, %v, want %.60q", c.q, c.n, got, err, c.want)
		}
	}
	h := smallFleet(t)
	many := []string{"w1"}
	for n := range placedAtOnce - 1 {
		many = append(many, fmt.Sprint("x", n))
	}
	set := func(hosts []string) error {
		_, err := h.SetHosts(As(t.Context(), ann), SetQuery{Hosts: strings.Join(hosts, ","), Group: "web"})
		return err
	}
	if err := set(append(many, "w1")); !errors.Is(err, store.ErrNone) { // one twice: they are not too many
		t.Errorf("%d hosts: %v", placedAtOnce, err)
	}
	if err := set(append(many, "w2")); !isBad(err) {
		t.Errorf("one more: %v", err)
	}
	if err := set(nil); !isBad(err) {
		t.Errorf("none: %v", err)
	}
}

// TestCapturesOfHosts: a capture is attached, downloaded and removed by who sees its host; only one
// that is redacted, and no larger than it may be.
func TestCapturesOfHosts(t *testing.T) {
	h := smallFleet(t)
	good := capturedFile(t, true)
	attach := func(as Who, id string, content []byte) error {
		_, err := h.Attach(As(t.Context(), as), AttachQuery{ID: id}, content)
		return err
	}
	h.must(attach(ann, "db1", good))
	want := fmt.Sprintf("ann@192.0.2.1 attach a capture: d1: %d bytes, SHA-256 ", len(good))
	if got := h.audit(1); !strings.HasPrefix(got, want) {
		t.Errorf("the audit says %q", got)
	}
	if err := attach(wes, "d1", good); !errors.Is(err, store.ErrNone) {
		t.Errorf("to a host of another group: %v", err)
	}
	magic := good[:4]
	for what, c := range map[string]struct {
		content []byte
		says    string
	}{
		"text":         {[]byte("hello"), "not a capture: expected the file"},
		"empty":        {nil, "not a capture: expected the file"},
		"broken":       {good[:len(good)/2], "not a capture: "},
		"with secrets": {capturedFile(t, false), "this capture has names, addresses and secrets in it"},
		"too large":    {append(slices.Clone(magic), make([]byte, MaxCapture-3)...), "the file is larger than 16 MiB"},
	} {
		err := attach(ann, "d1", c.content)
		if !isBad(err) || !strings.HasPrefix(err.Error(), c.says) || strings.Contains(err.Error(), "fettle-attach") {
			t.Errorf("%s: %v, want %q", what, err, c.says)
		}
	}
	host, err := h.Host(As(t.Context(), ann), HostQuery{ID: "d1"})
	if err != nil || len(host.Captures) != 1 || host.Captures[0].Who != "ann" || !host.Captures[0].At.Equal(h.now) ||
		host.Captures[0].Size != int64(len(good)) {
		t.Fatalf("%+v, %v", host.Captures, err)
	}
	q := CaptureQuery{ID: host.Captures[0].ID}
	if f, err := h.Capture(As(t.Context(), wes), q); !errors.Is(err, store.ErrNone) || f.Content != nil {
		t.Errorf("downloaded by who does not see the host: %v", err)
	}
	if _, err := h.Detach(As(t.Context(), wes), q); !errors.Is(err, store.ErrNone) {
		t.Errorf("removed by who does not see the host: %v", err)
	}
	w := h.ask(ann, fmt.Sprint("/api/v1/captures/", q.ID), "")
	if w.Code != http.StatusOK || w.Body.String() != string(good) || w.Header().Get("Content-Type") != "application/zstd" ||
		w.Header().Get("Content-Disposition") != `attachment; filename="d1-`+h.now.Format("20060102-150405")+`.tar.zst"` {
		t.Errorf("%d, %d bytes, %v", w.Code, w.Body.Len(), w.Header())
	}
	if d, err := h.Detach(As(t.Context(), ann), q); err != nil || !d.Done {
		t.Errorf("%+v, %v", d, err)
	}
	if d, err := h.Detach(As(t.Context(), ann), q); !errors.Is(err, store.ErrNone) || d.Done {
		t.Errorf("removed twice: %+v, %v", d, err)
	}
	want = fmt.Sprintf("ann@192.0.2.1 remove a capture: d1: capture %d; ann@192.0.2.1 download a capture: d1: capture %[1]d", q.ID)
	if got := h.audit(2); got != want {
		t.Errorf("the audit says %q, want %q", got, want)
	}
}

// TestSaid: why a capture was refused names no file of the hub's, and is short.
func TestSaid(t *testing.T) {
	for _, c := range []struct{ why, want string }{
		{"/tmp/x: bad", "bad"}, {"open /tmp/x", "open the file"}, {"a\xff", "a?"},
		{strings.Repeat("a", 300), strings.Repeat("a", 300)}, {strings.Repeat("a", 301), strings.Repeat("a", 300)},
	} {
		if got := said(c.why, "/tmp/x"); got != c.want {
			t.Errorf("%q: %q", c.why, got)
		}
	}
}
