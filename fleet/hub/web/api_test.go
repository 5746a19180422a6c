package web

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"fettle/fleet/hub/api"
	"fettle/fleet/hub/store"
)

// document is what /api/openapi.json says, compiled: the schema of each answer.
type document struct {
	Paths map[string]map[string]struct {
		OperationID string
		Parameters  []struct{ Name, In string }
		Responses   map[string]struct {
			Content map[string]struct{ Schema json.RawMessage }
		}
	}
	raw any
}

func (w *world) openAPI() *document {
	w.t.Helper()
	code, body, h := w.get("/api/openapi.json")
	if code != http.StatusOK || !strings.HasPrefix(h.Get("Content-Type"), "application/json") {
		w.t.Fatal(code, body)
	}
	d := &document{}
	if err := json.Unmarshal([]byte(body), d); err != nil {
		w.t.Fatal(err)
	}
	var err error
	if d.raw, err = jsonschema.UnmarshalJSON(strings.NewReader(body)); err != nil {
		w.t.Fatal(err)
	}
	return d
}

// schema compiles a part of the document by its JSON pointer.
func (d *document) schema(t *testing.T, pointer string) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("hub:openapi.json", d.raw); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("hub:openapi.json#" + pointer)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func pointer(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString("/" + url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(p)))
	}
	return b.String()
}

// holds checks an answer against the document's schema of it.
func (d *document) holds(t *testing.T, path, method, status, body string) {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
	if err != nil {
		t.Fatalf("%s: %v\n%.300s", path, err, body)
	}
	if err := d.schema(t, pointer("paths", path, strings.ToLower(method), "responses", status, "content", "application/json",
		"schema")).Validate(v); err != nil {
		t.Errorf("%s %s: %v\n%.500s", method, path, err, body)
	}
}

// TestOpenAPI asks every operation, in several ways, and holds the answers to
// the document that the hub serves.
func TestOpenAPI(t *testing.T) {
	w := ofHosts(t, 40)
	w.withPacks()
	w.login("ann")
	d := w.openAPI()
	h := w.aHost()
	f := w.aFinding(h)
	finding := url.Values{"host": {h.Agent}, "trap": {f.Trap}, "subject": {f.Subject}}
	with := func(v url.Values, name, value string) url.Values {
		out := url.Values{name: {value}}
		for k, s := range v {
			out[k] = s
		}
		return out
	}
	asks := map[string][]url.Values{
		"fleet": {
			{},
		}, "curves": {{}, {"days": {"7"}, "group": {"ams-web"}}},
		"matrix": {{}, {"severity": {"critical"}, "groups": {"2"}, "limit": {"3"}, "unknown": {"true"}}},
		"changes": {
			{},
			{"since": {"365d"}, "kind": {"all"}, "limit": {"5"}},
			{"trap": {f.Trap}, "since": {"2026-01-01"}},
		}, "hosts": {{}, {"q": {"web"}, "silent": {"true"}}, {"limit": {"3"}, "order": {"name"}}},
		"host": {
			{"id": {h.Agent}},
			{"id": {h.Name}},
		}, "trap": {{"id": {f.Trap}}}, "found": {{"id": {f.Trap}}, {"id": {f.Trap}, "severity": {"unknown"}, "limit": {"1"}}},
		"trapCurve": {{"id": {f.Trap}}},
		"restarts":  {{}, {"since": {"2026-11-22T10:00:00Z"}, "until": {"1m"}, "group": {"ams-web"}}},
		"coverage": {
			{},
		}, "compare": {{"a": {h.Agent}, "b": {"h0000001"}}}, "search": {{"q": {"web"}}, {"q": {"mtu"}}},
		"why":    {{"text": {"the bridge's mtu changes by itself"}}, {"text": {"qwertz"}}},
		"attach": {{"id": {h.Agent}}}, "capture": {{"id": {"1"}}}, "detach": {{"id": {"1"}}},
		"accept": {
			with(finding, "reason", "known"),
		}, "accepted": {{}}, "unaccept": {finding}, "ask": {{"host": {h.Agent}}}, "audit": {{}, {"limit": {"1"}}},
		"attempts": {{}, {"limit": {"1"}}}, "foreign": {{}, {"limit": {"1"}}},
		"labels": {{}}, "setHosts": {{"hosts": {h.Agent}, "group": {"x"}, "label": {"env=prod"}}},
		"fix": {{"id": {"bridge-mtu"}}}, "inventory": {{"id": {"bridge-mtu"}}}, "playbook": {{"id": {"bridge-mtu"}}},
		"fixes": {{}}, "acceptRule": {{"trap": {"bridge-mtu"}, "severity": {"notice"}, "reason": {"r"}}}, "rules": {{}},
		"packs": {{}}, "packHosts": {{"id": {"acme-mail"}}, {"id": {"acme-mail"}, "limit": {"1"}}},
		"removeRule": {{"id": {"1"}}}, "acceptedOnHosts": {{}},
	}
	order := []string{"acceptRule", "rules", "accept", "accepted", "attach", "host", "capture", "detach", "unaccept"} // the others in any
	done := map[string]bool{}
	run := func(path, method, id string) {
		done[id] = true
		if len(asks[id]) == 0 {
			t.Errorf("the test asks nothing of %s", id)
		}
		for _, q := range asks[id] {
			code, body, _ := w.ask(method, path, q)
			if code != http.StatusOK {
				t.Errorf("%s %v: %d %s", id, q, code, body)
				continue
			}
			if id != "capture" && id != "inventory" && id != "playbook" { // which are no JSON
				d.holds(t, path, method, "200", body)
			}
		}
		code, body, _ := w.ask(method, path, url.Values{"id": {"x"}, "bogus": {"1"}})
		if code != http.StatusBadRequest || !strings.Contains(body, "unknown parameter") {
			t.Errorf("%s with a parameter that it does not have: %d %s", id, code, body)
		}
		d.holds(t, path, method, "400", body)
	}
	for _, first := range append(order, "") {
		for path, methods := range d.Paths {
			for method, o := range methods {
				if o.OperationID == first || first == "" && !done[o.OperationID] {
					run(path, method, o.OperationID)
				}
			}
		}
	}
	if len(done) != len(api.Operations()) || len(done) < 15 {
		t.Errorf("the document has %d operations, the API %d", len(done), len(api.Operations()))
	}
	if err := d.schema(t, pointer("components", "schemas", "Fleet")).Validate(map[string]any{"hosts": "many"}); err == nil {
		t.Error("the schemas let anything through")
	}
}

