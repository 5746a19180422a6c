package trap

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"fettle/engine/remedy"
)

type demoFacts struct {
	Units []string `json:"units"`
	Full  bool     `json:"full,omitempty"`
}

func TestFacts(t *testing.T) {
	f := Finding{Trap: "demo", Facts: FactsOf(demoFacts{Units: []string{"a.service"}, Full: true})}
	wire, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	var came Finding
	if err := json.Unmarshal(wire, &came); err != nil {
		t.Fatal(err)
	}
	if got, err := FactsIn[demoFacts](came); err != nil || len(got.Units) != 1 || got.Units[0] != "a.service" || !got.Full {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"", `{"units":"a.service"}`, `{"unit":["a"]}`, `{}{}`, `{} x`, `[]`} {
		var refusal *remedy.Refusal
		if got, err := FactsIn[demoFacts](Finding{Trap: "demo", Facts: Facts(bad)}); !errors.As(err, &refusal) ||
			!strings.Contains(err.Error(), "fettle check demo") {
			t.Errorf("%s: %+v, %v", bad, got, err)
		}
	}
}

func TestFactsOfNoStruct(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a list passes for facts")
		}
	}()
	FactsOf([]string{"a"})
}
