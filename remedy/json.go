package remedy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
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
		b, err := marshalStep(s)
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
		s, err := unmarshalStep(raw)
		if err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
		p.Steps = append(p.Steps, s)
	}
	return nil
}

func marshalStep(s Step) ([]byte, error) {
	if s == nil {
		return nil, fmt.Errorf("is nil")
	}
	b, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	kind, _ := json.Marshal(s.Kind())
	return bytes.Join([][]byte{[]byte(`{"kind":`), kind, []byte(","), bytes.TrimPrefix(b, []byte("{"))}, nil), nil
}

func unmarshalStep(b []byte) (Step, error) {
	var tag struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(b, &tag); err != nil {
		return nil, err
	}
	switch tag.Kind {
	case "file":
		return decode[File](b)
	case "remove":
		return decode[Remove](b)
	case "perm":
		return decode[Perm](b)
	case "acl":
		return decode[ACL](b)
	case "sysctl":
		return decode[Sysctl](b)
	case "sysfs":
		return decode[Sysfs](b)
	case "unit":
		return decode[Unit](b)
	case "link-mtu":
		return decode[LinkMTU](b)
	case "solicit-router":
		return decode[SolicitRouter](b)
	case "md-readd":
		return decode[MDReadd](b)
	case "md-bitmap":
		return decode[MDBitmap](b)
	case "check":
		return decode[Check](b)
	case "command":
		return decode[Command](b)
	}
	return nil, fmt.Errorf("unknown kind %q", tag.Kind)
}

func decode[S Step](b []byte) (Step, error) {
	var s S
	err := json.Unmarshal(b, &s)
	return s, err
}
