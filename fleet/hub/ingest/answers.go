package ingest

import (
	"errors"

	"fettle/fleet/hub/message"
	"fettle/fleet/hub/store"
)

// answers are those to one batch, one for each instance of an agent.
type answers struct {
	order []*answer
	at    map[[2]string]*answer
}

func newAnswers() *answers { return &answers{at: map[[2]string]*answer{}} }

func (a *answers) of(m *message.Message) *answer {
	k := [2]string{m.Agent, m.Instance}
	if a.at[k] == nil {
		a.at[k] = &answer{agent: m.Agent, Ack: message.Ack{Instance: m.Instance}}
		a.order = append(a.order, a.at[k])
	}
	return a.at[k]
}

// refused tells an agent that its message is not taken, and will not be.
func (a *answers) refused(it *store.Item, why error) {
	one := a.of(it.Message)
	one.Seq = max(one.Seq, it.Message.Seq)
	one.Refused = "not as an agent's messages are"
	if errors.Is(why, message.ErrNewer) {
		one.Refused = "this agent is newer than the hub"
	}
}

func (a *answers) result(it *store.Item, r store.Result) {
	if r.Verdict == store.Stranger {
		return // the agent of before, or nobody's: its key is revoked
	}
	one := a.of(it.Message)
	one.Seq = max(one.Seq, r.Seq)
	one.wants = it.Message.Kind == message.Want
	one.packs = append(one.packs, r.Packs...)
	if r.Accepts != nil {
		one.Accepts = r.Accepts
	}
	switch r.Verdict {
	case store.NeedWhole:
		one.Whole = true
	case store.Taken:
		one.Whole = false
	case store.Gap:
		one.Again = true
	case store.Refused:
		one.Refused = "the hub's database does not take it"
	}
}

func (a *answers) send(nc publisher) {
	for _, one := range a.order {
		if b, err := one.Pack(); err == nil && !one.wants {
			_ = nc.Publish(message.To(one.agent, "ack"), b) // what gets lost is asked for again
		}
		for _, b := range one.packs {
			_ = nc.Publish(message.To(one.agent, "pack"), b) // and is handed on again
		}
	}
}
