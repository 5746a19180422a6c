package trap

// Acceptance is an admin's word that a finding is known and stays for now.
type Acceptance struct {
	Reason string `json:"reason"`
	// Until is the last day on which it holds, YYYY-MM-DD; empty has no end.
	Until string `json:"until,omitempty"`
	By    string `json:"by,omitempty"` // who accepted it
	// Lapsed says why it holds no more: it ended, or the finding changed. The
	// finding counts again.
	Lapsed string `json:"lapsed,omitempty"`
	// Hub: an operator accepted it on the hub, and fettle.yaml believes that.
	Hub bool `json:"hub,omitempty"`
}

// Whose says who accepted a finding, and until when.
func (a *Acceptance) Whose() string {
	s := "accepted"
	if a.Hub {
		s += " on the hub"
	}
	if a.By != "" {
		s += " by " + a.By
	}
	if a.Until != "" {
		s += " until " + a.Until
	}
	return s
}

// Hidden tells whether a finding does not count: it was accepted, a run of
// check --new showed it already, or it is below check --severity.
func (o *Outcome) Hidden() bool {
	return o.Status == Found && (o.Known || o.Below || o.Accepted != nil && o.Accepted.Lapsed == "")
}
