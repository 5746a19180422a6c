package api

import (
	"database/sql"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// quiet leaves out what the hub logs, until the test ends.
func quiet(t *testing.T) {
	log := slog.Default()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	t.Cleanup(func() { slog.SetDefault(log) })
}

// without runs a test with each of the tables missing in turn.
func (h *hub) without(tables []string, test func(table string)) {
	h.Helper()
	quiet(h.T)
	raw, err := sql.Open("sqlite", h.file)
	h.must(err)
	defer raw.Close()
	for _, table := range tables {
		_, err := raw.Exec("ALTER TABLE " + table + " RENAME TO elsewhere")
		h.must(err)
		test(table)
		_, err = raw.Exec("ALTER TABLE elsewhere RENAME TO " + table)
		h.must(err)
	}
}

// tables are those of the database that answers are made of.
func (h *hub) tables() (names []string) {
	h.Helper()
	raw, err := sql.Open("sqlite", h.file)
	h.must(err)
	defer raw.Close()
	rows, err := raw.Query("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
	h.must(err)
	for rows.Next() {
		var s string
		h.must(rows.Scan(&s))
		names = append(names, s)
	}
	h.must(rows.Err())
	return slices.DeleteFunc(names, func(s string) bool {
		return slices.Contains(strings.Fields("users sessions devices tokens leases instances channels told hostkeys agents"), s)
	})
}

// TestNoPartialAnswers: where the database cannot tell something, an answer is the whole one or an
// error, never one that leaves that out. Each table is missing in turn.
func TestNoPartialAnswers(t *testing.T) {
	h := manyRows(t)
	asks := map[string]string{ // and what is posted
		"/api/v1/why":             `{"text":"no space left on device"}`,
		"/api/v1/traps/nowhere":   "",
		"/api/v1/hosts?label=env": "", "/api/v1/fleet?label=env": "", "/api/v1/matrix?label=env": "", "/api/v1/coverage?label=env": "",
		"/api/v1/changes?host=w1": "", "/api/v1/matrix?group=web": "",
	}
	for _, o := range operations {
		if o.method == http.MethodGet && o.id != "capture" {
			path := strings.NewReplacer("hosts/{id}", "hosts/w1", "traps/{id}", "traps/disk-full", "packs/{id}", "packs/acme").Replace(o.path)
			if o.id == "compare" {
				path += "?a=w1&b=w2"
			}
			if o.id == "search" {
				path += "?q=web"
			}
			asks[path] = ""
		}
	}
	whole := map[string]string{}
	for path, body := range asks {
		w := h.ask(ann, path, body)
		if whole[path] = w.Body.String(); w.Code != http.StatusOK && path != "/api/v1/traps/nowhere" {
			t.Fatalf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	failed := map[string]bool{}
	h.without(h.tables(), func(table string) {
		for path, body := range asks {
			w := h.ask(ann, path, body)
			switch {
			case w.Code == http.StatusInternalServerError:
				failed[path] = true
			case w.Body.String() != whole[path]:
				t.Errorf("%s without the table %s: %d %s, want all or an error", path, table, w.Code, w.Body)
			}
		}
	})
	for path := range asks {
		if !failed[path] {
			t.Errorf("%s needs no table", path)
		}
	}
}

// TestActsThatFail: an act that is not noted down, or of which the host is not known, is not done.
func TestActsThatFail(t *testing.T) {
	h := manyRows(t)
	h.without([]string{"audit", "hosts"}, func(table string) {
		for path, body := range map[string]string{
			"/api/v1/accept":                  `{"host":"w2","trap":"disk-full","subject":"/c","reason":"known"}`,
			"/api/v1/unaccept":                `{"host":"w2","trap":"disk-full","subject":"/b"}`,
			"/api/v1/accepted/rules":          `{"trap":"late-clock","severity":"warning","reason":"x"}`,
			"/api/v1/accepted/rules/1/remove": `{}`,
			"/api/v1/hosts/set":               `{"hosts":"w1","group":"x"}`,
			"/api/v1/ask":                     `{"group":"web"}`,
		} {
			if w := h.ask(ann, path, body); w.Code != http.StatusInternalServerError {
				t.Errorf("%s without the table %s: %d %s", path, table, w.Code, w.Body)
			}
		}
	})
	if len(h.asked) != 0 {
		t.Errorf("asked: %q", h.asked)
	}
	if got := h.columns(ann, "/api/v1/accepted", "host", "subject"); got != "db1: web2:/b" && got != "web2:/b db1:" {
		t.Errorf("accepted: %q", got)
	}
}