// ask asks an operation: its path's parameters into the path, the others into
// the query or a JSON body.
func (w *world) ask(method, path string, q url.Values) (int, string, http.Header) {
	w.t.Helper()
	q = url.Values(http.Header(q).Clone())
	if q == nil {
		q = url.Values{}
	}
	if strings.Contains(path, "{id}") {
		path = strings.Replace(path, "{id}", url.PathEscape(q.Get("id")), 1)
		q.Del("id")
	}
	if strings.EqualFold(method, http.MethodGet) {
		return w.get(path + "?" + q.Encode())
	}
	body := map[string]string{}
	for k := range q {
		body[k] = q.Get(k)
	}
	b, err := json.Marshal(body)
	if err != nil {
		w.t.Fatal(err)
	}
	if strings.HasSuffix(path, "/captures") { // takes a file
		b, path = packed(w.t, [2]string{"manifest.json", manifest}), path+"?"+q.Encode()
	}
	_, page, _ := w.get("/paste")
	req, err := http.NewRequest(http.MethodPost, w.server.URL+path, bytes.NewReader(b))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Fettle-Form", formField.FindStringSubmatch(page)[1])
	res, err := w.client.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.read(res)
}

func TestCSV(t *testing.T) {
	w := ofHosts(t, 30)
	w.withPacks()
	w.login("bob")
	h := w.aHost()
	sums, err := w.db.TrapSums(t.Context(), store.Everything)
	if err != nil {
		t.Fatal(err)
	}
	known := sums[0].Trap
	var ids []string
	for _, s := range sums[:len(sums)-1] { // the last one is foreign
		ids = append(ids, s.Trap)
	}
	if err := w.db.Know(t.Context(), ids); err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, o := range api.Operations() {
		if !o.Rows || o.Operator {
			continue
		}
		rows++
		path := strings.Replace(o.Path, "{id}", h.Agent, 1)
		if strings.Contains(path, "/packs/") {
			path = strings.Replace(o.Path, "{id}", "acme-mail", 1)
		}
		if strings.Contains(path, "/traps/") {
			path = strings.Replace(o.Path, "{id}", known, 1)
		}
		if strings.HasSuffix(path, "compare") {
			path += "?a=" + h.Agent + "&b=h0000002"
		}
		join := "?"
		if strings.Contains(path, "?") {
			join = "&"
		}
		code, body, hd := w.get(path + join + "format=csv")
		lines, err := csv.NewReader(strings.NewReader(body)).ReadAll()
		if code != http.StatusOK || err != nil || !strings.HasPrefix(hd.Get("Content-Type"), "text/csv") ||
			!strings.Contains(hd.Get("Content-Disposition"), "attachment") {
			t.Errorf("%s: %d %v\n%.300s", path, code, err, body)
		} else if len(lines) < 2 && !strings.HasPrefix(o.Path, "/api/v1/accepted") && o.Path != "/api/v1/fixes" {
			t.Errorf("%s has no rows: %q", path, body)
		}
	}
	if rows < 8 {
		t.Errorf("%d operations have rows", rows)
	}
	code, body, _ := w.get("/api/v1/restarts?since=1h&until=2h")
	if code != http.StatusBadRequest || !strings.Contains(body, "until must be after") {
		t.Error(code, body)
	}
	if code, body, _ := w.get("/api/v1/restarts?until=soon"); code != http.StatusBadRequest || !strings.Contains(body, `until \"soon\"`) {
		t.Error(code, body)
	}
	if code, _, _ := w.get("/api/v1/hosts?format=xls"); code != http.StatusBadRequest {
		t.Error(code)
	}
}

func TestRolesOfTheAPI(t *testing.T) {
	w := ofHosts(t, 5)
	if code, _, h := w.get("/api/v1/fleet"); code != http.StatusUnauthorized || h.Get("WWW-Authenticate") == "" {
		t.Error("a stranger:", code)
	}
	w.login("bob")
	n := 0
	for _, o := range api.Operations() {
		if o.Operator {
			n++
			if code, body, _ := w.ask(o.Method, o.Path, url.Values{"id": {"1"}}); code != http.StatusForbidden {
				t.Errorf("a reader's %s: %d %s", o.Path, code, body)
			}
		}
	}
	if n < 4 {
		t.Errorf("%d operations are for operators", n)
	}
}
