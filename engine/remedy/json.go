package remedy

import (
	"encoding/json"
	"fmt"
	"time"

	"fettle/engine/remedy/step"
)

// planJSON is Plan's form on disk. Each step carries its kind.
type planJSON struct {
	Title          string            `json:"title"`
	Notes          []string          `json:"notes,omitempty"`
	CutsConnection bool              `json:"cuts_connection,omitempty"`
	Settle         time.Duration     `json:"settle_ns,omitempty"`
	Vanishes       string            `json:"vanishes,omitempty"`
	Steps          []json.RawMessage `json:"steps"`
}

func (p Plan) MarshalJSON() ([]byte, error) {
	out := planJSON{p.Title, p.Notes, p.CutsConnection, p.Settle, p.Vanishes, []json.RawMessage{}}
	for i, s := range p.Steps {
		b, err := step.Encode(s)
		if err != nil {
			return nil, fmt.Errorf("step %d: %w", i+1, err)
		}
		out.Steps = append(out.Steps, b)
	}
	return json.Marshal(out)
}

func (p *Plan) UnmarshalJSON(b []byte) error {
	var in planJSON
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	*p = Plan{Title: in.Title, Notes: in.Notes, CutsConnection: in.CutsConnection, Settle: in.Settle, Vanishes: in.Vanishes}
	for i, raw := range in.Steps {
		s, err := step.Decode(raw)
		if err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
		p.Steps = append(p.Steps, s)
	}
	return nil
}
