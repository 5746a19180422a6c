package trap

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"fettle/engine/remedy"
)

// Facts are what a check tells the plan of its trap beyond the subject: a
// struct of the trap's own. They are JSON here, because a check runs in another
// process than the plan.
type Facts = json.RawMessage

// FactsOf makes Facts of a trap's struct. Structs of plain data can always be
// written; anything else is a mistake in the trap.
func FactsOf[T any](facts T) Facts {
	b, err := json.Marshal(facts)
	if err != nil || !bytes.HasPrefix(b, []byte("{")) {
		panic(fmt.Sprintf("%T cannot be facts: %v", facts, err))
	}
	return b
}

// WithoutFacts is a result for readers other than a plan, which is made in the run that
// looked: what plans need to know may hold secrets.
func (r Result) WithoutFacts() Result {
	r.Outcomes = slices.Clone(r.Outcomes)
	for i := range r.Outcomes {
		r.Outcomes[i].Facts = nil
	}
	return r
}

// FactsIn reads what FactsOf made. A finding without facts, or with others than
// T has, is refused: it was not made by this version's check.
func FactsIn[T any](f Finding) (T, error) {
	var facts T
	d := json.NewDecoder(bytes.NewReader(f.Facts))
	d.DisallowUnknownFields()
	err := d.Decode(&facts)
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = fmt.Errorf("more than one value")
		}
	}
	if err != nil {
		var none T
		return none, remedy.Refuse(
			"another version of fettle made this finding, or it says too much (%v): run fettle check %s again",
			err,
			f.Trap,
		)
	}
	return facts, nil
}
