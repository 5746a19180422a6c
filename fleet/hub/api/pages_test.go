package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"fettle/fleet/hub/store"
)

// manyRows is the small fleet with acceptances, packs and refused logins, so that each list has rows.
func manyRows(t *testing.T) *hub {
	t.Helper()
	h := smallFleet(t)
	for _, body := range []string{
		`{"host":"w2","trap":"disk-full","subject":"/b","reason":"known"}`, `{"host":"d1","trap":"late-clock","reason":"known"}`,
	} {
		if w := h.ask(ann, "/api/v1/accept", body); w.Code != http.StatusOK {
			t.Fatal(w.Code, w.Body)
		}
	}
	if w := h.ask(ann, "/api/v1/accepted/rules", `{"trap":"late-clock","group":"-","reason":"far away"}`); w.Code != http.StatusOK {
		t.Fatal(w.Code, w.Body)
	}
	for _, name := range []string{"acme", "beta"} {
		h.must(h.DB.Offer(t.Context(), store.Pack{Name: name, Version: 1, Canary: "web", Wait: time.Hour, StopAt: 20, Traps: []string{"x"},
			File: []byte("x")}))
	}
	h.takesPacks("w1", "w2", "t1")
	for n := range 60 {
		h.must(h.DB.AddAttempts(t.Context(), []store.Attempt{{From: fmt.Sprint("192.0.2.", n), Why: "wrong password", Name: "ann",
			Count: n + 1, First: h.now.Add(-time.Hour), Last: h.now.Add(time.Duration(-n) * time.Second)}}))
	}
	return h
}

// lists are operations with pages, and the name of their rows.
var lists = []struct{ path, rows string }{
	{"/api/v1/hosts", "hosts"}, {"/api/v1/hosts?group=web&order=name", "hosts"}, {"/api/v1/foreign", "foreign"},
	{"/api/v1/traps/late-clock/hosts", "found"}, {"/api/v1/fixes", "fixes"}, {"/api/v1/coverage", "reasons"},
	{"/api/v1/accepted", "accepted"}, {"/api/v1/accepted/hosts", "accepted"}, {"/api/v1/matrix", "rows"}, {"/api/v1/attempts", "attempts"},
	{"/api/v1/packs/acme/hosts", "hosts"}, {"/api/v1/changes", "changes"}, {"/api/v1/audit", "acts"},
}

// TestPages: page by page each row comes once, in the order of the whole list; every page says how
// many there are, and the last one that none follows.
func TestPages(t *testing.T) {
	h := manyRows(t)
	for _, c := range lists {
		with := c.path + "?"
		if strings.Contains(c.path, "?") {
			with = c.path + "&"
		}
		all, _ := h.object(ann, with+"limit=1000")[c.rows].([]any)
		if len(all) == 0 {
			t.Errorf("%s has no rows", c.path)
		}
		for _, size := range []int{1, 2, len(all) - 1, len(all)} {
			if size == 0 {
				continue
			}
			var got []any
			from, pages := "", 0
			for {
				page := h.object(ann, fmt.Sprint(with, "limit=", size, from))
				rows, _ := page[c.rows].([]any)
				got = append(got, rows...)
				pages++
				if page["count"] != float64(len(all)) {
					t.Errorf("%s: %v rows in all, want %d", c.path, page["count"], len(all))
				}
				if left, is := page["left"]; is && left != float64(len(all)-len(rows)) {
					t.Errorf("%s: %v are left out of a page of %d", c.path, left, size)
				}
				next := fmt.Sprint(page["next"])
				if next == "0" || next == "" || len(rows) == 0 || pages > len(all) {
					break
				}
				if from = "&offset=" + next; c.rows == "changes" || c.rows == "acts" {
					from = "&before=" + next
				}
			}
			if a, b := encoded(t, got), encoded(t, all); a != b || pages != (len(all)+size-1)/size {
				t.Errorf("%s in %d pages of %d:\n%s\nwant\n%s", c.path, pages, size, a, b)
			}
		}
	}
	if n := len(h.object(ann, "/api/v1/attempts")["attempts"].([]any)); n != 50 {
		t.Errorf("a page of which nobody said how long has %d rows", n)
	}
	if rows := h.object(ann, "/api/v1/hosts?offset=6")["hosts"]; rows != nil {
		t.Errorf("beyond the end: %v", rows)
	}
	if m := h.object(ann, "/api/v1/matrix?offset=9"); fmt.Sprint(m["rows"]) != "[]" || m["next"] != 0.0 {
		t.Errorf("beyond the end: %v", m)
	}
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestChangesBothWays: from a page in the middle prev leads to the newer ones, and from the first
// one to nothing.
func TestChangesBothWays(t *testing.T) {
	h := smallFleet(t)
	const size = 2
	var pages []Changes
	for q := (ChangesQuery{Limit: size}); ; {
		c, err := h.Changes(As(t.Context(), ann), q)
		h.must(err)
		pages = append(pages, c)
		if q.Before = c.Next; q.Before == "" || len(pages) > 9 {
			break
		}
	}
	if len(pages) < 4 || pages[0].Prev != "" {
		t.Fatalf("%d pages, %+v", len(pages), pages[0])
	}
	for i := len(pages) - 1; i > 0; i-- {
		c, err := h.Changes(As(t.Context(), ann), ChangesQuery{Limit: size, After: pages[i].Prev})
		h.must(err)
		if encoded(t, c.Changes) != encoded(t, pages[i-1].Changes) || c.Next == "" || (c.Prev == "") != (i == 1) {
			t.Errorf("before page %d: %+v", i, c)
		}
	}
	for _, bad := range []string{"x", "1", "1.", ".1", "-1.1", "1.-1"} {
		if _, err := h.Changes(As(t.Context(), ann), ChangesQuery{Before: bad}); !isBad(err) {
			t.Errorf("before %q: %v", bad, err)
		}
		if _, err := h.Changes(As(t.Context(), ann), ChangesQuery{After: bad}); !isBad(err) {
			t.Errorf("after %q: %v", bad, err)
		}
	}
	for _, good := range []string{"0.1", "1.0"} {
		if _, err := h.Changes(As(t.Context(), ann), ChangesQuery{Before: good}); err != nil {
			t.Errorf("before %q: %v", good, err)
		}
	}
	if _, err := h.Changes(As(t.Context(), ann), ChangesQuery{Before: "1.1", After: "1.1"}); !isBad(err) {
		t.Errorf("before and after: %v", err)
	}
}

func isBad(err error) bool {
	status, _ := Problem(err)
	return err != nil && status == http.StatusBadRequest
}
