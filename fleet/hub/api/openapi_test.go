package api

import (
	"encoding/json"
	"testing"

	"fettle/internal/means"
)

// TestOpenAPIIsPublished: docs/schema has the description that the hub serves,
// so that a change of the API is seen as one. FETTLE_UPDATE=1 writes it.
func TestOpenAPIIsPublished(t *testing.T) {
	b, err := json.MarshalIndent(OpenAPI(), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	means.Written(t, "../../../docs/schema/hub-1.openapi.json", string(b)+"\n")
}

// TestRead: what was given by name, strictly.
func TestRead(t *testing.T) {
	type question struct {
		Name   string `json:"name" need:"yes"`
		Kind   string `json:"kind" one:"a b"`
		Limit  int    `json:"limit" most:"10"`
		Sure   bool   `json:"sure"`
		Before int64  `json:"before"`
	}
	good, err := Read[question](
		map[string][]string{"name": {"x"}, "kind": {"b"}, "limit": {"10"}, "sure": {"true"}, "before": {"99999999999"}},
	)
	if err != nil || good != (question{"x", "b", 10, true, 99999999999}) {
		t.Errorf("%+v %v", good, err)
	}
	for want, given := range map[string]map[string][]string{
		`name is missing`: {}, `unknown parameter "other": ` +
			`expected name, kind, limit, sure, before`: {"name": {"x"}, "other": {"y"}}, `name is given 2 times`: {"name": {"x", "y"}},
		`kind "c": expected a, b`:                       {"name": {"x"}, "kind": {"c"}},
		`limit "11": expected a number from 0 to 10`:    {"name": {"x"}, "limit": {"11"}},
		`limit "-1": expected a number from 0 to 10`:    {"name": {"x"}, "limit": {"-1"}},
		`sure "perhaps": expected true or false`:        {"name": {"x"}, "sure": {"perhaps"}},
		`name: expected valid text of up to 1000 bytes`: {"name": {"\xff"}},
	} {
		if _, err := Read[question](given); err == nil || err.Error() != want {
			t.Errorf("%v: %v, want %s", given, err, want)
		}
	}
	if _, err := fromJSON([]byte(`{"name": ["x"]}`)); err == nil || err.Error() != "name: expected text, a number, true or false" {
		t.Error(err)
	}
	if v, err := fromJSON([]byte(`{"limit": 5, "sure": true, "name": "x"}`)); err != nil || v.Get("limit") != "5" ||
		v.Get("sure") != "true" {
		t.Error(v, err)
	}
}
