package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"fettle/host"
	"fettle/host/confine"
)

// Ask puts a question about a host to one of Answers, in a confined child. There is no other
// way: without a child nothing is looked at, because the question may come from outside.
func (e Engine) Ask(ctx context.Context, tg Target, name string, question, answer any) error {
	w := work{Ask: name, Target: tg}
	var err error
	if w.Question, err = json.Marshal(question); err != nil {
		return err
	}
	job, over, err := w.job(1)
	if err != nil {
		return err
	}
	defer over()
	child, err := confine.Start(ctx, job)
	if err != nil {
		return fmt.Errorf("looking at the host: no confined process: %w", err)
	}
	defer child.Close()
	return (&Also{Answer: answer}).receive(ctx, child, tg)
}

// receive takes the child's answer.
func (a *Also) receive(ctx context.Context, child *confine.Child, tg Target) error {
	said, err := receive(ctx, child)
	switch {
	case err != nil:
		return fmt.Errorf("looking at the host: %s", host.Reason(err))
	case said.Failed != "" && tg.live():
		return errors.New(said.Failed)
	case said.Failed != "":
		return unreadable("%s", said.Failed)
	}
	return json.Unmarshal(said.Answer, a.Answer)
}

// answer is what the confined child does when it is asked.
func answer(parent *confine.Parent, w work, answers Answers) error {
	if answers[w.Ask] == nil {
		return fmt.Errorf("the confined child has no answer to %q", w.Ask)
	}
	if _, err := confine.Self(w.rules()); err != nil {
		return err
	}
	src, err := w.open(parent)
	if err != nil {
		return say(parent, saying{Failed: err.Error()})
	}
	return tell(parent, host.New(src), answers[w.Ask], w.Question)
}

// tell sends what look makes of a host.
func tell(parent *confine.Parent, h *host.Host, look Answer, question json.RawMessage) error {
	made, err := look(context.Background(), h, question)
	if err != nil {
		return say(parent, saying{Failed: host.Reason(err)})
	}
	b, err := json.Marshal(made)
	if err != nil {
		return err
	}
	return say(parent, saying{Answer: b})
}
