package step

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// kinds decode what journals hold, by the name of the kind. Journals are read
// by every fettle, whatever it is about to do, so a kind is known from the
// start of the program on.
var kinds = map[string]func([]byte) (Step, error){}

// Register makes a kind readable. It is called while the program starts, for
// the kinds of this package and, in a trap's folder, for the trap's own:
//
//	var _ = step.Register[Readd]()
func Register[S Step]() bool {
	var s S
	if kinds[s.Kind()] != nil {
		panic("two kinds of steps are called " + s.Kind())
	}
	kinds[s.Kind()] = func(b []byte) (Step, error) {
		var s S
		err := json.Unmarshal(b, &s)
		return s, err
	}
	return true
}

var _ = Register[File]() && Register[Remove]() && Register[Perm]() && Register[ACL]() && Register[Sysctl]() && Register[Sysfs]() &&
	Register[Unit]() && Register[LinkMTU]() && Register[SolicitRouter]() && Register[Check]() && Register[Command]()

// Kinds are the names of all kinds, sorted.
func Kinds() []string { return slices.Sorted(maps.Keys(kinds)) }

// Encode is a step as JSON, with its kind.
func Encode(s Step) ([]byte, error) {
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

// Decode reads what Encode wrote.
func Decode(b []byte) (Step, error) {
	var tag struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(b, &tag); err != nil {
		return nil, err
	}
	decode := kinds[tag.Kind]
	if decode == nil {
		return nil, fmt.Errorf("unknown kind %q", tag.Kind)
	}
	return decode(b)
}
